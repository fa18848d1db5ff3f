// The user's line of the op being run, for messages and module locations.
#pragma once

#include <optional>
#include <source_location>

#include "smalti/diagnostic.h"
#include "smalti/operand.h"

namespace smalti::lang {

/// Set by the outermost op of the language: the ops that it consists of inherit its place.
class SourceLocationScope {
 public:
  explicit SourceLocationScope(const Location&);
  ~SourceLocationScope();
  SourceLocationScope(const SourceLocationScope&) = delete;
  SourceLocationScope& operator=(const SourceLocationScope&) = delete;

 private:
  bool outermost_;
};

/// Used in a replay: ops get the place where they were recorded, not that of the code that runs them.
class RecordedLocationScope {
 public:
  explicit RecordedLocationScope(const SourcePlace&);
  ~RecordedLocationScope();
  RecordedLocationScope(const RecordedLocationScope&) = delete;
  RecordedLocationScope& operator=(const RecordedLocationScope&) = delete;

 private:
  const SourcePlace* before_;
};

/// While a function of the user runs inside an op or a rule: its ops have places of their own again.
class UserCodeScope {
 public:
  UserCodeScope();
  ~UserCodeScope();
  UserCodeScope(const UserCodeScope&) = delete;
  UserCodeScope& operator=(const UserCodeScope&) = delete;

 private:
  std::optional<Location> place_;
  const SourcePlace* recorded_;
};

/// The place of the op being run; unknown outside ops.
SourcePlace currentPlace();
SourcePlace placeOf(const Location&);

/// Throws an Error with the diagnostic; place and the text of its line are filled in where they are missing.
[[noreturn]] void refuse(Diagnostic);

}  // namespace smalti::lang
