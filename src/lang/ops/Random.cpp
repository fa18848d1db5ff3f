// Threefry-2x32 with 20 rounds, and jax.random's numbers from its words (the partitionable form: element i of an array
// is a function of the key and i).
#include "smalti/ops/random.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lang/ops/Support.h"
#include "lang/refs/Indexer.h"
#include "smalti/control.h"
#include "smalti/ops/create.h"
#include "smalti/ops/elementwise.h"
#include "smalti/ops/shape.h"

namespace smalti {

using lang::SourceLocationScope;

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

DType wordOf(int bits) { return bits == 8 ? DType::u8 : bits == 16 ? DType::u16 : DType::u32; }
int64_t largestOf(DType t) { return (int64_t{1} << (bit_width(t) - (is_unsigned_integer(t) ? 0 : 1))) - 1; }
int64_t smallestOf(DType t) { return is_unsigned_integer(t) ? 0 : -largestOf(t) - 1; }
/// A number as a dtype, in its low bits.
Array integer(int64_t n, DType t) { return lang::convertTo(array(std::vector<int64_t>{n}, {}), t); }

/// The range of random integers: `span` numbers from `from` on (`whole`: all numbers of the dtype), and the factor of
/// the upper of two words in the remainder by `span`, as jax.random computes it.
struct Range {
  Array from, span, multiplier;
  bool whole = false;
};

Range rangeOf(int64_t low, int64_t high, DType t) {
  const int64_t from = std::clamp(low, smallestOf(t), largestOf(t)), to = std::clamp(high, smallestOf(t), largestOf(t));
  const DType word = wordOf(bit_width(t));
  const int64_t all = int64_t{1} << bit_width(t);
  const int64_t span = to <= from ? 1 : (to - from + (high > largestOf(t))) % all;
  const int64_t half = span == 0 ? 0 : (int64_t{1} << (bit_width(t) / 2)) % span;
  return {integer(from, t), integer(span, word), integer(span == 0 ? 0 : half * half % all % span, word), span == 0};
}

/// Integers converted to a dtype, saturated.
Array clipped(const Operand& x, DType t) {
  const int64_t low = std::max(smallestOf(t), smallestOf(x.dtype()));
  const int64_t high = std::min(largestOf(t), largestOf(x.dtype()));
  return lang::convertTo(clip(x, integer(low, x.dtype()), integer(high, x.dtype())), t);
}

/// The same for bounds that are arrays, or known only when the kernel runs.
Range rangeOf(const Operand& low, const Operand& high, DType t) {
  const DType word = wordOf(bit_width(t));
  const Array from = clipped(low, t), to = clipped(high, t), one = integer(1, word);
  const Array beyond = high > integer(std::min(largestOf(t), largestOf(high.dtype())), high.dtype());
  Array span = where(to <= from, one, lang::convertTo(to - from, word));
  span = where(logical_and(beyond, to > from), span + one, span);
  const Array half = rem(integer(int64_t{1} << (bit_width(t) / 2), word), span);
  return {from, span, rem(half * half, span), false};
}

/// The number of the format next to -1, towards 0.
double nextToMinusOne(DType t) { return -1 + std::ldexp(1.0, -mantissaBits(t) - 1); }

}  // namespace

Key::Key(const Operand& k0, const Operand& k1) : k0(k0.array()), k1(k1.array()) {
  for (const Operand* k : {&k0, &k1}) {
    SourceLocationScope place(k->at());
    if (k->dtype() != DType::u32 && !(is_integer(k->dtype()) && k->array().weak_type()))
      lang::refuseDType("Key", k->dtype(), "u32, the words that key_data gives");
    if (k->rank() != 0)
      lang::refuse({.code = "SM6307",
                    .message = "a word of a Key is not a scalar",
                    .place = {},
                    .need = "two scalars",
                    .have = k->array().type().str(),
                    .help = "index key data: Key{keys[0], keys[1]}"});
  }
}

Key random_key(const Operand& seed) {
  SourceLocationScope place(seed.at());
  if (!is_integer(seed.dtype())) lang::refuseDType("random_key", seed.dtype(), "an integer");
  return {full({}, 0, DType::u32), word(seed)};
}

std::vector<Key> split(const Key& key, int64_t count, Location at) {
  SourceLocationScope place(at);
  if (count < 0)
    lang::refuse({.code = "SM6220",
                  .message = "'split' of a key into a negative number of keys",
                  .place = {},
                  .need = "a count of at least 0",
                  .have = fmt::format("{}", count),
                  .help = "check how the count is computed"});
  std::vector<Key> keys;
  for (int64_t i = 0; i < count; ++i) {
    const auto [k0, k1] = threefry(key, full({}, 0, DType::u32), full({}, i, DType::u32));
    keys.emplace_back(k0, k1);
  }
  return keys;
}

Key fold_in(const Key& key, const Operand& data) {
  SourceLocationScope place(data.at());
  if (!is_integer(data.dtype())) lang::refuseDType("fold_in", data.dtype(), "an integer scalar");
  if (data.rank() != 0)
    lang::refuse({.code = "SM6307",
                  .message = "'fold_in' takes one number",
                  .place = {},
                  .need = "a scalar",
                  .have = data.array().type().str(),
                  .help = "fold one element in after the other, or use split"});
  const auto [k0, k1] = threefry(key, full({}, 0, DType::u32), word(data));
  return {k0, k1};
}

