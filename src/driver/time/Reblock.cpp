#include "driver/time/Reblock.h"

#include <map>
#include <numeric>
#include <set>

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Builders.h"

#include "cpu/analysis/Parallel.h"
#include "ir/KernelArguments.h"
#include "ir/Tpu.h"
#include "ir/TpuOps.h"
#include "ir/Types.h"
#include "ir/facts/IndexMaps.h"
#include "ir/facts/OpFamilies.h"
#include "tpu/Multiple.h"
#include "tpu/Scratch.h"

namespace smalti::driver {
namespace {

using namespace smalti::tpu;

std::optional<llvm::SmallVector<int64_t>> shapeOfType(mlir::Type t) {
  if (auto shaped = mlir::dyn_cast<mlir::ShapedType>(t); shaped && shaped.hasRank())
    return llvm::SmallVector<int64_t>(shaped.getShape());
  return std::nullopt;
}

/// The dimensions of values that grow together.
class Extents {
 public:
  using Dim = std::pair<void*, size_t>;

  void same(mlir::Value a, size_t i, mlir::Value b, size_t j) { parent_[root(id(a, i))] = root(id(b, j)); }
  /// Joins dimensions of two values, from the last one on; dimensions of size 1 are not joined.
  void sameTrailing(mlir::Value a, mlir::Value b) {
    const auto x = shapeOfType(a.getType()), y = shapeOfType(b.getType());
    if (!x || !y) return;
    for (size_t d = 1; d <= std::min(x->size(), y->size()); ++d)
      if ((*x)[x->size() - d] == (*y)[y->size() - d]) same(a, x->size() - d, b, y->size() - d);
  }
  /// Joins the dimensions of a reshape that only adds or removes dimensions of size 1. False: it is another one.
  bool joinReshaped(mlir::Value a, mlir::Value b) {
    const auto x = shapeOfType(a.getType()), y = shapeOfType(b.getType());
    if (!x || !y) return true;
    size_t i = 0, j = 0;
    while (true) {
      while (i < x->size() && (*x)[i] == 1) ++i;
      while (j < y->size() && (*y)[j] == 1) ++j;
      if (i == x->size() || j == y->size()) return i == x->size() && j == y->size();
      if ((*x)[i] != (*y)[j]) return false;
      same(a, i++, b, j++);
    }
  }
  void grow(mlir::Value v, size_t d) { growing_.insert(root(id(v, d))); }
  /// After all unions.
  void settle() {
    std::set<size_t> roots;
    for (const size_t g : growing_) roots.insert(root(g));
    growing_ = std::move(roots);
  }
  bool grows(mlir::Value v, size_t d) { return growing_.contains(root(id(v, d))); }
  bool grows(mlir::Value v) {
    const auto shape = shapeOfType(v.getType());
    for (size_t d = 0; shape && d < shape->size(); ++d)
      if (grows(v, d)) return true;
    return false;
  }

