#include "cpu/check/Instrument.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include <fmt/format.h>

#include "cpu/check/Copies.h"
#include "cpu/check/Definedness.h"
#include "cpu/check/Masks.h"
#include "cpu/emit/ops/HazardChecks.h"
#include "cpu/rewrite/grid/RetileWithoutPadding.h"
#include "ir/BlockGeometry.h"
#include "ir/KernelArguments.h"
#include "ir/TpuOps.h"
#include "ir/Types.h"
#include "ir/facts/Attributes.h"
#include "ir/facts/OpFamilies.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"

namespace smalti::cpu {
namespace {

class Instrumenter {
 public:
  Instrumenter(const KernelPackage& package, CheckPlan plan)
      : plan_(std::move(plan)),
        checked_{package.copy(), 0, {}, {}},
        arguments_(checked_.package),
        kernel_(arguments_.function()),
        found_(findUndefined(checked_.package, plan_)),
        b_(kernel_.getContext()) {}

  tl::expected<CheckedPackage, Unsupported> run() {
    std::vector<mlir::Operation*> ops;
    kernel_.walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation* op) {
      if (op != kernel_) ops.push_back(op);
    });
    markHazardChecks(checked_.package);
    requireZeroSemaphores(checked_.package, [&](mlir::OpBuilder& b, mlir::Value zero) {
      mlir::cf::AssertOp::create(b, kernel_.getLoc(), zero, "zero");
    });
    shadowArguments();
    instrumentStepStart();
    for (mlir::Operation* op : ops) visit(*op);
    if (!unsupported_.empty()) return tl::unexpected(std::move(unsupported_));
    return std::move(checked_);
  }

 private:
  KernelSignature& signature() { return checked_.package.signature; }

  // ---- shadows

  void shadowArguments() {
    std::vector<std::pair<mlir::BlockArgument, ArgumentRole>> tracked;
    for (const mlir::Value root : found_.tracked)
      if (const auto role = arguments_.roleOf(root)) tracked.push_back({mlir::cast<mlir::BlockArgument>(root), *role});
    std::ranges::sort(tracked, {}, [](const auto& t) { return t.first.getArgNumber(); });
    const auto shadow = [&](mlir::Value root, unsigned at) {
      (void)kernel_.insertArgument(at, maskType(root.getType()), {}, kernel_.getLoc());
      shadows_[root] = kernel_.getArgument(at);
    };
    // Scratch and inputs have shadows among the scratch, outputs among the outputs.
    for (const auto& [root, role] : tracked) {
      if (role.kind == ArgumentRole::output) continue;
      if (role.kind == ArgumentRole::input && isDefinedByPosition(root)) {
        edges_[root] = {};
        continue;
      }
      shadow(root, kernel_.getNumArguments());
      ++signature().numScratch;
      checked_.shadowed.push_back(role.str());
    }
    for (const auto& [root, role] : tracked) {
      if (role.kind != ArgumentRole::output) continue;
      const auto output = static_cast<size_t>(role.index);
      shadow(root, arguments_.output(arguments_.numOutputs() - 1).getArgNumber() + 1);
      signature().windows.push_back(arguments_.windowOf(arguments_.numInputs() + output));
      checked_.package.results.push_back({DType::pred, checked_.package.results[output].shape});
      checked_.shadowed.push_back(role.str());
      ++checked_.shadowResults;
    }
  }

  mlir::Value shadowOf(mlir::Value ref) const { return shadows_.lookup(ref); }

  /// Whether an element's position tells if it is defined, so that the block needs no shadow. For narrow elements, a
  /// shadow is as fast as comparing 4-byte positions.
  static bool isDefinedByPosition(mlir::Value input) {
    return storage_bytes(elementDType(input.getType())) >= 4 &&
           llvm::all_of(input.getUsers(), [](mlir::Operation* user) {
             return mlir::isa<mlir::vector::LoadOp, mlir::memref::LoadOp>(user);
           });
  }

  // ---- ops

