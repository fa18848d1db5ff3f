// loc(…) behind ops: which line of the user's source they name.
#pragma once

#include <map>

#include "interop/stablehlo/Syntax.h"

namespace smalti::interop::stablehlo {

class LocationReader {
 public:
  LocationReader(const Source& source, const Aliases& aliases) : source_(source), aliases_(aliases) {}
  /// Reads `loc(…)` when it is next; the place is unknown when the location names no file. False on bad syntax.
  bool trailing(Cursor&, SourcePlace& place);

 private:
  bool body(Cursor&, SourcePlace& place, int depth);
  bool file(Cursor&, std::string name, SourcePlace& place);
  bool alias(Cursor&, SourcePlace& place, int depth);

  const Source& source_;
  const Aliases& aliases_;
  std::map<std::string, SourcePlace, std::less<>> resolved_;
};

}  // namespace smalti::interop::stablehlo
