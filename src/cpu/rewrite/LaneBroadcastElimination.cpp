#include "cpu/rewrite/LaneBroadcastElimination.h"

#include "cpu/analysis/BoxAccess.h"
#include "cpu/ops/ElementwiseOps.h"
#include "cpu/rewrite/grid/CollapseReductionAxis.h"
#include "ir/KernelArguments.h"
#include "ir/TpuOpsShape.h"
#include "ir/facts/Constants.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "schedule/ScheduledOp.h"

namespace smalti::cpu {
namespace {

using schedule::isVector;

mlir::ShapedType shaped(mlir::Value v) { return llvm::dyn_cast<mlir::ShapedType>(v.getType()); }
int64_t columnsOf(mlir::Value v) { return shaped(v).getShape().back(); }
/// Whether the shape has rows and columns.
bool hasColumns(mlir::Value v) { return shaped(v) && shaped(v).getRank() >= 2; }

mlir::ShapedType oneColumn(mlir::ShapedType type) {
  llvm::SmallVector<int64_t> shape(type.getShape());
  shape.back() = 1;
  return type.clone(shape);
}

/// Whether the value is a splat, for which computing it per row gains nothing.
bool isSplat(mlir::Value v) {
  mlir::Operation* op = v.getDefiningOp();
  if (!op) return false;
  if (llvm::isa<mlir::arith::ConstantOp>(op)) return true;
  if (!llvm::isa<mlir::vector::BroadcastOp, mlir::vector::ShapeCastOp>(op)) return false;
  return !isVector(op->getOperand(0)) || isSplat(op->getOperand(0));
}
/// Depends on something that differs between rows.
bool isPerRow(mlir::Operation& op) {
  return llvm::any_of(op.getOperands(), [](mlir::Value v) { return isVector(v) && !isSplat(v); });
}

/// The dimension along which a value is put together from copies or parts.
int64_t joinedDimension(mlir::Operation& op) {
  auto attribute = op.getAttrOfType<mlir::IntegerAttr>("dimension");
  return attribute ? attribute.getInt() : -1;
}

/// Which values and refs have equal columns.
class LaneBroadcasts {
 public:
  explicit LaneBroadcasts(const KernelPackage& package)
      : package_(package), arguments_(package), kernel_(arguments_.function()) {
    chooseRefs();
    for (size_t before = refs_.size() + 1; before != refs_.size();) {
      before = refs_.size();
      values_.clear();
      rows_ = false;
      kernel_.walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation* op) { visit(*op); });
    }
  }

  /// Something is computed or kept in more columns than one.
  bool any() const { return rows_ || !refs_.empty(); }
  const llvm::DenseSet<mlir::Value>& refs() const { return refs_; }
  bool equal(mlir::Value v) const { return hasColumns(v) && (columnsOf(v) == 1 || values_.contains(v)); }
  /// Scratch is the kernel's own; the arrays of outputs keep their columns.
  bool isScratch(mlir::Value ref) const { return arguments_.roleOf(ref)->kind == ArgumentRole::scratch; }

 private:
  /// Initially all refs that are only loaded and stored in boxes.
  void chooseRefs() {
    for (mlir::BlockArgument ref : kernel_.getArguments()) {
      const ArgumentRole role = *arguments_.roleOf(ref);
      if (role.kind != ArgumentRole::output && role.kind != ArgumentRole::scratch) continue;
      const auto output = arguments_.blockNumber(ref);
      if (output && (!package_.aliases.empty() || !arguments_.windowOf(*output))) continue;
      if (!llvm::isa<mlir::MemRefType>(ref.getType()) || !hasColumns(ref) || columnsOf(ref) == 1) continue;
      const auto isAccess = [](mlir::Operation* user) {
        const auto access = boxAccess(*user);
        return access && (access->whole.back() || takesKnownColumns(*user, *access));
      };
      const auto isLoad = [](mlir::Operation* user) { return user->getNumResults() == 1 && !user->use_empty(); };
      if (llvm::all_of(ref.getUsers(), isAccess) && llvm::any_of(ref.getUsers(), isLoad)) refs_.insert(ref);
    }
  }

