#include "machine/observers/Checks.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "machine/observers/Registry.h"

namespace smalti::machine {

Severity CheckContext::leftInSemaphores() const {
  return kernel->disablesSemaphoreChecks ? Severity::note : Severity::finding;
}

std::vector<std::string> CheckContext::where(const Actor& actor) const {
  std::vector<std::string> where{fmt::format("kernel '{}'", kernel->name)};
  if (numDevices > 1) where.push_back(fmt::format("device {}", actor.device));
  if (numCores > 1) where.push_back(fmt::format("core {}", actor.core));
  if (!actor.gridStep.empty()) where.push_back(fmt::format("grid step ({})", fmt::join(actor.gridStep, ", ")));
  return where;
}

const SourcePlace* CheckContext::placeOf(const MemoryAccess& access) const {
  const AllocationId id = idOf(*access.ref->buffer);
  if (access.place || id.kind != AllocationKind::array) return access.place;
  const auto at = static_cast<size_t>(id.index);
  return at < kernel->operands.size() ? &kernel->operands[at].mapPlace : nullptr;
}

bool CheckContext::usesBarrier() const {
  return std::ranges::any_of(kernel->signalSites,
                             [](const SignalSite& s) { return s.root == SignalSite::Root::barrier; });
}

Checks::Checks(const CompiledKernel& kernel, const MachineOptions& options, int numDevices, int numCores,
               std::span<Observer* const> extra) {
  const CheckContext context{&kernel, &options, numDevices, numCores, &findings_};
  for (const ObserverRow* row : options.checks)
    if (!row->needsAllDevices || options.allDevices == 0) checkers_.push_back(row->make(context));
  for (auto& checker : checkers_) dispatcher_.add(checker.get());
  for (Observer* o : extra) dispatcher_.add(o);
}

Observer* Checks::observer() {
  const auto& all = dispatcher_.observers();
  if (all.empty()) return nullptr;
  return all.size() == 1 ? all.front() : &dispatcher_;
}

void Checks::runEnd(Runtime& runtime) {
  for (auto& checker : checkers_) checker->runEnd(runtime);
}

}  // namespace smalti::machine
