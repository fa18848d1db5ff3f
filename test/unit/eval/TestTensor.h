// Tensors for tests: owned elements, random contents, and index arithmetic written the slow and obvious way.
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <random>
#include <vector>

#include "eval/Tensor.h"
#include "eval/bits/Widen.h"

namespace smalti::eval::test {

using Index = std::vector<int64_t>;

struct TestTensor {
  DType dtype = DType::i32;
  Shape shape;
  std::vector<std::byte> bytes;
  bool splat = false;

  TestTensor() = default;
  TestTensor(DType t, Shape s, bool isSplat = false) : dtype(t), shape(std::move(s)), splat(isSplat) {
    bytes.resize((splat ? 1 : num_elements(shape)) * storage_bytes(t) + 64, std::byte{0xa5});  // slack: a guard zone
  }
  Input in() const { return {bytes.data(), dtype, shape, splat}; }
  Output out() { return {bytes.data(), dtype, shape}; }
  int64_t elements() const { return num_elements(shape); }
  int64_t stored() const { return splat ? 1 : elements(); }
  template <class T>
  T* as() {
    return reinterpret_cast<T*>(bytes.data());
  }
  template <class T>
  const T* as() const {
    return reinterpret_cast<const T*>(bytes.data());
  }

  int64_t linear(const Index& i) const {
    int64_t at = 0;
    for (size_t d = 0; d < shape.size(); ++d) at = at * shape[d] + i[d];
    return at;
  }
  /// The bits of an element, zero-extended.
  uint64_t bitsAt(int64_t i) const {
    uint64_t x = 0;
    std::memcpy(&x, bytes.data() + (splat ? 0 : i) * storage_bytes(dtype), storage_bytes(dtype));
    return x;
  }
  void setBits(int64_t i, uint64_t x) {
    std::memcpy(bytes.data() + i * storage_bytes(dtype), &x, storage_bytes(dtype));
  }
  bool guardIntact() const {
    for (size_t i = bytes.size() - 64; i < bytes.size(); ++i)
      if (bytes[i] != std::byte{0xa5}) return false;
    return true;
  }
};

/// Calls f for every multi-index of `shape`, in row-major order.
inline void forEachIndex(const Shape& shape, const std::function<void(const Index&)>& f) {
  Index i(shape.size(), 0);
  if (num_elements(shape) == 0) return;
  while (true) {
    f(i);
    int d = static_cast<int>(shape.size()) - 1;
    while (d >= 0 && ++i[d] == shape[d]) i[d--] = 0;
    if (d < 0) return;
  }
}

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  int64_t in(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(engine_); }
  bool coin() { return in(0, 1) == 1; }
  uint64_t bits() { return engine_(); }
  float normal() { return std::normal_distribution<float>()(engine_); }
  Shape shape(int rank, int64_t largest) {
    Shape s;
    for (int d = 0; d < rank; ++d) s.push_back(in(0, 19) == 0 ? 0 : in(1, largest));
    return s;
  }
  /// 0 … n-1 in random order.
  Index permutation(int n) {
    Index p(n);
    for (int i = 0; i < n; ++i) p[i] = i;
    std::shuffle(p.begin(), p.end(), engine_);
    return p;
  }
  /// Random valid elements of any dtype (integers over their whole range; floats any bit pattern).
  TestTensor tensor(DType t, Shape s, bool splat = false) {
    TestTensor r(t, std::move(s), splat);
    const int bits = bit_width(t);
    for (int64_t i = 0; i < r.stored(); ++i) {
      uint64_t x = this->bits();
      if (bits < 64) x &= (uint64_t{1} << bits) - 1;
      if (bits < 8 && is_signed_integer(t) && (x >> (bits - 1))) x |= uint64_t{0xff} << bits;
      r.setBits(i, x);
    }
    return r;
  }

 private:
  std::mt19937_64 engine_;
};

/// An element as a number; integers are read as their dtype says, or as unsigned.
inline double valueAt(const TestTensor& t, int64_t i, bool asUnsigned = false) {
  const std::byte* p = t.bytes.data() + (t.splat ? 0 : i) * storage_bytes(t.dtype);
  if (is_float(t.dtype)) {
    if (t.dtype == DType::f64) return *reinterpret_cast<const double*>(p);
    float f;
    floatsToF32(t.dtype, p, &f, 1);
    return f;
  }
  if (t.dtype == DType::u32) return static_cast<double>(t.bitsAt(i));
  int32_t x;
  integersToI32(t.dtype, asUnsigned || is_unsigned_integer(t.dtype), p, &x, 1);
  return x;
}

/// Standard normal numbers.
inline TestTensor floats(Random& r, DType t, Shape shape, bool splat = false) {
  TestTensor out(t, std::move(shape), splat);
  for (int64_t i = 0; i < out.stored(); ++i) {
    const float x = r.normal();
    if (t == DType::f64)
      out.as<double>()[i] = x;
    else
      floatsFromF32(t, &x, out.bytes.data() + i * storage_bytes(t), 1);
  }
  return out;
}

}  // namespace smalti::eval::test
