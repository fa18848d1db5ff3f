// SM4106: semaphores that are not zero when their scope or the kernel ends (S-G5): the next kernel finds them so.
#include <map>

#include <fmt/format.h>

#include "machine/observers/Checker.h"

namespace smalti::machine {
namespace {

class SemaphoreChecker final : public Checker {
 public:
  using Checker::Checker;

  void signal(const Actor&, const PeerRef& semaphore, int64_t, const SourcePlace& place) override {
    raised(semaphoreIdOf(semaphore), place);
  }
  void dmaStart(const Actor&, const DmaTransfer& transfer) override {
    raised(semaphoreIdOf(transfer.targetSemaphore), transfer.place);
    if (!transfer.isLocal()) raised(semaphoreIdOf(transfer.sourceSemaphore), transfer.place);
  }

  void release(const Actor& actor, const Buffer& buffer) override {
    check(buffer, context_.where(actor), "at the end of its scope");
    raised_.erase(raised_.lower_bound({idOf(buffer), 0}), raised_.upper_bound({idOf(buffer), INT64_MAX}));
  }

  void runEnd(Runtime& runtime) override {
    for (const int d : runtime.devicesHere())
      for (CoreMemory& core : runtime.devices[d].cores) {
        const auto where = context_.where(Actor{d, 0, {}});
        for (auto& s : core.scratch) check(*s, where, "at kernel exit");
        for (auto& [identity, region] : core.regions)
          if (region->live || region->touchedByPeer) check(*region, where, "at kernel exit");
        check(*core.barrier, where, "at kernel exit");
      }
  }

 private:
  void raised(const SemaphoreId& semaphore, const SourcePlace& place) {
    if (place.known()) raised_[semaphore] = place;
  }

  /// The place that raised the semaphore last, otherwise that of its allocation.
  const SourcePlace& placeOf(const Buffer& buffer, int64_t element) const {
    const auto found = raised_.find({idOf(buffer), element});
    return found == raised_.end() ? buffer.place : found->second;
  }

  void check(const Buffer& buffer, std::vector<std::string> where, const char* when) {
    if (!is_semaphore(buffer.type.dtype)) return;
    const auto* counts = buffer.storage.as<int64_t>();
    int64_t nonZero = 0, first = -1;
    for (int64_t i = 0; i < buffer.type.elements(); ++i)
      if (counts[i] != 0 && ++nonZero == 1) first = i;
    if (nonZero == 0) return;
    const bool bytes = buffer.type.dtype == DType::dma_semaphore;
    context_.findings->add(
        {.code = "SM4106",
         .message = fmt::format("semaphore {} has a non-zero count {}", buffer.name, when),
         .place = placeOf(buffer, first),
         .where = std::move(where),
         .need = "every semaphore back at 0",
         .have = buffer.type.shape.empty()
                     ? fmt::format("{}{}", counts[first], bytes ? " bytes" : "")
                     : fmt::format("{} of {} not 0, the first is number {} with {}{}", nonZero, buffer.type.elements(),
                                   first, counts[first], bytes ? " bytes" : ""),
         .help = bytes ? "wait for every copy that was started, with a ref of the same size"
                       : "wait for as much as is signalled"},
        context_.leftInSemaphores());
  }

  std::map<SemaphoreId, SourcePlace> raised_;
};

}  // namespace

std::unique_ptr<Checker> makeSemaphoreChecker(CheckContext context) {
  return std::make_unique<SemaphoreChecker>(context);
}

}  // namespace smalti::machine
