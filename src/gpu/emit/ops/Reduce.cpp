// vector.multi_reduction. If the reduced elements are contiguous, neighbouring threads share a result and combine their
// partial results by shuffles. If there are fewer results than threads, each result is first reduced in parts.
#include <algorithm>
#include <array>
#include <bit>

#include "cpu/nest/Reduction.h"
#include "cpu/ops/NativeOps.h"
#include "gpu/emit/ops/ReduceInRegisters.h"
#include "gpu/emit/ops/Shuffled.h"

namespace smalti::gpu {
namespace {

class Reducer {
 public:
  Reducer(GpuLowering& l, eval::ReduceKind kind, DType t) : l_(l), b_(l.b), kind_(kind), t_(t) {}

  using Element = std::function<Reg(Reg result, Reg number)>;
  using Finish = std::function<void(Reg result, Reg reduced)>;

  /// Reduces the elements 0 … n - 1 of each of `results` results, which `element` computes. `sideBySide`: these
  /// elements are neighbours in memory; otherwise elements of neighbouring results are. `reads`: memories that
  /// `element` reads. `finish` emits code for the thread that has a result.
  void run(int64_t results, int64_t n, bool sideBySide, const MemorySet& reads, const MemorySet& writes,
           const Element& element, const Finish& finish) {
    const int64_t threads = l_.plan.threads;
    const int64_t lanes = sideBySide ? std::clamp<int64_t>(floorPower(threads / std::max<int64_t>(results, 1)), 1,
                                                           std::min<int64_t>(kWarp, ceilPower(n)))
                                     : 1;
    const int64_t parts = std::min(threads / (results * lanes), n / (kMinPerLane * lanes));
    if (results * lanes >= threads || parts < 2) {
      l_.touch(reads, writes);
      pass(results, n, lanes, element, finish);
      return;
    }
    // Each part takes a range of elements.
    const DType partial = cpu::isNarrowFloat(t_) ? DType::f32 : t_;
    View between = l_.allocate(partial, Shape{results, parts});
    const int64_t each = (n + parts - 1) / parts;
    l_.touch(reads, {between.memory});
    pass(
        results * parts, each, lanes,
        [&](Reg at, Reg k) -> Reg {
          Reg part = sideBySide ? b_.CreateURem(at, l_.index(parts)) : b_.CreateUDiv(at, l_.index(results));
          Reg result = sideBySide ? b_.CreateUDiv(at, l_.index(parts)) : b_.CreateURem(at, l_.index(results));
          Reg number = b_.CreateAdd(b_.CreateMul(part, l_.index(each)), k);
          Reg inside = b_.CreateICmpULT(number, l_.index(n));
          Reg r = element(result, b_.CreateSelect(inside, number, l_.index(0)));
          return r ? b_.CreateSelect(inside, r, cpu::identityOf(b_, kind_, t_)) : nullptr;
        },
        [&](Reg at, Reg reduced) {
          Reg part = sideBySide ? b_.CreateURem(at, l_.index(parts)) : b_.CreateUDiv(at, l_.index(results));
          Reg result = sideBySide ? b_.CreateUDiv(at, l_.index(parts)) : b_.CreateURem(at, l_.index(results));
          cpu::storeElements(b_, partial, reduced, cpu::elementPointer(b_, between, ElementIndex{result, part}), 1);
        });
    MemorySet again = reads;  // the second pass also reads the accumulator
    again.insert(between.memory);
    l_.touch(again, writes);
    pass(
        results, parts, std::min<int64_t>(kWarp, ceilPower(parts)),
        [&](Reg result, Reg part) {
          return cpu::loadElements(b_, partial, cpu::elementPointer(b_, between, ElementIndex{result, part}), 1);
        },
        finish);
    l_.hazards.markReusable(between.memory);
  }

