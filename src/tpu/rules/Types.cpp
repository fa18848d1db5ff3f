// Element types that vector operations take.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

#include "ir/TpuOps.h"
#include "ir/Types.h"
#include "tpu/Tiling.h"
#include "tpu/rules/Reasons.h"
#include "tpu/rules/Table.h"

namespace smalti::tpu {
namespace {

/// Element types by bits, as kernels have them: integers without signs.
enum TypeSet : unsigned {
  f32 = 1,
  bf16 = 2,
  i32 = 4,
  i16 = 8,
  i8 = 16,
  narrow = 32,  ///< i4, i2
  f8 = 64,
  f16 = 128,
  i1 = 256,
  f4 = 512,
  other = 1024,
  floats = f32 | bf16,
};

TypeSet setOf(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return f32;
    case DType::bf16:
      return bf16;
    case DType::f16:
      return f16;
    case DType::f4e2m1fn:
      return f4;
    case DType::f8e5m2:
    case DType::f8e4m3fn:
    case DType::f8e4m3b11fnuz:
    case DType::f8e8m0fnu:
      return f8;
    case DType::i32:
    case DType::u32:
      return i32;
    case DType::i16:
    case DType::u16:
      return i16;
    case DType::i8:
    case DType::u8:
      return i8;
    case DType::i4:
    case DType::u4:
    case DType::i2:
    case DType::u2:
      return narrow;
    case DType::pred:
      return i1;
    default:
      return other;
  }
}

struct OpTypes {
  std::string_view op;
  unsigned takes;
};

/// The types that each operation accepts on every chip.
constexpr std::array kOpTypes{
    OpTypes{"arith.addf", floats},     OpTypes{"arith.subf", floats},     OpTypes{"arith.mulf", floats},
    OpTypes{"arith.divf", floats},     OpTypes{"arith.remf", f32},        OpTypes{"arith.negf", floats},
    OpTypes{"arith.maximumf", floats}, OpTypes{"arith.minimumf", floats}, OpTypes{"arith.maxnumf", floats},
    OpTypes{"arith.minnumf", floats},  OpTypes{"arith.maxsi", i32},       OpTypes{"arith.minsi", i32},
    OpTypes{"arith.maxui", 0},         OpTypes{"arith.minui", 0},         OpTypes{"arith.divsi", i32},
    OpTypes{"arith.divui", i32 | i16}, OpTypes{"arith.remsi", i32},       OpTypes{"arith.remui", i32 | i16},
    OpTypes{"math.absi", i32 | i16},   OpTypes{"math.ctpop", i32},        OpTypes{"math.ctlz", i32},
    OpTypes{"math.absf", floats},
};

/// The types that an operation accepts; ops without a row, known by their dialect alone, accept f32 and bf16.
unsigned takenBy(llvm::StringRef op) {
  for (const OpTypes& row : kOpTypes)
    if (row.op == std::string_view(op.data(), op.size())) return row.takes;
  return op.starts_with("math.") ? unsigned{floats} : ~0U;
}

std::optional<ArrayType> vectorType(mlir::Value v) {
  if (!mlir::isa<mlir::VectorType>(v.getType())) return std::nullopt;
  return arrayTypeOf(v.getType());
}

/// One number in all elements, known when the kernel is compiled.
bool isUniform(mlir::Value v) {
  if (auto broadcast = v.getDefiningOp<mlir::vector::BroadcastOp>()) v = broadcast.getSource();
  return v.getDefiningOp<mlir::arith::ConstantOp>() != nullptr;
}

/// The number that all elements are.
std::optional<int64_t> uniformNumber(mlir::Value v) {
  if (auto broadcast = v.getDefiningOp<mlir::vector::BroadcastOp>()) v = broadcast.getSource();
  llvm::APInt number;
  return mlir::matchPattern(v, mlir::m_ConstantInt(&number)) ? std::optional(number.getSExtValue()) : std::nullopt;
}

/// x + 0, x - 0 and x * 1 are x before the compiler looks at types.
bool isFoldedAway(mlir::Operation* op) {
  const int64_t neutral = mlir::isa<mlir::arith::MulIOp>(op) ? 1 : 0;
  return uniformNumber(op->getOperand(1)) == neutral ||
         (!mlir::isa<mlir::arith::SubIOp>(op) && uniformNumber(op->getOperand(0)) == neutral);
}

bool isNarrowArithmetic(mlir::Operation* op) {
  return mlir::isa<mlir::arith::AddIOp, mlir::arith::SubIOp, mlir::arith::MulIOp>(op);
}

/// a < b ? a : b becomes a minimum, whatever the type.
bool isMinimumOrMaximum(mlir::Operation* op) {
  auto select = mlir::dyn_cast<mlir::arith::SelectOp>(op);
  if (!select) return false;
  auto compare = select.getCondition().getDefiningOp<mlir::arith::CmpIOp>();
  if (!compare) return false;
  using enum mlir::arith::CmpIPredicate;
  if (compare.getPredicate() == eq || compare.getPredicate() == ne) return false;
  const mlir::Value a = compare.getLhs(), b = compare.getRhs(), x = select.getTrueValue(), y = select.getFalseValue();
  return (a == x && b == y) || (a == y && b == x);
}

void onElementwise(mlir::Operation* op, const Judge& judge) {
  if (op->getNumOperands() == 0 || op->getNumResults() != 1) return;
  const auto type = vectorType(op->getOperand(op->getNumOperands() - 1));
  if (!type) return;
  const unsigned set = setOf(type->dtype);
  const llvm::StringRef name = op->getName().getStringRef();
  const auto refuse = [&](const Reason& why, std::string message, std::string need) {
    judge.refuse(why, op->getLoc(),
                 {.message = std::move(message),
                  .need = std::move(need),
                  .have = fmt::format("{} of {}", name.str(), type->str()),
                  .help = "compute in f32 or i32, and convert the result"});
  };
  if (isNarrowArithmetic(op)) {
    if (!(set & (i32 | i16)) && !isFoldedAway(op))
      refuse(reason::kNarrowArithmetic,
             fmt::format("Only vector<i16> and vector<i32> are supported, but got '{}'", smalti::name(type->dtype)),
             "i32 or i16");
    return;
  }
  if (isMinimumOrMaximum(op) && !(set & (i32 | other))) {
    if (set & (i16 | i8 | narrow))
      refuse(reason::kElementType, "failed to legalize the minimum or maximum that this select is", "i32 or f32");
    return;
  }
  if (mlir::isa<mlir::arith::ShLIOp, mlir::arith::ShRUIOp, mlir::arith::ShRSIOp>(op)) {
    if (!judge.chip.takes.narrowShifts && (set & (i8 | narrow)) && !isUniform(op->getOperand(1)))
      refuse(reason::kNarrowShift, "unsigned integer unpacking emulation of narrow integers is not implemented",
             "16-bit or 32-bit integers");
    return;
  }
  if (mlir::isa<mlir::arith::CmpFOp>(op)) {
    if (set & (f8 | f4)) refuse(reason::kUnsupportedOp, "Target does not support this comparison", "f32 or bf16");
    return;
  }
  if (auto reciprocal = mlir::dyn_cast<ReciprocalOp>(op)) {
    if (set & (f8 | f4)) refuse(reason::kUnsupportedOp, "Unsupported data type", "f32 or bf16");
    if (reciprocal.getApprox() && set == bf16 && !judge.chip.takes.bf16Reciprocal)
      refuse(reason::kUnsupportedOp, "Target platform does not support BF16 ReciprocalOp", "f32");
    return;
  }
  unsigned takes = takenBy(name);
  if (takes & set) return;
  if (mlir::isa<mlir::arith::DivUIOp, mlir::arith::RemUIOp>(op) && set == i8) {
    if (judge.chip.takes.narrowDivision) return;
    return refuse(reason::kUnsupportedOp, "LLO_CHECK failure: the target does not subtract vectors of this type",
                  "i32 or i16");
  }
  if (mlir::isa<mlir::arith::DivFOp>(op) && (set & (f8 | f4)))
    return refuse(reason::kUnsupportedOp, "Unsupported data type", "f32 or bf16");
  refuse(reason::kElementType, fmt::format("failed to legalize operation '{}'", name.str()),
         (takes & floats) ? "f32 or bf16"
         : takes          ? "32-bit integers"
                          : "signed integers: unsigned ones have no such operation");
}

void onReduction(mlir::Operation* op, const Judge& judge) {
  auto reduction = mlir::dyn_cast<mlir::vector::MultiDimReductionOp>(op);
  if (!reduction) return;
  const auto type = vectorType(reduction.getSource());
  if (!type || (setOf(type->dtype) & (f32 | bf16 | i32 | other))) return;
  judge.refuse(reason::kElementType, op->getLoc(),
               {.message = "failed to legalize operation 'vector.multi_reduction'",
                .need = "f32, bf16 or i32",
                .have = type->str(),
                .help = "convert before reducing"});
}

void onF16(mlir::Operation* op, const Judge& judge) {
  if (!mlir::isa<mlir::vector::LoadOp, StridedLoadOp, mlir::vector::StoreOp, VectorStoreOp>(op)) return;
  const mlir::Value v = op->getNumResults() ? op->getResult(0) : op->getOperand(0);
  const auto type = vectorType(v);
  if (!type || type->dtype != DType::f16) return;
  judge.refuse(reason::kF16, op->getLoc(),
               {.message = fmt::format("Invalid vector type for {}", op->getNumResults() ? "load" : "store"),
                .need = "bf16 or f32",
                .have = type->str(),
                .help = "keep the array as bf16"});
}

/// Stores to parts of the words of one-dimensional refs need masks: v4 has none for bytes, and no chip has any for
/// less.
void onByteLanes(mlir::Operation* op, const Judge& judge) {
  auto store = mlir::dyn_cast<VectorStoreOp>(op);
  if (!store) return;
  const auto type = vectorType(store.getValueToStore());
  if (!type || mlir::cast<mlir::MemRefType>(store.getBase().getType()).getRank() != 1 || type->shape.size() != 1 ||
      (elementBits(type->dtype) != 4 && (elementBits(type->dtype) != 8 || judge.chip.takes.subelementMasking)))
    return;
  const int64_t tile = 4096 / elementBits(type->dtype);
  if (type->shape[0] % tile == 0) return;
  judge.refuse(reason::kSubelementMask, op->getLoc(),
               {.message = elementBits(type->dtype) == 8 ? "8-bit subelement masking is only supported for TPU v5+"
                                                         : "Only 16-bit and 8-bit subelement masking is implemented",
                .need = fmt::format("a multiple of {} elements", tile),
                .have = type->str(),
                .help = "keep the array two-dimensional, or as i32"});
}

void onI2(mlir::Operation* op, const Judge& judge) {
  if (judge.chip.takes.i2 || !mlir::isa<mlir::arith::ExtSIOp, mlir::arith::ExtUIOp>(op)) return;
  const auto type = vectorType(op->getOperand(0));
  if (!type || bit_width(type->dtype) != 2) return;
  judge.refuse(reason::kUnsupportedOp, op->getLoc(),
               {.message = "the compiler ends in a failed check of its own at 2-bit integers",
                .need = "4-bit integers or wider",
                .have = type->str(),
                .help = "keep the array as i4, or use another chip"});
}

void onF4(mlir::Operation* op, const Judge& judge) {
  if (judge.chip.takes.f4) return;
  for (mlir::Value v : op->getResults()) {
    const auto type = vectorType(v);
    if (!type || type->dtype != DType::f4e2m1fn) continue;
    return judge.refuse(reason::kUnsupportedType, op->getLoc(),
                        {.message = "Conversion to 4-bit not supported before TPUv7",
                         .need = "8-bit floats or wider",
                         .have = type->str(),
                         .help = "use another chip, or f8e4m3fn"});
  }
}

/// Scales are read, not made: libtpu 0.0.52, every chip.
void onScale(mlir::Operation* op, const Judge& judge) {
  if (!mlir::isa<mlir::arith::TruncFOp>(op)) return;
  const auto type = vectorType(op->getResult(0)), from = vectorType(op->getOperand(0));
  if (!type || !from || type->dtype != DType::f8e8m0fnu) return;
  judge.refuse(reason::kUnsupportedType, op->getLoc(),
               {.message = fmt::format("unsupported source element type '{}'", smalti::name(from->dtype)),
                .need = "a result that is not f8e8m0fnu",
                .have = type->str(),
                .help = "compute the exponent with integers, and bitcast it"});
}

}  // namespace

std::span<const Rule> typeRules() {
  static constexpr Rule kRules[]{{.onOp = onElementwise}, {.onOp = onReduction}, {.onOp = onF16}, {.onOp = onF4},
                                 {.onOp = onScale},       {.onOp = onByteLanes}, {.onOp = onI2}};
  return kRules;
}

}  // namespace smalti::tpu
