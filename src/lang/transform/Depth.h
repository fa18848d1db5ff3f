// The nesting depth of transformations.
#pragma once

#include "smalti/operand.h"

namespace smalti::lang {

/// One more, until the end of the scope. Error SM7106 at a depth that only a recursive function reaches: the stack
/// would not last.
class Depth {
 public:
  explicit Depth(const Location& at);
  ~Depth();
  Depth(const Depth&) = delete;
  Depth& operator=(const Depth&) = delete;
};

}  // namespace smalti::lang
