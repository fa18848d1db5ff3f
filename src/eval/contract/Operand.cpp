#include "eval/contract/Operand.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "eval/FloatFormats.h"
#include "eval/Shape.h"
#include "eval/bits/Widen.h"

namespace smalti::eval {
namespace {

float roundToBf16(float x) { return bf16ToF32(f32ToBf16(x)); }

float partOf(float x, Part part) {
  const float high = roundToBf16(x);
  if (part == Part::high) return high;
  if (!std::isfinite(high)) return 0;
  if (part == Part::highFinite) return high;
  const float middle = roundToBf16(x - high);
  return part == Part::middle ? middle : roundToBf16(x - high - middle);
}

template <class T>
void gather(const std::byte* from, int64_t stride, int64_t n, std::byte* to) {
  const T* in = reinterpret_cast<const T*>(from);
  T* out = reinterpret_cast<T*>(to);
  for (int64_t i = 0; i < n; ++i) out[i] = in[i * stride];
}

}  // namespace

OperandReader::OperandReader(const Input& in, Arithmetic arithmetic, bool isUnsigned)
    : data_(in.data), dtype_(in.dtype), arithmetic_(arithmetic), splat_(in.splat) {
  if (arithmetic == Arithmetic::i32)
    convertInteger_ = findConvert(isUnsigned ? "arith.extui" : "arith.extsi", in.dtype, DType::i32);
  if (arithmetic == Arithmetic::i32ThroughF32 || (arithmetic == Arithmetic::f32 && is_integer(in.dtype)))
    convertInteger_ = findConvert(isUnsigned ? "arith.uitofp" : "arith.sitofp", in.dtype, DType::f32);
}

void OperandReader::convert(const std::byte* from, Word* to, int64_t n) const {
  if (convertInteger_)
    convertInteger_(from, to, n);
  else
    floatsToF32(dtype_, from, reinterpret_cast<float*>(to), n);
}

const Word* OperandReader::direct(Part part) const {
  if (splat_) return nullptr;
  const bool same = arithmetic_ == Arithmetic::f32   ? dtype_ == DType::f32 && part == Part::whole
                    : arithmetic_ == Arithmetic::i32 ? bit_width(dtype_) == 32
                                                     : false;
  return same ? reinterpret_cast<const Word*>(data_) : nullptr;
}

void OperandReader::read(int64_t at, int64_t stride, int64_t n, Part part, Word* to) const {
  constexpr int64_t kChunk = 256;
  const int bytes = storage_bytes(dtype_);
  if (splat_) {
    Word word;
    convert(data_, &word, 1);
    fill(to, &word, n, sizeof(Word));
  } else if (stride == 1) {
    convert(data_ + at * bytes, to, n);
  } else {
    std::byte chunk[kChunk * 4];
    for (int64_t i = 0; i < n; i += kChunk) {
      const int64_t count = std::min(kChunk, n - i);
      const std::byte* from = data_ + (at + i * stride) * bytes;
      if (bytes == 1)
        gather<uint8_t>(from, stride, count, chunk);
      else if (bytes == 2)
        gather<uint16_t>(from, stride, count, chunk);
      else
        gather<uint32_t>(from, stride, count, chunk);
      convert(chunk, to + i, count);
    }
  }
  if (part == Part::whole || arithmetic_ != Arithmetic::f32) return;
  float* floats = reinterpret_cast<float*>(to);
  if (dtype_ == DType::f32)
    for (int64_t i = 0; i < n; ++i) floats[i] = partOf(floats[i], part);
  else if (part == Part::highFinite)
    for (int64_t i = 0; i < n; ++i) floats[i] = std::isfinite(floats[i]) ? floats[i] : 0;
}

}  // namespace smalti::eval
