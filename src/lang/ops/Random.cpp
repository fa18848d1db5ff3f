// Threefry-2x32 with 20 rounds, and jax.random's numbers from its words (the partitionable form: element i of an array
// is a function of the key and i).
#include "smalti/ops/random.h"

#include <array>
#include <cmath>
#include <numbers>
#include <utility>

#include <fmt/format.h>

#include "lang/ops/Support.h"
#include "smalti/ops/create.h"
#include "smalti/ops/elementwise.h"
#include "smalti/ops/shape.h"

namespace smalti {

using lang::AtPlace;

namespace {

Array word(const Operand& x) { return lang::convertTo(x.array(), DType::u32); }
Array rotateLeft(const Array& x, int by) { return shift_left(x, by) | shift_right_logical(x, 32 - by); }

std::pair<Array, Array> threefry(const Key& key, Array x0, Array x1) {
  constexpr std::array<std::array<int, 4>, 2> kRotations{{{13, 15, 26, 6}, {17, 29, 16, 24}}};
  const Array k0 = word(key.k0), k1 = word(key.k1);
  const std::array<Array, 3> ks{k0, k1, k0 ^ k1 ^ 0x1BD11BDA};
  x0 = x0 + ks[0];
  x1 = x1 + ks[1];
  for (int round = 0; round < 5; ++round) {
    for (const int by : kRotations[round % 2]) {
      x0 = x0 + x1;
      x1 = rotateLeft(x1, by) ^ x0;
    }
    x0 = x0 + ks[(round + 1) % 3];
    x1 = x1 + (ks[(round + 2) % 3] + (round + 1));
  }
  return {x0, x1};
}

/// Row-major numbers of the elements.
Array counts(const Shape& shape) {
  Array n = zeros(shape, DType::u32);
  int64_t stride = 1;
  for (size_t d = shape.size(); d-- > 0; stride *= shape[d])
    if (shape[d] > 1) n = n + broadcasted_iota(DType::u32, shape, static_cast<int64_t>(d)) * stride;
  return n;
}

int mantissaBits(DType t) {
  switch (t) {
    case DType::f32:
      return 23;
    case DType::f16:
      return 10;
    case DType::bf16:
      return 7;
    default:
      lang::refuseDType("uniform", t, "f32, bf16 or f16");
  }
}

/// The number of the format next to -1, towards 0.
double nextToMinusOne(DType t) { return -1 + std::ldexp(1.0, -mantissaBits(t) - 1); }

}  // namespace

Key random_key(const Operand& seed) {
  AtPlace place(seed.at());
  if (!is_integer(seed.dtype())) lang::refuseDType("random_key", seed.dtype(), "an integer");
  return {full({}, 0, DType::u32), word(seed)};
}

std::vector<Key> split(const Key& key, int64_t count, Location at) {
  AtPlace place(at);
  std::vector<Key> keys;
  for (int64_t i = 0; i < count; ++i) {
    const auto [k0, k1] = threefry(key, full({}, 0, DType::u32), full({}, i, DType::u32));
    keys.emplace_back(k0, k1);
  }
  return keys;
}

Key fold_in(const Key& key, const Operand& data) {
  AtPlace place(data.at());
  const auto [k0, k1] = threefry(key, full({}, 0, DType::u32), word(data));
  return {k0, k1};
}

Array key_data(const Key& key, Location at) {
  AtPlace place(at);
  return stack({Operand(key.k0, at), Operand(key.k1, at)});
}

Array random_bits(const Key& key, Shape shape, DType dtype, Location at) {
  AtPlace place(at);
  if (dtype != DType::u32 && dtype != DType::u16 && dtype != DType::u8)
    lang::refuseDType("random_bits", dtype, "u32, u16 or u8");
  const auto [high, low] = threefry(key, zeros(shape, DType::u32), counts(shape));
  return lang::convertTo(high ^ low, dtype);
}

Array uniform(const Key& key, Shape shape, DType dtype, double low, double high, Location at) {
  AtPlace place(at);
  const int mantissa = mantissaBits(dtype), bits = mantissa < 8 ? 8 : bit_width(dtype);
  const DType drawn = bits == 8 ? DType::u8 : bits == 16 ? DType::u16 : DType::u32;
  const DType word = bit_width(dtype) == 16 ? DType::u16 : DType::u32;
  // Random mantissas of numbers in [1, 2).
  const Array fraction =
      shift_right_logical(lang::convertTo(random_bits(key, std::move(shape), drawn), word), bits - mantissa);
  const Array one = full({}, 1, dtype);
  const Array floats = bitcast_convert_type(fraction | bitcast_convert_type(one, word), dtype) - one;
  const Array lowest = full({}, low, dtype), range = full({}, high, dtype) - lowest;
  return maximum(lowest, floats * range + lowest);
}

Array normal(const Key& key, Shape shape, DType dtype, Location at) {
  AtPlace place(at);
  return full({}, std::numbers::sqrt2, dtype) *
         erf_inv(uniform(key, std::move(shape), dtype, nextToMinusOne(dtype), 1));
}

Array bernoulli(const Key& key, double p, Shape shape, Location at) {
  AtPlace place(at);
  return uniform(key, std::move(shape)) < p;
}

}  // namespace smalti
