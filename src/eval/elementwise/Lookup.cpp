// From an op's name and a dtype to its kernel.
#include <optional>

#include "eval/Elementwise.h"
#include "eval/elementwise/Double.h"
#include "eval/elementwise/Narrow.h"
#include "eval/elementwise/Tables.h"
#include "eval/elementwise/isa/Formats.h"

namespace smalti::eval {
namespace {

std::optional<IntLayout> intLayout(DType t) {
  switch (t) {
    case DType::pred:
      return IntLayout::pred;
    case DType::i2:
      return IntLayout::i2;
    case DType::u2:
      return IntLayout::u2;
    case DType::i4:
      return IntLayout::i4;
    case DType::u4:
      return IntLayout::u4;
    case DType::i8:
    case DType::u8:
      return IntLayout::w8;
    case DType::i16:
    case DType::u16:
      return IntLayout::w16;
    case DType::i32:
    case DType::u32:
      return IntLayout::w32;
    case DType::i64:
    case DType::u64:
    case DType::index:
      return IntLayout::w64;
    default:
      return std::nullopt;
  }
}

template <class Row>
int find(const Rows<Row>& rows, std::string_view name) {
  for (int i = 0; i < rows.count; ++i)
    if (rows.first[i].name == name) return i;
  return -1;
}

/// The position in the first table, or in the second, counted on from the first; -1.
template <class Row>
int find(const Rows<Row>& first, const Rows<Row>& second, std::string_view name) {
  const int i = find(first, name);
  if (i >= 0) return i;
  const int j = find(second, name);
  return j < 0 ? -1 : first.count + j;
}

template <class Row>
auto intKernel(Rows<Row> Tables::* family, std::string_view name, IntLayout layout)
    -> std::decay_t<decltype(Row{}.kernels[0])> {
  const int i = find(baselineTables().*family, name);
  if (i < 0) return nullptr;
  const auto best = (activeTables().*family).first[i].kernels[static_cast<size_t>(layout)];
  return best ? best : (baselineTables().*family).first[i].kernels[static_cast<size_t>(layout)];
}

}  // namespace

UnaryKernel findUnary(std::string_view name, DType t) {
  if (const auto layout = intLayout(t)) return intKernel(&Tables::intUnary, name, *layout);
  if (!is_float(t)) return nullptr;
  if (t == DType::f64) return doubleUnary(name);
  const Tables& tables = activeTables();
  if (const int op = find(tables.floatUnary, tables.mathUnary, name); op >= 0) {
    const UnaryRow& row = *floatUnaryRow(tables, op);
    if (t == DType::f32) return row.f32;
    return t == DType::bf16 && row.bf16 ? row.bf16 : narrowUnary(op, t);
  }
  const int op = find(tables.floatTest, name);
  if (op < 0) return nullptr;
  return t == DType::f32 ? tables.floatTest.first[op].f32 : narrowTest(op, t);
}

BinaryKernel findBinary(std::string_view name, DType t) {
  if (const auto layout = intLayout(t)) {
    const BinaryKernel kernel = intKernel(&Tables::intBinary, name, *layout);
    return kernel ? kernel : intKernel(&Tables::intCompare, name, *layout);
  }
  if (!is_float(t)) return nullptr;
  if (t == DType::f64) return doubleBinary(name);
  const Tables& tables = activeTables();
  if (const int op = find(tables.floatBinary, tables.mathBinary, name); op >= 0) {
    const BinaryRow& row = *floatBinaryRow(tables, op);
    if (t == DType::f32) return row.f32;
    return t == DType::bf16 && row.bf16 ? row.bf16 : narrowBinary(op, t);
  }
  const int op = find(tables.floatCompare, name);
  if (op < 0) return nullptr;
  const BinaryRow& row = tables.floatCompare.first[op];
  if (t == DType::f32) return row.f32;
  return t == DType::bf16 && row.bf16 ? row.bf16 : narrowCompare(op, t);
}

namespace {

/// Complex numbers of two f64.
void selectWide(const uint8_t* c, bool cSplat, const void* a, bool aSplat, const void* b, bool bSplat, void* out,
                int64_t n) {
  struct Word {
    uint64_t parts[2];
  };
  const auto* x = static_cast<const Word*>(a);
  const auto* y = static_cast<const Word*>(b);
  auto* z = static_cast<Word*>(out);
  for (int64_t i = 0; i < n; ++i) z[i] = c[cSplat ? 0 : i] ? x[aSplat ? 0 : i] : y[bSplat ? 0 : i];
}

}  // namespace

void select(const uint8_t* c, bool cSplat, const void* a, bool aSplat, const void* b, bool bSplat, void* out, int64_t n,
            int elementBytes) {
  if (n <= 0) return;
  if (elementBytes == 16) return selectWide(c, cSplat, a, aSplat, b, bSplat, out, n);
  const size_t kind = elementBytes == 1 ? 0 : elementBytes == 2 ? 1 : elementBytes == 4 ? 2 : 3;
  const SelectKernel kernel = activeTables().selects[kind];
  if (!cSplat) return kernel(c, a, aSplat, b, bSplat, out, n);
  constexpr int64_t kBlock = 1024;
  uint8_t spread[kBlock];
  for (uint8_t& x : spread) x = *c;
  const auto at = [&](const void* p, bool splat, int64_t i) {
    return static_cast<const char*>(p) + (splat ? 0 : i * elementBytes);
  };
  for (int64_t i = 0; i < n; i += kBlock)
    kernel(spread, at(a, aSplat, i), aSplat, at(b, bSplat, i), bSplat, static_cast<char*>(out) + i * elementBytes,
           n - i < kBlock ? n - i : kBlock);
}

void reciprocalApprox(const float* in, float* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = 1.0f / baseline::Bf16::load(baseline::Bf16::store(in[i]));
}

}  // namespace smalti::eval