 private:
  size_t id(mlir::Value v, size_t d) {
    const auto [it, isNew] = ids_.try_emplace({v.getAsOpaquePointer(), d}, parent_.size());
    if (isNew) parent_.push_back(parent_.size());
    return it->second;
  }
  size_t root(size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  std::map<Dim, size_t> ids_;
  std::vector<size_t> parent_;
  std::set<size_t> growing_;
};

/// Ties the dimensions of an op's operands to those of its results. False: the op is unknown.
bool tie(mlir::Operation& op, Extents& e) {
  const auto all = [&](mlir::ValueRange values, mlir::ValueRange to) {
    for (auto [a, b] : llvm::zip(values, to)) e.sameTrailing(a, b);
  };
  if (auto branch = mlir::dyn_cast<mlir::scf::IfOp>(op)) {
    all(branch.thenYield().getOperands(), branch.getResults());
    if (!branch.getElseRegion().empty()) all(branch.elseYield().getOperands(), branch.getResults());
    return true;
  }
  if (auto loop = mlir::dyn_cast<mlir::scf::ForOp>(op)) {
    all(loop.getInitArgs(), loop.getRegionIterArgs());
    all(loop.getBody()->getTerminator()->getOperands(), loop.getRegionIterArgs());
    all(loop.getRegionIterArgs(), loop.getResults());
    return true;
  }
  if (op.hasTrait<mlir::OpTrait::IsTerminator>() || op.getNumRegions() > 0) return true;
  if (auto matmul = mlir::dyn_cast<MatmulOp>(op)) {
    const auto numbers = matmul.getDimensionNumbers();
    if (!numbers) return false;
    const auto l = numbers->getLhsContractingDims(), r = numbers->getRhsContractingDims();
    for (auto [i, j] : llvm::zip(l, r))
      e.same(matmul.getLhs(), static_cast<size_t>(i), matmul.getRhs(), static_cast<size_t>(j));
    // The result has the batch, then what is free on the left, then on the right.
    size_t d = 0;
    const auto lb = numbers->getLhsBatchDims(), rb = numbers->getRhsBatchDims();
    for (auto [i, j] : llvm::zip(lb, rb)) {
      e.same(matmul.getLhs(), static_cast<size_t>(i), op.getResult(0), d);
      e.same(matmul.getRhs(), static_cast<size_t>(j), op.getResult(0), d++);
    }
    for (const int64_t i : numbers->getLhsNonContractingDims())
      e.same(matmul.getLhs(), static_cast<size_t>(i), op.getResult(0), d++);
    for (const int64_t j : numbers->getRhsNonContractingDims())
      e.same(matmul.getRhs(), static_cast<size_t>(j), op.getResult(0), d++);
    e.sameTrailing(matmul.getAcc(), op.getResult(0));
    return true;
  }
  if (auto reduction = mlir::dyn_cast<mlir::vector::MultiDimReductionOp>(op)) {
    const auto dims = reduction.getReductionDims();
    size_t to = 0;
    const auto rank = mlir::cast<mlir::VectorType>(reduction.getSource().getType()).getRank();
    for (int64_t d = 0; d < rank; ++d)
      if (!llvm::is_contained(dims, d)) e.same(reduction.getSource(), static_cast<size_t>(d), op.getResult(0), to++);
    e.sameTrailing(reduction.getAcc(), op.getResult(0));
    return true;
  }
  if (auto transpose = mlir::dyn_cast<TransposeOp>(op)) {
    for (auto [i, from] : llvm::enumerate(transpose.getPermutation()))
      e.same(transpose.getVector(), static_cast<size_t>(from), op.getResult(0), i);
    return true;
  }
  if (isLoad(op) && op.getNumOperands() > 0 && op.getNumResults() == 1) {
    e.sameTrailing(op.getOperand(0), op.getResult(0));
    return true;
  }
  if (isStore(op)) {
    for (mlir::Value v : op.getOperands())
      if (mlir::isa<mlir::VectorType>(v.getType()))
        for (mlir::Value m : op.getOperands())
          if (mlir::isa<mlir::MemRefType>(m.getType())) e.sameTrailing(v, m);
    return true;
  }
  if (mlir::isa<mlir::vector::ShapeCastOp>(op)) return e.joinReshaped(op.getOperand(0), op.getResult(0));
  if (mlir::isa<mlir::vector::BroadcastOp>(op)) {
    e.sameTrailing(op.getOperand(0), op.getResult(0));
    return true;
  }
  if (mlir::isa<mlir::arith::ConstantOp, IotaOp>(op)) return true;
  if (isElementwise(op)) {
    for (mlir::Value v : op.getOperands()) e.sameTrailing(v, op.getResult(0));
    return true;
  }
  return false;
}

mlir::Type scaled(mlir::Value v, Extents& e, int64_t numerator, int64_t denominator, bool& fits) {
  auto shape = *shapeOfType(v.getType());
  for (size_t d = 0; d < shape.size(); ++d) {
    if (!e.grows(v, d)) continue;
    fits &= shape[d] > 0 && shape[d] * numerator % denominator == 0;
    shape[d] = shape[d] * numerator / denominator;
  }
  if (auto memref = mlir::dyn_cast<mlir::MemRefType>(v.getType()))
    return mlir::MemRefType::get(shape, memref.getElementType(), mlir::MemRefLayoutAttrInterface(),
                                 memref.getMemorySpace());
  return mlir::cast<mlir::ShapedType>(v.getType()).clone(shape);
}

/// Whether a branch that depends on the condition writes to a block of an output.
bool decidesAboutOutputs(mlir::Value condition, const KernelArguments& arguments) {
  const auto isOutput = [&](mlir::Value v) {
    const auto role = arguments.roleOf(v);
    return role && role->kind == ArgumentRole::output;
  };
  return llvm::any_of(condition.getUsers(), [&](mlir::Operation* user) {
    if (!mlir::isa<mlir::scf::IfOp>(user))
      return user->getNumResults() == 1 && mlir::isa<mlir::arith::ExtUIOp, mlir::arith::CmpIOp>(user) &&
             decidesAboutOutputs(user->getResult(0), arguments);
    bool writes = false;
    user->walk([&](mlir::Operation* op) { writes |= isStore(*op) && llvm::any_of(op->getOperands(), isOutput); });
    return writes;
  });
}

/// Adapts comparisons with the constant number of the last step along this axis. On an axis of one step that is the
/// first step as well: a condition around a store to an output then means the last.
void moveLastStep(const KernelArguments& arguments, mlir::BlockArgument index, int64_t before, int64_t after) {
  for (mlir::Operation* user : llvm::make_early_inc_range(index.getUsers())) {
    auto compare = mlir::dyn_cast<mlir::arith::CmpIOp>(user);
    if (!compare || (before == 1 && !decidesAboutOutputs(compare, arguments))) continue;
    for (mlir::OpOperand& operand : compare->getOpOperands()) {
      auto constant = operand.get().getDefiningOp<mlir::arith::ConstantOp>();
      const auto value = constant ? mlir::dyn_cast<mlir::IntegerAttr>(constant.getValue()) : mlir::IntegerAttr();
      if (!value || value.getInt() != before - 1) continue;
      mlir::OpBuilder b(compare);
      operand.set(mlir::arith::ConstantOp::create(b, compare.getLoc(), b.getIntegerAttr(value.getType(), after - 1)));
    }
  }
}

bool isZero(mlir::Value v) { return constantOf(v) == 0; }

/// A load or store takes all of what grows of a ref. False: it takes a part, whose size and place would not follow.
bool takesWhole(mlir::Operation& op, Extents& e) {
  if (!isLoad(op) && !isStore(op)) return true;
  mlir::Value ref, vector = op.getNumResults() == 1 ? op.getResult(0) : mlir::Value();
  llvm::SmallVector<mlir::Value> indices;
  for (mlir::Value v : op.getOperands()) {
    if (mlir::isa<mlir::MemRefType>(v.getType())) ref = v;
    if (v.getType().isIndex()) indices.push_back(v);
    if (!vector && mlir::isa<mlir::VectorType>(v.getType())) vector = v;
  }
  if (!ref || !e.grows(ref)) return true;
  const auto whole = shapeOfType(ref.getType());
  const auto part = vector ? shapeOfType(vector.getType()) : std::nullopt;
  if (!part || part->size() != whole->size() || indices.size() != whole->size()) return false;
  for (size_t d = 0; d < whole->size(); ++d)
    if (e.grows(ref, d) && ((*part)[d] != (*whole)[d] || !isZero(indices[d]))) return false;
  return true;
}

/// Whether a branch, a loop or an address depends on the index, except through a comparison with one step.
bool controlDependsOn(mlir::Value index, int depth = 0) {
  constexpr int kDeepest = 16;
  if (depth > kDeepest) return true;
  return llvm::any_of(index.getUsers(), [&](mlir::Operation* user) {
    if (auto compare = mlir::dyn_cast<mlir::arith::CmpIOp>(user)) {
      using enum mlir::arith::CmpIPredicate;
      const bool step = compare.getPredicate() == eq || compare.getPredicate() == ne;
      if (depth == 0 && step && (constantOf(compare.getLhs()) || constantOf(compare.getRhs()))) return false;
    }
    if (mlir::isa<mlir::vector::BroadcastOp>(user)) return false;  // values take no time
    const bool scalar =
        user->getNumResults() == 1 && user->getNumRegions() == 0 && user->getResult(0).getType().isIntOrIndexOrFloat();
    return !scalar || !user->getName().getStringRef().starts_with("arith.") ||
           controlDependsOn(user->getResult(0), depth + 1);
  });
}

/// Verifies what has been changed, quietly.
std::optional<KernelPackage> finished(KernelPackage package) {
  const mlir::ScopedDiagnosticHandler quiet(package.context.get(), [](mlir::Diagnostic&) { return mlir::success(); });
  if (!finish(package)) return std::nullopt;
  return package;
}

}  // namespace

std::optional<KernelPackage> reblocked(const KernelPackage& original, size_t axis, int64_t numerator,
                                       int64_t denominator) {
  const std::vector<int64_t>& grid = original.signature.grid;
  if (axis >= grid.size() || grid[axis] == kDynamicBound || grid[axis] * denominator % numerator != 0)
    return std::nullopt;
  KernelPackage package = original.copy();
  if (!finish(package)) return std::nullopt;
  const KernelArguments arguments(package);
  mlir::func::FuncOp f = package.kernelFunction();
  Extents extents;
  mlir::Builder b(package.context.get());
  auto windows = f->getAttrOfType<mlir::ArrayAttr>("window_params");
  if (!windows) return std::nullopt;
  std::vector<mlir::Attribute> changed(windows.begin(), windows.end());
  bool fits = true, some = false;
  for (size_t w = 0; w < arguments.numBlocks(); ++w) {
    const auto& window = arguments.windowOf(w);
    if (!window) continue;
    const IndexMapFacts map(arguments.indexMap(*window), grid.size());
    Shape bounds = window->bounds;
    for (size_t d = 0; d < map.coordinates().size(); ++d) {
      const BlockCoordinate& c = map.coordinates()[d];
      if (!c.axes[axis]) continue;
      const auto mine = c.form ? c.form->gridIndex() : std::nullopt;
      const int64_t size = arguments.arrayOf(w).shape[d];
      fits &= mine == axis && !window->elementIndexed && bounds[d] * grid[axis] == size && bounds[d] > 1;
      extents.grow(arguments.block(w), d);
      fits &= bounds[d] * numerator % denominator == 0;
      bounds[d] = bounds[d] * numerator / denominator;
      some = true;
    }
    mlir::NamedAttrList attributes(mlir::cast<mlir::DictionaryAttr>(changed[w]));
    attributes.set("window_bounds", b.getDenseI64ArrayAttr(bounds));
    changed[w] = attributes.getDictionary(package.context.get());
  }
  if (!fits || !some) return std::nullopt;
  std::vector<mlir::Operation*> unknown;
  f.walk([&](mlir::Operation* op) {
    if (op != f.getOperation() && !tie(*op, extents)) unknown.push_back(op);
  });
  extents.settle();
  for (mlir::Operation* op : unknown)
    for (const mlir::ValueRange values : {mlir::ValueRange(op->getOperands()), mlir::ValueRange(op->getResults())})
      for (mlir::Value v : values)
        if (extents.grows(v)) return std::nullopt;
  bool whole = !controlDependsOn(arguments.gridIndex(axis));
  f.walk([&](mlir::Operation* op) { whole = whole && takesWhole(*op, extents); });
  if (!whole) return std::nullopt;
  std::vector<mlir::Value> values(f.getArguments().begin(), f.getArguments().end());
  f.walk([&](mlir::Operation* op) {
    if (op == f.getOperation()) return;
    values.insert(values.end(), op->result_begin(), op->result_end());
    for (mlir::Region& r : op->getRegions())
      for (mlir::Block& block : r) values.insert(values.end(), block.args_begin(), block.args_end());
  });
  std::vector<std::pair<mlir::Value, mlir::Type>> types;
  for (mlir::Value v : values)
    if (extents.grows(v)) types.emplace_back(v, scaled(v, extents, numerator, denominator, fits));
  if (!fits) return std::nullopt;
  for (auto& [v, type] : types) {
    if (auto constant = v.getDefiningOp<mlir::arith::ConstantOp>()) {
      auto splat = mlir::dyn_cast<mlir::SplatElementsAttr>(constant.getValue());
      if (!splat) return std::nullopt;
      constant.setValueAttr(splat.resizeSplat(mlir::cast<mlir::ShapedType>(type)));
    }
    v.setType(type);
  }
  f.setType(mlir::FunctionType::get(package.context.get(), f.getBody().front().getArgumentTypes(),
                                    f.getFunctionType().getResults()));
  std::vector<int64_t> bounds = grid;
  bounds[axis] = bounds[axis] * denominator / numerator;
  moveLastStep(arguments, arguments.gridIndex(axis), grid[axis], bounds[axis]);
  f->setAttr("iteration_bounds", b.getDenseI64ArrayAttr(bounds));
  f->setAttr("window_params", b.getArrayAttr(changed));
  return finished(std::move(package));
}

namespace {

/// Whether steps may find in scratch what others left there.
bool keepsScratch(const KernelPackage& package) {
  const KernelArguments arguments(package);
  for (size_t i = 0; i < arguments.numScratch(); ++i)
    if (!is_semaphore(elementDType(arguments.scratch(i).getType())) && !isRemoved(package, arguments.scratch(i)))
      return true;
  return false;
}

/// Whether points along these leading axes may come in any order, whatever they keep in scratch.
bool inAnyOrder(const KernelPackage& package, size_t axes) {
  return !keepsScratch(package) || cpu::planParallel(package).axes >= static_cast<int>(axes);
}

}  // namespace

std::optional<KernelPackage> reordered(const KernelPackage& original, const std::vector<size_t>& order) {
  KernelPackage package = original.copy();
  if (!finish(package)) return std::nullopt;
  const KernelArguments arguments(package);
  const size_t rank = order.size();
  std::vector<size_t> place(rank);
  for (size_t i = 0; i < rank; ++i) place[order[i]] = i;
  // An output block stays in its window until its last step: axes that it does not use follow those that it uses.
  for (size_t w = arguments.numInputs(); w < arguments.numBlocks(); ++w) {
    const auto& window = arguments.windowOf(w);
    if (!window) return std::nullopt;
    const IndexMapFacts map(arguments.indexMap(*window), rank);
    for (size_t used = 0; used < rank; ++used)
      for (size_t unused = 0; unused < rank; ++unused)
        if (map.uses(used) && !map.uses(unused) && place[unused] < place[used] && package.signature.grid[unused] != 1)
          return std::nullopt;
  }
  size_t moved = 0;
  for (size_t i = 0; i < rank; ++i)
    if (order[i] != i) moved = i + 1;
  if (!inAnyOrder(package, moved)) return std::nullopt;
  const auto permute = [&](mlir::func::FuncOp f) {
    mlir::Block& block = f.getBody().front();
    llvm::SmallVector<mlir::Value> old(block.args_begin(), block.args_begin() + static_cast<int64_t>(rank));
    llvm::SmallVector<mlir::BlockArgument> fresh;
    // All grid indices have one type, so that only their uses change places.
    std::vector<std::vector<mlir::OpOperand*>> uses(rank);
    for (size_t a = 0; a < rank; ++a)
      for (mlir::OpOperand& use : old[a].getUses()) uses[a].push_back(&use);
    for (size_t a = 0; a < rank; ++a)
      for (mlir::OpOperand* use : uses[a]) use->set(old[place[a]]);
  };
  mlir::func::FuncOp f = package.kernelFunction();
  bool fits = true;
  f.walk([&](mlir::Operation* op) { fits &= !mlir::isa<IterationBoundOp>(op); });
  if (!fits) return std::nullopt;
  permute(f);
  std::set<mlir::Operation*> done;
  for (size_t w = 0; w < arguments.numBlocks(); ++w)
    if (const auto& window = arguments.windowOf(w))
      if (mlir::func::FuncOp map = arguments.indexMap(*window); done.insert(map.getOperation()).second) permute(map);
  mlir::Builder b(package.context.get());
  std::vector<int64_t> bounds(rank);
  for (size_t i = 0; i < rank; ++i) bounds[i] = package.signature.grid[order[i]];
  f->setAttr("iteration_bounds", b.getDenseI64ArrayAttr(bounds));
  if (auto semantics = f->getAttrOfType<mlir::ArrayAttr>("dimension_semantics");
      semantics && semantics.size() == rank) {
    std::vector<mlir::Attribute> inOrder(rank);
    for (size_t i = 0; i < rank; ++i) inOrder[i] = semantics[static_cast<unsigned>(order[i])];
    f->setAttr("dimension_semantics", b.getArrayAttr(inOrder));
  }
  return finished(std::move(package));
}

std::optional<KernelPackage> withParallelAxis(const KernelPackage& original, size_t axis) {
  KernelPackage package = original.copy();
  if (!finish(package) || axis >= package.signature.dimensionSemantics.size()) return std::nullopt;
  if (package.signature.dimensionSemantics[axis] == smalti::DimensionSemantics::parallel) return std::nullopt;
  const KernelArguments arguments(package);
  // Steps along it write blocks of their own.
  for (size_t w = arguments.numInputs(); w < arguments.numBlocks(); ++w) {
    const auto& window = arguments.windowOf(w);
    if (!window || !IndexMapFacts(arguments.indexMap(*window), package.signature.grid.size()).uses(axis))
      return std::nullopt;
  }
  mlir::func::FuncOp f = package.kernelFunction();
  auto semantics = f->getAttrOfType<mlir::ArrayAttr>("dimension_semantics");
  if (!semantics || semantics.size() <= axis) return std::nullopt;
  std::vector<mlir::Attribute> changed(semantics.begin(), semantics.end());
  changed[axis] = DimensionSemanticsAttr::get(package.context.get(), tpu::DimensionSemantics::parallel);
  f->setAttr("dimension_semantics", mlir::Builder(package.context.get()).getArrayAttr(changed));
  auto shared = finished(std::move(package));
  if (shared && !inAnyOrder(*shared, axis + 1)) return std::nullopt;
  return shared;
}

std::optional<KernelPackage> withDoubleBuffers(const KernelPackage& original) {
  KernelPackage package = original.copy();
  mlir::func::FuncOp f = package.kernelFunction();
  auto windows = f->getAttrOfType<mlir::ArrayAttr>("window_params");
  if (!windows) return std::nullopt;
  bool some = false;
  std::vector<mlir::Attribute> changed;
  for (mlir::Attribute w : windows) {
    mlir::NamedAttrList attributes(mlir::cast<mlir::DictionaryAttr>(w));
    if (attributes.get("pipeline_mode")) {
      attributes.erase("pipeline_mode");
      some = true;
    }
    changed.push_back(attributes.getDictionary(package.context.get()));
  }
  if (!some) return std::nullopt;
  f->setAttr("window_params", mlir::Builder(package.context.get()).getArrayAttr(changed));
  return finished(std::move(package));
}

}  // namespace smalti::driver
