// Reductions that no nest contains: over rows of narrow floats, with an accumulator that is not a splat, or to a
// scalar.
#include <algorithm>
#include <array>

#include "cpu/emit/ops/Columns.h"
#include "cpu/emit/ops/OpTables.h"
#include "cpu/nest/CarriedLoop.h"
#include "cpu/nest/Reduction.h"
#include "cpu/nest/Schedule.h"
#include "cpu/ops/NativeOps.h"

namespace smalti::cpu {
namespace {

class Reducer {
 public:
  Reducer(NativeLowering& l, View in, View out, Split split, eval::ReduceKind kind)
      : l_(l), b_(l.b), in_(std::move(in)), out_(std::move(out)), s_(split), kind_(kind) {}

  /// `start`: what is combined in the end; as many elements as the result.
  void run(const View& start) {
    l_.loop(l_.index(0), l_.index(s_.outer), l_.index(1), [&](Reg outer) {
      if (s_.inner == 1)
        row(outer, start);
      else
        columns(outer, start);
    });
  }

 private:
  Accumulator carry(const Accumulator& a, int64_t to, int64_t step,
                    const std::function<void(Reg, Accumulator&)>& body) {
    const Values last = carriedLoop(l_, 0, to, step, Values(a.begin(), a.end()), [&](Reg i, const Values& now) {
      Accumulator parts(now.begin(), now.end());
      body(i, parts);
      return Values(parts.begin(), parts.end());
    });
    return Accumulator(last.begin(), last.end());
  }

  void store(Reg reduced, const View& start, Reg at, int lanes, Reg mask) {
    Reg first = loadElements(b_, in_.dtype, elementAt(l_, start, at), lanes, mask);
    Reg all = roundTo(b_, in_.dtype, combine(b_, kind_, in_.dtype, first, reduced));
    storeElements(b_, out_.dtype, all, elementAt(l_, out_, at), lanes, mask);
  }

  void row(Reg outer, const View& start) {
    int lanes = l_.processor.lanes(4);
    while (lanes > 1 && lanes > s_.n) lanes /= 2;
    Reg base = b_.CreateMul(outer, l_.index(s_.n));
    const int64_t whole = s_.n / lanes * lanes;
    const DType t = in_.dtype;
    const Accumulator many = carry(startAccumulator(b_, kind_, t, lanes), whole, lanes, [&](Reg i, Accumulator& a) {
      accumulate(b_, kind_, t, a, loadElements(b_, t, elementAt(l_, in_, b_.CreateAdd(base, i)), lanes));
    });
    const Accumulator rest = carry(startAccumulator(b_, kind_, t, 1), s_.n - whole, 1, [&](Reg i, Accumulator& a) {
      Reg at = b_.CreateAdd(base, b_.CreateAdd(i, l_.index(whole)));
      accumulate(b_, kind_, t, a, loadElements(b_, t, elementAt(l_, in_, at), 1));
    });
    store(finishAccumulators(b_, kind_, t, std::array{many, rest}), start, outer, 1, nullptr);
  }

  void columns(Reg outer, const View& start) {
    Reg base = b_.CreateMul(outer, l_.index(s_.n * s_.inner)), target = b_.CreateMul(outer, l_.index(s_.inner));
    const DType t = in_.dtype;
    forColumns(l_, s_.inner, l_.processor.lanes(4), [&](Reg column, int lanes, Reg mask) {
      Reg first = b_.CreateAdd(base, column);
      const Accumulator sum = carry({splat(b_, identityOf(b_, kind_, t), lanes)}, s_.n, 1, [&](Reg i, Accumulator& a) {
        Reg at = elementAt(l_, in_, b_.CreateAdd(first, b_.CreateMul(i, l_.index(s_.inner))));
        a[0] = combine(b_, kind_, t, a[0], loadElements(b_, t, at, lanes, mask));
      });
      store(sum[0], start, b_.CreateAdd(target, column), lanes, mask);
    });
  }

  NativeLowering& l_;
  Builder& b_;
  View in_, out_;
  Split s_;
  eval::ReduceKind kind_;
};

/// Neighbouring dimensions are reduced as one; others are brought together first.
NativeResult lowerMultiReduction(NativeLowering& l, mlir::Operation& op) {
  const auto kind = nativeReductionKind(op);
  const Shape shape = shapeOf(op.getOperand(0).getType()), rest = shapeOf(op.getResult(0).getType());
  auto dims = integersAttribute(op, "reduction_dims");
  llvm::sort(dims);
  const bool together = dims.back() - dims.front() + 1 == static_cast<int64_t>(dims.size());
  View in = together ? denseView(l, op.getOperand(0)) : l.view(op.getOperand(0));
  if (!together) {
    // Reduced dimensions are moved behind the kept dimensions.
    View turned = in;
    size_t at = 0;
    for (const bool kept : {true, false})
      for (size_t d = 0; d < shape.size(); ++d)
        if (llvm::is_contained(dims, static_cast<int64_t>(d)) != kept) {
          turned.shape[at] = in.shape[d];
          turned.strides[at++] = in.strides[d];
        }
    in = l.denseCopy(turned);
  }
  const auto firstReduced = static_cast<size_t>(together ? dims.front() : static_cast<int64_t>(rest.size()));
  Shape merged(in.shape.begin(), in.shape.begin() + static_cast<ptrdiff_t>(firstReduced));
  merged.push_back(num_elements(std::span(in.shape).subspan(firstReduced, dims.size())));
  merged.insert(merged.end(), in.shape.begin() + static_cast<ptrdiff_t>(firstReduced + dims.size()), in.shape.end());
  View start;
  if (isVector(op.getOperand(1))) {
    start = denseView(l, op.getOperand(1));
  } else {
    Reg scalar = l.scalar(op.getOperand(1));
    if (!scalar) return unsupported("a reduction that native code does not follow");
    start = l.allocate(in.dtype, rest);
    storeElements(l.b, start.dtype, scalar, start.base, 1);
  }
  View result = l.allocate(in.dtype, rest);
  if (start.elements() != result.elements()) return unsupported("a reduction of an unknown form");
  Reducer(l, in, result, Split(merged, firstReduced), *kind).run(start);
  if (isVector(op.getResult(0)))
    l.setView(op.getResult(0), result);
  else
    l.setScalar(op.getResult(0), loadElements(l.b, in.dtype, result.base, 1));
  return {};
}

constexpr std::array<NativeOpRow, 1> kReduceOps{{{"vector.multi_reduction", lowerMultiReduction}}};

}  // namespace

std::span<const NativeOpRow> reduceOps() { return kReduceOps; }

}  // namespace smalti::cpu
