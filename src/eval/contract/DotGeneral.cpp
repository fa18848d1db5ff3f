#include <algorithm>

#include "eval/Contract.h"
#include "eval/bits/Widen.h"
#include "eval/contract/Gemm.h"
#include "eval/contract/MatrixForm.h"

namespace smalti::eval {
namespace {

struct Pass {
  Part lhs, rhs;
};

/// The products of parts that make up a product, smallest first.
std::span<const Pass> passesOf(DotNumerics numerics) {
  using enum Part;
  static constexpr Pass kFull[] = {{whole, whole}};
  static constexpr Pass kOne[] = {{high, high}};
  static constexpr Pass kThree[] = {{middle, highFinite}, {highFinite, middle}, {high, high}};
  static constexpr Pass kSix[] = {{low, highFinite},    {highFinite, low},    {middle, middle},
                                  {middle, highFinite}, {highFinite, middle}, {high, high}};
  switch (numerics) {
    case DotNumerics::bf16x1:
      return kOne;
    case DotNumerics::bf16x3:
      return kThree;
    case DotNumerics::bf16x6:
      return kSix;
    default:
      return kFull;
  }
}

/// Only f32 operands are split; narrower ones are their own high part. False: the part is 0.
bool adaptPart(DType t, Part& part) {
  if (t == DType::f32) return true;
  if (part == Part::middle || part == Part::low) return false;
  if (part == Part::high) part = Part::whole;
  return true;
}

void multiplyBatches(Arithmetic arithmetic, const MatrixForm& lhs, const MatrixForm& rhs, bool lhsUnsigned,
                     bool rhsUnsigned, DotNumerics numerics, Word* c) {
  const OperandReader a(lhs.in, arithmetic, lhsUnsigned), b(rhs.in, arithmetic, rhsUnsigned);
  const GemmShape shape{lhs.rows, rhs.rows, lhs.depth};
  Odometer<2> batch(lhs.batchShape, {Dims(lhs.batchStrides), Dims(rhs.batchStrides)});
  do {
    bool accumulate = false;
    for (Pass pass : passesOf(numerics)) {
      if (!adaptPart(lhs.in.dtype, pass.lhs) || !adaptPart(rhs.in.dtype, pass.rhs)) continue;
      gemm(arithmetic, {&a, batch.offset(0), lhs.rowStride, lhs.depthStride, pass.lhs},
           {&b, batch.offset(1), rhs.rowStride, rhs.depthStride, pass.rhs}, shape, c, accumulate);
      accumulate = true;
    }
    c += shape.m * shape.n;
  } while (batch.next());
}

constexpr int64_t kChunk = 1024;

bool isZeroSplat(const Input& in) {
  return in.splat &&
         std::all_of(in.data, in.data + storage_bytes(in.dtype), [](std::byte b) { return b == std::byte(); });
}

/// out = c + acc, rounded once. `c` may be out's own memory when that holds words.
template <class T, class Read, class Write>
void finish(const T* c, const Input& acc, const Output& out, Read readAcc, Write write) {
  const int64_t n = out.elements();
  T sum[kChunk], addend[kChunk];
  const bool isZero = isZeroSplat(acc);
  if (isZero && static_cast<const void*>(c) == out.data) return;
  for (int64_t at = 0; at < n; at += kChunk) {
    const int64_t count = std::min(kChunk, n - at);
    if (!isZero) {
      const int64_t distinct = acc.splat ? 1 : count;
      readAcc(acc.data + (acc.splat ? 0 : at * storage_bytes(acc.dtype)), addend, distinct);
      if (acc.splat) std::fill(addend + 1, addend + count, addend[0]);
      for (int64_t i = 0; i < count; ++i) sum[i] = c[at + i] + addend[i];
    }
    write(isZero ? c + at : sum, out.data + at * storage_bytes(out.dtype), count);
  }
}

bool isNarrowFloat(DType t) { return is_float(t) && t != DType::f64; }
bool isNarrowInteger(DType t) { return is_integer(t) && bit_width(t) <= 32; }

/// Types of 64 bits: rare (they do not occur on a TPU), computed element by element.
template <class T>
void multiplyWide(const MatrixForm& lhs, const MatrixForm& rhs, const Input& acc, std::byte* result) {
  const T *a = reinterpret_cast<const T*>(lhs.in.data), *b = reinterpret_cast<const T*>(rhs.in.data);
  const T* c = reinterpret_cast<const T*>(acc.data);
  T* out = reinterpret_cast<T*>(result);
  int64_t at = 0;
  Odometer<2> batch(lhs.batchShape, {Dims(lhs.batchStrides), Dims(rhs.batchStrides)});
  do
    for (int64_t i = 0; i < lhs.rows; ++i)
      for (int64_t j = 0; j < rhs.rows; ++j, ++at) {
        T sum = 0;
        for (int64_t p = 0; p < lhs.depth; ++p)
          sum += a[batch.offset(0) + i * lhs.rowStride + p * lhs.depthStride] *
                 b[batch.offset(1) + j * rhs.rowStride + p * rhs.depthStride];
        out[at] = sum + c[acc.splat ? 0 : at];
      }
  while (batch.next());
}

}  // namespace

bool dotGeneral(Input lhs, Input rhs, const DotDims& dims, Input acc, Output out, DotNumerics numerics,
                bool lhsUnsigned, bool rhsUnsigned) {
  const DType types[] = {lhs.dtype, rhs.dtype, acc.dtype, out.dtype};
  const bool operandsFit =
      std::ranges::all_of(std::span(types).first(2), [](DType t) { return isNarrowFloat(t) || isNarrowInteger(t); });
  const bool isFloat = operandsFit && isNarrowFloat(acc.dtype) && isNarrowFloat(out.dtype);
  const bool isInteger = std::ranges::all_of(types, isNarrowInteger);
  const bool isF64 = std::ranges::all_of(types, [](DType t) { return t == DType::f64; });
  const bool isI64 = std::ranges::all_of(types, [](DType t) { return is_integer(t) && bit_width(t) == 64; });
  if (!isFloat && !isInteger && !isF64 && !isI64) return false;
  if (out.elements() == 0) return true;

  static thread_local constinit ThreadScratch lhsCopy, rhsCopy, result;
  const MatrixForm a = matrixForm(lhs, dims.lhsBatch, dims.lhsFree, dims.lhsContracting, lhsCopy);
  MatrixForm b = matrixForm(rhs, dims.rhsBatch, dims.rhsFree, dims.rhsContracting, rhsCopy);
  if (dims.columns >= 0) {
    b.in.data += dims.firstColumn * b.rowStride * storage_bytes(b.in.dtype);
    b.rows = dims.columns;
  }
  if (isF64 || isI64) {
    // Integers wrap around, whatever their sign.
    isF64 ? multiplyWide<double>(a, b, acc, out.data) : multiplyWide<uint64_t>(a, b, acc, out.data);
    return true;
  }
  const bool isSmallInteger = isInteger && bit_width(lhs.dtype) <= 8 && bit_width(rhs.dtype) <= 8;
  const Arithmetic arithmetic = isFloat          ? Arithmetic::f32
                                : isSmallInteger ? Arithmetic::i32ThroughF32
                                                 : Arithmetic::i32;
  Word* c = bit_width(out.dtype) == 32 ? reinterpret_cast<Word*>(out.data) : result.get<Word>(out.elements());
  multiplyBatches(arithmetic, a, b, lhsUnsigned || is_unsigned_integer(lhs.dtype),
                  rhsUnsigned || is_unsigned_integer(rhs.dtype), isFloat ? numerics : DotNumerics::full, c);
  if (isFloat) {
    finish(
        reinterpret_cast<const float*>(c), acc, out,
        [&](const std::byte* from, float* to, int64_t n) { floatsToF32(acc.dtype, from, to, n); },
        [&](const float* from, std::byte* to, int64_t n) { floatsFromF32(out.dtype, from, to, n); });
  } else {
    finish(
        c, acc, out,
        [&](const std::byte* from, Word* to, int64_t n) {
          integersToI32(acc.dtype, is_unsigned_integer(acc.dtype), from, reinterpret_cast<int32_t*>(to), n);
        },
        [&](const Word* from, std::byte* to, int64_t n) {
          integersFromI32(out.dtype, reinterpret_cast<const int32_t*>(from), to, n);
        });
  }
  return true;
}

}  // namespace smalti::eval
