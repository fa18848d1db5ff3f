#include "cpu/analysis/ReadBeforeWrite.h"

#include <algorithm>
#include <optional>

#include "cpu/analysis/KnownIntegers.h"
#include "ir/TpuOps.h"
#include "ir/TpuOpsAtomic.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "smalti/array.h"

namespace smalti::cpu {
namespace {

/// Loops with at most this many iterations are analysed iteration by iteration, …
constexpr int64_t kMaxIterations = 64;
/// … until this many ops have been visited.
constexpr int64_t kMaxOps = 10'000;
constexpr int kOwnMemory = -1;  ///< allocated in the body: undefined at first in every run

/// A memref of the kernel in terms of the argument whose memory it shows.
struct Part {
  int argument = kOwnMemory;
  Box box;                   ///< the part of the argument's memory
  std::vector<bool> known;   ///< by axis of the argument: `box` has the start; if false, it is anywhere on the axis
  bool reshaped = false;     ///< it contains all elements of `box`, in any order
  std::vector<size_t> axes;  ///< if not reshaped: the argument's axis, by axis of the memref
};

using State = std::vector<Boxes>;  ///< the boxes that are surely written, by argument

class Follower {
 public:
  Follower(mlir::func::FuncOp kernel, const std::vector<bool>& zero)
      : kernel_(kernel), state_(kernel.getNumArguments()) {
    use_.arguments.resize(kernel.getNumArguments());
    for (size_t d = 0; d < zero.size(); ++d)
      if (zero[d]) integers_.set(kernel.getArgument(static_cast<unsigned>(d)), 0);
    for (mlir::BlockArgument argument : kernel.getArguments())
      if (auto type = mlir::dyn_cast<mlir::MemRefType>(argument.getType())) {
        if (!type.hasStaticShape()) use_.otherEffect = "memory of unknown size";
        Part whole;
        whole.argument = static_cast<int>(argument.getArgNumber());
        for (const int64_t size : type.getShape()) {
          whole.axes.push_back(whole.box.size());
          whole.box.push_back({0, size});
          whole.known.push_back(true);
        }
        parts_[argument] = std::move(whole);
      }
  }

  BodyAccesses run() {
    block(kernel_.getBody().front());
    for (size_t i = 0; i < state_.size(); ++i)
      if (const auto found = parts_.find(kernel_.getArgument(static_cast<unsigned>(i))); found != parts_.end())
        use_.arguments[i].covered = state_[i].contains(found->second.box);
    return std::move(use_);
  }

 private:
  /// Returns the terminator.
  mlir::Operation* block(mlir::Block& block) {
    for (mlir::Operation& op : block) visit(op);
    return block.getTerminator();
  }

