#include "driver/cli/show/IndexMapText.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "driver/cli/show/KernelView.h"

namespace smalti::cli {
namespace {

constexpr int kMaxDepth = 8;

struct Infix {
  llvm::StringRef op;
  const char* sign;
};

constexpr Infix kInfix[] = {{"arith.addi", "+"},  {"arith.subi", "-"},  {"arith.muli", "*"},
                            {"arith.divsi", "/"}, {"arith.divui", "/"}, {"arith.floordivsi", "//"},
                            {"arith.remsi", "%"}, {"arith.remui", "%"}};

std::string argumentName(mlir::BlockArgument argument) {
  size_t grid = 0;
  for (mlir::BlockArgument other : argument.getOwner()->getArguments()) {
    if (!mlir::isa<mlir::IntegerType>(other.getType())) break;
    ++grid;
  }
  const size_t at = argument.getArgNumber();
  return at < grid ? gridIndexName(at) : fmt::format("prefetch{}", at - grid);
}

std::string text(mlir::Value value, int depth);

std::string texts(mlir::ValueRange values, int depth) {
  std::vector<std::string> parts;
  for (mlir::Value v : values) parts.push_back(text(v, depth));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string text(mlir::Value value, int depth) {
  if (auto argument = mlir::dyn_cast<mlir::BlockArgument>(value))
    return mlir::isa<mlir::func::FuncOp>(argument.getOwner()->getParentOp()) ? argumentName(argument) : "…";
  mlir::Operation* op = value.getDefiningOp();
  const llvm::StringRef name = op->getName().getStringRef();
  if (depth == 0) return "…";
  if (name == "arith.constant") {
    if (auto integer = op->getAttrOfType<mlir::IntegerAttr>("value")) return std::to_string(integer.getInt());
    return "…";
  }
  if (name == "arith.index_cast" || name == "arith.index_castui") return text(op->getOperand(0), depth);
  if (name == "memref.load")
    return fmt::format("{}[{}]", text(op->getOperand(0), depth - 1), texts(op->getOperands().drop_front(), depth - 1));
  for (const Infix& infix : kInfix)
    if (name == infix.op && op->getNumOperands() == 2)
      return fmt::format("({} {} {})", text(op->getOperand(0), depth - 1), infix.sign,
                         text(op->getOperand(1), depth - 1));
  const llvm::StringRef shortName = name.substr(name.find('.') + 1);
  if (op->getNumRegions() > 0 || op->getNumOperands() == 0) return "…";
  return fmt::format("{}({})", shortName.str(), texts(op->getOperands(), depth - 1));
}

}  // namespace

std::string indexMapText(mlir::func::FuncOp function) {
  if (function.isExternal() || function.getBody().empty()) return "";
  mlir::Operation* end = function.getBody().front().getTerminator();
  std::vector<std::string> parts;
  for (mlir::Value v : end->getOperands()) {
    std::string part = text(v, kMaxDepth);
    if (part.starts_with('(') && part.ends_with(')')) part = part.substr(1, part.size() - 2);
    parts.push_back(std::move(part));
  }
  return fmt::format("({})", fmt::join(parts, ", "));
}

}  // namespace smalti::cli
