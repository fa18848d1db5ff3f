#include "sim/SlowLoops.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include "ir/TpuOps.h"
#include "ir/Types.h"
#include "sim/Work.h"

namespace smalti::sim {
namespace {

/// A slow unit is reported if it takes this many times as long as the next one, and at least this many cycles.
constexpr double kMuchLonger = 1.5, kManyCycles = 32;

bool isLoop(mlir::Operation* op) { return mlir::isa<mlir::scf::ForOp, mlir::scf::WhileOp>(op); }

/// Whether the loop is known to have at most one iteration.
bool goesRoundOnce(mlir::Operation* op) {
  auto loop = mlir::dyn_cast<mlir::scf::ForOp>(op);
  if (!loop) return false;
  const auto low = mlir::getConstantIntValue(loop.getLowerBound()),
             high = mlir::getConstantIntValue(loop.getUpperBound()), step = mlir::getConstantIntValue(loop.getStep());
  return low && high && step && *low + *step >= *high;
}

std::string advice(mlir::Operation& op, const tpu::Chip& chip) {
  if (mlir::isa<mlir::arith::DivFOp>(op))
    return "multiply by pl.reciprocal(x, approx=True), taken once outside of the loop where x does not change";
  if (mlir::isa<smalti::tpu::TransposeOp>(op))
    return "let the product contract the other dimension (dot_general), or transpose before the loop";
  if (mlir::isa<mlir::vector::MultiDimReductionOp>(op))
    return "add up registers in the loop, and reduce along lanes once after it";
  if (mlir::isa<mlir::math::ExpOp, mlir::math::Exp2Op, mlir::math::TanhOp, mlir::math::LogOp>(op) &&
      chip.device.generation >= 6)
    return "compute it in bf16, which takes half as long here, or once before the loop";
  return "do it once, before or after the loop, or on fewer elements";
}

std::optional<Diagnostic> judge(mlir::Operation* loop, const KernelPackage& kernel, const tpu::Chip& chip) {
  Work all;
  std::array<std::pair<double, mlir::Operation*>, Work::numUnits> costliest{};
  loop->walk([&](mlir::Operation* op) {
    const Work work = workOf(*op, chip);
    all += work;
    for (size_t u = 0; u < Work::numUnits; ++u)
      if (work.cycles[u] > costliest[u].first) costliest[u] = {work.cycles[u], op};
  });
  const Work::Unit busiest = all.busiest();
  const double most = all.cycles[busiest];
  if ((busiest != Work::transcendental && busiest != Work::crossLane) || most < kManyCycles) return std::nullopt;
  auto next = Work::matrix;
  for (size_t u = 0; u < Work::numUnits; ++u)
    if (u != busiest && all.cycles[u] > all.cycles[next]) next = static_cast<Work::Unit>(u);
  if (next == busiest || most < kMuchLonger * all.cycles[next]) return std::nullopt;
  const auto [cycles, op] = costliest[busiest];
  const mlir::Value value = op->getNumOperands() > 0 ? op->getOperand(0) : op->getResult(0);
  const auto array = arrayTypeOf(value.getType());
  return Diagnostic{
      .code = "SM6639",
      .message = fmt::format("a loop waits for the {}", name(busiest)),
      .place = placeOf(op->getLoc()),
      .where = {fmt::format("kernel '{}'", kernel.name), fmt::format("chip {}", chip.name)},
      .need = fmt::format("a round in which no slow unit takes longer than the others (the {}: {:.0f} cycles)",
                          name(next), all.cycles[next]),
      .have = fmt::format("{:.0f} cycles of the {} in each round, {:.0f} of them for {} of {}", most, name(busiest),
                          cycles, op->getName().getStringRef().str(), array ? array->str() : "a value"),
      .help = advice(*op, chip)};
}

}  // namespace

std::vector<Diagnostic> slowLoops(const KernelPackage& kernel, const tpu::Chip& chip) {
  std::vector<Diagnostic> out;
  mlir::func::FuncOp body = kernel.kernelFunction();
  if (!body) return out;
  body.walk([&](mlir::Operation* op) {
    if (!isLoop(op) || goesRoundOnce(op)) return;
    bool isInnermost = true;
    op->walk([&](mlir::Operation* inner) { isInnermost &= inner == op || !isLoop(inner) || goesRoundOnce(inner); });
    if (!isInnermost) return;
    if (auto found = judge(op, kernel, chip)) out.push_back(std::move(*found));
  });
  return out;
}

}  // namespace smalti::sim
