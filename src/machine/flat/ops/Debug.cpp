// debug_print, assertions and trace regions.
#include <fmt/format.h>

#include "eval/Shape.h"
#include "machine/flat/Box.h"
#include "machine/flat/Format.h"
#include "machine/flat/ops/Table.h"

namespace smalti::machine::flat {
namespace {

/// Splats are printed as whole arrays.
std::string formatValue(Frame& frame, const Operand& o, bool asUnsigned = false) {
  if (o.shape.empty()) return formatElement(o.dtype, frame.slots[o.slot].data, asUnsigned);
  if (!o.splat) return formatArray(o.dtype, o.shape, frame.slots[o.slot].data);
  const int bytes = storage_bytes(o.dtype);
  std::byte* all = frame.temporary(0, o.elements() * bytes);
  eval::fill(all, frame.slots[o.slot].data, o.elements(), bytes);
  return formatArray(o.dtype, o.shape, all);
}

/// tpu.log. `formatted`: the tag holds $s0, $u1, $f2 where operands go (signed, unsigned, float); $0 until JAX 0.10.
struct Log : Payload {
  std::string tag;
  bool formatted = false;
  std::vector<Operand> values;

  void run(Frame& frame) const {
    std::string line;
    if (!formatted) {
      line = tag;
      for (const Operand& value : values)
        line += (line.empty() || line.back() == ' ' ? "" : " ") + formatValue(frame, value);
      frame.core->log(std::move(line));
      return;
    }
    for (size_t at = 0; at < tag.size();) {
      const auto isOneOf = [&](size_t i, std::string_view set) {
        return i < tag.size() && set.find(tag[i]) != std::string_view::npos;
      };
      const size_t first = at + (isOneOf(at + 1, "suf") ? 2 : 1);
      size_t digits = first;
      while (digits < first + 4 && isOneOf(digits, "0123456789")) ++digits;
      if (tag[at] != '$' || digits == first) {
        line += tag[at++];
        continue;
      }
      const auto index = static_cast<size_t>(std::stoi(tag.substr(first, digits - first)));
      line +=
          index < values.size() ? formatValue(frame, values[index], tag[at + 1] == 'u') : tag.substr(at, digits - at);
      at = digits;
    }
    frame.core->log(std::move(line));
  }
};

Status lowerLog(FlatLowering& lowering, mlir::Operation& op) {
  Log payload;
  payload.tag = stringAttribute(op, "tag");
  payload.formatted = boolAttribute(op, "formatted");
  for (mlir::Value v : op.getOperands()) {
    if (lowering.isRef(v)) return lowering.refuse(op, "refs are printed by log_buffer");
    payload.values.push_back(lowering.operand(v));
  }
  lowering.emit(std::move(payload));
  return {};
}

/// tpu.log_buffer: the leading part of the ref that has the shape given.
struct LogBuffer : Payload {
  std::string tag;
  int32_t ref = -1;
  Shape shape;
  bool run(Frame& frame) const {
    const Ref& whole = frame.refs[ref];
    const Shape& bounds = whole.viewShape();
    bool inside = bounds.size() == shape.size();
    for (size_t d = 0; inside && d < shape.size(); ++d) inside = shape[d] >= 0 && shape[d] <= bounds[d];
    if (!inside)
      return frame.fail(
          {.code = "SM4016",
           .message = fmt::format("debug_print of {} as {}", describe(whole), ArrayType{whole.dtype(), shape}.str()),
           .place = {}});
    const Shape zeros(shape.size(), 0);
    std::vector<std::byte> data(static_cast<size_t>(num_elements(shape) * storage_bytes(whole.dtype())));
    whole.slice(zeros, shape).read(data.data(), nullptr);
    frame.core->log(tag + formatArray(whole.dtype(), shape, data.data()));
    return true;
  }
};

Status lowerLogBuffer(FlatLowering& lowering, mlir::Operation& op) {
  LogBuffer payload;
  payload.tag = stringAttribute(op, "tag");
  payload.ref = lowering.ref(op.getOperand(0));
  payload.shape = integersAttribute(op, "shape");
  if (!lowering.isRef(op.getOperand(0))) return lowering.refuse(op);
  lowering.emit(std::move(payload));
  return {};
}

/// cf.assert: debug_check, where it is enabled (S-L4).
struct Assert : Payload {
  Operand condition;
  std::string message;
  bool run(Frame& frame) const {
    if (frame.integerUsed(condition, UndefinedUse::branch, "the condition of a check")) return true;
    return frame.fail(
        {.code = "SM4011", .message = fmt::format("a check of the kernel failed: {}", message), .place = {}});
  }
};

Status lowerAssert(FlatLowering& lowering, mlir::Operation& op) {
  Assert payload;
  payload.condition = lowering.operand(op.getOperand(0));
  payload.message = stringAttribute(op, "msg");
  lowering.emit(std::move(payload));
  return {};
}

struct Trace : Payload {
  std::string message;
  bool begin = true;
  void run(Frame& frame) const { frame.core->trace(message, begin); }
};

Status lowerTraceStart(FlatLowering& lowering, mlir::Operation& op) {
  Trace payload;
  payload.message = stringAttribute(op, "message");
  lowering.emit(std::move(payload));
  return {};
}

Status lowerTraceStop(FlatLowering& lowering, mlir::Operation&) {
  Trace payload;
  payload.begin = false;
  lowering.emit(std::move(payload));
  return {};
}

/// tpu.trace_value: a number in the trace, "label = value".
struct TraceValue : Payload {
  std::string label;
  Operand value;
  void run(Frame& frame) const {
    const std::string message = label + " = " + formatValue(frame, value);
    frame.core->trace(message, true);
    frame.core->trace(message, false);
  }
};

Status lowerTraceValue(FlatLowering& lowering, mlir::Operation& op) {
  TraceValue payload;
  payload.label = stringAttribute(op, "label");
  payload.value = lowering.operand(op.getOperand(0));
  lowering.emit(std::move(payload));
  return {};
}

constexpr FlatOpRow kDebugTable[] = {
    {"cf.assert", lowerAssert, OpClass::debug},         {"tpu.log", lowerLog, OpClass::debug},
    {"tpu.log_buffer", lowerLogBuffer, OpClass::debug}, {"tpu.trace_start", lowerTraceStart, OpClass::debug},
    {"tpu.trace_stop", lowerTraceStop, OpClass::debug}, {"tpu.trace_value", lowerTraceValue, OpClass::debug},
};

}  // namespace

std::span<const FlatOpRow> debugTable() { return kDebugTable; }

}  // namespace smalti::machine::flat
