// Semaphores: ops "semaphore_read", "semaphore_signal" (sem, inc, device?, core?), "semaphore_wait",
// "barrier_semaphore".
#include <fmt/format.h>

#include "lang/dma/Device.h"
#include "lang/lower/DialectLowering.h"
#include "lang/ops/OpRecord.h"
#include "lang/ops/Support.h"
#include "lang/trace/KernelOnly.h"
#include "lang/trace/SourceLocationScope.h"
#include "lang/trace/Trace.h"
#include "smalti/dma.h"

namespace smalti::lang {
namespace {

void lowerSemaphoreRead(DialectLowering& l, const Op& op) {
  l.set(op.results[0], l.create1("tpu.sem_read", unsqueezed(l, op.operands[0]), l.b.getI32Type()));
}

void lowerSemaphoreSignal(DialectLowering& l, const Op& op) {
  std::vector<mlir::Value> operands{unsqueezed(l, op.operands[0])};
  for (size_t i = 1; i < op.operands.size(); ++i) operands.push_back(l.value(op.operands[i]));
  const int32_t device = std::get<bool>(*op.find("device")) ? 1 : 0, core = std::get<bool>(*op.find("core")) ? 1 : 0;
  l.create("tpu.sem_signal", operands, {},
           {l.b.getNamedAttr("operandSegmentSizes", l.b.getDenseI32ArrayAttr({1, 1, device, core, 0}))});
}

void lowerSemaphoreWait(DialectLowering& l, const Op& op) {
  l.create("tpu.sem_wait", {unsqueezed(l, op.operands[0]), l.value(op.operands[1])}, {});
}

void lowerBarrierSemaphore(DialectLowering& l, const Op& op) {
  const auto type = memrefType(*l.b.getContext(), l.typeOf(op.results[0]), MemorySpace::semaphore);
  l.setRef(op.results[0], {l.create1("tpu.sem_barrier", {}, type), {}});
}

constexpr OpTable kSemaphoreOps{
    OpRecord{.name = "barrier_semaphore", .types = oneResult, .lower = lowerBarrierSemaphore},
    OpRecord{.name = "semaphore_read", .types = i32Result, .lower = lowerSemaphoreRead},
    OpRecord{.name = "semaphore_signal", .types = noResults, .lower = lowerSemaphoreSignal, .effect = true},
    OpRecord{.name = "semaphore_wait", .types = noResults, .lower = lowerSemaphoreWait, .effect = true},
};
const OpFamily kSemaphoreFamily(kSemaphoreOps);

}  // namespace
}  // namespace smalti::lang

namespace smalti {
namespace {

using lang::SourceLocationScope, lang::Trace;

void checkSemaphore(std::string_view op, const Ref& sem) {
  const bool isSemaphore = sem.node() && is_semaphore(sem.dtype());
  if (isSemaphore && sem.rank() == 0) return;
  lang::refuse({.code = "SM6505",
                .message = isSemaphore ? fmt::format("Cannot {} on a non-()-shaped semaphore", op)
                                       : fmt::format("'semaphore_{}' of a Ref that is not a semaphore", op),
                .place = {},
                .need = "one semaphore",
                .have = sem.node() ? sem.node()->type.str() : "an empty Ref",
                .help = isSemaphore ? "choose one: sem.at(i)" : "allocate one with semaphore_type::regular()"});
}

Array count(std::string_view op, const Operand& x) {
  if (x.rank() != 0 || !is_integer(x.dtype()))
    lang::refuse({.code = "SM6506",
                  .message = fmt::format("the amount of semaphore_{} is not an integer scalar", op),
                  .place = {},
                  .need = "an integer scalar",
                  .have = x.array().type().str(),
                  .help = "convert it with astype(…, i32)"});
  return lang::convertTo(x.array(), DType::i32);
}

}  // namespace

Array semaphore_read(const Ref& sem, Location at) {
  SourceLocationScope place(at);
  Trace& trace = lang::kernelTrace("semaphore_read");
  checkSemaphore("read", sem);
  const ArrayType type{DType::i32, {}};
  return trace.record(lang::kSemaphoreOps["semaphore_read"], {trace.use(sem)}, {&type, 1})[0];
}

void semaphore_signal(const Ref& sem, const Operand& inc, const SignalOptions& options) {
  SourceLocationScope place(inc.at());
  Trace& trace = lang::kernelTrace("semaphore_signal");
  checkSemaphore("signal", sem);
  std::vector<ValueId> operands{trace.use(sem), trace.use(count("signal", inc))};
  if (options.device_id) operands.push_back(trace.use(lang::logicalId(*options.device_id, options.device_id_type)));
  if (options.core_index) operands.push_back(trace.use(count("signal", *options.core_index)));
  trace.record(lang::kSemaphoreOps["semaphore_signal"], std::move(operands), {},
               {{"device", options.device_id.has_value()}, {"core", options.core_index.has_value()}});
}

void semaphore_wait(const Ref& sem, const Operand& value, bool decrement) {
  SourceLocationScope place(value.at());
  Trace& trace = lang::kernelTrace("semaphore_wait");
  checkSemaphore("wait", sem);
  if (!decrement)
    lang::refuse({.code = "SM6506",
                  .message = "Non-decrementing wait is not supported",
                  .place = {},
                  .need = "decrement = true",
                  .have = "decrement = false",
                  .help = "wait, and signal the same amount again"});
  trace.record(lang::kSemaphoreOps["semaphore_wait"], {trace.use(sem), trace.use(count("wait", value))}, {});
}

Ref get_barrier_semaphore(Location at) {
  SourceLocationScope place(at);
  return lang::kernelTrace("get_barrier_semaphore")
      .recordRef(lang::kSemaphoreOps["barrier_semaphore"], {}, {DType::semaphore, {}}, MemorySpace::semaphore);
}

}  // namespace smalti