 private:
  /// The fewest elements per lane for which a result is reduced in parts. Chosen, not measured.
  static constexpr int64_t kMinPerLane = 4;
  static int64_t floorPower(int64_t i) {
    return i < 1 ? 1 : static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(i)));
  }
  static int64_t ceilPower(int64_t i) {
    return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(i, 1))));
  }

  /// `lanes` threads share a result. All threads run the same number of iterations, because shuffles need every lane.
  void pass(int64_t results, int64_t n, int64_t lanes, const Element& element, const Finish& finish) {
    const GpuLowering::Scope scope(l_);
    Reg thread = b_.CreateZExt(l_.thread, b_.getInt64Ty());
    Reg lane = b_.CreateURem(thread, l_.index(lanes)), first = b_.CreateUDiv(thread, l_.index(lanes));
    const int64_t atOnce = l_.plan.threads / lanes;
    l_.loop(l_.index(0), l_.index(results), l_.index(atOnce), [&](Reg base) {
      Reg result = b_.CreateAdd(base, first);
      Reg inside = b_.CreateICmpULT(result, l_.index(results));
      Reg place = results % atOnce == 0 ? result : b_.CreateSelect(inside, result, l_.index(0));
      Reg sum = l_.carry(lane, l_.index(n), l_.index(lanes), {cpu::identityOf(b_, kind_, t_)},
                         [&](Reg k, const std::vector<Reg>& now) -> std::vector<Reg> {
                           Reg r = element(place, k);
                           return {r ? cpu::combine(b_, kind_, t_, now[0], r) : now[0]};
                         })[0];
      for (int64_t step = lanes / 2; step > 0; step /= 2)
        sum = cpu::combine(b_, kind_, t_, sum, shuffled(l_, sum, static_cast<int>(step)));
      l_.when(b_.CreateAnd(inside, b_.CreateICmpEQ(lane, l_.index(0))), [&] { finish(result, sum); });
    });
  }

  GpuLowering& l_;
  Builder& b_;
  eval::ReduceKind kind_;
  DType t_;
};

/// Reduces the rows of a matrix in registers: each thread reduces its own elements of a row, and the four threads of a
/// row combine their partial results by shuffles.
NativeResult reduceRows(GpuLowering& l, mlir::Operation& op, eval::ReduceKind kind, const Distribution& matrix) {
  const mlir::Value source = op.getOperand(0), acc = op.getOperand(1), result = op.getResult(0);
  const DType t = elementDType(source.getType());
  Builder& b = l.b;
  l.touch(l.reads(source), {});
  l.touch(l.reads(acc), {});
  const GpuLowering::Fragment made = l.newFragment(matrix.ofRows(), result.getType());
  // Several independent partial results, to hide the latency of dependent operations. Chosen, not measured.
  constexpr size_t kParts = 4;
  std::array<GpuLowering::Fragment, kParts> parts;
  for (GpuLowering::Fragment& part : parts) part = l.newFragment(matrix.ofRows(), result.getType());
  const auto ofThread = [&](const std::function<void()>& body) {
    l.forDistributed(made.distribution, Shape{made.tile().rows()}, GpuLowering::RowsBeyond::repeatLast,
                     [&](const ElementIndex&) { body(); });
  };
  ofThread([&] {
    for (const GpuLowering::Fragment& part : parts) l.setElement(part, cpu::identityOf(b, kind, t));
  });
  size_t turn = 0;
  l.forDistributed(matrix, shapeOf(source.getType()), GpuLowering::RowsBeyond::repeatLast, [&](const ElementIndex& at) {
    // A fragment has two elements of one row, then two of the other: the parts of a row take its elements in turn.
    const GpuLowering::Fragment& part = parts[(turn % 2 + turn / 4 * 2) % kParts];
    ++turn;
    if (Reg r = l.element(source, at)) l.setElement(part, cpu::combine(b, kind, t, l.currentElement(part), r));
  });
  // Threads of rows beyond the end take part in shuffles as well.
  ofThread([&] {
    Reg sum = l.currentElement(parts[0]);
    for (size_t i = 1; i < kParts; ++i) sum = cpu::combine(b, kind, t, sum, l.currentElement(parts[i]));
    for (const int lanes : {1, 2}) sum = cpu::combine(b, kind, t, sum, shuffled(l, sum, lanes));
    l.setElement(made, sum);
  });
  l.forDistributed(made.distribution, shapeOf(result.getType()), GpuLowering::RowsBeyond::repeatLast,
                   [&](const ElementIndex& at) {
                     if (Reg start = l.element(acc, at))
                       l.setElement(made, cpu::roundTo(b, t, cpu::combine(b, kind, t, start, l.currentElement(made))));
                   });
  l.setFragment(result, made);
  return l.status;
}

