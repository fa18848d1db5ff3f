// debug_print, debug_check, trace_value, named_scope, delay: ops of the same names ("trace_start" and "trace_stop" for
// scopes).
#include "lang/debug/Debug.h"

#include <algorithm>

#include <fmt/format.h>

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include "base/Text.h"
#include "lang/lower/DialectLowering.h"
#include "lang/ops/OpRecord.h"
#include "lang/ops/Support.h"
#include "lang/trace/KernelOnly.h"
#include "lang/trace/SourceLocationScope.h"
#include "lang/trace/Trace.h"
#include "smalti/debug.h"

namespace smalti::lang {
namespace {

const std::string& text(const Op& op, std::string_view name) { return std::get<std::string>(*op.find(name)); }

/// "{}" becomes "$s0", "$u1" or "$f2": the kind by the argument's dtype.
std::string logFormat(DialectLowering& l, const Op& op) {
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
void printVector(DialectLowering& l, const Op& op) {
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

void lowerDebugPrint(DialectLowering& l, const Op& op) {
  if (!op.operands.empty() && !l.typeOf(op.operands[0]).shape.empty()) return printVector(l, op);
  std::vector<mlir::Value> operands;
  for (const ValueId v : op.operands) operands.push_back(l.value(v));
  const bool formatted = text(op, "fmt").find("{}") != std::string::npos;
  std::vector<mlir::NamedAttribute> attributes{
      l.b.getNamedAttr("tag", l.b.getStringAttr(formatted ? logFormat(l, op) : text(op, "fmt"))),
      l.b.getNamedAttr("formatted", l.b.getBoolAttr(formatted))};
  l.create("tpu.log", operands, {}, attributes);
}

void lowerDebugCheck(DialectLowering& l, const Op& op) {
  mlir::cf::AssertOp::create(l.b, l.loc, l.value(op.operands[0]), text(op, "message"));
}

void lowerTraceValue(DialectLowering& l, const Op& op) {
  l.create("tpu.trace_value", l.value(op.operands[0]), {},
           {l.b.getNamedAttr("label", l.b.getStringAttr(text(op, "label")))});
}

void lowerTraceStart(DialectLowering& l, const Op& op) {
  constexpr int kLevel = 10;  // JAX's
  l.create("tpu.trace_start", {}, {},
           {l.b.getNamedAttr("level", l.b.getI32IntegerAttr(kLevel)),
            l.b.getNamedAttr("message", l.b.getStringAttr(text(op, "message")))});
}
void lowerTraceStop(DialectLowering& l, const Op&) { l.create("tpu.trace_stop", {}, {}); }

void lowerDelay(DialectLowering& l, const Op& op) { l.create("tpu.delay", l.value(op.operands[0]), {}); }

constexpr OpTable kDebugOps{
    OpRecord{.name = "debug_check", .types = noResults, .lower = lowerDebugCheck, .effect = true},
    OpRecord{.name = "debug_print", .types = noResults, .lower = lowerDebugPrint, .effect = true},
    OpRecord{.name = "delay", .types = noResults, .lower = lowerDelay, .effect = true},
    OpRecord{.name = "trace_start", .types = noResults, .lower = lowerTraceStart, .effect = true},
    OpRecord{.name = "trace_stop", .types = noResults, .lower = lowerTraceStop, .effect = true},
    OpRecord{.name = "trace_value", .types = noResults, .lower = lowerTraceValue, .effect = true},
};
const OpFamily kDebugFamily(kDebugOps);

}  // namespace
}  // namespace smalti::lang

namespace smalti {
namespace {

using lang::SourceLocationScope, lang::Trace;

thread_local bool tDebugChecks = false, tPoisonBuffers = false;

size_t placeholders(std::string_view format) {
  size_t count = 0;
  for (size_t i = 0; (i = format.find("{}", i)) != std::string_view::npos; i += 2) ++count;
  return count;
}

[[noreturn]] void refusePrint(std::string message, std::string need, std::string have, std::string help) {
  lang::refuse({.code = "SM6510",
                .message = std::move(message),
                .place = {},
                .need = std::move(need),
                .have = std::move(have),
                .help = std::move(help)});
}

void checkPrint(std::string_view format, const std::vector<Operand>& arguments) {
  const size_t holes = placeholders(format);
  const bool scalars = std::all_of(arguments.begin(), arguments.end(), [](const Operand& o) { return o.rank() == 0; });
  if (!scalars) {
    if (arguments.size() != 1)
      refusePrint("All inputs to debug_print must be all scalars or a single vector", "scalars, or one vector",
                  counted(arguments.size(), "argument"), "print vectors one by one");
    if (holes != 1 || !format.ends_with("{}"))
      refusePrint("For vector input, the format string must end with {}", "one {} at the end",
                  fmt::format("\"{}\"", format), "put the text before the vector");
    return;
  }
  if (holes == 0) return;
  if (holes != arguments.size())
    refusePrint("the format of a debug_print and its arguments do not match",
                counted(holes, "argument") + ", one per {}", fmt::format("{}", arguments.size()),
                "write one {} per argument");
  for (const Operand& o : arguments)
    if (bit_width(o.dtype()) != 32)
      refusePrint("All arguments must be 32-bit integers or floats when using placeholders", "i32, u32 or f32",
                  o.array().type().str(), "convert it with astype, or leave the {} out");
}

/// An op of one scalar.
void recordScalar(const lang::OpRecord& op, const Operand& x, lang::Attributes attributes, DType wanted) {
  Trace& trace = lang::kernelTrace(op.name);
  if (x.rank() != 0)
    lang::refuse({.code = "SM6511",
                  .message = fmt::format("{} requires a scalar value", op.name),
                  .place = {},
                  .need = std::string(name(wanted)) + "[]",
                  .have = x.array().type().str(),
                  .help = "reduce the vector first"});
  trace.record(op, {trace.use(lang::convertTo(x.array(), wanted))}, {}, std::move(attributes));
}

}  // namespace

bool lang::debugChecksEnabled() { return tDebugChecks; }
bool lang::poisonBuffersEnabled() { return tPoisonBuffers; }

void detail::debug_print(std::string_view format, const std::vector<Operand>& arguments, const Location& at) {
  SourceLocationScope place(at);
  Trace& trace = lang::kernelTrace("debug_print");
  checkPrint(format, arguments);
  std::vector<ValueId> operands;
  for (const Operand& o : arguments) operands.push_back(trace.use(o.array()));
  trace.record(lang::kDebugOps["debug_print"], std::move(operands), {}, {{"fmt", std::string(format)}});
}

bool enable_debug_checks(bool on) { return std::exchange(tDebugChecks, on); }

bool enable_poison_buffers(bool on) { return std::exchange(tPoisonBuffers, on); }

void debug_check(const Operand& condition, std::string_view message) {
  SourceLocationScope place(condition.at());
  if (tDebugChecks)
    recordScalar(lang::kDebugOps["debug_check"], condition, {{"message", std::string(message)}}, DType::pred);
}

void trace_value(std::string_view label, const Operand& value) {
  SourceLocationScope place(value.at());
  const DType t = value.dtype();
  if (t != DType::i32 && t != DType::f32)
    lang::refuse({.code = "SM6511",
                  .message = "trace_value requires i32 or f32",
                  .place = {},
                  .need = "an i32 or f32 scalar",
                  .have = value.array().type().str(),
                  .help = "convert it with astype"});
  recordScalar(lang::kDebugOps["trace_value"], value, {{"label", std::string(label)}}, t);
}

named_scope::named_scope(std::string_view name, Location at) : at_(at) {
  SourceLocationScope place(at);
  lang::kernelTrace("named_scope").record(lang::kDebugOps["trace_start"], {}, {}, {{"message", std::string(name)}});
}
named_scope::~named_scope() {
  if (Trace* trace = Trace::current()) {
    SourceLocationScope place(at_);
    trace->record(lang::kDebugOps["trace_stop"], {}, {});
  }
}

void delay(const Operand& nanoseconds) {
  SourceLocationScope place(nanoseconds.at());
  recordScalar(lang::kDebugOps["delay"], nanoseconds, {}, DType::i32);
}

}  // namespace smalti
