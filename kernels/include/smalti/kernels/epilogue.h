// A user's function that becomes part of a kernel.
#pragma once

#include <functional>
#include <string>
#include <type_traits>
#include <typeinfo>

#include "smalti/operand.h"

namespace smalti::kernels {

/// Any `Array(Array)`: what a kernel does with a block before it is stored. Function pointers and lambdas without
/// captures are recognised, so their kernels are traced once; others are traced at every call.
class Epilogue {
 public:
  Epilogue() = default;
  template <class F, class = std::enable_if_t<std::is_invocable_r_v<Array, const F&, const Array&>>>
  Epilogue(F f) : apply_(f) {
    if constexpr (std::is_pointer_v<F>)
      key_ = std::to_string(reinterpret_cast<uintptr_t>(f));
    else if constexpr (std::is_empty_v<F>)
      key_ = typeid(F).name();
    else
      key_.clear();
  }
  explicit operator bool() const { return static_cast<bool>(apply_); }
  Array operator()(const Array& block) const { return apply_ ? apply_(block) : block; }
  /// Identifies the function; empty: it has no identity.
  const std::string& key() const { return key_; }

 private:
  std::function<Array(const Array&)> apply_;
  std::string key_ = "none";
};

}  // namespace smalti::kernels
