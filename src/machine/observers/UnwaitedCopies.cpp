// SM4109: copies that are never waited for.
#include <map>

#include <fmt/format.h>

#include "machine/observers/Checker.h"
#include "machine/runtime/DmaEngine.h"

namespace smalti::machine {
namespace {

constexpr const char* kMeant = "disable_semaphore_checks, so the module means it";

class UnwaitedCopyChecker final : public Checker {
 public:
  using Checker::Checker;

  void dmaStart(const Actor& actor, const DmaTransfer& t) override {
    // A copy of no bytes counts nothing that a wait could be for.
    if (dmaCredit(t.targetSemaphore.view, t.bytes) == 0) return;
    // Semaphores that the program passes to the kernel outlive it: another call may wait.
    if (idOf(t.targetSemaphore).kind == AllocationKind::array) return;
    flights_[t.id] = {t.place,     t.source.buffer->name, t.target.view.buffer->name, false, false,
                      t.isLocal(), actor.device};
  }

  void dmaWaited(const Actor&, const DmaTransfer& t, bool targetSide) override {
    const auto found = flights_.find(t.id);
    if (found == flights_.end()) return;
    Flight& f = found->second;
    (targetSide ? f.targetSafe : f.sourceSafe) = true;
    if (f.targetSafe && (f.local || f.sourceSafe)) flights_.erase(found);
  }

  void runEnd(Runtime&) override {
    for (const auto& [id, f] : flights_)
      context_.findings->add(
          {.code = "SM4109",
           .message = fmt::format("the copy from {} to {} is never waited for{}", f.sourceName, f.targetName,
                                  f.targetSafe ? " by the sender" : ""),
           .place = f.place,
           .where = context_.where(Actor{f.device, 0, {}}),
           .need = f.local ? "one wait for every copy that is started"
                           : "a wait for the send semaphore, and one for the receive semaphore on the target",
           .have = context_.kernel->disablesSemaphoreChecks ? kMeant : "",
           .help = "call .wait() on the descriptor, before the kernel ends"},
          context_.leftInSemaphores());
  }

 private:
  struct Flight {
    SourcePlace place;
    std::string sourceName, targetName;
    bool sourceSafe = false, targetSafe = false;
    bool local = true;
    int device = 0;
  };

  std::map<int64_t, Flight> flights_;
};

}  // namespace

std::unique_ptr<Checker> makeUnwaitedCopyChecker(CheckContext context) {
  return std::make_unique<UnwaitedCopyChecker>(context);
}

}  // namespace smalti::machine
