// Source of the loops in Kernels.h, compiled once per instruction set (see Simd.h).
#include "eval/Simd.h"
#include "eval/reduce/Kernels.h"

namespace smalti::eval::SMALTI_ISA {
namespace {

/// A row is reduced in this many interleaved parts, whatever the vector length, so that every machine adds in the same
/// order; the parts are then combined pairwise.
constexpr int kParts = 64;
constexpr int kVectors = kParts / kLanes;

struct Add {
  template <class V>
  static V of(V a, V b) {
    return a + b;
  }
};
struct Mul {
  template <class V>
  static V of(V a, V b) {
    return a * b;
  }
};
struct And {
  template <class V>
  static V of(V a, V b) {
    return a & b;
  }
};
struct Or {
  template <class V>
  static V of(V a, V b) {
    return a | b;
  }
};
struct Xor {
  template <class V>
  static V of(V a, V b) {
    return a ^ b;
  }
};

/// maximumf and minimumf: NaN wins, +0 > -0. Of equal values only zeros differ in their bits.
template <bool kMax>
struct Extreme {
  static Vec<float> of(Vec<float> a, Vec<float> b) {
    using Bits = Vec<uint32_t>;
    const Vec<float> larger = kMax ? (a > b ? a : b) : (a < b ? a : b);  // b when either is NaN
    const Vec<float> same = kMax ? (Vec<float>)((Bits)a & (Bits)b) : (Vec<float>)((Bits)a | (Bits)b);
    const Vec<float> ordered = a == b ? same : larger;
    return a != a ? a : ordered;
  }
  static float of(float a, float b) {
    if (a != a) return a;
    if (a == b) return (__builtin_signbit(a) != 0) == kMax ? b : a;
    return (kMax ? a > b : a < b) ? a : b;
  }
};

template <bool kMax, bool kSigned>
struct ExtremeInt {
  static Vec<uint32_t> of(Vec<uint32_t> a, Vec<uint32_t> b) {
    if constexpr (kSigned) {
      const Vec<int32_t> x = (Vec<int32_t>)a, y = (Vec<int32_t>)b;
      return (Vec<uint32_t>)(kMax ? (x > y ? x : y) : (x < y ? x : y));
    } else {
      return kMax ? (a > b ? a : b) : (a < b ? a : b);
    }
  }
  static uint32_t of(uint32_t a, uint32_t b) {
    if constexpr (kSigned) return (static_cast<int32_t>(a) > static_cast<int32_t>(b)) == kMax ? a : b;
    return (a > b) == kMax ? a : b;
  }
};

template <class T, class Op>
T combineParts(T* parts, int64_t n) {
  while (n > 1) {
    const int64_t half = (n + 1) / 2;
    for (int64_t j = 0; j + half < n; ++j) parts[j] = Op::of(parts[j], parts[j + half]);
    n = half;
  }
  return parts[0];
}

/// v combined with itself moved down by kStep lanes; the lower kStep lanes are what counts.
template <int kStep, class T, class Op, int... kLane>
inline Vec<T> fold(Vec<T> v, std::integer_sequence<int, kLane...>) {
  return Op::of(v, __builtin_shufflevector(v, v, ((kLane + kStep) % kLanes)...));
}

/// The same order as combineParts, in registers.
template <class T, class Op>
inline T combineVectors(Vec<T> (&v)[kVectors]) {
  constexpr std::make_integer_sequence<int, kLanes> lanes;
  if constexpr (kVectors == 16)
    for (int i = 0; i < 8; ++i) v[i] = Op::of(v[i], v[i + 8]);
  if constexpr (kVectors >= 8)
    for (int i = 0; i < 4; ++i) v[i] = Op::of(v[i], v[i + 4]);
  Vec<T> sum = Op::of(Op::of(v[0], v[2]), Op::of(v[1], v[3]));
  if constexpr (kLanes > 8) sum = fold<8, T, Op>(sum, lanes);
  if constexpr (kLanes > 4) sum = fold<4, T, Op>(sum, lanes);
  sum = fold<2, T, Op>(sum, lanes);
  return Op::of(T{sum[0]}, T{sum[1]});
}

template <class T, class Op>
inline T reduceRun(const T* from, int64_t n) {
  alignas(64) T parts[kParts];
  if (n < kParts) {
    for (int64_t j = 0; j < n; ++j) parts[j] = from[j];
    return combineParts<T, Op>(parts, n);
  }
  constexpr std::make_integer_sequence<int, kVectors> vectors;
  Vec<T> sums[kVectors];
  unrolled([&](auto v) __attribute__((always_inline)) { sums[v] = load(from + v * kLanes); }, vectors);
  int64_t i = kParts;
  for (; i + kParts <= n; i += kParts)
    unrolled([&](auto v) __attribute__((always_inline)) { sums[v] = Op::of(sums[v], load(from + i + v * kLanes)); },
             vectors);
  if (i < n) {
    unrolled([&](auto v) __attribute__((always_inline)) { store(parts + v * kLanes, sums[v]); }, vectors);
    for (int64_t j = 0; i < n; ++i, ++j) parts[j] = Op::of(parts[j], from[i]);
    unrolled([&](auto v) __attribute__((always_inline)) { sums[v] = load(parts + v * kLanes); }, vectors);
  }
  return combineVectors<T, Op>(sums);
}

template <class T, class Op>
void reduceRuns(const T* from, int64_t stride, int64_t count, int64_t n, T* out) {
  for (int64_t i = 0; i < count; ++i) out[i] = reduceRun<T, Op>(from + i * stride, n);
}

template <class T, class Op>
void combine(const T* a, const T* b, int64_t n, T* out) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store(out + i, Op::of(load(a + i), load(b + i)));
  for (; i < n; ++i) out[i] = Op::of(a[i], b[i]);
}

/// Eight rows at a time, pairwise: fewer passes over acc and a smaller error than one row after the other.
template <class T, class Op>
void reduceRows(const T* from, int64_t stride, int64_t rows, int64_t n, T* acc, bool first) {
  auto eight = [&](auto at) __attribute__((always_inline)) {
    const auto a = Op::of(at(0), at(1)), b = Op::of(at(2), at(3)), c = Op::of(at(4), at(5)), d = Op::of(at(6), at(7));
    return Op::of(Op::of(a, b), Op::of(c, d));
  };
  int64_t i = 0;
  for (; i + 8 <= rows; i += 8, from += 8 * stride, first = false) {
    int64_t j = 0;
    for (; j + kLanes <= n; j += kLanes) {
      const Vec<T> sum = eight([&](int64_t r) __attribute__((always_inline)) { return load(from + r * stride + j); });
      store(acc + j, first ? sum : Op::of(load(acc + j), sum));
    }
    for (; j < n; ++j) {
      const T sum = eight([&](int64_t r) __attribute__((always_inline)) { return from[r * stride + j]; });
      acc[j] = first ? sum : Op::of(acc[j], sum);
    }
  }
  for (; i < rows; ++i, from += stride, first = false) {
    int64_t j = 0;
    for (; j + kLanes <= n; j += kLanes) store(acc + j, first ? load(from + j) : Op::of(load(acc + j), load(from + j)));
    for (; j < n; ++j) acc[j] = first ? from[j] : Op::of(acc[j], from[j]);
  }
}

template <class T, class Op>
constexpr ReduceLoops<T> kLoops = {reduceRuns<T, Op>, reduceRows<T, Op>, combine<T, Op>};

int64_t find(const float* from, int64_t n, float value) {
  constexpr int64_t kBlock = 64;
  const bool isNaN = value != value;
  int64_t i = 0;
  for (; i + kBlock <= n; i += kBlock) {
    uint32_t any = 0;
    for (int64_t j = 0; j < kBlock; ++j) any |= isNaN ? from[i + j] != from[i + j] : from[i + j] == value;
    if (any) break;
  }
  for (; i < n; ++i)
    if (isNaN ? from[i] != from[i] : from[i] == value) break;
  return i;
}

void better(bool isMax, const float* row, int64_t n, int32_t at, float* best, int32_t* index) {
  auto update = [&](auto beats) __attribute__((always_inline)) {
    for (int64_t j = 0; j < n; ++j) {
      const bool wins = (best[j] == best[j]) & ((row[j] != row[j]) | beats(row[j], best[j]));
      best[j] = wins ? row[j] : best[j];
      index[j] = wins ? at : index[j];
    }
  };
  if (isMax)
    update([](float a, float b) { return a > b; });
  else
    update([](float a, float b) { return a < b; });
}

constexpr ReduceKernels reduceKernels() {
  ReduceKernels k{};
  auto at = [](ReduceKind kind) { return static_cast<int>(kind); };
  k.f32[at(ReduceKind::add)] = kLoops<float, Add>;
  k.f32[at(ReduceKind::mul)] = kLoops<float, Mul>;
  k.f32[at(ReduceKind::maximumf)] = kLoops<float, Extreme<true>>;
  k.f32[at(ReduceKind::minimumf)] = kLoops<float, Extreme<false>>;
  k.i32[at(ReduceKind::add)] = kLoops<uint32_t, Add>;
  k.i32[at(ReduceKind::mul)] = kLoops<uint32_t, Mul>;
  k.i32[at(ReduceKind::maxsi)] = kLoops<uint32_t, ExtremeInt<true, true>>;
  k.i32[at(ReduceKind::minsi)] = kLoops<uint32_t, ExtremeInt<false, true>>;
  k.i32[at(ReduceKind::maxui)] = kLoops<uint32_t, ExtremeInt<true, false>>;
  k.i32[at(ReduceKind::minui)] = kLoops<uint32_t, ExtremeInt<false, false>>;
  k.i32[at(ReduceKind::andi)] = kLoops<uint32_t, And>;
  k.i32[at(ReduceKind::ori)] = kLoops<uint32_t, Or>;
  k.i32[at(ReduceKind::xori)] = kLoops<uint32_t, Xor>;
  k.find = find;
  k.better = better;
  return k;
}

}  // namespace

constinit const ReduceKernels kReduceKernels = reduceKernels();

}  // namespace smalti::eval::SMALTI_ISA
