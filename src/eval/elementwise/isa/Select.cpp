// arith.select for words of 1, 2, 4 and 8 bytes, and the table of this instruction set.
#include "eval/elementwise/isa/Families.h"
#include "eval/elementwise/isa/Loops.h"

namespace smalti::eval::SMALTI_ISA {
namespace {

template <class Word>
void select(const uint8_t* c, const void* a, bool aSplat, const void* b, bool bSplat, void* out, int64_t n) {
  if (n <= 0) return;
  const Word* x = static_cast<const Word*>(a);
  const Word* y = static_cast<const Word*>(b);
  Word* z = static_cast<Word*>(out);
  const Word left = x[0], right = y[0];
  if (aSplat && bSplat) {
    SMALTI_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) z[i] = c[i] ? left : right;
  } else if (aSplat) {
    SMALTI_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) z[i] = c[i] ? left : y[i];
  } else if (bSplat) {
    SMALTI_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) z[i] = c[i] ? x[i] : right;
  } else {
    SMALTI_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) {
      const Word left = x[i], right = y[i];
      z[i] = c[i] ? left : right;
    }
  }
}

}  // namespace

std::array<SelectKernel, 4> selectKernels() {
  return {{select<uint8_t>, select<uint16_t>, select<uint32_t>, select<uint64_t>}};
}

Tables tables() {
  return {floatUnaryRows(), mathUnaryRows(), floatTestRows(),  floatBinaryRows(), mathBinaryRows(), floatCompareRows(),
          intUnaryRows(),   intBinaryRows(), intCompareRows(), codecRows(),       convertRows(),    selectKernels()};
}

}  // namespace smalti::eval::SMALTI_ISA
