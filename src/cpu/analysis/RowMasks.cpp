#include "cpu/analysis/RowMasks.h"

#include <algorithm>
#include <vector>

#include "cpu/analysis/KnownIntegers.h"
#include "ir/TpuOpsMemory.h"
#include "ir/TpuOpsMxu.h"
#include "ir/TpuOpsShape.h"
#include "ir/TpuOpsSync.h"
#include "ir/Types.h"
#include "ir/facts/Attributes.h"
#include "ir/facts/DotDimensions.h"
#include "ir/facts/Liveness.h"
#include "ir/facts/OpFamilies.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

namespace smalti::cpu {
namespace {

using mlir::arith::CmpIPredicate;

/// The most ops that compute row numbers for a mask; beyond this it is not treated as a row mask.
constexpr size_t kMaxNumberingOps = 64;
/// The most rows of a mask whose numbers are computed individually.
constexpr int64_t kMaxNumberedRows = 4096;

bool hasVectorType(mlir::Value v) { return llvm::isa<mlir::VectorType>(v.getType()); }

/// The first dimension that is not 1: its indices are rows. nullopt: there is none.
std::optional<size_t> rowDimension(const Shape& shape) {
  for (size_t d = 0; d < shape.size(); ++d)
    if (shape[d] != 1) return d;
  return std::nullopt;
}

/// Rows of the shape; 1 where there are none.
int64_t rowCount(const Shape& shape) {
  const auto d = rowDimension(shape);
  return d ? shape[*d] : 1;
}

/// Whether rows of the broadcast are broadcasts of rows.
bool broadcastsRows(mlir::vector::BroadcastOp op) {
  if (!hasVectorType(op.getSource())) return false;
  const Shape from = shapeOf(op.getSource().getType()), to = shapeOf(op.getType());
  const auto d = rowDimension(to);
  return from.size() == to.size() && d && rowDimension(from) == d && from[*d] == to[*d];
}

/// The scalar that all elements of a vector equal; null: they may differ.
mlir::Value scalarOf(mlir::Value v) {
  while (mlir::Operation* op = v.getDefiningOp()) {
    if (!llvm::isa<mlir::vector::BroadcastOp, mlir::vector::ShapeCastOp>(op)) break;
    v = op->getOperand(0);
    if (!hasVectorType(v)) return v;
  }
  return nullptr;
}

/// Values that are constant along each row, as the ops that compute them from the row number, in program order.
class RowNumbering {
 public:
  /// The element of each row; empty: unknown, or not a function of the row number alone.
  std::vector<int64_t> of(mlir::Value v) {
    const int64_t rows = rowCount(shapeOf(v.getType()));
    if (rows > kMaxNumberedRows || !collect(v, rows)) return {};
    std::vector<int64_t> all;
    for (int64_t row = 0; row < rows; ++row) {
      KnownIntegers known;
      for (mlir::Operation* op : ops_) follow(*op, row, known);
      const auto number = known.find(v);
      if (!number) return {};
      all.push_back(*number);
    }
    return all;
  }

 private:
  bool collect(mlir::Value v, int64_t rows) {
    mlir::Operation* op = v.getDefiningOp();
    if (!op || !mlir::getElementTypeOrSelf(v).isIntOrIndex()) return false;
    if (llvm::is_contained(ops_, op)) return true;
    if (hasVectorType(v) && rowCount(shapeOf(v.getType())) != rows) return false;
    if (auto iota = llvm::dyn_cast<tpu::IotaOp>(op)) {
      const auto dims = integersAttribute(*op, "dimensions");
      const auto d = rowDimension(shapeOf(v.getType()));
      if (!d || dims.size() != 1 || dims[0] != static_cast<int64_t>(*d)) return false;
    } else if (auto broadcast = llvm::dyn_cast<mlir::vector::BroadcastOp>(op)) {
      if (hasVectorType(broadcast.getSource()) && !broadcastsRows(broadcast)) return false;
    } else if (!llvm::isa<mlir::arith::ConstantOp>(op) && !isElementwise(*op)) {
      return false;
    }
    for (mlir::Value operand : op->getOperands())
      if (!collect(operand, rows)) return false;
    ops_.push_back(op);
    return ops_.size() <= kMaxNumberingOps;
  }

