// SM4107…SM4109: what must not happen between the start of a copy and its wait (S-G1): its source is written, its
// destination is touched, or nobody waits at all.
#include <fmt/format.h>

#include "machine/observers/Checker.h"
#include "machine/observers/Region.h"

namespace smalti::machine {
namespace {

constexpr const char* kMeant = "disable_semaphore_checks, so the module means it";

std::string at(const SourcePlace& place) { return place.known() ? " at " + place.str() : ""; }

class DmaChecker final : public Checker {
 public:
  using Checker::Checker;

  void access(const Actor& actor, const Access& access) override {
    if (flights_.empty() || access.masked || access.kind == Access::Kind::dmaRead ||
        access.kind == Access::Kind::dmaWrite)
      return;  // copies are looked at when they start
    const AllocationId buffer = idOf(*access.ref->buffer);
    std::optional<Region> region;
    for (const Flight& f : flights_) {
      if (f.source.allocation != buffer && f.target.allocation != buffer) continue;
      if (!region && !(region = regionOf(access))) return;
      // A window copy moves the array's elements: read for a fetch, written for a write-back.
      const bool write = access.kind == Access::Kind::windowWriteBack || access.kind == Access::Kind::store;
      meet(actor, f, *region, write, access.place ? *access.place : SourcePlace{}, access.kind);
    }
  }

  void dmaStart(const Actor& actor, const DmaTransfer& t) override {
    const auto source = regionOf(t.source), target = regionOf(t.target);
    for (const Flight& f : flights_) {
      if (source) meet(actor, f, *source, false, t.place, Access::Kind::dmaRead);
      if (target) meet(actor, f, *target, true, t.place, Access::Kind::dmaWrite);
    }
    flights_.push_back({t.id, t.place, t.source.buffer->name, t.target.view.buffer->name, source.value_or(Region{}),
                        target.value_or(Region{}), false, false, t.isLocal(), actor.device});
  }

  void dmaWaited(const Actor&, const DmaTransfer& t, bool targetSide) override {
    for (size_t i = 0; i < flights_.size(); ++i) {
      Flight& f = flights_[i];
      if (f.id != t.id) continue;
      (targetSide ? f.targetSafe : f.sourceSafe) = true;
      if (f.local) f.sourceSafe = f.targetSafe;
      if (f.sourceSafe && f.targetSafe) flights_.erase(flights_.begin() + static_cast<ptrdiff_t>(i));
      return;
    }
  }

  void runEnd(Runtime&) override {
    for (const Flight& f : flights_)
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
    int64_t id = 0;
    SourcePlace place;
    std::string sourceName, targetName;
    Region source, target;
    bool sourceSafe = false, targetSafe = false;
    bool local = true;
    int device = 0;
  };

  void meet(const Actor& actor, const Flight& f, const Region& region, bool write, const SourcePlace& place,
            Access::Kind kind) {
    if (write && !f.sourceSafe && overlap(f.source, region))
      report("SM4107", fmt::format("{} is overwritten while a copy reads it", f.sourceName), actor, f, place, kind,
             "a wait for the copy before its source is written");
    else if (!f.targetSafe && overlap(f.target, region))
      report("SM4108", fmt::format("{} is {} while a copy writes it", f.targetName, write ? "written" : "read"), actor,
             f, place, kind, "a wait for the copy before its destination is used");
  }

  void report(std::string code, std::string message, const Actor& actor, const Flight& f, const SourcePlace& place,
              Access::Kind kind, std::string need) {
    const bool copy = kind == Access::Kind::dmaRead || kind == Access::Kind::dmaWrite;
    const bool window = kind == Access::Kind::windowFetch || kind == Access::Kind::windowWriteBack;
    context_.findings->add({.code = std::move(code),
                            .message = std::move(message),
                            .place = place,
                            .where = context_.where(actor),
                            .need = std::move(need),
                            .have = fmt::format("{}{} between the start of the copy from {} to {}{} and its wait",
                                                copy     ? "another copy"
                                                : window ? "the pipeline's copy"
                                                         : "an access",
                                                at(place), f.sourceName, f.targetName, at(f.place)),
                            .help = "move the wait before this access, or use another buffer slot"});
  }

  std::vector<Flight> flights_;
};

}  // namespace

std::unique_ptr<Checker> makeDmaChecker(CheckContext context) { return std::make_unique<DmaChecker>(context); }

}  // namespace smalti::machine