NativeResult lowerReduction(GpuLowering& l, mlir::Operation& op) {
  const auto kind = cpu::nativeReductionKind(op);
  const mlir::Value source = op.getOperand(0), acc = op.getOperand(1), result = op.getResult(0);
  const Shape shape = shapeOf(source.getType()), rest = shapeOf(result.getType());
  auto dims = integersAttribute(op, "reduction_dims");
  llvm::sort(dims);
  if (!kind || dims.empty() || dims.front() < 0 || dims.back() >= static_cast<int64_t>(shape.size()) ||
      std::ranges::adjacent_find(dims) != dims.end())
    return unsupported("a reduction of this kind or dtype");
  if (const auto inRegisters = reductionInRegisters(l, op)) return reduceInRegisters(l, op, *inRegisters);
  const DType t = elementDType(source.getType());
  if (const auto matrix = l.distributionUnder(source)) return reduceRows(l, op, *kind, *matrix);
  Shape reduced, kept;
  for (size_t d = 0; d < shape.size(); ++d)
    (llvm::is_contained(dims, static_cast<int64_t>(d)) ? reduced : kept).push_back(shape[d]);
  const View made = l.allocate(t, rest);
  MemorySet reads = l.reads(source);
  const MemorySet more = l.reads(acc);
  reads.insert(more.begin(), more.end());
  Builder& b = l.b;
  size_t last = shape.size();
  while (last > 0 && shape[last - 1] == 1) --last;
  const bool sideBySide = last > 0 && llvm::is_contained(dims, static_cast<int64_t>(last - 1));
  const auto element = [&](Reg at, Reg number) {
    const ElementIndex outer = l.placeOf(at, kept), inner = l.placeOf(number, reduced);
    ElementIndex place;
    size_t o = 0, i = 0;
    for (size_t d = 0; d < shape.size(); ++d)
      place.push_back(llvm::is_contained(dims, static_cast<int64_t>(d)) ? inner[i++] : outer[o++]);
    return l.element(source, place);
  };
  const auto finish = [&](Reg at, Reg sum) {
    const ElementIndex place = l.placeOf(at, kept);
    Reg start = l.element(acc, isVector(acc) ? place : ElementIndex{});
    if (!start) return;
    Reg all = cpu::roundTo(b, t, cpu::combine(b, *kind, t, start, sum));
    cpu::storeElements(b, t, all, cpu::elementPointer(b, made, isVector(result) ? place : ElementIndex{}), 1);
  };
  Reducer(l, *kind, t)
      .run(num_elements(kept), num_elements(reduced), sideBySide, reads, {made.memory}, element, finish);
  if (isVector(result)) {
    l.setView(result, made);
  } else {
    l.touch({made.memory}, {});
    l.setScalar(result, cpu::loadElements(b, t, made.base, 1));
    l.hazards.markReusable(made.memory);
  }
  return l.status;
}

constexpr std::array<GpuOpRow, 1> kReduceTable{{{"vector.multi_reduction", lowerReduction}}};

}  // namespace

std::span<const GpuOpRow> reduceOps() { return kReduceTable; }

}  // namespace smalti::gpu
