// debug_print, debug_check, trace_value, named_scope, delay: ops of the same names ("trace_start" and "trace_stop" for
// scopes).
#include "lang/debug/Debug.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/Text.h"
#include "lang/ops/Support.h"
#include "lang/trace/KernelOnly.h"
#include "lang/trace/Place.h"
#include "lang/trace/Trace.h"
#include "smalti/debug.h"

namespace smalti {
namespace {

using lang::AtPlace, lang::Trace;

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
void recordScalar(std::string_view op, const Operand& x, lang::Attributes attributes, DType wanted) {
  Trace& trace = lang::kernelTrace(op);
  if (x.rank() != 0)
    lang::refuse({.code = "SM6511",
                  .message = fmt::format("{} requires a scalar value", op),
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
  AtPlace place(at);
  Trace& trace = lang::kernelTrace("debug_print");
  checkPrint(format, arguments);
  std::vector<ValueId> operands;
  for (const Operand& o : arguments) operands.push_back(trace.use(o.array()));
  trace.record("debug_print", std::move(operands), {}, {{"fmt", std::string(format)}});
}

bool enable_debug_checks(bool on) { return std::exchange(tDebugChecks, on); }

bool enable_poison_buffers(bool on) { return std::exchange(tPoisonBuffers, on); }

void debug_check(const Operand& condition, std::string_view message) {
  AtPlace place(condition.at());
  if (tDebugChecks) recordScalar("debug_check", condition, {{"message", std::string(message)}}, DType::pred);
}

void trace_value(std::string_view label, const Operand& value) {
  AtPlace place(value.at());
  const DType t = value.dtype();
  if (t != DType::i32 && t != DType::f32)
    lang::refuse({.code = "SM6511",
                  .message = "trace_value requires i32 or f32",
                  .place = {},
                  .need = "an i32 or f32 scalar",
                  .have = value.array().type().str(),
                  .help = "convert it with astype"});
  recordScalar("trace_value", value, {{"label", std::string(label)}}, t);
}

named_scope::named_scope(std::string_view name, Location at) : at_(at) {
  AtPlace place(at);
  lang::kernelTrace("named_scope").record("trace_start", {}, {}, {{"message", std::string(name)}});
}
named_scope::~named_scope() {
  if (Trace* trace = Trace::current()) {
    AtPlace place(at_);
    trace->record("trace_stop", {}, {});
  }
}

void delay(const Operand& nanoseconds) {
  AtPlace place(nanoseconds.at());
  recordScalar("delay", nanoseconds, {}, DType::i32);
}

}  // namespace smalti
