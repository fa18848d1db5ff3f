// Vectors of floats of a given size. Specialisations, since GCC ignores vector_size of a template's parameter.
#pragma once

namespace smalti::bench {

template <int Bytes>
struct VectorOf;
template <>
struct VectorOf<16> {
  typedef float Type __attribute__((vector_size(16), may_alias));
};
template <>
struct VectorOf<32> {
  typedef float Type __attribute__((vector_size(32), may_alias));
};
template <>
struct VectorOf<64> {
  typedef float Type __attribute__((vector_size(64), may_alias));
};

}  // namespace smalti::bench
