// rng_bit_generator: the bits that XLA's CPU and GPU back ends draw (a TPU's DEFAULT is its hardware's own).
// Philox4x32-10 and Threefry2x32-20 of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (SC 2011), with
// XLA's counters.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "plain/PlainEvaluators.h"

namespace smalti::plain {
namespace {

using Word = uint32_t;

constexpr uint64_t joined(Word low, Word high) { return low | static_cast<uint64_t>(high) << 32; }
constexpr Word low(uint64_t v) { return static_cast<Word>(v); }
constexpr Word high(uint64_t v) { return static_cast<Word>(v >> 32); }

std::array<Word, 4> philox(std::array<Word, 4> c, uint64_t key) {
  constexpr int kRounds = 10;
  Word k0 = low(key), k1 = high(key);
  for (int round = 0; round < kRounds; ++round, k0 += 0x9E3779B9, k1 += 0xBB67AE85) {
    const uint64_t p0 = uint64_t{0xD2511F53} * c[0], p1 = uint64_t{0xCD9E8D57} * c[2];
    c = {high(p1) ^ c[1] ^ k0, low(p1), high(p0) ^ c[3] ^ k1, low(p0)};
  }
  return c;
}

std::array<Word, 2> threefry(uint64_t counter, uint64_t key) {
  constexpr std::array<std::array<int, 4>, 2> kRotations{{{13, 15, 26, 6}, {17, 29, 16, 24}}};
  const std::array<Word, 3> k{low(key), high(key), low(key) ^ high(key) ^ 0x1BD11BDA};
  Word x = low(counter) + k[0], y = high(counter) + k[1];
  for (Word group = 0; group < 5; ++group) {
    for (const int r : kRotations[group % 2]) {
      x += y;
      y = std::rotl(y, r) ^ x;
    }
    x += k[(group + 1) % 3];
    y += k[(group + 2) % 3] + group + 1;
  }
  return {x, y};
}

/// Element `at` of the result: its low bytes.
void put(Array& to, int64_t at, uint64_t bits) {
  const auto bytes = static_cast<size_t>(storage_bytes(to.dtype()));
  std::memcpy(to.data() + static_cast<size_t>(at) * bytes, &bits, bytes);
}

/// A counter of 128 bits, which blocks of four words in a row increment. A state of two elements lacks its upper half:
/// the key is in its place. Elements of 64 bits take two words.
void drawPhilox(std::span<const uint64_t> state, Array& bits, std::span<uint64_t> next) {
  const bool isWide = storage_bytes(bits.dtype()) == sizeof(uint64_t);
  const int64_t perBlock = isWide ? 2 : 4, n = bits.elements();
  uint64_t lower = state[1], upper = state.size() > 2 ? state[2] : state[0];
  for (int64_t at = 0; at < n; at += perBlock) {
    const auto words = philox({low(lower), high(lower), low(upper), high(upper)}, state[0]);
    for (int64_t i = 0; i < std::min(perBlock, n - at); ++i) {
      const auto w = static_cast<size_t>(i);
      put(bits, at + i, isWide ? joined(words[2 * w], words[2 * w + 1]) : words[w]);
    }
    if (++lower == 0) ++upper;
  }
  next[0] = state[0], next[1] = lower;
  if (state.size() > 2) next[2] = upper;
}

/// The dimension along which two neighbours take the two words of one block: the first even one, otherwise the largest.
size_t pairedDim(const Shape& shape) {
  const auto even = std::ranges::find_if(shape, [](int64_t d) { return d % 2 == 0; });
  return static_cast<size_t>((even != shape.end() ? even : std::ranges::max_element(shape)) - shape.begin());
}

void drawThreefry(std::span<const uint64_t> state, Array& bits, std::span<uint64_t> next) {
  const auto block = [&](int64_t i) { return threefry(state[1] + static_cast<uint64_t>(i), state[0]); };
  next[0] = state[0];
  if (storage_bytes(bits.dtype()) == sizeof(uint64_t)) {
    for (int64_t i = 0; i < bits.elements(); ++i) {
      const auto words = block(i);
      put(bits, i, joined(words[0], words[1]));
    }
    next[1] = state[1] + static_cast<uint64_t>(bits.elements());
    return;
  }
  const Shape shape = bits.shape().empty() ? Shape{1} : bits.shape();
  const size_t dim = pairedDim(shape);
  const int64_t length = shape[dim], half = (length + 1) / 2;
  int64_t inner = 1, outer = 1;
  for (size_t d = 0; d < shape.size(); ++d) (d < dim ? outer : inner) *= d == dim ? 1 : shape[d];
  for (int64_t o = 0, counter = 0; o < outer; ++o)
    for (int64_t h = 0; h < half; ++h)
      for (int64_t i = 0; i < inner; ++i, ++counter) {
        const auto words = block(counter);
        const int64_t first = (o * length + 2 * h) * inner + i;
        put(bits, first, words[0]);
        if (2 * h + 1 < length) put(bits, first + inner, words[1]);
      }
  next[1] = state[1] + static_cast<uint64_t>(outer * half * inner);
}

PlainResults rngBitGenerator(PlainCall& call) {
  auto state = Array::allocate(call.results[0]), bits = Array::allocate(call.results[1]);
  if (!state || !bits) return fail(std::move(state ? bits.error() : state.error()));
  const bool isThreefry = call.typed().text("rng_algorithm") == "THREE_FRY";
  const auto size = static_cast<size_t>(state->elements());
  (isThreefry ? drawThreefry : drawPhilox)({call.operands[0].as<uint64_t>(), size}, *bits,
                                           {state->as<uint64_t>(), size});
  return several(std::move(*state), std::move(*bits));
}

constexpr std::array kRandomEvaluators{EvaluatorRow{"rng_bit_generator", rngBitGenerator}};

}  // namespace

std::span<const EvaluatorRow> randomEvaluators() { return kRandomEvaluators; }

}  // namespace smalti::plain
