// Source of the loops in Kernels.h, compiled once per instruction set (see Simd.h); the including file also defines
// SMALTI_KERNEL_ROWS, the rows of the largest microkernel.
#include "eval/Simd.h"
#include "eval/contract/Kernels.h"

namespace smalti::eval::SMALTI_ISA {
namespace {

/// Rows of A. Row-major: one pointer for three rows, so that 14 rows need five registers and one stride.
template <class T, int kRows, bool kRowMajor>
struct RowsOfA {
  static constexpr int kPointers = kRowMajor ? (kRows + 2) / 3 : 1;
  const T* at[kPointers];
  int64_t stride;

  RowsOfA(const T* a, int64_t aStride) : stride(aStride) {
    for (int i = 0; i < kPointers; ++i) at[i] = a + (kRowMajor ? 3 * i * aStride : 0);
  }
  template <int kRow>
  T element(int64_t p) const {
    if constexpr (kRowMajor)
      return at[kRow / 3][(kRow % 3) * stride + p];
    else
      return at[0][p * stride + kRow];
  }
  void advance(int64_t n) {
    for (const T*& p : at) p += kRowMajor ? n : n * stride;
  }
};

template <class T, int kRows, int kVectors, bool kRowMajor>
void microKernel(int64_t k, const void* aWords, int64_t aStride, const void* bWords, int64_t bStride, void* cWords,
                 int64_t cStride, bool accumulate) {
  constexpr std::make_integer_sequence<int, kRows> rows;
  constexpr std::make_integer_sequence<int, kVectors> vectors;
  constexpr std::make_integer_sequence<int, kRows * kVectors> tile;
  const T* b = static_cast<const T*>(bWords);
  T* c = static_cast<T*>(cWords);
  RowsOfA<T, kRows, kRowMajor> a(static_cast<const T*>(aWords), aStride);
  Vec<T> sums[kRows * kVectors];
  unrolled([&](auto i) __attribute__((always_inline)) { sums[i] = Vec<T>{}; }, tile);
  auto step = [&](int64_t p) __attribute__((always_inline)) {
    Vec<T> row[kVectors];
    unrolled([&](auto v) __attribute__((always_inline)) { row[v] = load(b + v * kLanes); }, vectors);
    unrolled(
        [&](auto i) __attribute__((always_inline)) {
          const T x = a.template element<i>(p);
          unrolled([&](auto v) __attribute__((always_inline)) { sums[i * kVectors + v] += x * row[v]; }, vectors);
        },
        rows);
    b += bStride;
  };
  if (accumulate && k >= 64)  // C arrives while the products are summed
    for (int i = 0; i < kRows; ++i)
      for (int v = 0; v < kVectors; ++v) __builtin_prefetch(c + i * cStride + v * kLanes, 1);
  int64_t p = 0;
  for (; p + 4 <= k; p += 4) {
    step(0), step(1), step(2), step(3);
    a.advance(4);
  }
  for (; p < k; ++p) {
    step(0);
    a.advance(1);
  }
  unrolled(
      [&](auto i) __attribute__((always_inline)) {
        T* to = c + i / kVectors * cStride + i % kVectors * kLanes;
        store(to, accumulate ? load(to) + sums[i] : sums[i]);
      },
      tile);
}

template <class T, bool kRowMajor, int... kRow>
constexpr void fillTable(MicroKernel (&table)[kMaxKernelRows][2], std::integer_sequence<int, kRow...>) {
  ((table[kRow][0] = microKernel<T, kRow + 1, 1, kRowMajor>, table[kRow][1] = microKernel<T, kRow + 1, 2, kRowMajor>),
   ...);
}

template <class T>
constexpr MicroKernelTable microKernels() {
  MicroKernelTable t{};
  constexpr std::make_integer_sequence<int, SMALTI_KERNEL_ROWS> rows;
  fillTable<T, true>(t.rowMajor, rows);
  fillTable<T, false>(t.columnMajor, rows);
  return t;
}

/// Exchanges blocks of kStep lanes between vectors i and i + kStep: log2(lanes) rounds of it transpose a square.
template <int kStep, int... kLane>
inline void exchange(Vec<Word> (&v)[kLanes], std::integer_sequence<int, kLane...>) {
  for (int i = 0; i < kLanes; ++i) {
    if (i & kStep) continue;
    const Vec<Word> a = v[i], b = v[i + kStep];
    v[i] = __builtin_shufflevector(a, b, (kLane & kStep ? kLane - kStep + kLanes : kLane)...);
    v[i + kStep] = __builtin_shufflevector(a, b, (kLane & kStep ? kLane + kLanes : kLane + kStep)...);
  }
}

inline void transposeSquare(const Word* from, int64_t fromStride, Word* to, int64_t toStride) {
  Vec<Word> v[kLanes];
  constexpr std::make_integer_sequence<int, kLanes> lanes;
  for (int i = 0; i < kLanes; ++i) v[i] = load(from + i * fromStride);
  exchange<1>(v, lanes);
  exchange<2>(v, lanes);
  if constexpr (kLanes > 4) exchange<4>(v, lanes);
  if constexpr (kLanes > 8) exchange<8>(v, lanes);
  for (int i = 0; i < kLanes; ++i) store(to + i * toStride, v[i]);
}

void transposeWords(const Word* from, int64_t fromStride, int64_t n, int64_t k, Word* to, int64_t toStride) {
  const int64_t wholeN = n - n % kLanes, wholeK = k - k % kLanes;
  for (int64_t j = 0; j < wholeN; j += kLanes)
    for (int64_t p = 0; p < wholeK; p += kLanes)
      transposeSquare(from + j * fromStride + p, fromStride, to + p * toStride + j, toStride);
  for (int64_t j = 0; j < n; ++j)
    for (int64_t p = j < wholeN ? wholeK : 0; p < k; ++p) to[p * toStride + j] = from[j * fromStride + p];
}

float dot(const float* a, const float* b, int64_t n) {
  Vec<float> sums[4] = {};
  int64_t i = 0;
  for (; i + 4 * kLanes <= n; i += 4 * kLanes)
    for (int v = 0; v < 4; ++v) sums[v] += load(a + i + v * kLanes) * load(b + i + v * kLanes);
  for (; i + kLanes <= n; i += kLanes) sums[0] += load(a + i) * load(b + i);
  const Vec<float> sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  float partial[kLanes];
  for (int v = 0; v < kLanes; ++v) partial[v] = sum[v];
  for (int width = kLanes / 2; width > 0; width /= 2)
    for (int v = 0; v < width; ++v) partial[v] += partial[v + width];
  float tail = 0;
  for (; i < n; ++i) tail += a[i] * b[i];
  return partial[0] + tail;
}

template <int kRows>
void addSomeRows(const float* from, int64_t stride, const float* x, int64_t n, float* c) {
  int64_t j = 0;
  for (; j + kLanes <= n; j += kLanes) {
    Vec<float> sum = load(c + j);
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) sum += x[i] * load(from + i * stride + j);
    store(c + j, sum);
  }
  for (; j < n; ++j)
    for (int i = 0; i < kRows; ++i) c[j] += x[i] * from[i * stride + j];
}

void addRows(const float* from, int64_t stride, const float* x, int64_t rows, int64_t n, float* c) {
  if (rows == 8) return addSomeRows<8>(from, stride, x, n, c);
  for (int64_t i = 0; i < rows; ++i) addSomeRows<1>(from + i * stride, stride, x + i, n, c);
}

}  // namespace

constinit const ContractKernels kContractKernels = {
    kLanes, SMALTI_KERNEL_ROWS, microKernels<float>(), microKernels<Word>(), transposeWords, dot, addRows};

}  // namespace smalti::eval::SMALTI_ISA
