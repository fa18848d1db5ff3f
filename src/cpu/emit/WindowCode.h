// Code that compilers for CPUs and GPUs emit for windows: where a step's block is, and the view that the kernel's ref
// is bound to. `Lowering` is theirs: NativeLowering or GpuLowering.
#pragma once

#include "cpu/Unsupported.h"
#include "cpu/emit/View.h"
#include "cpu/plan/GridPlan.h"
#include "ir/KernelArguments.h"
#include "ir/Types.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace smalti::cpu {

/// A windowed operand while code is emitted.
struct EmittedWindow {
  const BlockPlan* plan = nullptr;
  const Window* window = nullptr;
  View array;
  DType undefined = DType::f32;  ///< dtype, with signedness, of the elements past the array's edges
  View buffer;                   ///< holds a block that is partial or copied
  std::vector<Reg> starts;       ///< position of this step's block in the array
  Reg whole = nullptr;           ///< i1: the block is inside the array
};

/// The first element of the window's block at these grid indices.
template <class Lowering>
tl::expected<std::vector<Reg>, Unsupported> blockStarts(Lowering& l, const KernelArguments& arguments,
                                                        const Window& window, std::span<const Reg> indices) {
  mlir::Block& body = arguments.indexMap(window).getBody().front();
  for (unsigned a = 0; a < body.getNumArguments(); ++a) {
    if (a < indices.size())
      l.setScalar(body.getArgument(a), l.b.CreateTrunc(indices[a], l.b.getInt32Ty()));
    else
      l.setRef(body.getArgument(a), View(l.ref(arguments.function().getArgument(a))));
  }
  // An index map is scalar code, which is lowered like that of the body.
  for (mlir::Operation& op : body.without_terminator()) {
    if (llvm::isa<mlir::arith::ConstantOp>(op)) continue;
    if (auto ok = l.lowerOp(op); !ok) return tl::unexpected(std::move(ok.error()));
  }
  std::vector<Reg> starts;
  for (size_t d = 0; d < window.bounds.size(); ++d) {
    Reg block = l.scalar(body.getTerminator()->getOperand(static_cast<unsigned>(d)));
    if (!block) return unsupported("an index map that the compiler does not follow");
    Reg at = l.b.CreateSExt(block, l.b.getInt64Ty());
    const bool low = window.elementIndexed && d < window.padLow.size();
    starts.push_back(window.elementIndexed ? l.b.CreateSub(at, l.index(low ? window.padLow[d] : 0))
                                           : l.b.CreateMul(at, l.index(window.bounds[d])));
  }
  return starts;
}

/// i1: whether the block is inside the array.
template <class Lowering>
Reg isWholeBlock(Lowering& l, const EmittedWindow& w) {
  Reg whole = l.b.getTrue();
  for (size_t d = 0; d < w.starts.size() && w.plan->isPartial; ++d) {
    const int64_t size = w.window->bounds[d], extent = w.array.shape[d];
    whole = l.b.CreateAnd(whole, size > extent ? static_cast<Reg>(l.b.getFalse())
                                               : l.b.CreateICmpULE(w.starts[d], l.index(extent - size)));
  }
  return whole;
}

/// i1: whether a part of the block is in the array and its padding, in one dimension. On a TPU another block would be
/// unrelated memory.
template <class Lowering>
Reg overlapsArray(Lowering& l, const EmittedWindow& w, size_t d) {
  const auto paddingOf = [&](const std::vector<int64_t>& padding) { return d < padding.size() ? padding[d] : 0; };
  Reg before = l.index(-paddingOf(w.window->padLow) - w.window->bounds[d]);
  Reg end = l.index(w.array.shape[d] + paddingOf(w.window->padHigh));
  return l.b.CreateAnd(l.b.CreateICmpSGT(w.starts[d], before), l.b.CreateICmpSLT(w.starts[d], end));
}

/// The nearest position at which the whole block is inside the array, which is not smaller, in one dimension.
template <class Lowering>
Reg nearestInside(Lowering& l, const View& array, const Shape& bounds, Reg start, size_t d) {
  Reg last = l.b.CreateSub(extent(l.b, array, d), l.index(bounds[d]));
  Reg low = l.b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, start, l.index(0));
  return l.b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, low, last);
}

/// The block of a partial window: in the array if it is inside, else in the buffer.
inline View arrayOrBuffer(Builder& b, const EmittedWindow& w) {
  View view = slice(b, w.array, w.starts, w.window->bounds);
  view.base = b.CreateSelect(w.whole, view.base, w.buffer.base);
  for (size_t d = 0; d < view.shape.size(); ++d)
    if (view.shape[d] != 1 && view.strides[d] != w.buffer.strides[d])
      view.strides[d] = b.CreateSelect(w.whole, view.strides[d], w.buffer.strides[d]);
  return view;
}

/// The view in the shape of the kernel's ref.
inline tl::expected<View, Unsupported> inShapeOf(Builder& b, const View& view, mlir::BlockArgument ref) {
  auto shaped = reshape(b, view, shapeOf(ref.getType()));
  if (!shaped) return unsupported("a window whose shape differs from its ref's");
  return *shaped;
}

}  // namespace smalti::cpu
