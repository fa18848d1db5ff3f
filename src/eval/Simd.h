// Vectors for loops that are compiled once per instruction set. The including file defines SMALTI_ISA (a namespace) and
// SMALTI_VECTOR_BYTES, and everything here is private to it: no code for a better instruction set may be shared with
// the others by the linker. For the same reason nothing that defines functions is included.
#pragma once

#include <cstdint>
#include <utility>

namespace smalti::eval::SMALTI_ISA {
namespace {

constexpr int kLanes = SMALTI_VECTOR_BYTES / 4;

template <class T>
struct VectorOf {
  typedef T Type __attribute__((vector_size(SMALTI_VECTOR_BYTES)));
  typedef T Unaligned __attribute__((vector_size(SMALTI_VECTOR_BYTES), aligned(alignof(T)), may_alias));
};

template <class T>
using Vec = typename VectorOf<T>::Type;

template <class T>
inline Vec<T> load(const T* p) {
  return *reinterpret_cast<const typename VectorOf<T>::Unaligned*>(p);
}
template <class T>
inline void store(T* p, Vec<T> v) {
  *reinterpret_cast<typename VectorOf<T>::Unaligned*>(p) = v;
}

/// Calls f(std::integral_constant<int, i>) for every i: subscripts of arrays that must live in registers are constants.
template <class F, int... kI>
[[gnu::always_inline]] inline void unrolled(F f, std::integer_sequence<int, kI...>) {
  (f(std::integral_constant<int, kI>()), ...);
}

}  // namespace
}  // namespace smalti::eval::SMALTI_ISA
