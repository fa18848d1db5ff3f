// Everything that is wrong with one kernel package, gathered before any of it is reported.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "smalti/diagnostic.h"

namespace smalti::package {

class Violations {
 public:
  /// `kernel` and `place` are the context of violations without their own.
  Violations(std::string kernel, SourcePlace place) : kernel_(std::move(kernel)), place_(std::move(place)) {}

  void add(Diagnostic d);
  bool has(std::string_view code) const;
  /// The first, the others as its `related`.
  Status status() const;

 private:
  std::string kernel_;
  SourcePlace place_;
  std::vector<Diagnostic> found_;
};

}  // namespace smalti::package