  void visit(mlir::Operation& op) {
    if (auto copy = mlir::dyn_cast<tpu::EnqueueDMAOp>(op)) copyShadow(copy);
    const MaskRule rule = maskRuleOf(op);
    b_.setInsertionPointAfter(&op);
    switch (rule) {
      case MaskRule::allocate:
        if (!found_.isTracked(op.getResult(0))) return;
        shadows_[op.getResult(0)] = retyped(op, {});
        checked_.shadowed.push_back("an allocation");
        return;
      case MaskRule::ref:
        requireDefined(op, op.getOperands().drop_front());
        if (const mlir::Value shadow = shadowOf(refOperand(op))) {
          b_.setInsertionPointAfter(&op);
          shadows_[op.getResult(0)] = retyped(op, shadow);
        }
        return;
      case MaskRule::load:
        requireDefined(op, op.getOperands().drop_front());
        if (!found_.values.contains(op.getResult(0))) return;
        b_.setInsertionPointAfter(&op);
        masks_[op.getResult(0)] =
            edges_.contains(refOperand(op)) ? insideArray(op) : retyped(op, shadowOf(refOperand(op)));
        return;
      case MaskRule::store:
        store(op);
        return;
      case MaskRule::move:
        requireDefined(op, op.getOperands().drop_front(movedOperands(op).size()));
        break;
      case MaskRule::none:
        requireDefined(op, op.getOperands());
        return;
      default:
        break;
    }
    if (op.getNumResults() != 1 || !found_.values.contains(op.getResult(0))) return;
    b_.setInsertionPointAfter(&op);
    if (const mlir::Value mask = emitMask(b_, op, rule, masks_)) masks_[op.getResult(0)] = mask;
  }

  /// The same op on masks, with another ref (if it has one) and a result of i1.
  mlir::Value retyped(mlir::Operation& op, mlir::Value ref) {
    mlir::Operation* copy = b_.clone(op);
    copy->removeAttr(kHazardChecked);
    if (ref) copy->setOperand(0, ref);
    copy->getResult(0).setType(maskType(op.getResult(0).getType()));
    return copy->getResult(0);
  }

  void requireDefined(mlir::Operation& op, mlir::ValueRange values) {
    for (const mlir::Value v : values)
      if (const mlir::Value mask = masks_.lookup(v)) {
        b_.setInsertionPoint(&op);
        require(op.getLoc(), emitAllTrue(b_, op.getLoc(), mask));
      }
  }
  void require(mlir::Location at, mlir::Value condition) { mlir::cf::AssertOp::create(b_, at, condition, "defined"); }

  void store(mlir::Operation& op) {
    const mlir::Value value = storedValue(op), ref = refOperand(op), shadow = shadowOf(ref);
    requireDefined(op, op.getOperands().drop_front(2));
    const mlir::Value mask = masks_.lookup(value);
    if (!shadow || !isTrackable(checked_.package, memoryOf(ref))) {
      if (mask) requireDefined(op, value);
      return;
    }
    // Adding a defined element does not change whether the sum is defined.
    if (boolAttribute(op, "add")) {
      requireDefined(op, value);
      return;
    }
    b_.setInsertionPointAfter(&op);
    mlir::Operation* copy = b_.clone(op);
    copy->removeAttr(kHazardChecked);
    mlir::OpBuilder before(copy);
    copy->setOperand(0, mask ? mask : emitConstant(before, op.getLoc(), maskType(value.getType()), true));
    copy->setOperand(1, shadow);
  }

  /// The copy's target is as defined as its source.
  void copyShadow(tpu::EnqueueDMAOp copy) {
    const mlir::Value from = shadowOf(copy.getSource()), to = shadowOf(copy.getTarget());
    const bool tracks = to && isTrackable(checked_.package, memoryOf(copy.getTarget()));
    if (!from && !to) return;
    b_.setInsertionPointAfter(copy);
    if (from && tracks) {
      // Counted by a semaphore that is never read.
      const unsigned at = kernel_.getNumArguments();
      (void)kernel_.insertArgument(at, copy.getTargetSemaphore().getType(), {}, kernel_.getLoc());
      ++signature().numScratch;
      auto also = mlir::cast<tpu::EnqueueDMAOp>(b_.clone(*copy));
      also->removeAttr(kHazardChecked);
      also.getSourceMutable().assign(from);
      also.getTargetMutable().assign(to);
      also.getTargetSemaphoreMutable().assign(kernel_.getArgument(at));
      return;
    }
    auto type = mlir::cast<mlir::MemRefType>((from ? from : to).getType());
    if (!type.hasStaticShape() || type.getRank() == 0) {
      unsupported_ = "a copy of dynamic size";
    } else if (tracks) {
      storeWhole(emitConstant(b_, copy.getLoc(), mlir::VectorType::get(type.getShape(), b_.getI1Type()), true), to);
    } else if (from) {
      const mlir::Value mask =
          mlir::vector::LoadOp::create(b_, copy.getLoc(), mlir::VectorType::get(type.getShape(), b_.getI1Type()), from,
                                       llvm::SmallVector<mlir::Value>(static_cast<size_t>(type.getRank()), index(0)));
      require(copy.getLoc(), emitAllTrue(b_, copy.getLoc(), mask));
    }
  }

