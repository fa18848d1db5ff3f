// What the tests of element-wise ops share: elements by value, special numbers.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <ostream>
#include <random>
#include <vector>

#include "OnEveryIsa.h"
#include "eval/Elementwise.h"
#include "eval/FloatFormats.h"

namespace smalti::eval::test {

/// A one-dimensional array of any element type.
struct Elements {
  DType dtype;
  std::vector<std::byte> bytes;

  Elements(DType t, int64_t n) : dtype(t), bytes(static_cast<size_t>(n) * storage_bytes(t)) {}
  Elements(DType t, const std::vector<double>& values) : Elements(t, static_cast<int64_t>(values.size())) {
    for (size_t i = 0; i < values.size(); ++i) elementFromDouble(t, values[i], at(static_cast<int64_t>(i)));
  }
  Elements(DType t, std::initializer_list<double> values) : Elements(t, std::vector<double>(values)) {}
  int64_t size() const { return static_cast<int64_t>(bytes.size()) / storage_bytes(dtype); }
  std::byte* at(int64_t i) { return bytes.data() + i * storage_bytes(dtype); }
  const std::byte* at(int64_t i) const { return bytes.data() + i * storage_bytes(dtype); }
  double value(int64_t i) const { return elementAsDouble(dtype, at(i)); }
  /// The element's `bit_width` bits, zero-extended.
  uint64_t bits(int64_t i) const {
    uint64_t x = raw(i);
    const int width = bit_width(dtype);
    return width == 64 ? x : x & ((uint64_t{1} << width) - 1);
  }
  /// The element as it is stored.
  uint64_t raw(int64_t i) const {
    uint64_t x = 0;
    std::memcpy(&x, at(i), storage_bytes(dtype));
    return x;
  }
  /// Stores the low bits in the dtype's storage form.
  void setBits(int64_t i, uint64_t x) {
    const int width = bit_width(dtype);
    if (width < 64) x &= (uint64_t{1} << width) - 1;
    if (width < 8 && is_signed_integer(dtype) && (x >> (width - 1))) x |= ~uint64_t{0} << width;
    std::memcpy(at(i), &x, storage_bytes(dtype));
  }
};

inline Elements run(UnaryKernel kernel, const Elements& in, DType to) {
  Elements out(to, in.size());
  kernel(in.bytes.data(), out.bytes.data(), in.size());
  return out;
}

inline Elements run(BinaryKernel kernel, const Elements& a, const Elements& b, DType to, Splat splat = Splat::none) {
  const int64_t n = splat == Splat::lhs ? b.size() : a.size();
  Elements out(to, n);
  kernel(a.bytes.data(), b.bytes.data(), out.bytes.data(), n, splat);
  return out;
}

/// Zeros, infinities, NaN, denormals, whole and half numbers, limits of integers, and the neighbours of some.
inline std::vector<double> specialFloats() {
  std::vector<double> values;
  for (const double x : {0.0,
                         0.25,
                         0.5,
                         0.75,
                         1.0,
                         1.5,
                         2.0,
                         2.5,
                         3.0,
                         3.5,
                         7.0,
                         7.5,
                         8.0,
                         15.0,
                         15.5,
                         100.0,
                         127.0,
                         127.5,
                         128.0,
                         255.0,
                         256.0,
                         448.0,
                         464.0,
                         32767.5,
                         65504.0,
                         65535.0,
                         8388607.5,
                         16777216.0,
                         2147483520.0,
                         2147483648.0,
                         4294967296.0,
                         9.2e18,
                         1.9e19,
                         1e30,
                         3.4028234663852886e38,
                         1e-3,
                         1e-30,
                         1.1754943508222875e-38,
                         1e-40,
                         1.401298464324817e-45,
                         static_cast<double>(0.49999997f),
                         static_cast<double>(0.99999994f),
                         static_cast<double>(INFINITY),
                         static_cast<double>(NAN)}) {
    values.push_back(x);
    values.push_back(-x);
  }
  return values;
}

/// All pairs of special values, and random ones, as two arrays.
inline void floatOperands(DType t, std::vector<double>& a, std::vector<double>& b) {
  const std::vector<double> special = specialFloats();
  for (const double x : special)
    for (const double y : special) a.push_back(x), b.push_back(y);
  std::mt19937_64 random(static_cast<uint64_t>(t) + 1);
  std::normal_distribution<double> normal(0, 30);
  for (int i = 0; i < 3001; ++i) a.push_back(normal(random)), b.push_back(normal(random));
}

inline std::vector<DType> floatTypes() {
  return {DType::f32,      DType::bf16,          DType::f16,       DType::f8e5m2,
          DType::f8e4m3fn, DType::f8e4m3b11fnuz, DType::f8e8m0fnu, DType::f4e2m1fn};
}

inline std::vector<DType> integerTypes() {
  return {DType::i2, DType::i4, DType::i8, DType::i16, DType::i32, DType::i64, DType::index,
          DType::u2, DType::u4, DType::u8, DType::u16, DType::u32, DType::u64, DType::pred};
}

/// Equal as the project compares: NaN with NaN; +0 and -0 only with themselves.
inline bool same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

}  // namespace smalti::eval::test
