// One small function per step that changed an op.
#include <array>
#include <optional>

#include <fmt/format.h>

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/TypeUtilities.h"

#include "interop/serde/OpFormHelpers.h"
#include "interop/serde/Serde.h"

namespace smalti::interop {
namespace {

// At most this many copies make one concatenation; JAX's tile and repeat stay below the lane count.
constexpr int64_t kMaxRepeats = 1024;

tl::unexpected<Diagnostic> badForm(const OpForm& op, int version, std::string need, std::string have) {
  Diagnostic d{
      .code = "SM2108",
      .message = fmt::format("'{}' does not have the form it had in stable_mosaic version {}", op.name, version),
      .place = placeOfForm(op)};
  d.need = std::move(need);
  d.have = std::move(have);
  return fail(std::move(d));
}

mlir::Builder builderOf(const OpForm& op) { return mlir::Builder(op.location.getContext()); }

void setIfMissing(OpForm& op, llvm::StringRef name, mlir::Attribute value) {
  if (!op.attributes.get(name)) op.attributes.set(name, value);
}

// Appends empty segments up to `wanted`.
Status growSegments(OpForm& op, int version, size_t older, size_t wanted) {
  auto segments = segmentsOf(op);
  if (!segments || (segments->size() != older && segments->size() != wanted))
    return badForm(op, version, fmt::format("operandSegmentSizes with {} numbers", older),
                   segments ? fmt::format("{}", segments->size()) : "none");
  segments->resize(wanted, 0);
  setSegments(op, *segments);
  return {};
}

Status upgradeEnqueueDma(OpForm& op, int version) {
  if (version < 2 && !segmentsOf(op)) {
    if (op.operands.size() == 3)
      setSegments(op, {1, 0, 1, 1, 0, 0});
    else if (op.operands.size() == 5)
      setSegments(op, {1, 1, 1, 1, 1, 0});
    else
      return badForm(op, version, "3 or 5 operands", fmt::format("{}", op.operands.size()));
  }
  setIfMissing(op, "priority", builderOf(op).getI32IntegerAttr(0));       // since 4
  setIfMissing(op, "strict_ordering", builderOf(op).getBoolAttr(false));  // since 8
  return growSegments(op, version, 6, 7);                                 // since 14
}

Status upgradeSemSignal(OpForm& op, int version) {
  if (version < 2 && !segmentsOf(op)) {
    if (op.operands.size() == 2)
      setSegments(op, {1, 1, 0, 0});
    else if (op.operands.size() == 3)
      setSegments(op, {1, 1, 1, 0});
    else
      return badForm(op, version, "2 or 3 operands", fmt::format("{}", op.operands.size()));
  }
  return growSegments(op, version, 4, 5);  // since 14
}

// (semaphore, source, target, device_id?, core_id?); without segments below 7. The reader makes a wait_dma of it when
// the module is whole (tpu::upgradeLegacyOps).
Status upgradeWaitDma2(OpForm& op, int version) {
  auto segments = segmentsOf(op);
  const bool plain = !segments && op.operands.size() == 3;
  const bool segmented = segments && segments->size() == 5 && (*segments)[0] == 1 && (*segments)[1] == 1 &&
                         (*segments)[2] == 1 && op.operands.size() >= 3;
  if (!plain && !segmented)
    return badForm(op, version, "a semaphore, a source and a target", fmt::format("{} operands", op.operands.size()));
  if (plain) setSegments(op, {1, 1, 1, 0, 0});
  setIfMissing(op, "strict_ordering", builderOf(op).getBoolAttr(false));  // since 8
  return {};
}

// Two forms share the name: (semaphore, ref) of old, a wait for the ref's bytes, and the one of today with the copy's
// operands.
Status upgradeWaitDma(OpForm& op, int version) {
  if (segmentsOf(op) || op.operands.size() != 2) return growSegments(op, version, 6, 7);
  op.name = "tpu.wait_dma2";
  op.operands.push_back(op.operands[1]);
  return upgradeWaitDma2(op, version);
}

Status upgradeMultiReduction(OpForm& op, int version) {
  auto list = mlir::dyn_cast_or_null<mlir::ArrayAttr>(op.attributes.get("reduction_dims"));
  if (!list) return {};
  std::vector<int64_t> dims;
  for (mlir::Attribute a : list) {
    auto i = mlir::dyn_cast<mlir::IntegerAttr>(a);
    if (!i || !i.getType().isSignlessInteger()) return badForm(op, version, "integers as reduction_dims", "others");
    dims.push_back(i.getInt());
  }
  op.attributes.set("reduction_dims", builderOf(op).getDenseI64ArrayAttr(dims));
  return {};
}

// tpu.dynamic_gather below 5 and tpu.iota below 6: one `dimension`, now a list of `dimensions`.
Status upgradeDimension(OpForm& op, int version) {
  mlir::Attribute one = op.attributes.get("dimension");
  if (!one) return {};
  auto i = mlir::dyn_cast<mlir::IntegerAttr>(one);
  if (!i || !i.getType().isSignlessInteger(32)) return badForm(op, version, "an i32 as dimension", "another attribute");
  op.attributes.erase("dimension");
  op.attributes.set("dimensions", builderOf(op).getDenseI32ArrayAttr({static_cast<int32_t>(i.getInt())}));
  return {};
}

// Before dimension_numbers, a matmul was [m, k] x [k, n] with either side transposed on demand.
Status upgradeMatmul(OpForm& op, int version) {
  mlir::Builder b = builderOf(op);
  setIfMissing(op, "transpose_lhs_hint", b.getBoolAttr(false));  // since 13
  if (op.attributes.get("dimension_numbers")) return {};
  auto flag = [&](llvm::StringRef name) {
    auto a = mlir::dyn_cast_or_null<mlir::BoolAttr>(op.attributes.get(name));
    return a && a.getValue();
  };
  const int lhs = flag("transpose_lhs") ? 0 : 1, rhs = flag("transpose_rhs") ? 1 : 0;
  const std::string numbers = fmt::format("#tpu.dot_dimension_numbers<[{}], [{}], [{}], [{}], [0, {}, 1, {}], [], []>",
                                          lhs, rhs, 1 - lhs, 1 - rhs, 1 - lhs, 1 - rhs);
  mlir::Attribute parsed = mlir::parseAttribute(numbers, op.location.getContext());
  if (!parsed) return badForm(op, version, "dimension_numbers", "none");
  op.attributes.set("dimension_numbers", parsed);
  op.attributes.set("transpose_lhs", b.getBoolAttr(false));
  op.attributes.set("transpose_rhs", b.getBoolAttr(false));
  return {};
}

// tpu.repeat is gone: the same value, `times` times along `dimension`.
Status upgradeRepeat(OpForm& op, int version) {
  auto times = mlir::dyn_cast_or_null<mlir::IntegerAttr>(op.attributes.get("times"));
  auto dimension = mlir::dyn_cast_or_null<mlir::IntegerAttr>(op.attributes.get("dimension"));
  if (op.operands.size() != 1 || !times || !dimension || !times.getType().isSignlessInteger() ||
      !dimension.getType().isSignlessInteger(32) || times.getInt() < 1 || times.getInt() > kMaxRepeats)
    return badForm(op, version, fmt::format("one operand, a dimension, and 1 to {} times", kMaxRepeats),
                   fmt::format("{} operands", op.operands.size()));
  op.name = "tpu.concatenate";
  op.operands.assign(times.getInt(), mlir::Value(op.operands[0]));
  op.attributes.erase("times");
  return {};
}

// Old lowerings used the upstream op; the permutation is spelled alike.
Status upgradeTranspose(OpForm& op, int) {
  op.name = "tpu.transpose";
  return {};
}

// A rotation by an amount known beforehand: today the amount is an operand.
Status upgradeRotate(OpForm& op, int version, mlir::OpBuilder& before) {
  auto amount = mlir::dyn_cast_or_null<mlir::IntegerAttr>(op.attributes.get("amount"));
  if (!amount || !amount.getType().isInteger(32) || op.operands.size() != 1)
    return badForm(op, version, "one operand and an amount of 32 bits", fmt::format("{} operands", op.operands.size()));
  OpForm constant{.name = "arith.constant", .location = op.location};
  constant.results.push_back(before.getI32Type());
  constant.attributes.set("value", before.getI32IntegerAttr(static_cast<int32_t>(amount.getValue().getSExtValue())));
  Result<mlir::Operation*> made = createOp(before, constant, 0);
  if (!made) return fail(made.error());
  op.name = "tpu.dynamic_rotate";
  op.operands.push_back((*made)->getResult(0));
  op.attributes.erase("amount");
  return {};
}

// The logistic function of JAX 0.12, as JAX itself writes it for older compilers: 1 / (1 + exp(-x)).
Status upgradeLogistic(OpForm& op, int version, mlir::OpBuilder& before) {
  const mlir::Type type = op.results.size() == 1 ? op.results[0] : mlir::Type();
  const auto element = type ? mlir::dyn_cast<mlir::FloatType>(mlir::getElementTypeOrSelf(type)) : mlir::FloatType();
  const auto vector = mlir::dyn_cast_or_null<mlir::VectorType>(type);
  if (!element || op.operands.size() != 1 || op.operands[0].getType() != type || !(vector || type == element))
    return badForm(op, version, "one operand and a result, floats of one type",
                   fmt::format("{} operands", op.operands.size()));
  const mlir::TypedAttr one = mlir::FloatAttr::get(element, 1.0);
  const auto make = [&](const char* name, std::initializer_list<mlir::Value> operands) -> Result<mlir::Value> {
    OpForm form{.name = name, .location = op.location, .operands = operands};
    form.results.push_back(type);
    if (form.name == "arith.constant")
      form.attributes.set("value", vector ? mlir::TypedAttr(mlir::DenseElementsAttr::get(vector, one)) : one);
    Result<mlir::Operation*> made = createOp(before, form, 0);
    if (!made) return fail(made.error());
    return (*made)->getResult(0);
  };
  auto constant = make("arith.constant", {});
  auto negated = constant ? make("arith.negf", {op.operands[0]}) : constant;
  auto power = negated ? make("math.exp", {*negated}) : negated;
  auto sum = power ? make("arith.addf", {*constant, *power}) : power;
  if (!sum) return fail(sum.error());
  op.name = "arith.divf";
  op.operands = {*constant, *sum};
  return {};
}

struct Rule {
  std::string_view op;
  Status (*apply)(OpForm&, int version);
};
constexpr std::array kRules = {
    Rule{"tpu.enqueue_dma", upgradeEnqueueDma},
    Rule{"tpu.sem_signal", upgradeSemSignal},
    Rule{"tpu.wait_dma2", upgradeWaitDma2},
    Rule{"tpu.wait_dma", upgradeWaitDma},
    Rule{"vector.multi_reduction", upgradeMultiReduction},
    Rule{"tpu.dynamic_gather", upgradeDimension},
    Rule{"tpu.iota", upgradeDimension},
    Rule{"tpu.matmul", upgradeMatmul},
    Rule{"tpu.repeat", upgradeRepeat},
    Rule{"vector.transpose", upgradeTranspose},
};

}  // namespace

Status upgradeOp(OpForm& op, int version, mlir::OpBuilder& before) {
  if (op.name == "tpu.rotate") return upgradeRotate(op, version, before);
  if (op.name == "tpu.logistic") return upgradeLogistic(op, version, before);
  for (const Rule& rule : kRules)
    if (rule.op == op.name) return rule.apply(op, version);
  return {};
}

}  // namespace smalti::interop
