// Tables of kernels: one per instruction set, one row per op. Every family's source file ends with its rows.
#pragma once

#include <array>
#include <string_view>

#include "eval/Elementwise.h"
#include "eval/Isa.h"

namespace smalti::eval {

/// A float op. Without a bf16 kernel, bf16 goes the way of the other narrow floats: blocks of f32.
struct UnaryRow {
  std::string_view name;
  UnaryKernel f32 = nullptr;
  UnaryKernel bf16 = nullptr;
};
struct BinaryRow {
  std::string_view name;
  BinaryKernel f32 = nullptr;
  BinaryKernel bf16 = nullptr;
};

/// Integers as they are stored; signedness of 8 bits and more is the op's affair.
enum class IntLayout : uint8_t { pred, i2, u2, i4, u4, w8, w16, w32, w64 };
inline constexpr int kNumIntLayouts = 9;
/// Tables of avx2 and avx512 have w8, w16, w32, and w64 of binary ops; null elsewhere.
struct IntUnaryRow {
  std::string_view name;
  UnaryKernel kernels[kNumIntLayouts];
};
struct IntBinaryRow {
  std::string_view name;
  BinaryKernel kernels[kNumIntLayouts];
};

inline constexpr int kNumCodecs = 7;  ///< floats narrower than f32

/// Narrow float ↔ f32, n elements.
struct CodecRow {
  DType dtype;
  void (*load)(const void* from, float* to, int64_t n);
  void (*store)(const float* from, void* to, int64_t n);
};

/// A conversion that has a loop of its own.
struct ConvertRow {
  DType from, to;
  UnaryKernel kernel;
};

using SelectKernel = void (*)(const uint8_t* c, const void* a, bool aSplat, const void* b, bool bSplat, void* out,
                              int64_t n);

/// A view of a table; not std::span, whose code must not be shared between instruction sets (isa/Isa.h).
template <class Row>
struct Rows {
  const Row* first = nullptr;
  int count = 0;
  const Row* begin() const { return first; }
  const Row* end() const { return first + count; }
};
#define SMALTI_ROWS(table) {table, static_cast<int>(sizeof(table) / sizeof(table[0]))}

struct Tables {
  Rows<UnaryRow> floatUnary;  ///< exact ops: sign, rounding, square root
  Rows<UnaryRow> mathUnary;   ///< transcendental functions
  Rows<UnaryRow> floatTest;   ///< to pred
  Rows<BinaryRow> floatBinary;
  Rows<BinaryRow> mathBinary;
  Rows<BinaryRow> floatCompare;  ///< to pred
  Rows<IntUnaryRow> intUnary;
  Rows<IntBinaryRow> intBinary;
  Rows<IntBinaryRow> intCompare;  ///< to pred
  Rows<CodecRow> codecs;
  Rows<ConvertRow> converts;
  std::array<SelectKernel, 4> selects;  ///< by log2 of the element's bytes
};

namespace baseline {
Tables tables();
}
namespace avx2 {
Tables tables();
}
namespace avx512 {
Tables tables();
}

/// Of the instruction set in use (eval/Isa.h).
const Tables& activeTables();
const Tables& baselineTables();

}  // namespace smalti::eval