  // ---- what happens before the body, in every step

  void instrumentStepStart() {
    b_.setInsertionPointToStart(&kernel_.getBody().front());
    for (const WindowCheck& w : plan_.windows) {
      const mlir::Value ref = arguments_.block(static_cast<size_t>(w.number));
      const bool isPartial = !w.isOutput && w.anyPartial() && (shadowOf(ref) || edges_.contains(ref));
      if (!isPartial && !w.mayBeOutside) continue;
      const std::vector<mlir::Value> block = blockOf(*signature().windows[static_cast<size_t>(w.number)]);
      if (w.mayBeOutside) requireInside(w, block);
      if (isPartial) followEdges(w, block, ref);
      if (w.followsVisits) trackVisits(w, block);
    }
    for (const unsigned argument : plan_.resets)
      if (const WindowCheck& w = windowOf(argument); !w.followsVisits)
        when(isFirstStep(w), [&] { makeUndefined(kernel_.getArgument(argument)); });
  }

  mlir::Value i32(int64_t v) {
    return mlir::arith::ConstantOp::create(b_, kernel_.getLoc(), b_.getI32IntegerAttr(static_cast<int32_t>(v)));
  }
  const Shape& arrayOf(const WindowCheck& w) const { return arguments_.arrayOf(static_cast<size_t>(w.number)).shape; }

  /// The index map, computed here.
  std::vector<mlir::Value> blockOf(const Window& window) {
    mlir::func::FuncOp map = arguments_.indexMap(window);
    mlir::Block& body = map.getBody().front();
    mlir::IRMapping mapping;
    for (unsigned a = 0; a < body.getNumArguments(); ++a) mapping.map(body.getArgument(a), kernel_.getArgument(a));
    for (mlir::Operation& op : body.without_terminator()) b_.clone(op, mapping);
    std::vector<mlir::Value> block;
    for (const mlir::Value v : body.getTerminator()->getOperands()) block.push_back(mapping.lookupOrDefault(v));
    return block;
  }

  void requireInside(const WindowCheck& w, const std::vector<mlir::Value>& block) {
    const Window& window = *signature().windows[static_cast<size_t>(w.number)];
    const BlockGeometry geometry(window, arrayOf(w));
    for (size_t d = 0; d < block.size(); ++d) {
      const int64_t low = d < window.padLow.size() ? window.padLow[d] : 0;
      mlir::Value at = block[d];
      if (window.elementIndexed) at = mlir::arith::SubIOp::create(b_, kernel_.getLoc(), at, i32(low));
      const int64_t places = window.elementIndexed ? geometry.numWholeBlocks(d) : geometry.numBlocks(d);
      require(kernel_.getLoc(), compare(mlir::arith::CmpIPredicate::ult, at, i32(places)));
    }
  }

  struct Edge {
    unsigned axis = 0;  ///< axis of the ref
    mlir::Value left;   ///< i32: elements from the block's first to the end of the array
  };

  void followEdges(const WindowCheck& w, const std::vector<mlir::Value>& block, mlir::Value ref) {
    const mlir::Location at = kernel_.getLoc();
    const Window& window = *signature().windows[static_cast<size_t>(w.number)];
    const Shape shape = shapeOf(ref.getType());
    std::vector<Edge> edges;
    unsigned axis = 0;  // dimensions of 1 may be squeezed
    for (size_t d = 0; d < block.size(); ++d) {
      if (window.bounds[d] == 1) continue;
      while (shape[axis] == 1) ++axis;
      const unsigned here = axis++;
      if (!w.isPartial[d]) continue;
      const mlir::Value start = mlir::arith::MulIOp::create(b_, at, block[d], i32(window.bounds[d]));
      edges.push_back({here, mlir::arith::SubIOp::create(b_, at, i32(arrayOf(w)[d]), start)});
    }
    if (edges_.contains(ref)) {
      edges_[ref] = std::move(edges);
      return;
    }
    auto bits = mlir::VectorType::get(shape, b_.getI1Type());
    mlir::Value inside;
    for (const Edge& e : edges) inside = logicalAnd(b_, kernel_.getLoc(), inside, isBefore(e.left, e.axis, bits));
    storeWhole(inside, shadowOf(ref));
  }