  /// Whether the columns certainly exist, so that none stands for a column outside the ref.
  static bool takesKnownColumns(mlir::Operation& op, const BoxAccess& access) {
    const auto first = constantIndex(op.getOperand(access.firstIndex + static_cast<unsigned>(access.whole.size()) - 1));
    return first && *first >= 0 && *first + columnsOf(access.value) <= columnsOf(access.ref);
  }

  void visit(mlir::Operation& op) {
    if (const auto access = boxAccess(op); access && refs_.contains(access->ref)) {
      if (!access->isStore)
        values_.insert(access->value);
      else if (!access->whole.back() || !equal(access->value))
        refs_.erase(access->ref);
      return;
    }
    if (op.getNumResults() != 1 || !isVector(op.getResult(0)) || !hasColumns(op.getResult(0)) || !follows(op)) return;
    values_.insert(op.getResult(0));
    rows_ = rows_ || (isPerRow(op) && columnsOf(op.getResult(0)) > 1 && isNativeElementwise(op));
  }

  /// Whether the op's result has equal columns because its operands have.
  bool follows(mlir::Operation& op) const {
    mlir::Value result = op.getResult(0);
    const auto allEqual = [&] {
      return llvm::all_of(op.getOperands(), [&](mlir::Value v) { return !shaped(v) || equal(v); });
    };
    if (llvm::isa<mlir::arith::ConstantOp>(op)) {
      auto dense = llvm::dyn_cast<mlir::DenseElementsAttr>(op.getAttr("value"));
      return dense && dense.isSplat();
    }
    if (llvm::isa<mlir::vector::BroadcastOp>(op)) {
      mlir::Value from = op.getOperand(0);
      return !isVector(from) || shaped(from).getNumElements() == 1 || equal(from);
    }
    if (llvm::isa<mlir::vector::ShapeCastOp>(op))
      return equal(op.getOperand(0)) && columnsOf(op.getOperand(0)) == columnsOf(result);
    if (llvm::isa<mlir::vector::ExtractStridedSliceOp>(op)) return equal(op.getOperand(0));
    if (llvm::isa<tpu::ConcatenateOp>(op))
      return allEqual() && (joinedDimension(op) != shaped(result).getRank() - 1 || llvm::all_equal(op.getOperands()));
    return allEqual() && isNativeElementwise(op);
  }

  const KernelPackage& package_;
  const KernelArguments arguments_;
  mutable mlir::func::FuncOp kernel_;
  llvm::DenseSet<mlir::Value> refs_, values_;
  bool rows_ = false;  ///< something is computed per row
};

/// Makes the values of a package's own copy one column wide.
class Narrower {
 public:
  explicit Narrower(const KernelPackage& package) : kernel_(package.kernelFunction()), columns_(package) {}