  static void follow(mlir::Operation& op, int64_t row, KnownIntegers& known) {
    if (llvm::isa<tpu::IotaOp>(op))
      known.set(op.getResult(0), row);
    else if (llvm::isa<mlir::vector::BroadcastOp>(op))
      known.set(op.getResult(0), known.find(op.getOperand(0)));
    else
      known.follow(op);
  }

  llvm::SmallVector<mlir::Operation*, 16> ops_;
};

/// The number of equal-sized groups that these row numbers divide the rows into; nullopt: they do not.
std::optional<int64_t> groupsOf(const std::vector<int64_t>& numbers) {
  const auto rows = static_cast<int64_t>(numbers.size());
  if (rows == 0) return std::nullopt;
  const int64_t groups = numbers.back() + 1;
  if (groups < 2 || groups > rows || rows % groups != 0) return std::nullopt;
  for (int64_t row = 0; row < rows; ++row)
    if (numbers[static_cast<size_t>(row)] != row / (rows / groups)) return std::nullopt;
  return groups;
}

/// `numbers` compared with a scalar.
struct Comparison {
  mlir::Value numbers, with;
};
/// numbers >= with (`least`), or numbers < with.
std::optional<Comparison> comparison(mlir::Value v, bool least) {
  auto op = v.getDefiningOp<mlir::arith::CmpIOp>();
  if (!op) return std::nullopt;
  const CmpIPredicate is = op.getPredicate();
  mlir::Value left = op.getLhs(), right = op.getRhs();
  if (is == (least ? CmpIPredicate::sle : CmpIPredicate::sgt))
    std::swap(left, right);
  else if (is != (least ? CmpIPredicate::sge : CmpIPredicate::slt))
    return std::nullopt;
  const mlir::Value scalar = scalarOf(right);
  if (!scalar || !scalar.getType().isInteger(32)) return std::nullopt;
  return Comparison{left, scalar};
}

/// The source of a row-constant value, before reshapes and broadcasts along rows.
mlir::Value throughRows(mlir::Value v) {
  while (mlir::Operation* op = v.getDefiningOp()) {
    auto broadcast = llvm::dyn_cast<mlir::vector::BroadcastOp>(op);
    if (!llvm::isa<mlir::vector::ShapeCastOp>(op) && !(broadcast && broadcastsRows(broadcast))) break;
    v = op->getOperand(0);
  }
  return v;
}

/// Whether each group of the op's result depends only on the same group of this operand.
bool keepsGroups(mlir::Operation& op, mlir::OpOperand& operand, int64_t groups) {
  const mlir::Value from = operand.get(), to = op.getResult(0);
  const Shape source = shapeOf(from.getType()), result = shapeOf(to.getType());
  if (isElementwise(op)) return source == result;
  if (llvm::isa<mlir::vector::ShapeCastOp>(op)) return true;
  if (auto broadcast = llvm::dyn_cast<mlir::vector::BroadcastOp>(op))
    return broadcastsRows(broadcast) && rowCount(source) % groups == 0;
  if (llvm::isa<mlir::vector::ExtractStridedSliceOp>(op)) {
    const auto d = rowDimension(source);
    return d && source.size() == result.size() && source[*d] == result[*d] && source[*d] % groups == 0;
  }
  if (auto reduction = llvm::dyn_cast<mlir::vector::MultiDimReductionOp>(op)) {
    if (operand.getOperandNumber() == 1) return true;  // what the reduction starts from
    const auto d = rowDimension(source);
    return d && !reduction.isReducedDim(static_cast<int64_t>(*d)) && source[*d] % groups == 0;
  }
  if (llvm::isa<tpu::MatmulOp>(op)) {
    const DotDimensions dims = dotDimensionsOf(op);
    const bool rows = dims.lhsBatch.empty() && dims.lhsFree == Shape{0} && result[0] % groups == 0;
    return rows && operand.getOperandNumber() != 1;
  }
  return false;
}

/// Follows the transitive users of a value.
class Users {
 public:
  /// The groups of the value that any user needs; nullopt: possibly all.
  std::optional<RowGroups> wanted(mlir::Value v) {
    if (const auto known = known_.find(v); known != known_.end()) return known->second;
    std::optional<RowGroups> range;
    if (v.getDefiningOp() && known_.size() < kMaxValues) {
      for (mlir::OpOperand& use : v.getUses()) {
        const auto by = wantedBy(use, v.getDefiningOp()->getBlock());
        if (!by || (range && *range != *by)) {
          range = std::nullopt;
          break;
        }
        range = by;
      }
    }
    known_[v] = range;
    return range;
  }

