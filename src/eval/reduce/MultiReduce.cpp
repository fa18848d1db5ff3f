#include <algorithm>
#include <cstring>
#include <type_traits>

#include "eval/Reduce.h"
#include "eval/Scratch.h"
#include "eval/bits/Widen.h"
#include "eval/reduce/Kernels.h"
#include "eval/reduce/Layout.h"
#include "eval/reduce/Reduce64.h"

namespace smalti::eval {
namespace {

/// Elements of narrower types are widened this many at a time; small enough for L1.
constexpr int64_t kChunk = 4096;

/// Results finished together.
constexpr int64_t kBatch = 256;

/// Rows that are added one after the other (eight by eight); their sums are added up afterwards, for precision.
constexpr int64_t kRowsPerSum = 1024;

/// A reduction computed in T: f32 for floats, u32 for integers of up to 32 bits.
template <class T>
class Reduction {
 public:
  Reduction(const ReduceLoops<T>& loops, bool asUnsigned, const Input& in, const Input& acc, const Output& out)
      : loops_(loops), asUnsigned_(asUnsigned), in_(in), acc_(acc), out_(out) {}

  void run(const ReduceLayout& layout) {
    if (productOf(layout.reduced) == 0) return emit(0, nullptr, out_.elements());
    if (in_.splat) return reduceSplat(productOf(layout.reduced));
    if (layout.lastIsReduced) return reduceRuns(layout);
    reduceRows(layout);
  }

 private:
  static constexpr bool kIsFloat = std::is_same_v<T, float>;

  void widen(DType t, const std::byte* from, T* to, int64_t n) const {
    if constexpr (kIsFloat)
      floatsToF32(t, from, to, n);
    else
      integersToI32(t, asUnsigned_, from, reinterpret_cast<int32_t*>(to), n);
  }
  void narrow(DType t, const T* from, std::byte* to, int64_t n) const {
    if constexpr (kIsFloat)
      floatsFromF32(t, from, to, n);
    else
      integersFromI32(t, reinterpret_cast<const int32_t*>(from), to, n);
  }
  bool isWide(DType t) const { return bit_width(t) == 32; }
  const T* wideData() const { return reinterpret_cast<const T*>(in_.data); }
  const std::byte* narrowData(int64_t at) const { return in_.data + at * storage_bytes(in_.dtype); }

  /// out[at, at + n) = acc combined with `values` (nullptr: nothing to combine with); values come first.
  void emit(int64_t at, const T* values, int64_t n) {
    T accs[kBatch], results[kBatch];
    for (int64_t i = 0; i < n; i += kBatch) {
      const int64_t count = std::min(kBatch, n - i);
      widen(acc_.dtype, acc_.data + (acc_.splat ? 0 : (at + i) * storage_bytes(acc_.dtype)), accs,
            acc_.splat ? 1 : count);
      if (acc_.splat) std::fill(accs + 1, accs + count, accs[0]);
      if (values) loops_.combine(values + i, accs, count, results);
      narrow(out_.dtype, values ? results : accs, out_.data + (at + i) * storage_bytes(out_.dtype), count);
    }
  }

  /// The contiguous dim is reduced: run by run, then the runs' results in order.
  void reduceRuns(const ReduceLayout& layout) {
    const int outer = layout.reduced.size() - 1;
    const int64_t length = layout.reduced[outer], total = out_.elements();
    T results[kBatch];
    if (outer == 0 && length <= kChunk) {  // [kept, reduced]: many runs at once
      for (int64_t at = 0; at < total; at += kBatch) {
        const int64_t count = std::min(kBatch, total - at);
        reduceShortRuns(at * length, count, length, results);
        emit(at, results, count);
      }
      return;
    }
    Odometer<1> kept(layout.kept, {Dims(layout.keptStrides)});
    for (int64_t at = 0; at < total; at += kBatch) {
      const int64_t count = std::min(kBatch, total - at);
      for (int64_t i = 0; i < count; ++i, kept.next()) {
        Odometer<1> along(Dims(layout.reduced).first(outer), {Dims(layout.reducedStrides).first(outer)});
        T sum = reduceRun(kept.offset(0), length);
        while (along.next()) {
          const T next = reduceRun(kept.offset(0) + along.offset(0), length);
          loops_.combine(&sum, &next, 1, &sum);
        }
        results[i] = sum;
      }
      emit(at, results, count);
    }
  }

  void reduceShortRuns(int64_t at, int64_t count, int64_t length, T* results) {
    if (isWide(in_.dtype)) return loops_.runs(wideData() + at, length, count, length, results);
    T widened[kChunk];
    const int64_t together = std::max<int64_t>(1, kChunk / length);
    for (int64_t i = 0; i < count; i += together) {
      const int64_t n = std::min(together, count - i);
      widen(in_.dtype, narrowData(at + i * length), widened, n * length);
      loops_.runs(widened, length, n, length, results + i);
    }
  }

  /// In chunks, for L1 and for the precision of long sums.
  T reduceRun(int64_t at, int64_t n) {
    T widened[kChunk], sum{};
    for (int64_t i = 0; i < n; i += kChunk) {
      const int64_t count = std::min(kChunk, n - i);
      const T* chunk = isWide(in_.dtype) ? wideData() + at + i : widened;
      if (chunk == widened) widen(in_.dtype, narrowData(at + i), widened, count);
      T next;
      loops_.runs(chunk, count, 1, count, &next);
      if (i == 0)
        sum = next;
      else
        loops_.combine(&sum, &next, 1, &sum);
    }
    return sum;
  }