Array key_data(const Key& key, Location at) {
  SourceLocationScope place(at);
  return stack({Operand(key.k0, at), Operand(key.k1, at)});
}

Array random_bits(const Key& key, Shape shape, DType dtype, Location at) {
  SourceLocationScope place(at);
  if (dtype != DType::u32 && dtype != DType::u16 && dtype != DType::u8)
    lang::refuseDType("random_bits", dtype, "u32, u16 or u8");
  const auto [high, low] = threefry(key, zeros(shape, DType::u32), counts(shape));
  return lang::convertTo(high ^ low, dtype);
}

Array uniform(const Key& key, Shape shape, DType dtype, double low, double high, Location at) {
  SourceLocationScope place(at);
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
  SourceLocationScope place(at);
  return full({}, std::numbers::sqrt2, dtype) *
         erf_inv(uniform(key, std::move(shape), dtype, nextToMinusOne(dtype), 1));
}

Array randint(const Key& key, Shape shape, const Operand& low, const Operand& high, DType dtype) {
  SourceLocationScope place(low.at());
  if (!is_integer(dtype) || bit_width(dtype) < 8 || bit_width(dtype) > 32)
    lang::refuseDType("randint", dtype, "8-, 16- or 32-bit integers");
  for (const Operand* o : {&low, &high})
    if (!is_integer(o->dtype()) || (bit_width(o->dtype()) > 32 && o->rank() > 0))
      lang::refuseDType("randint", o->dtype(), "bounds of at most 32 bits");
  if (bit_width(dtype) < 32) {  // drawn among 32 bits
    const auto bound = [&](const Operand& x, int64_t largest) {
      if (const auto known = lang::concreteInteger(x.array()))
        return Operand(integer(std::clamp(*known, smallestOf(dtype), largest), DType::i32), x.at());
      const Array smallest = integer(smallestOf(dtype), DType::i32);
      return Operand(clip(astype(x, DType::i32), smallest, integer(largest, DType::i32)), x.at());
    };
    const int64_t last = largestOf(dtype);
    return lang::convertTo(randint(key, std::move(shape), bound(low, last), bound(high, last + 1)), dtype);
  }
  const auto first = lang::concreteInteger(low.array()), last = lang::concreteInteger(high.array());
  const Range range = first && last ? rangeOf(*first, *last, dtype) : rangeOf(low, high, dtype);
  const std::vector<Key> keys = split(key);
  const DType word = wordOf(bit_width(dtype));
  const Array upper = random_bits(keys[0], shape, word), lower = random_bits(keys[1], shape, word);
  if (range.whole) return range.from + lang::convertTo(lower, dtype);
  // (upper * 2^bits + lower) % span: two words per number make the bias small.
  const Array wrapped = rem(upper, range.span) * range.multiplier + rem(lower, range.span);
  return range.from + lang::convertTo(rem(wrapped, range.span), dtype);
}

Array sample_block(const std::function<Array(const Key&, const Shape&)>& sampler, const Key& key, Shape block_size,
                   Shape tile_size, Shape total_size, std::vector<Operand> block_index, Location at) {
  SourceLocationScope place(at);
  const size_t rank = block_size.size();
  bool fits = rank > 0 && tile_size.size() == rank && total_size.size() == rank &&
              (block_index.empty() || block_index.size() == rank);
  for (size_t d = 0; fits && d < rank; ++d) fits = tile_size[d] > 0 && block_size[d] % tile_size[d] == 0;
  if (!fits)
    lang::refuse({.code = "SM6303",
                  .message = "the tiles of a sample_block do not make up its block",
                  .place = {},
                  .need = "as many axes everywhere, and tile sizes that divide the block's",
                  .have = fmt::format("block [{}], tile [{}], total [{}]", fmt::join(block_size, ", "),
                                      fmt::join(tile_size, ", "), fmt::join(total_size, ", ")),
                  .help = "choose a tile size that divides every block size that you will use, so that the numbers do "
                          "not depend on it"});
  if (block_index.empty())
    for (size_t d = 0; d < rank; ++d) block_index.emplace_back(program_id(static_cast<int>(d), at), at);
  // The tiles of the block from this axis on; `before`: the row-major number so far.
  const auto tiles = [&](const auto& self, size_t axis, const Array& before) -> Array {
    if (axis == rank) return sampler(fold_in(key, Operand(before, at)), tile_size);
    const int64_t count = block_size[axis] / tile_size[axis];
    const int64_t all = (total_size[axis] + tile_size[axis] - 1) / tile_size[axis];
    std::vector<Operand> parts;
    for (int64_t i = 0; i < count; ++i) {
      const Array number = add(multiply(block_index[axis], count), i);
      parts.emplace_back(self(self, axis + 1, add(multiply(Operand(before, at), all), Operand(number, at))), at);
    }
    return concatenate(parts, static_cast<int64_t>(axis));
  };
  return tiles(tiles, 0, full({}, 0, DType::i32));
}

Array bernoulli(const Key& key, double p, Shape shape, Location at) {
  SourceLocationScope place(at);
  return uniform(key, std::move(shape)) < p;
}

}  // namespace smalti
