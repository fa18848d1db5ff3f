#include "machine/runtime/Runtime.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace smalti::machine {

Runtime::Runtime(const CompiledKernel& k, const MachineOptions& o, int devicesCount, int coresCount,
                 Observer* observing, Findings& found)
    : kernel(k),
      options(o),
      numDevices(devicesCount),
      numCores(coresCount),
      tracks(o.checkInitialisation),
      observer(observing),
      findings(found),
      memory(o.memoryLimitBytes),
      devices(devicesCount),
      dma(o.dmaPolicy ? o.dmaPolicy(o) : makeDmaPolicy(o.dma, o.seed), o.poison, o.checkInitialisation, statistics) {
  dma.observe(observer);
}

std::vector<std::string> Runtime::context(const Actor& actor) const {
  std::vector<std::string> where{fmt::format("kernel '{}'", kernel.name)};
  if (numDevices > 1) where.push_back(fmt::format("device {}", actor.device));
  if (numCores > 1) where.push_back(fmt::format("core {}", actor.core));
  if (!actor.gridStep.empty()) where.push_back(fmt::format("grid step ({})", fmt::join(actor.gridStep, ", ")));
  return where;
}

Result<Allocation*> Runtime::region(int device, int core, int identity, const std::string& name, const ArrayType& type,
                                    MemorySpace space, const SourcePlace& place) {
  auto& slot = devices[device].cores[core].regions[identity];
  if (!slot || slot->type != type) {
    auto made = makeAllocation(Allocation::Kind::region, identity, name, type, space, memory, options.poison, tracks);
    if (!made) return fail(std::move(made.error()));
    slot = std::move(*made);
    slot->device = device;
    slot->core = core;
    slot->place = place;
    slot->live = false;
  }
  return slot.get();
}

Result<Ref> Runtime::peer(const Ref& ref, int device, int core, std::optional<int32_t> toDevice,
                          std::optional<int32_t> toCore, const SourcePlace& place) {
  const int d = toDevice.value_or(device), c = toCore.value_or(core);
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
  if (d == device && c == core) return ref;

  const auto& local = static_cast<const Allocation&>(*ref.buffer);
  CoreMemory& there = devices[d].cores[c];
  switch (local.kind) {
    case Allocation::Kind::array:
      return ref.on(*devices[d].arrays[local.index]);
    case Allocation::Kind::window:
      return ref.on(*there.windows[local.index]);
    case Allocation::Kind::prefetch:
      return ref.on(*there.prefetch[local.index]);
    case Allocation::Kind::scratch:
      return ref.on(*there.scratch[local.index]);
    case Allocation::Kind::barrier:
      return ref.on(*there.barrier);
    case Allocation::Kind::region:
      break;
  }
  auto target = region(d, c, local.index, local.name, local.type, local.space, local.place);
  if (!target) return fail(std::move(target.error()));
  if (!(*target)->live) (*target)->touchedByPeer = true;
  return ref.on(**target);
}

void Runtime::recordSignal(const Ref& semaphore, int device, int core, bool dma, const SourcePlace& place) {
  if (numDevices == 1 && numCores == 1 && dma) return;  // a program that waits on its own copy needs no history
  SignalRecord& record = signals_[{semaphore.buffer, semaphore.offset}];
  record = {device, core, record.times + 1, dma, place};
}

const SignalRecord* Runtime::lastSignal(const Ref& semaphore) const {
  auto it = signals_.find({semaphore.buffer, semaphore.offset});
  return it == signals_.end() ? nullptr : &it->second;
}

}  // namespace smalti::machine
