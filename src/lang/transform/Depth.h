// The nesting depth of transformations, and of loops and branches that are traced.
#pragma once

#include "smalti/operand.h"

namespace smalti::lang {

/// One more, until the end of the scope. Error SM7106 at a depth that only a recursive function reaches: the stack
/// would not last.
class Depth {
 public:
  enum class Of : uint8_t { transformation, control };
  explicit Depth(const Location& at, Of = Of::transformation);
  ~Depth();
  Depth(const Depth&) = delete;
  Depth& operator=(const Depth&) = delete;
};

}  // namespace smalti::lang
