#include "cpu/lower/Written.h"

#include <optional>

#include "cpu/lower/FirstUse.h"
#include "llvm/ADT/STLExtras.h"
#include "machine/flat/Types.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinAttributes.h"

namespace smalti::cpu {
namespace {

using machine::flat::shapeOf;

llvm::StringRef nameOf(mlir::Operation& op) { return op.getName().getStringRef(); }

std::optional<int64_t> constantInteger(mlir::Value v) {
  mlir::Operation* op = v.getDefiningOp();
  if (op && nameOf(*op) == "arith.index_cast") return constantInteger(op->getOperand(0));
  if (!op || nameOf(*op) != "arith.constant") return std::nullopt;
  auto i = llvm::dyn_cast<mlir::IntegerAttr>(op->getAttr("value"));
  return i ? std::optional(i.getValue().getSExtValue()) : std::nullopt;
}

class WrittenProof {
 public:
  explicit WrittenProof(const KernelPackage& package)
      : package_(package), signature_(package.signature), kernel_(package.kernelFunction()) {}

  bool holds(int output) {
    const size_t number = static_cast<size_t>(package_.numInputs() + output);
    const auto& window = signature_.windows[number];
    const unsigned argument = static_cast<unsigned>(signature_.grid.size()) +
                              static_cast<unsigned>(signature_.numScalarPrefetch) + static_cast<unsigned>(number);
    for (int64_t bound : signature_.grid)
      if (bound < 1) return false;  // dynamic ones too
    usesDim_.assign(signature_.grid.size(), !window);
    if (window && !covers(*window, package_.results[static_cast<size_t>(output)].shape)) return false;
    mlir::BlockArgument ref = kernel_.getArgument(argument);
    return llvm::any_of(
               ref.getUsers(),
               [&](mlir::Operation* user) { return storesWhole(*user, ref) && reachedForEveryBlock(*user); }) &&
           !readFirst(argument, window.has_value());
  }

 private:
  /// True when a block may be read before it is written.
  bool readFirst(unsigned argument, bool windowed) {
    const auto rank = signature_.grid.size();
    std::vector<bool> zero(rank);
    for (size_t d = 0; d < rank; ++d) zero[d] = signature_.grid[d] == 1;
    if (!always_) always_ = useInOneRun(kernel_, zero);
    if (!always_->arguments[argument].readFirst) return false;
    // A block's first step: the axes that it does not depend on are at 0.
    for (size_t d = 0; d < rank; ++d) zero[d] = zero[d] || !windowed || !usesDim_[d];
    const BufferUse first = useInOneRun(kernel_, zero).arguments[argument];
    return first.readFirst || !first.covered;
  }

  /// Every block of the array is some step's: each coordinate of the index map is a grid index that counts through the
  /// blocks, another for each, or the constant 0 of a dimension that is one block.
  bool covers(const Window& window, const Shape& array) {
    if (window.elementIndexed || llvm::is_contained(window.bounds, 0)) return false;
    auto map = llvm::cast<mlir::func::FuncOp>(package_.module.get().lookupSymbol(window.transform));
    mlir::Operation* end = map.getBody().front().getTerminator();
    for (unsigned d = 0; d < end->getNumOperands(); ++d) {
      const int64_t blocks = (array[d] + window.bounds[d] - 1) / window.bounds[d];
      const mlir::Value v = end->getOperand(d);
      if (constantInteger(v) == 0 && blocks <= 1) continue;
      auto index = llvm::dyn_cast<mlir::BlockArgument>(v);
      if (!index || index.getArgNumber() >= signature_.grid.size() || usesDim_[index.getArgNumber()]) return false;
      if (signature_.grid[index.getArgNumber()] < blocks) return false;
      usesDim_[index.getArgNumber()] = true;
    }
    return true;
  }

  static bool storesWhole(mlir::Operation& op, mlir::Value ref) {
    const auto segments = machine::flat::integersAttribute(op, "operandSegmentSizes");
    if (nameOf(op) != "tpu.vector_store" || segments.size() != 4 || segments[3] != 0 || op.getOperand(1) != ref ||
        machine::flat::boolAttribute(op, "add"))
      return false;
    for (int64_t step : machine::flat::integersAttribute(op, "strides"))
      if (step != 1) return false;
    if (shapeOf(op.getOperand(0).getType()) != shapeOf(ref.getType())) return false;
    return llvm::all_of(op.getOperands().slice(2, static_cast<unsigned>(segments[2])),
                        [](mlir::Value v) { return constantInteger(v) == 0; });
  }

  /// At the top level, or under conditions "program_id(d) == constant" of axes that no block depends on, which one step
  /// meets.
  bool reachedForEveryBlock(mlir::Operation& op) const {
    std::vector<std::optional<int64_t>> step(signature_.grid.size());
    for (mlir::Operation* at = &op; at->getParentOp() != kernel_; at = at->getParentOp()) {
      mlir::Operation* parent = at->getParentOp();
      if (!parent || nameOf(*parent) != "scf.if" || at->getParentRegion() != &parent->getRegion(0)) return false;
      if (!holdsAt(parent->getOperand(0), step)) return false;
    }
    return true;
  }
  bool holdsAt(mlir::Value condition, std::vector<std::optional<int64_t>>& step) const {
    mlir::Operation* op = condition.getDefiningOp();
    if (!op || nameOf(*op) != "arith.cmpi") return false;
    const int64_t predicate = machine::flat::integerAttribute(*op, "predicate", -1);
    // JAX writes a condition as "zero-extended, not 0".
    if (mlir::Operation* extended = op->getOperand(0).getDefiningOp();
        predicate == 1 && extended && nameOf(*extended) == "arith.extui" && constantInteger(op->getOperand(1)) == 0)
      return holdsAt(extended->getOperand(0), step);
    if (predicate != 0) return false;
    auto index = llvm::dyn_cast<mlir::BlockArgument>(op->getOperand(0));
    const auto at = constantInteger(op->getOperand(1));
    if (!index || !at || index.getOwner() != &kernel_.getBody().front()) return false;
    const unsigned d = index.getArgNumber();
    if (d >= signature_.grid.size() || usesDim_[d] || *at < 0 || *at >= signature_.grid[d]) return false;
    if (!step[d]) step[d] = at;
    return step[d] == at;
  }

  const KernelPackage& package_;
  const KernelSignature& signature_;
  mutable mlir::func::FuncOp kernel_;
  std::optional<BodyUse> always_;
  std::vector<bool> usesDim_;  ///< the block depends on the axis
};

}  // namespace

std::vector<bool> surelyWritten(const KernelPackage& package) {
  WrittenProof proof(package);
  std::vector<bool> written;
  for (int i = 0; i < static_cast<int>(package.results.size()); ++i) written.push_back(proof.holds(i));
  return written;
}

}  // namespace smalti::cpu