 private:
  std::optional<RowGroups> wantedBy(mlir::OpOperand& use, mlir::Block* block) {
    mlir::Operation& op = *use.getOwner();
    if (op.getBlock() != block) return std::nullopt;
    if (auto store = llvm::dyn_cast<tpu::VectorStoreOp>(op))
      return store.getMask() && use.get() == store.getValueToStore() && use.get() != store.getMask()
                 ? groupsOfMask(store.getMask())
                 : std::nullopt;
    if (op.getNumResults() != 1 || !isPure(op)) return std::nullopt;
    const auto range = wanted(op.getResult(0));
    return range && keepsGroups(op, use, range->groups) ? range : std::nullopt;
  }

  /// Limit on the visited users, since following more takes too long.
  static constexpr size_t kMaxValues = 256;
  llvm::DenseMap<mlir::Value, std::optional<RowGroups>> known_;
};

/// Whether anything but copies may write to the memory or a view of it.
bool isStoredTo(mlir::Value ref) {
  return llvm::any_of(ref.getUsers(), [](mlir::Operation* user) {
    if (isView(*user)) return isStoredTo(user->getResult(0));
    return !isLoad(*user) && !llvm::isa<tpu::EnqueueDMAOp, tpu::WaitDMAOp>(user);
  });
}

/// Whether ops of its block alone use the value, all of them before anything may change memory.
bool isUnchangedUntilUsed(mlir::Operation& load, mlir::Value v) {
  llvm::SmallVector<mlir::Value, 4> same{v};
  mlir::Operation* last = v.getDefiningOp();
  while (!same.empty())
    for (mlir::Operation* user : same.pop_back_val().getUsers()) {
      if (user->getBlock() != load.getBlock() || user->getNumRegions() != 0 ||
          user->hasTrait<mlir::OpTrait::IsTerminator>())
        return false;
      if (mayAlias(*user)) same.push_back(user->getResult(0));
      if (last->isBeforeInBlock(user)) last = user;
    }
  for (mlir::Operation* op = &load; op != last; op = op->getNextNode())
    if (mayChangeMemory(*op)) return false;
  return true;
}

}  // namespace

std::optional<RowGroups> groupsOfMask(mlir::Value mask) {
  auto both = throughRows(mask).getDefiningOp<mlir::arith::AndIOp>();
  if (!both) return std::nullopt;
  for (const bool swapped : {false, true}) {
    const auto from = comparison(swapped ? both.getRhs() : both.getLhs(), true),
               to = comparison(swapped ? both.getLhs() : both.getRhs(), false);
    if (!from || !to) continue;
    const std::vector<int64_t> numbers = RowNumbering().of(from->numbers);
    if (to->numbers != from->numbers && RowNumbering().of(to->numbers) != numbers) continue;
    if (const auto groups = groupsOf(numbers)) return RowGroups{from->with, to->with, *groups};
  }
  return std::nullopt;
}

std::optional<RowGroups> neededRowGroups(mlir::Value v) { return Users().wanted(v); }

std::optional<LoadedRows> loadedRows(mlir::Value v) {
  auto select = v.getDefiningOp<mlir::arith::SelectOp>();
  mlir::Operation* load = select ? select.getTrueValue().getDefiningOp() : nullptr;
  if (!load || !isLoad(*load) || !hasVectorType(select.getCondition()) || load->getBlock() != select->getBlock())
    return std::nullopt;
  const auto compared = comparison(throughRows(select.getCondition()), false);
  if (!compared) return std::nullopt;
  const int64_t rows = rowCount(shapeOf(v.getType()));
  if (groupsOf(RowNumbering().of(compared->numbers)) != rows) return std::nullopt;
  if (isStoredTo(memoryOf(load->getOperand(0))) || !isUnchangedUntilUsed(*load, v)) return std::nullopt;
  return LoadedRows{load, compared->with, rows};
}

}  // namespace smalti::cpu