  void visit(mlir::Operation& op) {
    ++ops_;
    if (mlir::isa<mlir::vector::LoadOp, mlir::memref::LoadOp, tpu::StridedLoadOp>(op) && isDead(op.getResult(0)))
      return;
    integers_.follow(op);
    llvm::TypeSwitch<mlir::Operation*>(&op)
        .Case<mlir::scf::IfOp, mlir::scf::ForOp, mlir::scf::WhileOp>([&](auto o) { structured(o); })
        .Case<tpu::RegionOp>([&](auto o) { give(o, block(*o.getBody())); })
        .Case<mlir::memref::AllocaOp>([&](auto o) { parts_[o.getResult()] = {}; })
        .Case<mlir::vector::LoadOp>([&](auto o) { load(o.getBase(), o.getIndices(), sizes(o.getVectorType())); })
        .Case<mlir::memref::LoadOp>([&](auto o) { load(o.getMemref(), o.getIndices(), {}); })
        .Case<tpu::StridedLoadOp>(
            [&](auto o) { load(o.getBase(), o.getIndices(), sizes(o.getResult().getType()), o.getStrides()); })
        .Case<mlir::vector::StoreOp>([&](auto o) { store(o.getBase(), o.getIndices(), sizes(o.getVectorType())); })
        .Case<mlir::memref::StoreOp>([&](auto o) { store(o.getMemref(), o.getIndices(), {}); })
        .Case<tpu::StridedStoreOp>(
            [&](auto o) { store(o.getBase(), o.getIndices(), sizes(o.getValueToStore().getType()), o.getStrides()); })
        .Case<tpu::VectorStoreOp>([&](auto o) {
          const Shape extent = sizes(o.getValueToStore().getType());
          if (o.getAdd()) load(o.getBase(), o.getIndices(), extent, o.getStrides());
          if (o.getMask())
            noteStore(o.getBase());
          else
            store(o.getBase(), o.getIndices(), extent, o.getStrides());
        })
        .Case<tpu::AtomicOp>([&](auto o) {
          const Part part = partOf(o.getBase());
          if (part.argument == kOwnMemory) return;
          BufferAccesses& use = use_.arguments[static_cast<size_t>(part.argument)];
          use.updatedAtomically = use.readFirst = true;
        })
        .Case<tpu::MemRefSliceOp>([&](auto o) { slice(o); })
        .Case<tpu::AnnotateOp>([&](auto o) { parts_[o.getResult()] = partOf(o.getInput()); })
        .Case<tpu::MemRefMemorySpaceIsOp>([](auto) {})
        .Case<tpu::MemRefSqueezeOp>([&](auto o) { squeeze(o); })
        .Case<tpu::MemRefReshapeOp, tpu::MemRefBitcastOp>([&](auto o) {
          Part part = partOf(o.getInput());
          part.reshaped = true;
          parts_[o.getResult()] = std::move(part);
        })
        .Default([&](mlir::Operation* o) { other(*o); });
  }

  /// Ops without a rule are harmless if they access no memory and have no other effect.
  void other(mlir::Operation& op) {
    if (op.hasTrait<mlir::OpTrait::IsTerminator>()) return;
    const bool takesMemory =
        llvm::any_of(op.getOperandTypes(), [](mlir::Type t) { return mlir::isa<mlir::MemRefType>(t); });
    // Log output and its order are observable; traces and delays are ignored.
    const bool frees = mlir::isa<mlir::memref::DeallocOp>(op);
    const bool harmless =
        frees || mlir::isMemoryEffectFree(&op) ||
        mlir::isa<mlir::cf::AssertOp, tpu::DelayOp, tpu::TraceStartOp, tpu::TraceStopOp, tpu::TraceValueOp>(op);
    if ((takesMemory && !frees) || op.getNumRegions() > 0 || !harmless)
      if (use_.otherEffect.empty()) use_.otherEffect = op.getName().getStringRef().str();
    // Copies and logs may read all that they are given.
    if (!frees)
      for (const mlir::Value v : op.getOperands())
        if (mlir::isa<mlir::MemRefType>(v.getType())) read(partOf(v));
  }

  // ---- control flow

  /// The op's results are what the terminator of its region takes.
  void give(mlir::Operation* op, mlir::Operation* terminator) {
    for (const auto [result, value] : llvm::zip(op->getResults(), terminator->getOperands()))
      integers_.set(result, integers_.find(value));
  }

  void structured(mlir::scf::IfOp op) {
    if (const auto condition = integers_.find(op.getCondition())) {
      mlir::Region& taken = *condition ? op.getThenRegion() : op.getElseRegion();
      if (!taken.empty()) give(op, block(taken.front()));
      return;
    }
    const State before = state_;
    mlir::Operation* yes = block(op.getThenRegion().front());
    if (op.getElseRegion().empty()) {
      state_ = before;
      return;
    }
    const State after = std::exchange(state_, before);
    mlir::Operation* no = block(op.getElseRegion().front());
    for (size_t i = 0; i < state_.size(); ++i) state_[i] = Boxes::intersect(state_[i], after[i]);
    for (unsigned i = 0; i < op.getNumResults(); ++i) {
      const auto a = integers_.find(yes->getOperand(i)), b = integers_.find(no->getOperand(i));
      integers_.set(op.getResult(i), a == b ? a : std::nullopt);
    }
  }