  /// The mask of what is loaded from a block that may be partial.
  mlir::Value insideArray(mlir::Operation& op) {
    const mlir::Location at = op.getLoc();
    const mlir::Type type = maskType(op.getResult(0).getType());
    const auto indices = op.getOperands().drop_front();
    auto vector = mlir::dyn_cast<mlir::VectorType>(type);
    const size_t dropped = indices.size() - (vector ? static_cast<size_t>(vector.getRank()) : 0);
    mlir::Value inside;
    for (const Edge& e : edges_[op.getOperand(0)]) {
      const mlir::Value first = mlir::arith::IndexCastOp::create(b_, at, b_.getI32Type(), indices[e.axis]);
      const mlir::Value left = mlir::arith::SubIOp::create(b_, at, e.left, first);
      if (e.axis >= dropped) {
        inside =
            logicalAnd(b_, kernel_.getLoc(), inside, isBefore(left, static_cast<unsigned>(e.axis - dropped), vector));
        continue;
      }
      const mlir::Value one = compare(mlir::arith::CmpIPredicate::sgt, left, i32(0));
      inside = logicalAnd(b_, kernel_.getLoc(), inside,
                          vector ? mlir::vector::BroadcastOp::create(b_, at, vector, one).getResult() : one);
    }
    return inside;
  }

  /// True for the elements whose position along the axis is below `left`.
  mlir::Value isBefore(mlir::Value left, unsigned axis, mlir::VectorType mask) {
    const mlir::Location at = kernel_.getLoc();
    auto numbers = mlir::VectorType::get(mask.getShape(), b_.getI32Type());
    const mlir::Value position =
        tpu::IotaOp::create(b_, at, numbers, llvm::ArrayRef<int32_t>{static_cast<int32_t>(axis)});
    return compare(mlir::arith::CmpIPredicate::slt, position, mlir::vector::BroadcastOp::create(b_, at, numbers, left));
  }

  void storeWhole(mlir::Value value, mlir::Value ref) {
    const mlir::Location at = kernel_.getLoc();
    const mlir::Value zero = mlir::arith::ConstantOp::create(b_, at, b_.getIndexAttr(0));
    const llvm::SmallVector<mlir::Value> indices(shapeOf(ref.getType()).size(), zero);
    tpu::VectorStoreOp::create(b_, at, value, ref, indices, mlir::Value(), llvm::ArrayRef<int32_t>{}, false);
  }

  const WindowCheck& windowOf(unsigned argument) {
    const auto block = arguments_.blockNumber(kernel_.getArgument(argument));
    return *std::ranges::find(plan_.windows, static_cast<int>(*block), &WindowCheck::number);
  }

  void makeUndefined(mlir::Value ref) {
    const mlir::Value shadow = shadowOf(ref);
    auto type = mlir::VectorType::get(shapeOf(shadow.getType()), b_.getI1Type());
    storeWhole(emitConstant(b_, kernel_.getLoc(), type, false), shadow);
  }

  mlir::Value isFirstStep(const WindowCheck& w) {
    mlir::Value first = emitConstant(b_, kernel_.getLoc(), b_.getI1Type(), true);
    for (auto d = static_cast<unsigned>(w.visitAxes); d < signature().grid.size(); ++d)
      first = mlir::arith::AndIOp::create(b_, kernel_.getLoc(), first,
                                          compare(mlir::arith::CmpIPredicate::eq, kernel_.getArgument(d), i32(0)));
    return first;
  }

