#include "sim/Work.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

#include "ir/TpuOps.h"
#include "ir/Types.h"
#include "ir/facts/OpFamilies.h"
#include "tpu/Tiling.h"

namespace smalti::sim {
namespace {

using namespace smalti::tpu;

constexpr double kRegisterBytes = 4096;

/// Registers that a value fills, as the chip keeps it in VMEM.
double registersOf(const Chip& chip, mlir::Type type) {
  const auto array = arrayTypeOf(type);
  if (!array || array->shape.empty()) return 0;
  return static_cast<double>(tpu::paddedBytes(chip, *array)) / kRegisterBytes;
}

/// The same for arithmetic: before v6e it is done on 32-bit elements, whatever the type.
double arithmeticRegisters(const Chip& chip, mlir::Type type) {
  auto array = arrayTypeOf(type);
  if (!array || array->shape.empty()) return 0;
  const int64_t bits = tpu::elementBits(array->dtype);
  if (bits == 32 || (bits == 16 && chip.device.generation >= 6)) return registersOf(chip, type);
  return registersOf(chip, type) * static_cast<double>(32 / bits);
}

bool isVector(mlir::Type type) { return mlir::isa<mlir::VectorType>(type); }

/// The largest operand or result, in registers; masks, a bit for each lane, count where there is nothing else.
double largest(const Chip& chip, mlir::Operation& op) {
  double most = 0, masks = 0;
  const auto look = [&](mlir::Type t) {
    double& size = mlir::getElementTypeOrSelf(t).isInteger(1) ? masks : most;
    size = std::max(size, arithmeticRegisters(chip, t));
  };
  for (mlir::Type t : op.getOperandTypes()) look(t);
  for (mlir::Type t : op.getResultTypes()) look(t);
  return most > 0 ? most : masks;
}

class Costs {
 public:
  explicit Costs(const Chip& chip) : chip_(chip) {}
  Work take() { return work_; }

  void alu(double operations) { work_.cycles[Work::alu] += operations / static_cast<double>(chip_.vector.aluSlots); }
  void transcendental(double registers) {
    work_.cycles[Work::transcendental] += registers * chip_.vector.transcendentalCyclesPerVreg;
    alu(registers);
  }
  void crossLane(double operations) {
    work_.cycles[Work::crossLane] += operations / static_cast<double>(chip_.vector.crossLaneUnits);
  }
  void load(double registers) { work_.cycles[Work::load] += registers / static_cast<double>(chip_.vector.loadSlots); }
  void store(double registers) {
    work_.cycles[Work::store] += registers / static_cast<double>(chip_.vector.storeSlots);
  }

  /// [m, k] × [k, n]: k × n is cut into tiles that stay in a unit while m rows pass.
  void matmul(MatmulOp op) {
    const auto l = arrayTypeOf(op.getLhs().getType()), r = arrayTypeOf(op.getRhs().getType()),
               out = arrayTypeOf(op->getResult(0).getType());
    if (!l || !r || !out || out->shape.size() < 2) return;
    const auto product = [](const Shape& s) {
      return static_cast<double>(std::accumulate(s.begin(), s.end(), int64_t{1}, std::multiplies<>()));
    };
    // Batch dimensions are many products; with m, n and m × k known, k follows.
    const double n = static_cast<double>(out->shape.back());
    const double m = static_cast<double>(out->shape[out->shape.size() - 2]);
    const double batch = product(out->shape) / (m * n);
    const double k = product(l->shape) / (batch * m);
    const auto size = static_cast<double>(chip_.mxu.size);
    const int64_t bits = std::min(tpu::elementBits(l->dtype), tpu::elementBits(r->dtype));
    const double tiles = batch * std::ceil(k / size) * std::ceil(n / size);
    const double rate = static_cast<double>(chip_.mxu.bf16RowsPerCycle) * speedup(std::min<int64_t>(bits, 16));
    const double rows = std::ceil(m / 8) * 8;
    const double weights = size * size * static_cast<double>(std::min<int64_t>(bits, 16)) / 8 / kRegisterBytes;
    const double perTile = std::max(rows / rate, weights * chip_.mxu.latchCyclesPerVreg);
    work_.cycles[Work::matrix] += tiles * perTile / static_cast<double>(chip_.mxu.count) / chip_.time.matrixEfficiency;
    // Results are added up over k and come out as f32.
    const double results = batch * std::ceil(m / 8) * std::ceil(n / 128);
    alu(results * std::max(0.0, std::ceil(k / size) - 1));
    load(registersOf(chip_, op.getLhs().getType()) + registersOf(chip_, op.getRhs().getType()));
    // f32 operands are rounded on the way.
    if (tpu::elementBits(l->dtype) == 32) alu(registersOf(chip_, op.getLhs().getType()));
    if (tpu::elementBits(r->dtype) == 32) alu(registersOf(chip_, op.getRhs().getType()));
  }

