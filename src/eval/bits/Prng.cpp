// Philox-4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
#include <algorithm>
#include <cstring>

#include "eval/Bits.h"

namespace smalti::eval {
namespace {

using Block = std::array<uint32_t, 4>;
using Key = std::array<uint32_t, 2>;

Block philox(Block x, Key key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53} * x[0], b = uint64_t{0xCD9E8D57} * x[2];
    x = {static_cast<uint32_t>(b >> 32) ^ x[1] ^ key[0], static_cast<uint32_t>(b),
         static_cast<uint32_t>(a >> 32) ^ x[3] ^ key[1], static_cast<uint32_t>(a)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return x;
}

}  // namespace

/// The first two words are the key. Every further pair is encrypted with the key so far, which gives the next key.
void Prng::seed(std::span<const int32_t> words) {
  auto word = [&](size_t i) { return i < words.size() ? static_cast<uint32_t>(words[i]) : 0u; };
  key_ = {word(0), word(1)};
  for (size_t i = 2; i < words.size(); i += 2) {
    const Block mixed = philox({word(i), word(i + 1), static_cast<uint32_t>(i), ~0u}, key_);
    key_ = {mixed[0], mixed[1]};
  }
  counter_ = 0;
}

void Prng::fill(uint32_t* out, int64_t n) {
  for (int64_t i = 0; i < n; i += 4) {
    const Block block = philox({static_cast<uint32_t>(counter_), static_cast<uint32_t>(counter_ >> 32), 0, 0}, key_);
    ++counter_;
    std::memcpy(out + i, block.data(), std::min<int64_t>(4, n - i) * sizeof(uint32_t));
  }
}

}  // namespace smalti::eval