  void run() {
    std::vector<mlir::Operation*> ops;
    kernel_.walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation* op) { ops.push_back(op); });
    for (mlir::Operation* op : ops) {
      const auto access = boxAccess(*op);
      if (access && columns_.refs().contains(access->ref)) {
        if (!access->isStore)
          replace(*op);
        else if (columns_.isScratch(access->ref))
          op->setOperand(0, columnOf(access->value));
      } else if (op->getNumResults() == 1 && columnsOf(*op) > 1 && !llvm::isa<mlir::vector::BroadcastOp>(op) &&
                 isPerRow(*op) && columns_.equal(op->getResult(0))) {
        replace(*op);
      }
    }
    for (mlir::Operation* load : replacedLoads_) load->erase();
    for (mlir::Value ref : columns_.refs())
      if (columns_.isScratch(ref)) ref.setType(oneColumn(shaped(ref)));
    llvm::SmallVector<mlir::Type> inputs;
    for (mlir::BlockArgument argument : kernel_.getArguments()) inputs.push_back(argument.getType());
    kernel_.setFunctionType(mlir::FunctionType::get(kernel_.getContext(), inputs, {}));
  }

 private:
  /// The number of columns of a vector that has rows and columns; else 0.
  static int64_t columnsOf(mlir::Operation& op) {
    mlir::Value v = op.getResult(0);
    return isVector(v) && hasColumns(v) ? cpu::columnsOf(v) : 0;
  }
  bool isLoad(mlir::Operation& op) const {
    const auto access = boxAccess(op);
    return access && !access->isStore && columns_.refs().contains(access->ref);
  }

  /// Users of the op's result use its one column, broadcast.
  void replace(mlir::Operation& op) {
    mlir::Value v = op.getResult(0), column = columnOf(v);
    mlir::OpBuilder b(&op);
    if (column.getType() != v.getType())
      column = mlir::vector::BroadcastOp::create(b, op.getLoc(), v.getType(), column);
    v.replaceAllUsesWith(column);
    if (isLoad(op)) replacedLoads_.push_back(&op);
  }

  /// One column of a value whose columns are equal, computed where the value is.
  mlir::Value columnOf(mlir::Value v) {
    mlir::Operation* op = v.getDefiningOp();
    const bool load = op && isLoad(*op);
    if (!load && cpu::columnsOf(v) == 1) return v;
    if (mlir::Value known = columnOf_.lookup(v)) return known;
    mlir::OpBuilder b(op);
    mlir::Value made = load ? loadColumn(b, *op) : derive(b, *op);
    return columnOf_[v] = made;
  }

  mlir::Value loadColumn(mlir::OpBuilder& b, mlir::Operation& op) {
    mlir::Value first = mlir::arith::ConstantIndexOp::create(b, op.getLoc(), 0);
    mlir::Operation* load = b.clone(op);
    load->setOperand(load->getNumOperands() - 1, first);
    load->getResult(0).setType(oneColumn(shaped(op.getResult(0))));
    return load->getResult(0);
  }

  /// The op once more, on columns.
  mlir::Value derive(mlir::OpBuilder& b, mlir::Operation& op) {
    const auto type = oneColumn(shaped(op.getResult(0)));
    const int64_t last = type.getRank() - 1;
    if (llvm::isa<mlir::vector::BroadcastOp>(op)) {
      mlir::Value from = op.getOperand(0);
      if (isVector(from) && hasColumns(from)) from = columnOf(from);
      if (from.getType() == type) return from;
      return mlir::vector::BroadcastOp::create(b, op.getLoc(), type, from);
    }
    if (llvm::isa<tpu::ConcatenateOp>(op) && joinedDimension(op) == last) return columnOf(op.getOperand(0));
    if (llvm::isa<mlir::vector::ExtractStridedSliceOp>(op))  // of columns
      if (mlir::Value column = columnOf(op.getOperand(0)); column.getType() == type) return column;
    mlir::IRMapping mapping;
    for (mlir::Value v : op.getOperands())
      if (shaped(v)) mapping.map(v, columnOf(v));
    mlir::Operation* made = b.clone(op, mapping);
    if (auto dense = op.getAttrOfType<mlir::DenseElementsAttr>("value");
        dense && llvm::isa<mlir::arith::ConstantOp>(op))
      made->setAttr("value", dense.resizeSplat(type));
    if (llvm::isa<mlir::vector::ExtractStridedSliceOp>(op) && setLast(*made, "offsets", last, 0))
      setLast(*made, "sizes", last, 1);
    made->getResult(0).setType(type);
    return made->getResult(0);
  }

  /// Sets the last number of a list with one per dimension. False: the list has only numbers of earlier dimensions.
  static bool setLast(mlir::Operation& op, llvm::StringRef name, int64_t last, int64_t value) {
    auto list = op.getAttrOfType<mlir::ArrayAttr>(name);
    if (static_cast<int64_t>(list.size()) <= last) return false;
    llvm::SmallVector<mlir::Attribute> numbers(list.begin(), list.end());
    numbers.back() = mlir::IntegerAttr::get(mlir::IntegerType::get(op.getContext(), 64), value);
    op.setAttr(name, mlir::ArrayAttr::get(op.getContext(), numbers));
    return true;
  }

  mlir::func::FuncOp kernel_;
  LaneBroadcasts columns_;
  llvm::DenseMap<mlir::Value, mlir::Value> columnOf_;
  /// Erased last, because a new op at the address of an erased op would be mistaken for it.
  std::vector<mlir::Operation*> replacedLoads_;
};

}  // namespace

std::optional<KernelPackage> eliminateLaneBroadcasts(const KernelPackage& package) {
  if (!LaneBroadcasts(package).any()) return std::nullopt;
  KernelPackage made = package.copy();
  Narrower(made).run();
  dropUnused(made);
  return made;
}

}  // namespace smalti::cpu
