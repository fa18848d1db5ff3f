// Operands of matrix products.
#include <fmt/format.h>

#include "ir/TpuOps.h"
#include "ir/Types.h"
#include "tpu/rules/Reasons.h"
#include "tpu/rules/Table.h"

namespace smalti::tpu {
namespace {

bool isIn(DType d, std::initializer_list<DType> set) { return std::find(set.begin(), set.end(), d) != set.end(); }

struct Types {
  DType l, r, acc;
  bool any(std::initializer_list<DType> set) const { return isIn(l, set) || isIn(r, set); }
  bool both(std::initializer_list<DType> set) const { return isIn(l, set) && isIn(r, set); }
};

/// Why the chip's matrix unit does not take operands and result of these types; empty: it does.
std::string misfit(const Types& t, const Chip& chip, bool passes) {
  using enum DType;
  if (t.any({i16, u16, i32, u32, i2, u2, pred, f16, f8e8m0fnu}))
    return fmt::format("Bad lhs/rhs type: {} {}", smalti::name(t.l), smalti::name(t.r));
  if (passes && !t.both({f32})) return "Bad lhs type: only f32 operands are multiplied in several passes";
  if (t.any({f4e2m1fn})) return chip.takes.f4 ? "" : "Unsupported type for matmul: f4e2m1fn";
  if (t.any({f8e4m3b11fnuz})) return chip.takes.f8e4m3b11Matmul ? "" : "Unsupported type for matmul: f8e4m3b11fnuz";
  const bool floatL = is_float(t.l), floatR = is_float(t.r), wideL = isIn(t.l, {f32, bf16}),
             wideR = isIn(t.r, {f32, bf16});
  if (wideL && wideR)
    return is_float(t.acc) || chip.takes.mixedMatmul ? "" : "int acc with float lhs. Expected int lhs.";
  if (floatL != floatR) return "";  // the integers are converted
  if (!chip.takes.narrowMatmul)
    return fmt::format("Unsupported matmul RHS type on target: {}", smalti::name(wideR ? t.l : t.r));
  if (floatL) return "";
  if (chip.takes.mixedMatmul) return "";
  if (bit_width(t.l) != bit_width(t.r)) return "Mix int/int - NYI";
  return is_float(t.acc) ? "float acc with int lhs. Expected float lhs." : "";
}

void onMatmul(mlir::Operation* op, const Judge& judge) {
  auto matmul = mlir::dyn_cast<MatmulOp>(op);
  if (!matmul) return;
  const auto l = arrayTypeOf(matmul.getLhs().getType()), r = arrayTypeOf(matmul.getRhs().getType()),
             acc = arrayTypeOf(matmul.getAcc().getType());
  if (!l || !r || !acc) return;
  const bool passes = matmul.getPrecision() && *matmul.getPrecision() != ContractPrecision::bf16;
  const std::string message = misfit({l->dtype, r->dtype, acc->dtype}, judge.chip, passes);
  if (message.empty()) return;
  judge.refuse(reason::kMatmulType, op->getLoc(),
               {.message = message,
                .need = judge.chip.takes.narrowMatmul ? "f32, bf16, or operands of one 8-bit or 4-bit type"
                                                      : "f32 or bf16 operands",
                .have = fmt::format("{} × {} → {}", l->str(), r->str(), acc->str()),
                .help = passes ? "convert the operands to f32, or use the default precision"
                               : "convert the operands to f32 or bf16"});
}

}  // namespace

std::span<const Rule> matmulRules() {
  static constexpr Rule kRules[]{{.onOp = onMatmul}};
  return kRules;
}

}  // namespace smalti::tpu
