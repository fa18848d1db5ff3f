// Semaphores, DMA, and queries about where a kernel runs. The runtime implements all of it; here only operands are
// read. A wait that blocks leaves the program on the wait.
#include "ir/facts/OperandSegments.h"
#include "machine/flat/ops/Table.h"

namespace smalti::machine::flat {
namespace {

bool isSemaphore(mlir::Value v) {
  auto type = v ? llvm::dyn_cast<mlir::MemRefType>(v.getType()) : nullptr;
  const auto dtype = type ? dtypeOf(type.getElementType()) : std::nullopt;
  return dtype && is_semaphore(*dtype);
}
bool isRef(mlir::Value v) { return v && llvm::isa<mlir::MemRefType>(v.getType()); }
bool isInteger(mlir::Value v) { return v && v.getType().isIntOrIndex(); }

std::optional<Operand> optionalOperand(FlatLowering& lowering, mlir::Value v) {
  if (!v) return std::nullopt;
  return lowering.operand(v);
}

std::optional<int32_t> idOf(Frame& frame, const std::optional<Operand>& o, const char* what) {
  if (!o) return std::nullopt;
  return static_cast<int32_t>(frame.integerUsed(*o, UndefinedUse::address, what));
}

const Instruction* blocked(Frame& frame) {
  frame.stop = Stop::blocked;
  return nullptr;
}

// ---- semaphores

struct SemaphoreRead : Payload {
  int32_t semaphore = -1;
  Operand out;
  bool run(Frame& frame) const {
    const std::optional<int32_t> count = frame.core->semaphoreRead(frame.refs[semaphore]);
    if (!count) {
      blocked(frame);
      return false;
    }
    frame.slots[out.slot].bits = static_cast<uint32_t>(*count);
    frame.setDefined(out);
    return true;
  }
};

Status lowerRead(FlatLowering& lowering, mlir::Operation& op) {
  if (!isSemaphore(op.getOperand(0))) return lowering.refuse(op);
  SemaphoreRead payload;
  payload.semaphore = lowering.ref(op.getOperand(0));
  payload.out = lowering.define(op.getResult(0));
  lowering.emit(std::move(payload));
  return {};
}

/// Waits call this with the runtime's answer: continue, block, or fail.
bool settle(Frame& frame, Result<Wait> result) {
  if (!result) return frame.fail(std::move(result.error()));
  if (*result == Wait::done) return true;
  blocked(frame);
  return false;
}

struct SemaphoreWait : Payload {
  int32_t semaphore = -1;
  Operand amount;
  bool run(Frame& frame) const {
    const int64_t n = frame.integerUsed(amount, UndefinedUse::semaphore, "the amount of a semaphore_wait");
    return settle(frame, frame.core->semaphoreWait(frame.refs[semaphore], n, frame.place()));
  }
};

Status lowerWait(FlatLowering& lowering, mlir::Operation& op) {
  if (op.getNumOperands() != 2 || !isSemaphore(op.getOperand(0)) || !isInteger(op.getOperand(1)))
    return lowering.refuse(op);
  SemaphoreWait payload;
  payload.semaphore = lowering.ref(op.getOperand(0));
  payload.amount = lowering.operand(op.getOperand(1));
  lowering.emit(std::move(payload));
  return {};
}

struct SemaphoreSignal : Payload {
  int32_t semaphore = -1;
  Operand amount;
  std::optional<Operand> device, core;
  bool run(Frame& frame) const {
    const int64_t n = frame.integerUsed(amount, UndefinedUse::semaphore, "the amount of a semaphore_signal");
    const auto toDevice = idOf(frame, device, "the device of a semaphore_signal"),
               toCore = idOf(frame, core, "the core of a semaphore_signal");
    Status status = frame.core->semaphoreSignal(frame.refs[semaphore], n, toDevice, toCore, frame.place());
    return status.has_value() || frame.fail(std::move(status));
  }
};

/// Segments: semaphore, amount, device_id, core_id, subcore_id.
Status lowerSignal(FlatLowering& lowering, mlir::Operation& op) {
  const OperandSegments s(op);
  if (!s.isValid(4) || !isSemaphore(s[0]) || !isInteger(s[1])) return lowering.refuse(op);
  if (s[4]) return lowering.refuse(op, "subcores exist only on SparseCores");
  SemaphoreSignal payload;
  payload.semaphore = lowering.ref(s[0]);
  payload.amount = lowering.operand(s[1]);
  payload.device = optionalOperand(lowering, s[2]);
  payload.core = optionalOperand(lowering, s[3]);
  lowering.emit(std::move(payload));
  return {};
}

// ---- DMA

struct StartDma : Payload {
  int32_t source = -1, target = -1, targetSemaphore = -1, sourceSemaphore = -1;
  std::optional<Operand> device, core;
  int32_t priority = 0;
  bool strictOrdering = false;
  bool run(Frame& frame) const {
    const int64_t from = frame.refs[source].elements(), to = frame.refs[target].elements();
    if (from != to)  // only sizes known at run time can differ
      return frame.fail(
          {.code = "SM4017",
           .message = fmt::format("a copy from [{}] to [{}] elements", fmt::join(frame.refs[source].viewShape(), ", "),
                                  fmt::join(frame.refs[target].viewShape(), ", ")),
           .place = {},
           .need = fmt::format("a target of {} elements", from),
           .have = fmt::format("{}", to),
           .help = "slice both refs with the same sizes"});
    DmaRequest request{
        .source = frame.refs[source], .target = frame.refs[target], .targetSemaphore = frame.refs[targetSemaphore]};
    if (sourceSemaphore >= 0) request.sourceSemaphore = frame.refs[sourceSemaphore];
    request.device = idOf(frame, device, "the device of a remote copy");
    request.core = idOf(frame, core, "the core of a remote copy");
    request.priority = priority;
    request.strictOrdering = strictOrdering;
    request.place = &frame.place();
    Status status = frame.core->startDma(request);
    return status.has_value() || frame.fail(std::move(status));
  }
};

/// Segments: source, source_semaphore, target, target_semaphore, device_id, core_id, subcore_id.
Status lowerEnqueue(FlatLowering& lowering, mlir::Operation& op) {
  const OperandSegments s(op);
  if (!s.isValid(6) || !isRef(s[0]) || !isRef(s[2]) || !isSemaphore(s[3]) || (s[1] && !isSemaphore(s[1])))
    return lowering.refuse(op);
  if (s[6]) return lowering.refuse(op, "subcores exist only on SparseCores");
  if (storage_bytes(elementDType(s[0].getType())) != storage_bytes(elementDType(s[2].getType())))
    return lowering.refuse(op, "dtypes differ");
  StartDma payload;
  payload.source = lowering.ref(s[0]);
  payload.target = lowering.ref(s[2]);
  payload.targetSemaphore = lowering.ref(s[3]);
  if (s[1]) payload.sourceSemaphore = lowering.ref(s[1]);
  payload.device = optionalOperand(lowering, s[4]);
  payload.core = optionalOperand(lowering, s[5]);
  payload.priority = static_cast<int32_t>(integerAttribute(op, "priority", 0));
  payload.strictOrdering = boolAttribute(op, "strict_ordering");
  lowering.emit(std::move(payload));
  return {};
}

struct WaitDma : Payload {
  int32_t semaphore = -1, ref = -1;
  bool targetSide = true;
  bool run(Frame& frame) const {
    return settle(frame, frame.core->waitDma(frame.refs[semaphore], frame.refs[ref], targetSide, frame.place()));
  }
};

Status emitWaitDma(FlatLowering& lowering, mlir::Operation& op, mlir::Value semaphore, mlir::Value ref,
                   bool targetSide) {
  if (!isSemaphore(semaphore) || !isRef(ref)) return lowering.refuse(op);
  WaitDma payload;
  payload.semaphore = lowering.ref(semaphore);
  payload.ref = lowering.ref(ref);
  payload.targetSide = targetSide;
  lowering.emit(std::move(payload));
  return {};
}

/// Segments as enqueue_dma's; `wait_target`: waits for the arrival at the target, otherwise for the departure from the
/// source.
Status lowerWaitDma(FlatLowering& lowering, mlir::Operation& op) {
  const OperandSegments s(op);
  if (!s.isValid(4)) return lowering.refuse(op);
  const bool target = !op.hasAttr("wait_target") || boolAttribute(op, "wait_target");
  return target ? emitWaitDma(lowering, op, s[3], s[2], true) : emitWaitDma(lowering, op, s[1], s[0], false);
}

// ---- where it runs

struct DeviceId : Payload {
  Operand out;
  void run(Frame& frame) const {
    frame.slots[out.slot].bits = static_cast<uint32_t>(frame.core->deviceId());
    frame.setDefined(out);
  }
};

struct CoreId : Payload {
  Operand out;
  void run(Frame& frame) const {
    frame.slots[out.slot].bits = static_cast<uint32_t>(frame.core->coreId());
    frame.setDefined(out);
  }
};

struct IterationBound : Payload {
  Operand out;
  int dim = 0;
  void run(Frame& frame) const {
    frame.slots[out.slot].bits = static_cast<uint32_t>(frame.core->iterationBound(dim));
    frame.setDefined(out);
  }
};

template <class P>
Status lowerQuery(FlatLowering& lowering, mlir::Operation& op) {
  P payload;
  if (op.getNumResults() != 1 || !op.getResult(0).getType().isInteger(32)) return lowering.refuse(op);
  if constexpr (requires { payload.dim; }) payload.dim = static_cast<int>(integerAttribute(op, "dim", 0));
  payload.out = lowering.define(op.getResult(0));
  lowering.emit(std::move(payload));
  return {};
}

struct Delay : Payload {
  Operand nanoseconds;
  void run(Frame& frame) const { frame.core->delay(frame.integer(nanoseconds)); }
};

Status lowerDelay(FlatLowering& lowering, mlir::Operation& op) {
  Delay payload;
  payload.nanoseconds = lowering.operand(op.getOperand(0));
  lowering.emit(std::move(payload));
  return {};
}

constexpr FlatOpRow kSyncTable[] = {
    {"tpu.core_id", lowerQuery<CoreId>, OpClass::scalar},
    {"tpu.delay", lowerDelay, OpClass::sync},
    {"tpu.device_id", lowerQuery<DeviceId>, OpClass::scalar},
    {"tpu.enqueue_dma", lowerEnqueue, OpClass::sync},
    {"tpu.iteration_bound", lowerQuery<IterationBound>, OpClass::scalar},
    {"tpu.sem_read", lowerRead, OpClass::sync},
    {"tpu.sem_signal", lowerSignal, OpClass::sync},
    {"tpu.sem_wait", lowerWait, OpClass::sync},
    {"tpu.wait_dma", lowerWaitDma, OpClass::sync},
};

}  // namespace

std::span<const FlatOpRow> syncTable() { return kSyncTable; }

}  // namespace smalti::machine::flat
