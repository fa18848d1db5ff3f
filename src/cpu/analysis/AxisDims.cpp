#include "cpu/analysis/AxisDims.h"

#include <algorithm>

#include "ir/KernelArguments.h"
#include "ir/TpuOpsMxu.h"
#include "ir/TpuOpsShape.h"
#include "ir/Types.h"
#include "ir/facts/Attributes.h"
#include "ir/facts/DotDimensions.h"
#include "ir/facts/IndexMaps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "schedule/UnitDims.h"

namespace smalti::cpu {
namespace {

bool isShaped(mlir::Value v) { return llvm::isa<mlir::VectorType, mlir::MemRefType>(v.getType()); }

/// Integer comparison of a value with a constant, as (value, constant).
std::optional<std::pair<mlir::Value, int64_t>> comparison(mlir::Value v, mlir::arith::CmpIPredicate predicate) {
  auto compare = v.getDefiningOp<mlir::arith::CmpIOp>();
  if (!compare || compare.getPredicate() != predicate) return std::nullopt;
  for (const bool swapped : {false, true}) {
    const auto constant = mlir::getConstantIntValue(compare->getOperand(swapped ? 0 : 1));
    if (constant) return std::pair{compare->getOperand(swapped ? 1 : 0), *constant};
  }
  return std::nullopt;
}

/// `x != 0` of a widened i1 is that i1.
mlir::Value plainCondition(mlir::Value v) {
  while (auto compared = comparison(v, mlir::arith::CmpIPredicate::ne)) {
    auto wider = compared->first.getDefiningOp<mlir::arith::ExtUIOp>();
    if (compared->second != 0 || !wider || !wider.getIn().getType().isInteger(1)) break;
    v = wider.getIn();
  }
  return v;
}

bool onlyConditions(mlir::Value v) {
  return llvm::all_of(v.getUsers(), [](mlir::Operation* user) {
    if (llvm::isa<mlir::scf::IfOp>(user)) return true;
    return llvm::isa<mlir::arith::ExtUIOp, mlir::arith::CmpIOp>(user) && onlyConditions(user->getResult(0));
  });
}

/// Every use is a comparison for equality with a constant, used only by conditions.
bool onlyCompared(mlir::Value index) {
  return llvm::all_of(index.getUsers(), [](mlir::Operation* user) {
    return user->getNumResults() == 1 && comparison(user->getResult(0), mlir::arith::CmpIPredicate::eq) &&
           onlyConditions(user->getResult(0));
  });
}

}  // namespace

std::optional<GridIndexEquals> gridIndexCondition(mlir::func::FuncOp kernel, int rank, mlir::Value condition) {
  const auto compared = comparison(plainCondition(condition), mlir::arith::CmpIPredicate::eq);
  if (!compared) return std::nullopt;
  auto argument = llvm::dyn_cast<mlir::BlockArgument>(compared->first);
  if (!argument || argument.getOwner() != &kernel.getBody().front() ||
      static_cast<int>(argument.getArgNumber()) >= rank)
    return std::nullopt;
  return GridIndexEquals{static_cast<int>(argument.getArgNumber()), compared->second};
}

int AxisDims::first(mlir::Value v) {
  const auto [at, isNew] = firstNode_.try_emplace(v, static_cast<int>(nodes_.size()));
  if (isNew) nodes_.resize(nodes_.size() + shapeOf(v.getType()).size());
  return at->second;
}
int AxisDims::root(int node) const {
  while (nodes_[static_cast<size_t>(node)].parent >= 0) node = nodes_[static_cast<size_t>(node)].parent;
  return node;
}
void AxisDims::setAxis(int node, int axis) {
  int& now = nodes_[static_cast<size_t>(root(node))].axis;
  if (now == axis || axis == kUnknown) return;
  if (now == kUnknown) {
    now = axis;
    return;
  }
  freeze(now);
  freeze(axis);
  now = kFixed;
}
void AxisDims::same(mlir::Value a, size_t da, mlir::Value b, size_t db) {
  const int firstA = first(a), firstB = first(b);
  const int x = root(firstA + static_cast<int>(da)), y = root(firstB + static_cast<int>(db));
  if (x == y) return;
  const int axis = nodes_[static_cast<size_t>(y)].axis;
  nodes_[static_cast<size_t>(y)].parent = x;
  setAxis(x, axis);
}
void AxisDims::allSame(mlir::Value a, mlir::Value b) {
  for (size_t d = 0; d < shapeOf(a.getType()).size(); ++d) same(a, d, b, d);
}
void AxisDims::fix(mlir::Value v) {
  const int start = first(v);
  for (size_t d = 0; d < shapeOf(v.getType()).size(); ++d) setAxis(start + static_cast<int>(d), kFixed);
}

int AxisDims::axisOf(mlir::Value v, size_t d) const {
  const auto at = firstNode_.find(v);
  if (at == firstNode_.end()) return -1;
  const int axis = nodes_[static_cast<size_t>(root(at->second + static_cast<int>(d)))].axis;
  return axis >= 0 && free(axis) ? axis : -1;
}
bool AxisDims::contracted(int axis) const {
  return llvm::any_of(contracted_, [&](int node) { return nodes_[static_cast<size_t>(root(node))].axis == axis; });
}
bool AxisDims::follows(mlir::Value v, int axis) const {
  if (!isShaped(v)) return false;
  for (size_t d = 0; d < shapeOf(v.getType()).size(); ++d)
    if (axisOf(v, d) == axis) return true;
  return false;
}

/// One dimension of one window along an axis. All such dimensions must agree.
void AxisDims::setSizes(size_t number, int64_t bound, int64_t block, int64_t size) {
  Axis& axis = axes_[number];
  int64_t covered = 0;
  if (bound == kDynamicBound || bound < 1 || block < 2 || __builtin_mul_overflow(bound, block, &covered) ||
      covered - size >= block) {
    axis.free = false;
    return;
  }
  covered = std::min(covered, size);
  if (axis.block && (axis.block != block || axis.extent != covered)) axis.free = false;
  axis.block = block;
  axis.extent = covered;
}

void AxisDims::windows(const KernelArguments& arguments, const std::vector<int64_t>& grid) {
  for (size_t w = 0; w < arguments.numBlocks(); ++w) {
    const mlir::Value ref = arguments.block(w);
    if (!arguments.windowOf(w)) {
      fix(ref);
      continue;
    }
    const Window& window = *arguments.windowOf(w);
    const Shape& array = arguments.arrayOf(w).shape;
    const IndexMapFacts map(arguments.indexMap(window), grid.size());
    // The axis that steps through the blocks of a dimension of the array.
    const auto axisAlong = [&](size_t d) {
      const auto& form = map.coordinates()[d].form;
      return form ? form->gridIndex() : std::nullopt;
    };
    for (size_t a = 0; a < grid.size(); ++a)
      if (map.uses(a) && (window.elementIndexed || (!ofParts_ && !map.onlyReturns(a)))) freeze(static_cast<int>(a));
    const Shape shape = shapeOf(ref.getType());
    const auto source = schedule::unitReshape(window.bounds, shape);
    const int start = first(ref);
    std::vector<bool> mapped(window.bounds.size()), seen(grid.size());
    for (size_t d = 0; d < shape.size(); ++d) {
      const int from = shape == window.bounds ? static_cast<int>(d) : source ? (*source)[d] : -1;
      const int node = start + static_cast<int>(d);
      if (from >= 0) mapped[static_cast<size_t>(from)] = true;
      const auto axis = from < 0 ? std::nullopt : axisAlong(static_cast<size_t>(from));
      if (!axis) {
        setAxis(node, kFixed);
        continue;
      }
      if (seen[*axis]) freeze(static_cast<int>(*axis));  // a diagonal
      seen[*axis] = true;
      setAxis(node, static_cast<int>(*axis));
      setSizes(*axis, grid[*axis], window.bounds[static_cast<size_t>(from)], array[static_cast<size_t>(from)]);
    }
    // An axis that chooses among squeezed dimensions keeps its steps.
    for (size_t d = 0; !ofParts_ && d < mapped.size(); ++d)
      if (const auto axis = mapped[d] ? std::nullopt : axisAlong(d)) freeze(static_cast<int>(*axis));
  }
}

void AxisDims::product(mlir::Operation& op) {
  const auto dims = dotDimensionsOf(op);
  mlir::Value lhs = op.getOperand(0), rhs = op.getOperand(1), result = op.getResult(0);
  const auto at = [](const Shape& list, size_t i) { return static_cast<size_t>(list[i]); };
  for (size_t i = 0; i < dims.lhsContracting.size(); ++i) {
    same(lhs, at(dims.lhsContracting, i), rhs, at(dims.rhsContracting, i));
    contracted_.push_back(first(lhs) + static_cast<int>(dims.lhsContracting[i]));
  }
  size_t d = 0;
  for (size_t i = 0; i < dims.lhsBatch.size(); ++i, ++d) {
    same(lhs, at(dims.lhsBatch, i), rhs, at(dims.rhsBatch, i));
    same(lhs, at(dims.lhsBatch, i), result, d);
  }
  for (size_t i = 0; i < dims.lhsFree.size(); ++i) same(lhs, at(dims.lhsFree, i), result, d++);
  for (size_t i = 0; i < dims.rhsFree.size(); ++i) same(rhs, at(dims.rhsFree, i), result, d++);
  allSame(result, op.getOperand(2));
}

void AxisDims::reduction(mlir::Operation& op) {
  mlir::Value from = op.getOperand(0), result = op.getResult(0);
  const Shape dropped = integersAttribute(op, "reduction_dims");
  size_t d = 0;
  for (size_t k = 0; k < shapeOf(from.getType()).size(); ++k)
    if (llvm::is_contained(dropped, static_cast<int64_t>(k)))
      setAxis(first(from) + static_cast<int>(k), kFixed);
    else
      same(from, k, result, d++);
  allSame(result, op.getOperand(1));
}

bool AxisDims::op(mlir::Operation& op) {
  if (llvm::isa<tpu::MatmulOp>(op)) {
    product(op);
    return true;
  }
  if (llvm::isa<mlir::vector::MultiDimReductionOp>(op) && isShaped(op.getResult(0))) {
    reduction(op);
    return true;
  }
  if (const auto access = boxAccess(op)) {
    const int ref = first(access->ref), value = first(access->value);
    for (size_t d = 0; d < access->whole.size(); ++d) {
      if (access->whole[d]) {
        same(access->ref, d, access->value, d);
        continue;
      }
      setAxis(ref + static_cast<int>(d), kFixed);
      setAxis(value + static_cast<int>(d), kFixed);
    }
    return true;
  }
  if (auto condition = llvm::dyn_cast<mlir::scf::IfOp>(op)) {
    for (mlir::Value v : op.getResults())
      if (isShaped(v)) return false;
    return true;
  }
  if (auto loop = llvm::dyn_cast<mlir::scf::ForOp>(op))
    return llvm::none_of(loop.getRegionIterArgs(), [](mlir::BlockArgument v) { return isShaped(v); });
  if (op.getNumRegions() != 0) return false;
  if (llvm::isa<mlir::vector::BroadcastOp>(op)) {
    if (!isShaped(op.getOperand(0))) return true;
    const Shape from = shapeOf(op.getOperand(0).getType()), to = shapeOf(op.getResult(0).getType());
    for (size_t d = 0; d < from.size(); ++d)
      if (from[d] == to[d + to.size() - from.size()])
        same(op.getOperand(0), d, op.getResult(0), d + to.size() - from.size());
    return true;
  }
  if (llvm::isa<tpu::IotaOp>(op)) {
    const Shape numbered = integersAttribute(op, "dimensions");
    if (!ofParts_ || numbered.size() != 1 || elementDType(op.getResult(0).getType()) != DType::i32)
      for (int64_t d : numbered) setAxis(first(op.getResult(0)) + static_cast<int>(d), kFixed);
    return true;
  }
  if (llvm::isa<mlir::vector::ShapeCastOp>(op)) {
    const Shape from = shapeOf(op.getOperand(0).getType()), to = shapeOf(op.getResult(0).getType());
    const auto source = schedule::unitReshape(from, to);
    for (size_t d = 0; source && d < to.size(); ++d)
      if ((*source)[d] >= 0) same(op.getOperand(0), static_cast<size_t>((*source)[d]), op.getResult(0), d);
    if (source) return true;
  }
  if (auto concatenation = llvm::dyn_cast<tpu::ConcatenateOp>(op)) {
    mlir::Value result = op.getResult(0);
    const auto joined = static_cast<size_t>(concatenation.getDimension());
    setAxis(first(result) + static_cast<int>(joined), kFixed);
    for (mlir::Value part : op.getOperands())
      for (size_t d = 0; d < shapeOf(result.getType()).size(); ++d)
        if (d == joined)
          setAxis(first(part) + static_cast<int>(d), kFixed);
        else
          same(part, d, result, d);
    return true;
  }
  if (llvm::isa<mlir::arith::ConstantOp>(op)) {
    auto dense = llvm::dyn_cast<mlir::DenseElementsAttr>(op.getAttr("value"));
    if (!dense || dense.isSplat()) return true;
  }
  // Ops of arith and math: their verifiers ensure that all vectors have the same shape.
  if (op.hasTrait<mlir::OpTrait::Elementwise>() && op.getNumResults() == 1 && isShaped(op.getResult(0))) {
    const Shape shape = shapeOf(op.getResult(0).getType());
    for (mlir::Value v : op.getOperands())
      if (isShaped(v)) {
        if (shapeOf(v.getType()) != shape) return false;
        allSame(op.getResult(0), v);
      }
    return true;
  }
  // Any other op: its shapes are fixed.
  for (mlir::Value v : op.getOperands())
    if (isShaped(v)) fix(v);
  for (mlir::Value v : op.getResults())
    if (isShaped(v)) fix(v);
  return true;
}

bool AxisDims::body(mlir::func::FuncOp kernel) {
  bool known = true;
  kernel.getBody().front().walk(
      [&](mlir::Operation* o) { known = known && (o->hasTrait<mlir::OpTrait::IsTerminator>() || op(*o)); });
  return known;
}

std::optional<AxisDims> AxisDims::of(const KernelPackage& package) {
  AxisDims dims;
  auto kernel = package.kernelFunction();
  if (!dims.grid(package)) return std::nullopt;
  for (size_t a = 0; a < package.signature.grid.size(); ++a)
    if (!onlyCompared(kernel.getArgument(static_cast<unsigned>(a)))) dims.freeze(static_cast<int>(a));
  return dims;
}

std::optional<AxisDims> AxisDims::ofParts(const KernelPackage& package) {
  AxisDims dims(true);
  return dims.grid(package) ? std::optional(std::move(dims)) : std::nullopt;
}

bool AxisDims::grid(const KernelPackage& package) {
  axes_.resize(package.signature.grid.size());
  windows(KernelArguments(package), package.signature.grid);
  if (!body(package.kernelFunction())) return false;
  for (Axis& axis : axes_)
    if (axis.block == 0) axis.free = false;
  return true;
}

std::optional<AxisDims> AxisDims::ofOutput(const KernelPackage& package, size_t d) {
  const mlir::Value output = KernelArguments(package).output(0);
  const int64_t extent = shapeOf(output.getType())[d];
  AxisDims dims;
  dims.axes_.resize(1);
  dims.setAxis(dims.first(output) + static_cast<int>(d), 0);
  dims.setSizes(0, 1, extent, extent);
  if (!dims.body(package.kernelFunction())) return std::nullopt;
  return dims;
}

}  // namespace smalti::cpu
