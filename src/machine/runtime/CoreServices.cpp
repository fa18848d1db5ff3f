// Services of a core for its kernel: allocations, semaphores, copies, debug prints.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/Lasting.h"
#include "machine/runtime/CoreExecution.h"

namespace smalti::machine {
namespace {

Diagnostic notOneSemaphore(const Ref& ref, const SourcePlace& place) {
  return {.code = "SM4055",
          .message = fmt::format("{} is used as one semaphore but names several", ref.buffer->name),
          .place = place,
          .need = "a view of one semaphore",
          .have = fmt::format("a view of shape [{}]", fmt::join(ref.viewShape(), ", ")),
          .help = "index the semaphore array, as in sem.at[i]"};
}

bool isOneSemaphore(const Ref& ref) {
  return ref.strided() && ref.elements() == 1 && is_semaphore(ref.buffer->type.dtype);
}

}  // namespace

Result<Buffer*> CoreExecution::allocate(int identity, ArrayType type, MemoryKind space, const SourcePlace& place) {
  auto allocation = runtime_.region(actor_.device, actor_.core, identity, type, space, place);
  if (!allocation) return fail(std::move(allocation.error()));
  Allocation& a = **allocation;
  // A peer may have signalled or written before this core got here; its effect must be kept.
  if (!a.touchedByPeer) forget(a, runtime_.options.poison, runtime_.tracks);
  a.touchedByPeer = false;
  a.live = true;
  if (observer()) observer()->allocate(actor_, a);
  return &a;
}

void CoreExecution::release(Buffer& buffer) {
  auto& a = static_cast<Allocation&>(buffer);
  if (observer()) observer()->release(actor_, a);
  a.live = false;
}

Result<Buffer*> CoreExecution::barrierSemaphore(const SourcePlace&) {
  return runtime_.devices[actor_.device].cores[actor_.core].barrier.get();
}

bool CoreExecution::continuesAfter(Diagnostic readOutside) {
  if (!runtime_.options.checkBounds || unseen_) return true;
  readOutside.where = runtime_.context(actor_);
  runtime_.findings.add(std::move(readOutside),
                        runtime_.options.readsOutsideAreWarnings ? Severity::warning : Severity::finding);
  return true;
}

Result<Wait> CoreExecution::wait(const Ref& semaphore, int64_t amount, const Ref* ref, const SourcePlace& place) {
  runtime_.dma.onActivity();
  int64_t& count = semaphoreCount(semaphore);
  if (count < amount) runtime_.dma.onWait(semaphore, amount);
  if (count < amount) {
    waiting_ = {semaphore, amount, place};
    return Wait::blocked;
  }
  count -= amount;
  ++waitsDone_;
  if (observer()) {
    runtime_.ledger.waited(actor_, semaphore, amount, ref, *observer());
    observer()->waited(actor_, semaphore, amount, place);
  }
  return Wait::done;
}

Result<Wait> CoreExecution::semaphoreWait(const Ref& semaphore, int64_t amount, const SourcePlace& place) {
  if (!isOneSemaphore(semaphore)) return fail(notOneSemaphore(semaphore, place));
  return wait(semaphore, amount, nullptr, place);
}

std::optional<int32_t> CoreExecution::semaphoreRead(const Ref& semaphore) {
  if (!isOneSemaphore(semaphore)) return 0;
  const int64_t& count = semaphoreCount(semaphore);
  if (runtime_.options.mayPoll) {
    if (!runtime_.options.mayPoll(number_, semaphoreIdOf(semaphore))) {
      waiting_ = {semaphore, count, execution_.place()};
      return std::nullopt;
    }
    ++waitsDone_;
  } else {
    runtime_.dma.onActivity();
    // The kernel polls: let pending copies to this semaphore arrive.
    runtime_.dma.onPoll(semaphore);
  }
  if (observer()) observer()->polled(actor_, semaphore, count);
  return static_cast<int32_t>(count);
}

Status CoreExecution::semaphoreSignal(const Ref& semaphore, int64_t amount, std::optional<int32_t> device,
                                      std::optional<int32_t> core, const SourcePlace& place) {
  if (!isOneSemaphore(semaphore)) return fail(notOneSemaphore(semaphore, place));
  runtime_.dma.onActivity();
  auto target = runtime_.peer(semaphore, actor_, device, core, place);
  if (!target) return fail(std::move(target.error()));
  if (isOwn(*target)) {
    semaphoreCount(semaphore) += amount;
    runtime_.recordSignal(semaphoreIdOf(semaphore), sender(place), false);
  } else if (auto ok = runtime_.transport->signal({sender(place), addressOf(*target), amount}); !ok) {
    return ok;
  }
  if (observer()) observer()->signal(actor_, *target, amount, place);
  return {};
}

Status CoreExecution::startDma(const DmaRequest& request) {
  static constinit Lasting<const SourcePlace> kNowhere;
  const SourcePlace& place = request.place ? *request.place : kNowhere.get();
  if (!isOneSemaphore(request.targetSemaphore)) return fail(notOneSemaphore(request.targetSemaphore, place));
  if (request.sourceSemaphore && !isOneSemaphore(*request.sourceSemaphore))
    return fail(notOneSemaphore(*request.sourceSemaphore, place));
  const Ref& source = request.source;
  runtime_.dma.onActivity();
  auto target = runtime_.peer(request.target, actor_, request.device, request.core, place);
  if (!target) return fail(std::move(target.error()));
  const int toDevice = target->device, toCore = target->core;

  DmaTransfer transfer{.id = runtime_.dma.nextId(),
                       .device = actor_.device,
                       .core = actor_.core,
                       .source = source,
                       .target = std::move(*target),
                       .sourceSemaphore = request.sourceSemaphore.value_or(Ref{}),
                       .targetSemaphore = {request.targetSemaphore, toDevice, toCore},
                       .bytes = source.dmaBytes(),
                       .place = place,
                       .strictOrdering = request.strictOrdering};
  if (transfer.staysHere())  // else it is recorded where it arrives
    runtime_.recordSignal(semaphoreIdOf(transfer.targetSemaphore), sender(place), true);
  if (!transfer.isLocal()) runtime_.recordSignal(semaphoreIdOf(transfer.sourceSemaphore), sender(place), true);
  if (observer()) {
    runtime_.ledger.started(transfer);
    observer()->dmaStart(actor_, transfer);
  }
  runtime_.dma.start(std::move(transfer), number_);
  return {};
}

Result<Wait> CoreExecution::waitDma(const Ref& semaphore, const Ref& ref, bool, const SourcePlace& place) {
  if (!isOneSemaphore(semaphore)) return fail(notOneSemaphore(semaphore, place));
  return wait(semaphore, dmaCredit(semaphore, ref.dmaBytes()), &ref, place);
}

void CoreExecution::log(std::string line) {
  runtime_.log.push_back(runtime_.numCores > 1 ? fmt::format("d{} c{}: {}", actor_.device, actor_.core, line)
                                               : fmt::format("d{}: {}", actor_.device, line));
}

}  // namespace smalti::machine
