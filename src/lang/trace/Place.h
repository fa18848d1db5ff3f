// The user's line of the op being run, for messages and module locations.
#pragma once

#include <source_location>

#include "smalti/diagnostic.h"
#include "smalti/operand.h"

namespace smalti::lang {

/// Set by the outermost op of the language: ops that it is made of keep its place.
class AtPlace {
 public:
  explicit AtPlace(const Location&);
  ~AtPlace();
  AtPlace(const AtPlace&) = delete;
  AtPlace& operator=(const AtPlace&) = delete;

 private:
  bool outermost_;
};

/// In a replay: ops have the place where they were recorded, not that of the code that runs them.
class AtRecorded {
 public:
  explicit AtRecorded(const SourcePlace&);
  ~AtRecorded();
  AtRecorded(const AtRecorded&) = delete;
  AtRecorded& operator=(const AtRecorded&) = delete;

 private:
  const SourcePlace* before_;
};

/// The place of the op being run; unknown outside ops.
SourcePlace currentPlace();
SourcePlace placeOf(const Location&);

/// Throws an Error with the diagnostic; place and the text of its line are filled in where they are missing.
[[noreturn]] void refuse(Diagnostic);

}  // namespace smalti::lang
