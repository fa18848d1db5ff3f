#include <cstring>

#include "eval/Bits.h"
#include "eval/FloatFormats.h"
#include "eval/bits/Widen.h"

namespace smalti::eval {
namespace {

/// Elements converted at a time; small enough for the stack, large enough to amortise the dispatch.
constexpr int64_t kChunk = 256;

/// The bits of elements [at, at + n) of a source, rounded or truncated to `target`, low in each word.
void sourceBits(const Input& in, DType target, int64_t at, int64_t n, uint64_t* words) {
  const int bytes = storage_bytes(in.dtype);
  const int64_t count = in.splat ? 1 : n;
  const std::byte* from = in.data + (in.splat ? 0 : at * bytes);
  const uint64_t mask = (uint64_t{1} << bit_width(target)) - 1;
  if (is_float(in.dtype)) {
    float wide[kChunk];
    std::byte narrow[kChunk * sizeof(float)];
    floatsToF32(in.dtype, from, wide, count);
    floatsFromF32(target, wide, narrow, count);
    for (int64_t i = 0; i < count; ++i) {
      words[i] = 0;
      std::memcpy(&words[i], narrow + i * storage_bytes(target), storage_bytes(target));
    }
  } else {
    for (int64_t i = 0; i < count; ++i) {
      words[i] = 0;
      std::memcpy(&words[i], from + i * bytes, bytes);
    }
  }
  for (int64_t i = 0; i < n; ++i) words[i] = words[in.splat ? 0 : i] & mask;
}

void storeWord(DType t, uint64_t word, std::byte* to) {
  if (bit_width(t) < 8)
    *to = std::byte(subByteStorage(t, static_cast<uint32_t>(word)));
  else
    std::memcpy(to, &word, storage_bytes(t));
}

}  // namespace

bool packElementwise(std::span<const Input> sources, DType target, Output out) {
  const int width = bit_width(target);
  if (sources.empty() || width * static_cast<int>(sources.size()) > bit_width(out.dtype)) return false;
  for (const Input& in : sources) {
    if (is_float(in.dtype) != is_float(target) || in.dtype == DType::f64) return false;
    if (is_float(in.dtype) ? target == DType::f64 : !is_integer(in.dtype)) return false;
  }
  const int64_t total = out.elements();
  uint64_t words[kChunk], part[kChunk];
  for (int64_t at = 0; at < total; at += kChunk) {
    const int64_t n = std::min(kChunk, total - at);
    std::memset(words, 0, sizeof(words));
    for (size_t s = 0; s < sources.size(); ++s) {
      sourceBits(sources[s], target, at, n, part);
      for (int64_t i = 0; i < n; ++i) words[i] |= part[i] << (s * width);
    }
    for (int64_t i = 0; i < n; ++i) storeWord(out.dtype, words[i], out.data + (at + i) * storage_bytes(out.dtype));
  }
  return true;
}

bool unpackElementwise(Input in, DType source, int index, Output out) {
  const int width = bit_width(source), bytes = storage_bytes(in.dtype);
  if (index < 0 || (index + 1) * width > bit_width(in.dtype)) return false;
  if (is_float(source) != is_float(out.dtype) || source == DType::f64 || out.dtype == DType::f64) return false;
  if (!is_float(source) && (!is_integer(source) || !is_integer(out.dtype))) return false;
  const int64_t total = out.elements();
  std::byte narrow[kChunk * sizeof(float)];
  float wide[kChunk];
  for (int64_t at = 0; at < total; at += kChunk) {
    const int64_t n = std::min(kChunk, total - at);
    for (int64_t i = 0; i < n; ++i) {
      uint64_t word = 0;
      std::memcpy(&word, in.data + (in.splat ? 0 : (at + i) * bytes), bytes);
      word = word >> (index * width) & ((uint64_t{1} << width) - 1);
      if (is_float(source)) {
        storeWord(source, word, narrow + i * storage_bytes(source));
        continue;
      }
      if (is_signed_integer(source))
        word = static_cast<uint64_t>(static_cast<int64_t>(word << (64 - width)) >> (64 - width));
      storeWord(out.dtype, word, out.data + (at + i) * storage_bytes(out.dtype));
    }
    if (!is_float(source)) continue;
    floatsToF32(source, narrow, wide, n);
    floatsFromF32(out.dtype, wide, out.data + at * storage_bytes(out.dtype), n);
  }
  return true;
}

}  // namespace smalti::eval
