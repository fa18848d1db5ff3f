#include <algorithm>
#include <cstring>

#include "eval/Bits.h"
#include "eval/bits/Widen.h"

namespace smalti::eval {
namespace {

/// Elements converted at a time; small enough for the stack, large enough to amortise the dispatch.
constexpr int64_t kChunk = 256;

template <class T>
void loadAs(const std::byte* from, int64_t n, uint64_t* words) {
  const T* in = reinterpret_cast<const T*>(from);
  for (int64_t i = 0; i < n; ++i) words[i] = in[i];
}
/// The bits of n elements of `bytes` bytes.
void loadWords(const std::byte* from, int bytes, int64_t n, uint64_t* words) {
  switch (bytes) {
    case 1:
      return loadAs<uint8_t>(from, n, words);
    case 2:
      return loadAs<uint16_t>(from, n, words);
    case 4:
      return loadAs<uint32_t>(from, n, words);
    default:
      return loadAs<uint64_t>(from, n, words);
  }
}

template <class T>
void storeAs(const uint64_t* words, int64_t n, std::byte* to) {
  T* out = reinterpret_cast<T*>(to);
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<T>(words[i]);
}
/// The low bits of the words as elements of `t`.
void storeWords(DType t, const uint64_t* words, int64_t n, std::byte* to) {
  if (bit_width(t) < 8) {
    for (int64_t i = 0; i < n; ++i) to[i] = std::byte(subByteStorage(t, static_cast<uint32_t>(words[i])));
    return;
  }
  switch (storage_bytes(t)) {
    case 1:
      return storeAs<uint8_t>(words, n, to);
    case 2:
      return storeAs<uint16_t>(words, n, to);
    case 4:
      return storeAs<uint32_t>(words, n, to);
    default:
      return storeAs<uint64_t>(words, n, to);
  }
}

/// The bits of elements [at, at + n) of a source, rounded or truncated to `target`, low in each word.
void sourceBits(const Input& in, DType target, int64_t at, int64_t n, uint64_t* words) {
  const int bytes = storage_bytes(in.dtype);
  const int64_t count = in.splat ? 1 : n;
  const std::byte* from = in.data + (in.splat ? 0 : at * bytes);
  if (is_float(in.dtype)) {
    float wide[kChunk];
    std::byte narrow[kChunk * sizeof(float)];
    floatsToF32(in.dtype, from, wide, count);
    floatsFromF32(target, wide, narrow, count);
    loadWords(narrow, storage_bytes(target), count, words);
  } else {
    loadWords(from, bytes, count, words);
  }
  if (in.splat) std::fill(words + 1, words + n, words[0]);
  const uint64_t mask = bit_width(target) == 64 ? ~uint64_t{0} : (uint64_t{1} << bit_width(target)) - 1;
  for (int64_t i = 0; i < n; ++i) words[i] &= mask;
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
    storeWords(out.dtype, words, n, out.data + at * storage_bytes(out.dtype));
  }
  return true;
}

bool unpackElementwise(Input in, DType source, int index, Output out) {
  const int width = bit_width(source), bytes = storage_bytes(in.dtype);
  if (index < 0 || (index + 1) * width > bit_width(in.dtype)) return false;
  if (is_float(source) != is_float(out.dtype) || source == DType::f64 || out.dtype == DType::f64) return false;
  if (!is_float(source) && (!is_integer(source) || !is_integer(out.dtype))) return false;
  const int64_t total = out.elements();
  const int left = 64 - (index + 1) * width, right = 64 - width;
  uint64_t words[kChunk];
  std::byte narrow[kChunk * sizeof(float)];
  float wide[kChunk];
  for (int64_t at = 0; at < total; at += kChunk) {
    const int64_t n = std::min(kChunk, total - at);
    std::byte* to = out.data + at * storage_bytes(out.dtype);
    loadWords(in.data + (in.splat ? 0 : at * bytes), bytes, in.splat ? 1 : n, words);
    if (in.splat) std::fill(words + 1, words + n, words[0]);
    if (is_signed_integer(source))
      for (int64_t i = 0; i < n; ++i) words[i] = static_cast<uint64_t>(static_cast<int64_t>(words[i] << left) >> right);
    else
      for (int64_t i = 0; i < n; ++i) words[i] = words[i] << left >> right;
    if (!is_float(source)) {
      storeWords(out.dtype, words, n, to);
    } else {
      storeWords(source, words, n, narrow);
      floatsToF32(source, narrow, wide, n);
      floatsFromF32(out.dtype, wide, to, n);
    }
  }
  return true;
}

}  // namespace smalti::eval