  /// The contiguous dim is kept: rows are accumulated into a row, columns in blocks that stay in L1.
  void reduceRows(const ReduceLayout& layout) {
    const int outer = std::max(layout.kept.size() - 1, 0);
    const int64_t width = layout.kept.empty() ? 1 : layout.kept[outer];
    const int inner = layout.reduced.size() - 1;  // -1: nothing is reduced
    const int64_t rows = inner < 0 ? 1 : layout.reduced[inner], stride = inner < 0 ? 0 : layout.reducedStrides[inner];
    const Dims reduced = Dims(layout.reduced).first(std::max(inner, 0));
    const Dims strides = Dims(layout.reducedStrides).first(std::max(inner, 0));
    const int64_t block = std::min(width, kChunk);
    static thread_local constinit ThreadScratch accumulators;
    T* sums = accumulators.get<T>(block * 10);  // sums, sums of some rows, eight widened rows
    int64_t at = 0;
    Odometer<1> kept(Dims(layout.kept).first(outer), {Dims(layout.keptStrides).first(outer)});
    do {
      for (int64_t j = 0; j < width; j += block) {
        const int64_t n = std::min(block, width - j);
        bool first = true;
        Odometer<1> along(reduced, {strides});
        do
          for (int64_t i = 0; i < rows; i += kRowsPerSum, first = false) {
            const int64_t count = std::min(kRowsPerSum, rows - i);
            T* to = first ? sums : sums + block;
            accumulate(kept.offset(0) + along.offset(0) + j + i * stride, stride, count, n, to, sums + 2 * block);
            if (!first) loops_.combine(sums, to, n, sums);
          }
        while (along.next());
        emit(at + j, sums, n);
      }
      at += width;
    } while (kept.next());
  }

  /// sums[j] = reduction of the rows from + i * stride.
  void accumulate(int64_t from, int64_t stride, int64_t rows, int64_t n, T* sums, T* widened) {
    if (isWide(in_.dtype)) return loops_.rows(wideData() + from, stride, rows, n, sums, true);
    for (int64_t i = 0; i < rows; i += 8) {
      const int64_t count = std::min<int64_t>(8, rows - i);
      for (int64_t r = 0; r < count; ++r) widen(in_.dtype, narrowData(from + (i + r) * stride), widened + r * n, n);
      loops_.rows(widened, n, count, n, sums, i == 0);
    }
  }

  /// Every element is the same: so is every result.
  void reduceSplat(int64_t count) {
    T copies[kBatch], sum{};
    widen(in_.dtype, in_.data, copies, 1);
    std::fill(copies + 1, copies + kBatch, copies[0]);
    for (int64_t i = 0; i < count; i += kBatch) {
      T next;
      loops_.runs(copies, kBatch, 1, std::min(kBatch, count - i), &next);
      if (i == 0)
        sum = next;
      else
        loops_.combine(&sum, &next, 1, &sum);
    }
    std::fill(copies, copies + kBatch, sum);
    for (int64_t at = 0; at < out_.elements(); at += kBatch) emit(at, copies, std::min(kBatch, out_.elements() - at));
  }

  const ReduceLoops<T>& loops_;
  const bool asUnsigned_;
  const Input& in_;
  const Input& acc_;
  const Output& out_;
};

/// The same on i1, whose true is -1 when signed.
ReduceKind kindForPred(ReduceKind kind) {
  if (kind == ReduceKind::maxsi) return ReduceKind::andi;
  if (kind == ReduceKind::minsi) return ReduceKind::ori;
  return kind;
}

}  // namespace

std::optional<ReduceKind> reduceKindFromName(std::string_view name) {
  static constexpr std::string_view kNames[] = {"add",   "mul",   "maximumf", "minimumf", "maxsi", "minsi",
                                                "maxui", "minui", "and",      "or",       "xor"};
  static_assert(std::size(kNames) == kReduceKinds);
  for (int i = 0; i < kReduceKinds; ++i)
    if (kNames[i] == name) return static_cast<ReduceKind>(i);
  return std::nullopt;
}

bool multiReduce(ReduceKind kind, Input in, Dims dims, Input acc, Output out) {
  if (is_float(in.dtype) != is_float(acc.dtype) || is_float(in.dtype) != is_float(out.dtype)) return false;
  const ReduceLayout layout(in.shape, dims);
  if (storage_bytes(in.dtype) == 8) return reduce64(kind, in, layout, acc, out);
  if (in.dtype == DType::pred) kind = kindForPred(kind);
  const int k = static_cast<int>(kind);
  if (is_float(in.dtype)) {
    const ReduceLoops<float>& loops = reduceKernels().f32[k];
    if (!loops.runs) return false;
    if (out.elements() > 0) Reduction<float>(loops, false, in, acc, out).run(layout);
    return true;
  }
  const ReduceLoops<uint32_t>& loops = reduceKernels().i32[k];
  if (!loops.runs) return false;
  const bool asUnsigned = kind == ReduceKind::maxui || kind == ReduceKind::minui;
  if (out.elements() > 0) Reduction<uint32_t>(loops, asUnsigned, in, acc, out).run(layout);
  return true;
}

}  // namespace smalti::eval
