#include "machine/runtime/Runtime.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace smalti::machine {
namespace {

std::string regionName(int identity, const SourcePlace& place) {
  return place.known() ? fmt::format("run_scoped at {}", place.str())
                       : fmt::format("run_scoped allocation {}", identity);
}

}  // namespace

Runtime::Runtime(const CompiledKernel& k, const MachineOptions& o, int devicesCount, int here, int coresCount,
                 Observer* observing, Findings& found)
    : kernel(k),
      options(o),
      numDevices(devicesCount),
      numHere(here),
      numCores(coresCount),
      tracks(observing && observing->interest().initialisation),
      observer(observing),
      findings(found),
      memory(o.memoryLimitBytes),
      devices(devicesCount),
      inbox(*this),
      transport(o.transport ? o.transport(inbox) : makeLocalTransport(inbox)),
      dma(o.dmaPolicy ? o.dmaPolicy(o) : makeDmaPolicy(o.dma, o.seed), *transport, o.poison, tracks, statistics) {
  dma.observe(observer);
}

std::vector<std::string> Runtime::context(const Actor& actor) const {
  std::vector<std::string> where{fmt::format("kernel '{}'", kernel.name)};
  if (numDevices > 1) where.push_back(fmt::format("device {}", actor.device));
  if (numCores > 1) where.push_back(fmt::format("core {}", actor.core));
  if (!actor.gridStep.empty()) where.push_back(fmt::format("grid step ({})", fmt::join(actor.gridStep, ", ")));
  return where;
}

Result<Allocation*> Runtime::region(int device, int core, int identity, const ArrayType& type, MemoryKind space,
                                    const SourcePlace& place) {
  auto& slot = devices[device].cores[core].regions[identity];
  if (!slot || slot->type != type) {
    auto made = makeAllocation(Allocation::Kind::region, identity, regionName(identity, place), type, space, memory,
                               options.poison, tracks);
    if (!made) return fail(std::move(made.error()));
    slot = std::move(*made);
    slot->device = device;
    slot->core = core;
    slot->place = place;
    slot->live = false;
  }
  return slot.get();
}

Result<PeerRef> Runtime::peer(const Ref& ref, const Actor& actor, std::optional<int32_t> toDevice,
                              std::optional<int32_t> toCore, const SourcePlace& place) const {
  const int d = toDevice.value_or(actor.device), c = toCore.value_or(actor.core);
  if (d < 0 || d >= numDevices)
    return fail({.code = "SM4052",
                 .message = fmt::format("{} is named on a device that does not exist", ref.buffer->name),
                 .place = place,
                 .need = fmt::format("a logical device id from 0 to {}", numDevices - 1),
                 .have = fmt::format("device {}", d),
                 .help = "take the id modulo the number of devices along the mesh axis"});
  if (c < 0 || c >= numCores)
    return fail({.code = "SM4053",
                 .message = fmt::format("{} is named on a core that does not exist", ref.buffer->name),
                 .place = place,
                 .need = fmt::format("a core index from 0 to {}", numCores - 1),
                 .have = fmt::format("core {}", c),
                 .help = "run with as many cores as the kernel's core mesh has"});
  return PeerRef{ref, d, c};
}

void Runtime::recordSignal(const SemaphoreId& semaphore, Sender sender, bool dma) {
  if (numDevices == 1 && numCores == 1 && dma) return;  // a program that waits on its own copy needs no history
  SignalRecord& record = signals_[semaphore];
  record = {std::move(sender), record.times + 1};
}

const SignalRecord* Runtime::lastSignal(const Ref& semaphore) const {
  auto it = signals_.find(semaphoreIdOf(semaphore));
  return it == signals_.end() ? nullptr : &it->second;
}

}  // namespace smalti::machine
