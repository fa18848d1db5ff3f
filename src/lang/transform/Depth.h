// How many transformations run inside each other.
#pragma once

#include "smalti/operand.h"

namespace smalti::lang {

/// One more, until the end of the scope. Error SM7106 for so many that a function must be calling itself: the stack
/// would not last.
class Depth {
 public:
  explicit Depth(const Location& at);
  ~Depth();
  Depth(const Depth&) = delete;
  Depth& operator=(const Depth&) = delete;
};

}  // namespace smalti::lang