  void structured(mlir::scf::ForOp op) {
    const auto from = integers_.find(op.getLowerBound()), to = integers_.find(op.getUpperBound()),
               step = integers_.find(op.getStep());
    const auto carry = [&](mlir::ValueRange values) {
      // All at once, since carried values may be permuted.
      std::vector<std::optional<int64_t>> numbers;
      for (const mlir::Value v : values) numbers.push_back(integers_.find(v));
      for (const auto [argument, number] : llvm::zip(op.getRegionIterArgs(), numbers)) integers_.set(argument, number);
    };
    const auto forget = [&](mlir::ValueRange values) {
      for (const mlir::Value v : values) integers_.set(v, std::nullopt);
    };
    int64_t distance = 0;
    const bool known =
        from && to && step && *step > 0 && !op.getUnsignedCmp() && !__builtin_sub_overflow(*to, *from, &distance);
    const int64_t iterations = !known || distance <= 0 ? 0 : (distance - 1) / *step + 1;
    const auto length = static_cast<int64_t>(op.getBody()->getOperations().size());
    if (known && iterations <= kMaxIterations && ops_ + iterations * length < kMaxOps) {
      carry(op.getInitArgs());
      for (int64_t i = 0; i < iterations; ++i) {
        integers_.set(op.getInductionVar(), *from + i * *step);
        carry(block(*op.getBody())->getOperands());
      }
      for (const auto [result, argument] : llvm::zip(op.getResults(), op.getRegionIterArgs()))
        integers_.set(result, integers_.find(argument));
      return;
    }
    // Any iteration: before the first one, the least memory has been written.
    const State before = state_;
    integers_.set(op.getInductionVar(), std::nullopt);
    forget(op.getRegionIterArgs());
    block(*op.getBody());
    forget(op.getResults());
    if (iterations == 0) state_ = before;
  }

  void structured(mlir::scf::WhileOp op) {
    for (mlir::Region* region : op.getRegions())
      for (const mlir::Value argument : region->getArguments()) integers_.set(argument, std::nullopt);
    block(*op.getBeforeBody());
    const State before = state_;
    block(*op.getAfterBody());
    state_ = before;
    for (const mlir::Value result : op.getResults()) integers_.set(result, std::nullopt);
  }

  // ---- memory

  static Shape sizes(mlir::Type vector) {
    const auto shape = mlir::cast<mlir::VectorType>(vector).getShape();
    return Shape(shape.begin(), shape.end());
  }

  Part partOf(mlir::Value memref) const {
    const auto found = parts_.find(memref);
    return found == parts_.end() ? Part{} : found->second;
  }

  /// The part of a memref from `starts`, of `sizes` elements `strides` apart; absent sizes and strides are 1 (a vector
  /// of lower rank covers the last axes). `exact` becomes false if some of its elements may not be accessed.
  Part within(mlir::Value memref, mlir::ValueRange starts, llvm::ArrayRef<int64_t> extent,
              llvm::ArrayRef<int32_t> strides, bool& exact) const {
    Part part = partOf(memref);
    if (part.argument == kOwnMemory) return part;
    const auto shape = mlir::cast<mlir::MemRefType>(memref.getType()).getShape();
    bool whole = true;
    for (size_t d = 0; d < shape.size(); ++d) {
      const size_t missing = shape.size() - std::min(shape.size(), extent.size());
      const int64_t size = d < missing ? 1 : extent[d - missing];
      const int64_t stride = d < strides.size() ? strides[d] : 1;
      if (size == shape[d] && stride == 1) continue;  // starts at 0: any other start would be out of bounds
      whole = false;
      if (part.reshaped) continue;
      const size_t axis = part.axes[d];
      const auto start = integers_.find(starts[d]);
      if (start && part.known[axis] && size != mlir::ShapedType::kDynamic && stride > 0) {
        part.box[axis] = {part.box[axis].low + *start, (size - 1) * stride + 1};
        exact &= stride == 1;
      } else {
        part.known[axis] = false;
        exact = false;
      }
    }
    if (part.reshaped && !whole) exact = false;
    return part;
  }