  /// Checks that a block that differs from the previous step's was not visited before; extra scratch records both.
  void trackVisits(const WindowCheck& w, const std::vector<mlir::Value>& block) {
    const mlir::Location at = kernel_.getLoc();
    const Window& window = *signature().windows[static_cast<size_t>(w.number)];
    Shape blocks;
    for (size_t d = 0; d < block.size(); ++d)
      blocks.push_back((arrayOf(w)[d] + window.bounds[d] - 1) / window.bounds[d]);
    // Both begin as undefined memory, which reads as the number of no block and as false.
    const mlir::Value last = scalarScratch({static_cast<int64_t>(block.size())}, b_.getI32Type());
    const mlir::Value seen = scalarScratch(blocks, b_.getI1Type());
    llvm::SmallVector<mlir::Value> place, axes;
    mlir::Value changed = emitConstant(b_, at, b_.getI1Type(), false);
    for (size_t d = 0; d < block.size(); ++d) {
      axes.push_back(index(static_cast<int64_t>(d)));
      place.push_back(mlir::arith::IndexCastOp::create(b_, at, b_.getIndexType(), block[d]));
      const mlir::Value before = mlir::memref::LoadOp::create(b_, at, last, axes[d]);
      changed = mlir::arith::OrIOp::create(b_, at, changed, compare(mlir::arith::CmpIPredicate::ne, before, block[d]));
    }
    when(changed, [&] {
      const mlir::Value known = mlir::memref::LoadOp::create(b_, at, seen, place);
      const mlir::Value yes = emitConstant(b_, at, b_.getI1Type(), true);
      require(at, mlir::arith::XOrIOp::create(b_, at, known, yes));
      mlir::memref::StoreOp::create(b_, at, yes, seen, place);
      for (size_t d = 0; d < block.size(); ++d) mlir::memref::StoreOp::create(b_, at, block[d], last, axes[d]);
      const mlir::BlockArgument ref = arguments_.block(static_cast<size_t>(w.number));
      if (llvm::is_contained(plan_.resets, ref.getArgNumber())) makeUndefined(ref);
    });
  }

  mlir::Value scalarScratch(const Shape& shape, mlir::Type element) {
    const mlir::Attribute space = tpu::MemorySpaceAttr::get(b_.getContext(), tpu::MemorySpace::smem, std::nullopt);
    auto type = mlir::MemRefType::get(shape, element, mlir::MemRefLayoutAttrInterface(), space);
    const unsigned at = kernel_.getNumArguments();
    (void)kernel_.insertArgument(at, type, {}, kernel_.getLoc());
    ++signature().numScratch;
    return kernel_.getArgument(at);
  }

  mlir::Value index(int64_t v) { return mlir::arith::ConstantOp::create(b_, kernel_.getLoc(), b_.getIndexAttr(v)); }
  mlir::Value compare(mlir::arith::CmpIPredicate predicate, mlir::Value a, mlir::Value b) {
    return mlir::arith::CmpIOp::create(b_, kernel_.getLoc(), predicate, a, b);
  }
  void when(mlir::Value condition, const std::function<void()>& body) {
    auto branch = mlir::scf::IfOp::create(b_, kernel_.getLoc(), condition, /*withElseRegion=*/false);
    const mlir::OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(branch.thenBlock());
    body();
  }

  CheckPlan plan_;
  CheckedPackage checked_;
  KernelArguments arguments_;
  mlir::func::FuncOp kernel_;
  Definedness found_;
  mlir::OpBuilder b_;
  llvm::DenseMap<mlir::Value, mlir::Value> shadows_;      ///< by ref
  llvm::DenseMap<mlir::Value, std::vector<Edge>> edges_;  ///< edges of inputs without a shadow
  MaskMap masks_;
  Unsupported unsupported_;
};

}  // namespace

tl::expected<CheckedPackage, Unsupported> withChecks(const KernelPackage& given) {
  // Without partial blocks there are no elements past an array's end to check.
  const auto other = retilePartialBlocks(given);
  const KernelPackage& package = other ? *other : given;
  auto plan = planChecks(package);
  if (!plan) return tl::unexpected(std::move(plan.error()));
  auto checked = Instrumenter(package, std::move(*plan)).run();
  if (checked && other) checked->rewrites.emplace_back(kRetileWithoutPadding);
  return checked;
}

bool removeShadows(std::vector<Array>& results, size_t shadowResults) {
  const auto first = results.end() - static_cast<ptrdiff_t>(shadowResults);
  const bool defined = std::all_of(first, results.end(), [](const Array& a) {
    return a.elements() == 0 || !std::memchr(a.data(), 0, static_cast<size_t>(a.bytes()));
  });
  results.erase(first, results.end());
  return defined;
}

bool tracksCopies(const KernelPackage& package) {
  bool watches = false;
  package.kernelFunction().walk([&](mlir::Operation* op) { watches |= op->hasAttr(kHazardChecked); });
  return watches;
}

}  // namespace smalti::cpu
