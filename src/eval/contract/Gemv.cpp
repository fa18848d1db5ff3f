#include "eval/contract/Gemv.h"

#include <algorithm>

#include "eval/Scratch.h"

namespace smalti::eval {
namespace {

constexpr int64_t kColumns = 2048;  // of c at a time: stays in L1
constexpr int64_t kRows = 8;        // of the matrix at a time

/// n words from `at`, in place or read into `scratch`.
const float* words(const GemmOperand& from, int64_t at, int64_t stride, int64_t n, Word* scratch) {
  const Word* direct = from.reader->direct(from.part);
  if (direct && stride == 1) return reinterpret_cast<const float*>(direct + at);
  from.reader->read(at, stride, n, from.part, scratch);
  return reinterpret_cast<const float*>(scratch);
}

}  // namespace

bool multiplyVector(const GemmOperand& matrix, const GemmOperand& vector, int64_t n, int64_t k, float* c,
                    bool accumulate) {
  if (matrix.inner != 1 && matrix.outer != 1) return false;
  static thread_local constinit ThreadScratch vectorScratch, rowScratch;
  const ContractKernels& kernels = contractKernels();
  const float* x = words(vector, vector.offset, vector.inner, k, vectorScratch.get<Word>(k));
  if (matrix.inner == 1) {
    Word* row = rowScratch.get<Word>(k);
    for (int64_t i = 0; i < n; ++i) {
      const float sum = kernels.dot(words(matrix, matrix.offset + i * matrix.outer, 1, k, row), x, k);
      c[i] = accumulate ? c[i] + sum : sum;
    }
    return true;
  }
  if (!accumulate) std::fill_n(c, n, 0.0f);
  Word* rows = rowScratch.get<Word>(kRows * kColumns);
  const Word* direct = matrix.reader->direct(matrix.part);
  for (int64_t j = 0; j < n; j += kColumns) {
    const int64_t width = std::min(kColumns, n - j);
    for (int64_t p = 0; p < k; p += kRows) {
      const int64_t count = std::min(kRows, k - p), at = matrix.offset + j + p * matrix.inner;
      if (direct) {
        kernels.addRows(reinterpret_cast<const float*>(direct + at), matrix.inner, x + p, count, width, c + j);
        continue;
      }
      for (int64_t r = 0; r < count; ++r)
        matrix.reader->read(at + r * matrix.inner, 1, width, matrix.part, rows + r * kColumns);
      kernels.addRows(reinterpret_cast<const float*>(rows), kColumns, x + p, count, width, c + j);
    }
  }
  return true;
}

}  // namespace smalti::eval
