// Prints, checks, profiler marks.
#include <array>

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include "lang/lower/Lowering.h"

namespace smalti::lang {
namespace {

const std::string& text(const Op& op, std::string_view name) { return std::get<std::string>(*op.find(name)); }

/// "{}" becomes "$s0", "$u1" or "$f2": the kind by the argument's dtype.
std::string logFormat(Lowering& l, const Op& op) {
  std::string out;
  const std::string& format = text(op, "fmt");
  size_t argument = 0;
  for (size_t i = 0; i < format.size(); ++i) {
    if (format.compare(i, 2, "{}") != 0) {
      out += format[i];
      continue;
    }
    const DType t = l.typeOf(op.operands[argument]).dtype;
    out += std::string("$") + (is_float(t) ? 'f' : is_signed_integer(t) ? 's' : 'u') + std::to_string(argument);
    ++argument;
    ++i;
  }
  return out;
}

/// A vector is copied to VMEM of its own and printed from there.
void printVector(Lowering& l, const Op& op) {
  const ArrayType& type = l.typeOf(op.operands[0]);
  auto region = l.create("tpu.region", {}, {}, {}, 1);
  const mlir::OpBuilder::InsertionGuard guard(l.b);
  l.b.createBlock(&region->getRegion(0));
  const auto memref = memrefType(*l.b.getContext(), type, MemorySpace::vmem);
  const mlir::Value buffer = mlir::memref::AllocaOp::create(l.b, l.loc, memref);
  const mlir::Value zero = l.index(0);
  std::vector<mlir::Value> operands{l.value(op.operands[0]), buffer};
  operands.insert(operands.end(), type.shape.size(), zero);
  l.create("vector.store", operands, {});
  std::string format = text(op, "fmt");
  format.resize(format.size() - 2);
  l.create("tpu.log_buffer", buffer, {},
           {l.b.getNamedAttr("shape", l.b.getDenseI64ArrayAttr(type.shape)),
            l.b.getNamedAttr("tag", l.b.getStringAttr(format))});
  l.create("tpu.yield", {}, {});
}

void debugPrint(Lowering& l, const Op& op) {
  if (!op.operands.empty() && !l.typeOf(op.operands[0]).shape.empty()) return printVector(l, op);
  std::vector<mlir::Value> operands;
  for (const ValueId v : op.operands) operands.push_back(l.value(v));
  const bool formatted = text(op, "fmt").find("{}") != std::string::npos;
  std::vector<mlir::NamedAttribute> attributes{
      l.b.getNamedAttr("tag", l.b.getStringAttr(formatted ? logFormat(l, op) : text(op, "fmt"))),
      l.b.getNamedAttr("formatted", l.b.getBoolAttr(formatted))};
  l.create("tpu.log", operands, {}, attributes);
}

void debugCheck(Lowering& l, const Op& op) {
  mlir::cf::AssertOp::create(l.b, l.loc, l.value(op.operands[0]), text(op, "message"));
}

void traceValue(Lowering& l, const Op& op) {
  l.create("tpu.trace_value", l.value(op.operands[0]), {},
           {l.b.getNamedAttr("label", l.b.getStringAttr(text(op, "label")))});
}

void traceStart(Lowering& l, const Op& op) {
  constexpr int kLevel = 10;  // JAX's
  l.create("tpu.trace_start", {}, {},
           {l.b.getNamedAttr("level", l.b.getI32IntegerAttr(kLevel)),
            l.b.getNamedAttr("message", l.b.getStringAttr(text(op, "message")))});
}
void traceStop(Lowering& l, const Op&) { l.create("tpu.trace_stop", {}, {}); }

void delay(Lowering& l, const Op& op) { l.create("tpu.delay", l.value(op.operands[0]), {}); }

constexpr std::array kDebugRules{
    LowerRow{"debug_check", debugCheck}, LowerRow{"debug_print", debugPrint}, LowerRow{"delay", delay},
    LowerRow{"trace_start", traceStart}, LowerRow{"trace_stop", traceStop},   LowerRow{"trace_value", traceValue},
};

}  // namespace

std::span<const LowerRow> debugRules() { return kDebugRules; }

}  // namespace smalti::lang