  /// The region of the argument that the part may cover.
  Box reach(const Part& part) const {
    Box box = part.box;
    const Box& whole = parts_.find(kernel_.getArgument(static_cast<unsigned>(part.argument)))->second.box;
    for (size_t d = 0; d < box.size(); ++d)
      if (!part.known[d]) box[d] = whole[d];
    return box;
  }

  void load(mlir::Value memref, mlir::ValueRange starts, const Shape& extent, llvm::ArrayRef<int32_t> strides = {}) {
    bool exact = true;
    read(within(memref, starts, extent, strides, exact));
  }

  void read(const Part& part) {
    if (part.argument == kOwnMemory) return;
    const auto i = static_cast<size_t>(part.argument);
    if (!state_[i].contains(reach(part))) use_.arguments[i].readFirst = true;
  }

  void noteStore(mlir::Value memref) {
    const Part part = partOf(memref);
    if (part.argument != kOwnMemory) use_.arguments[static_cast<size_t>(part.argument)].stored = true;
  }

  void store(mlir::Value memref, mlir::ValueRange starts, const Shape& extent, llvm::ArrayRef<int32_t> strides = {}) {
    noteStore(memref);
    bool exact = true;
    const Part part = within(memref, starts, extent, strides, exact);
    if (part.argument == kOwnMemory || !exact || llvm::is_contained(part.known, false)) return;
    state_[static_cast<size_t>(part.argument)].add(part.box);
  }

  void slice(tpu::MemRefSliceOp op) {
    bool exact = true;
    const auto type = op.getResult().getType();
    Part part = within(op.getMemRef(), op.getBaseIdx(), mlir::cast<mlir::MemRefType>(type).getShape(), {}, exact);
    // A part of a reshaped memref is not a box, so it is assumed to be any part.
    if (part.reshaped && !exact) part.known.assign(part.known.size(), false);
    parts_[op.getResult()] = std::move(part);
  }

  void squeeze(tpu::MemRefSqueezeOp op) {
    Part part = partOf(op.getInput());
    const auto from = mlir::cast<mlir::MemRefType>(op.getInput().getType()).getShape();
    const auto to = mlir::cast<mlir::MemRefType>(op.getResult().getType()).getShape();
    if (!part.reshaped && part.argument != kOwnMemory) {
      std::vector<size_t> kept;
      for (size_t d = 0; d < from.size(); ++d)
        if (kept.size() < to.size() && from[d] == to[kept.size()]) kept.push_back(part.axes[d]);
      part.reshaped = kept.size() != to.size();
      part.axes = std::move(kept);
    }
    parts_[op.getResult()] = std::move(part);
  }

  mutable mlir::func::FuncOp kernel_;
  BodyAccesses use_;
  State state_;
  KnownIntegers integers_;
  llvm::DenseMap<mlir::Value, Part> parts_;
  int64_t ops_ = 0;
};

}  // namespace

bool isDead(mlir::Value value, int depth) {
  return depth < 8 &&
         llvm::all_of(
             value.getUsers(),
             [&](mlir::Operation* user) {
               return user->getNumRegions() == 0 && !user->hasTrait<mlir::OpTrait::IsTerminator>() &&
                      mlir::isMemoryEffectFree(user) &&
                      llvm::all_of(user->getResults(), [&](mlir::Value v) { return isDead(v, depth + 1); });
             });
}

BodyAccesses accessesOfOneRun(mlir::func::FuncOp kernel, const std::vector<bool>& zero) {
  return Follower(kernel, zero).run();
}

}  // namespace smalti::cpu
