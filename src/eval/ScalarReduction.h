// Reductions of one element at a time, inlined into the caller's loop: where the next element depends on the last one
// (scans) or lies anywhere (scatters), a call of a vectorised loop for each would take most of the time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>

#include "eval/Reduce.h"

namespace smalti::eval {

/// Calls f(T(), combine) with the elements' type and combine(T, T), bit by bit as multiReduce combines two of them.
/// False: the kind and dtype are not among those below.
template <class F>
bool withScalarReduction(ReduceKind kind, DType dtype, const F& f) {
  using enum ReduceKind;
  const auto ofFloats = [&]<class T>(T type) {
    if (kind == add) return f(type, std::plus<T>()), true;
    if (kind == mul) return f(type, std::multiplies<T>()), true;
    return false;
  };
  const auto ofIntegers = [&]<class Signed, class Unsigned>(Signed, Unsigned type) {
    const auto extreme = [&](auto pick) { return f(type, pick), true; };
    switch (kind) {
      case add:
        return f(type, std::plus<Unsigned>()), true;
      case mul:
        return f(type, std::multiplies<Unsigned>()), true;
      case andi:
        return f(type, std::bit_and<Unsigned>()), true;
      case ori:
        return f(type, std::bit_or<Unsigned>()), true;
      case xori:
        return f(type, std::bit_xor<Unsigned>()), true;
      case maxui:
        return extreme([](Unsigned a, Unsigned b) { return std::max(a, b); });
      case minui:
        return extreme([](Unsigned a, Unsigned b) { return std::min(a, b); });
      case maxsi:
        return extreme([](Unsigned a, Unsigned b) {
          return static_cast<Unsigned>(std::max(static_cast<Signed>(a), static_cast<Signed>(b)));
        });
      case minsi:
        return extreme([](Unsigned a, Unsigned b) {
          return static_cast<Unsigned>(std::min(static_cast<Signed>(a), static_cast<Signed>(b)));
        });
      default:
        return false;
    }
  };
  switch (dtype) {
    case DType::f32:
      return ofFloats(float());
    case DType::f64:
      return ofFloats(double());
    case DType::i32:
    case DType::u32:
      return ofIntegers(int32_t(), uint32_t());
    case DType::i64:
    case DType::u64:
      return ofIntegers(int64_t(), uint64_t());
    default:
      return false;
  }
}

}  // namespace smalti::eval