  void reduce(mlir::vector::MultiDimReductionOp op) {
    const double in = arithmeticRegisters(chip_, op.getSource().getType());
    const double out = registersOf(chip_, op->getResult(0).getType());
    const auto rank = mlir::cast<mlir::VectorType>(op.getSource().getType()).getRank();
    bool lanes = false;
    for (int64_t d : op.getReductionDims()) lanes |= d + 1 == rank;
    alu(in);
    const auto shape = shapeOf(op.getSource().getType());
    const double rowRegisters = in / std::max(1.0, std::ceil(static_cast<double>(shape.back()) / 128));
    if (lanes)
      crossLane(rowRegisters);  // a reduction of one register along its lanes
    else
      alu(6 * out);  // three rotations and three additions
  }

 private:
  /// How much faster than bf16 narrower operands are.
  double speedup(int64_t bits) const {
    const auto& m = chip_.mxu;
    const double peak = bits == 8   ? std::max(m.int8TopsPerChip, m.fp8TflopsPerChip)
                        : bits <= 4 ? m.int4TopsPerChip
                                    : m.bf16TflopsPerChip;
    return std::max(1.0, peak / m.bf16TflopsPerChip);
  }

  const Chip& chip_;
  Work work_;
};

bool isTranscendental(mlir::Operation& op) {
  return mlir::isa<mlir::math::ExpOp, mlir::math::Exp2Op, mlir::math::LogOp, mlir::math::Log1pOp, mlir::math::TanhOp,
                   mlir::math::RsqrtOp, mlir::math::SqrtOp, ReciprocalOp, mlir::arith::DivFOp, mlir::math::PowFOp>(op);
}

/// Positions below a constant that is not a multiple of the lanes: the ragged end of a dimension within a block. The
/// compiler knows which registers a mask leaves whole where it ends at a multiple.
bool isRaggedEnd(mlir::Value mask) {
  auto compare = mask.getDefiningOp<mlir::arith::CmpIOp>();
  if (!compare || !compare.getLhs().getDefiningOp<IotaOp>()) return false;
  mlir::Value bound = compare.getRhs();
  if (auto broadcast = bound.getDefiningOp<mlir::vector::BroadcastOp>()) bound = broadcast.getSource();
  llvm::APInt end;
  return mlir::matchPattern(bound, mlir::m_ConstantInt(&end)) && end.getSExtValue() % 128 != 0;
}

/// From v6e on, 16-bit values under such a mask are widened, chosen and narrowed again.
bool isWidened(const Chip& chip, mlir::arith::SelectOp select) {
  const auto array = arrayTypeOf(select.getType());
  return array && !array->shape.empty() && chip.device.generation >= 6 && tpu::elementBits(array->dtype) == 16 &&
         isRaggedEnd(select.getCondition());
}

/// Unused and without effect, such as the load before a store: the compiler removes it.
bool isDead(mlir::Operation& op, int depth = 0) {
  constexpr int kMaxDepth = 8;
  if (op.getNumResults() == 0 || op.getNumRegions() > 0 || !(isPure(op) || isLoad(op)) || depth == kMaxDepth)
    return false;
  return llvm::all_of(op.getUsers(), [&](mlir::Operation* u) { return isDead(*u, depth + 1); });
}

}  // namespace

Work::Unit Work::busiest() const {
  return static_cast<Unit>(std::max_element(cycles.begin(), cycles.end()) - cycles.begin());
}

double Work::elapsed(const Chip& chip) const {
  const double most = *std::max_element(cycles.begin(), cycles.end());
  const double sum = std::accumulate(cycles.begin(), cycles.end(), 0.0);
  return most + chip.time.unoverlapped * (sum - most);
}

std::string_view name(Work::Unit u) {
  constexpr std::string_view kNames[] = {"matrix unit",      "vector arithmetic", "transcendental unit",
                                         "cross-lane units", "vector loads",      "vector stores"};
  return kNames[u];
}

Work workOf(mlir::Operation& op, const Chip& chip) {
  Costs costs(chip);
  const bool touchesVectors =
      llvm::any_of(op.getOperandTypes(), isVector) || llvm::any_of(op.getResultTypes(), isVector);
  if (!touchesVectors || isDead(op) || op.getNumRegions() > 0) return {};
  if (auto matmul = mlir::dyn_cast<MatmulOp>(op)) {
    costs.matmul(matmul);
  } else if (auto reduction = mlir::dyn_cast<mlir::vector::MultiDimReductionOp>(op)) {
    costs.reduce(reduction);
  } else if (isLoad(op)) {
    // Operands of products are read by the product.
    const bool onlyMatmul = llvm::all_of(op.getUsers(), [](mlir::Operation* u) { return mlir::isa<MatmulOp>(u); });
    if (!onlyMatmul) costs.load(registersOf(chip, op.getResult(0).getType()));
  } else if (isStore(op)) {
    for (mlir::Type t : op.getOperandTypes())
      if (isVector(t)) {
        costs.store(registersOf(chip, t));
        break;
      }
  } else if (isTranscendental(op)) {
    const double n = largest(chip, op);
    costs.transcendental(n);
    if (mlir::isa<mlir::arith::DivFOp>(op)) costs.alu(3 * n);
  } else if (mlir::isa<TransposeOp>(op)) {
    costs.crossLane(registersOf(chip, op.getResult(0).getType()) * chip.vector.transposeCyclesPerVreg);
  } else if (mlir::isa<mlir::vector::BroadcastOp, IotaOp, mlir::arith::ConstantOp, mlir::vector::ShapeCastOp, BitcastOp,
                       mlir::vector::ExtractStridedSliceOp, ConcatenateOp, mlir::arith::IndexCastOp>(op)) {
    // Registers under another name, or rematerialised at their uses.
  } else if (auto select = mlir::dyn_cast<mlir::arith::SelectOp>(op); select && isWidened(chip, select)) {
    costs.alu(3 * 2 * registersOf(chip, select.getType()));
  } else if (isElementwise(op)) {
    costs.alu(largest(chip, op));
  } else if (movesElements(op)) {
    costs.crossLane(largest(chip, op));
  } else {
    costs.alu(largest(chip, op));
  }
  return costs.take();
}

Work maskedOperandsOf(mlir::Operation& op, const Chip& chip) {
  auto matmul = mlir::dyn_cast<MatmulOp>(op);
  if (!matmul) return {};
  Costs costs(chip);
  for (mlir::Value operand : {matmul.getLhs(), matmul.getRhs()})
    if (auto select = operand.getDefiningOp<mlir::arith::SelectOp>(); select && isWidened(chip, select))
      costs.store(registersOf(chip, operand.getType()));
  return costs.take();
}

}  // namespace smalti::sim
