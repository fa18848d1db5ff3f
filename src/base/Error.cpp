#include "smalti/error.h"

#include <fstream>

#include "base/Source.h"

namespace smalti {
namespace {

/// The text of a line of the user's source, without the newline; empty when the file is not there.
std::string lineOf(const SourcePlace& place) {
  std::ifstream file(place.file);
  std::string line;
  for (int i = 0; i < place.line; ++i)
    if (!std::getline(file, line)) return "";
  return line;
}

}  // namespace

Error::Error(Diagnostic diagnostic) : diagnostic_(std::move(diagnostic)), text_(diagnostic_.str()) {}
void raise(Diagnostic diagnostic) { throw Error(std::move(diagnostic)); }

void showSource(Diagnostic& d) {
  if (d.source_line.empty() && d.place.known() && d.place.line > 0) d.source_line = lineOf(d.place);
}

}  // namespace smalti
