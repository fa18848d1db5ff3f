// The TPU's own ops: one op of the dialect each.
#include <array>

#include "mlir/Dialect/Arith/IR/Arith.h"

#include "ir/Tpu.h"
#include "lang/lower/Lowering.h"

namespace smalti::lang {
namespace {

std::vector<mlir::Value> operandsOf(Lowering& l, const Op& op) {
  std::vector<mlir::Value> values;
  for (const ValueId v : op.operands) values.push_back(l.value(v));
  return values;
}

mlir::Value emit(Lowering& l, const Op& op, std::string_view name,
                 llvm::ArrayRef<mlir::NamedAttribute> attributes = {}) {
  return l.create1(name, operandsOf(l, op), l.mlirType(l.typeOf(op.results[0])), attributes);
}

/// An integer attribute of the op as the dialect's i32; absent ones stay absent.
void copyInteger(Lowering& l, const Op& op, std::string_view name, std::vector<mlir::NamedAttribute>& to,
                 bool isSigned = false) {
  const Attribute* value = op.find(name);
  if (!value) return;
  const auto i = static_cast<int32_t>(std::get<int64_t>(*value));
  const mlir::Attribute number = isSigned ? mlir::Attribute(l.b.getSI32IntegerAttr(i)) : l.b.getI32IntegerAttr(i);
  to.push_back(l.b.getNamedAttr(llvm::StringRef(name.data(), name.size()), number));
}

void reciprocal(Lowering& l, const Op& op) {
  const mlir::Value x = l.value(op.operands[0]);
  if (l.typeOf(op.operands[0]).shape.empty()) {  // the op is the vector unit's
    l.set(op.results[0], l.create1("arith.divf", {l.constant(x.getType(), 1), x}, x.getType()));
    return;
  }
  l.set(op.results[0], emit(l, op, "tpu.reciprocal",
                            {l.b.getNamedAttr("approx", l.b.getBoolAttr(std::get<bool>(*op.find("approx")))),
                             l.b.getNamedAttr("full_range", l.b.getBoolAttr(std::get<bool>(*op.find("full_range"))))}));
}

void roll(Lowering& l, const Op& op) {
  std::vector<mlir::NamedAttribute> attributes;
  for (const char* name : {"dimension", "stride", "stride_dimension"}) copyInteger(l, op, name, attributes, true);
  l.set(op.results[0], emit(l, op, "tpu.dynamic_rotate", attributes));
}

void bitcast(Lowering& l, const Op& op) { l.set(op.results[0], emit(l, op, "tpu.bitcast")); }
void stochasticRound(Lowering& l, const Op& op) { l.set(op.results[0], emit(l, op, "tpu.stochastic_convert")); }

mlir::TypeAttr packedType(Lowering& l, const Op& op) {
  const DType t = *dtype_from_name(std::get<std::string>(*op.find("packed_dtype")));
  return mlir::TypeAttr::get(l.mlirType({t, {}}));
}

void pack(Lowering& l, const Op& op) {
  l.set(op.results[0], emit(l, op, "tpu.pack_elementwise", {l.b.getNamedAttr("target_type", packedType(l, op))}));
}

void unpack(Lowering& l, const Op& op) {
  std::vector<mlir::NamedAttribute> attributes{l.b.getNamedAttr("source_type", packedType(l, op))};
  copyInteger(l, op, "index", attributes);
  l.set(op.results[0], emit(l, op, "tpu.unpack_elementwise", attributes));
}

void prngSeed(Lowering& l, const Op& op) { l.create("tpu.prng_set_seed_32", operandsOf(l, op), {}); }
void prngRandomBits(Lowering& l, const Op& op) { l.set(op.results[0], emit(l, op, "tpu.prng_random_bits")); }

void multipleOf(Lowering& l, const Op& op) {
  std::vector<mlir::NamedAttribute> attributes;
  copyInteger(l, op, "multiple", attributes);
  l.set(op.results[0], emit(l, op, "tpu.assume_multiple", attributes));
}

void matrixUnit(Lowering& l, const Op& op) {
  std::vector<mlir::NamedAttribute> attributes;
  for (const char* name : {"acc", "mxu_index", "staging_register", "load_staged_rhs"})
    copyInteger(l, op, name, attributes);
  if (const Attribute* transpose = op.find("transpose"))
    attributes.push_back(l.b.getNamedAttr("transpose", l.b.getBoolAttr(std::get<bool>(*transpose))));
  const std::string name = "tpu." + op.name;
  if (op.results.empty())
    l.create(name, operandsOf(l, op), {}, attributes);
  else
    l.set(op.results[0], emit(l, op, name, attributes));
}

constexpr std::array kTpuRules{
    LowerRow{"bitcast", bitcast},
    LowerRow{"matmul_acc_lhs", matrixUnit},
    LowerRow{"matmul_lhs_fifo", matrixUnit},
    LowerRow{"matmul_pop", matrixUnit},
    LowerRow{"matmul_pop_fifo", matrixUnit},
    LowerRow{"matmul_push_rhs", matrixUnit},
    LowerRow{"multiple_of", multipleOf},
    LowerRow{"pack_elementwise", pack},
    LowerRow{"prng_random_bits", prngRandomBits},
    LowerRow{"prng_seed", prngSeed},
    LowerRow{"reciprocal", reciprocal},
    LowerRow{"roll", roll},
    LowerRow{"stochastic_round", stochasticRound},
    LowerRow{"unpack_elementwise", unpack},
};

}  // namespace

std::span<const LowerRow> tpuRules() { return kTpuRules; }

}  // namespace smalti::lang
