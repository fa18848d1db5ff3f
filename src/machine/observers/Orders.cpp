// For `smalti check --schedules`: the conclusions from one run about every other order of its steps. If only a program
// and its copies raise its semaphores, the waits are the same in every order, and Races.cpp has seen all accesses.
#include <set>

#include "machine/observers/Checker.h"
#include "machine/observers/Registry.h"
#include "machine/observers/race/AllOrders.h"
#include "machine/observers/race/Text.h"

namespace smalti::machine {
namespace {

using namespace race;

class OrderChecker final : public Checker {
 public:
  explicit OrderChecker(CheckContext context) : Checker(context) {
    for (int p = 0; p < context.numDevices * context.numCores; ++p)
      programs_.push_back({orders_.addThread(true), {}, {}, {}, {}});
  }

  void stepBegin(const Actor& actor) override { program(actor).step = nullptr; }

  void access(const Actor& actor, const MemoryAccess& access) override {
    using Kind = MemoryAccess::Kind;
    const bool window = access.kind == Kind::windowFetch || access.kind == Kind::windowWriteBack;
    if (!isRecorded() || (window && context_.options->semantics == Semantics::hlo)) return;
    Program& self = program(actor);
    auto footprint = footprintOf(access);
    if (!footprint) return;
    const bool write =
        access.kind == Kind::store || access.kind == Kind::atomic || access.kind == Kind::windowWriteBack;
    add({self.thread,
         orders_.operations(self.thread),
         false,
         write,
         std::move(*footprint),
         {actor.device, actor.core, stepOf(self, actor), access.kind, context_.placeOf(access), nullptr}});
  }

  void dmaStart(const Actor& actor, const DmaTransfer& t) override {
    countedByCopies_.insert(semaphoreIdOf(t.targetSemaphore));
    if (!t.isLocal()) countedByCopies_.insert(semaphoreIdOf(t.sourceSemaphore));
    if (!isRecorded()) return;
    Program& self = program(actor);
    const int copy = orders_.addThread(false);
    enters(actor, t.target.device, "a copy", t.place);
    orders_.add(self.thread, {.begins = copy});
    auto text = std::make_shared<Copy>(Copy{t.place, t.source.buffer->name, t.target.view.buffer->name,
                                            t.isLocal() ? "" : t.sourceSemaphore.buffer->name,
                                            t.targetSemaphore.view.buffer->name, t.target.device, t.target.core});
    Party party{actor.device, actor.core, stepOf(self, actor), MemoryAccess::Kind::dmaRead, nullptr, std::move(text)};
    if (auto source = footprintOf(t.source)) add({copy, 0, true, false, std::move(*source), party});
    AllOrders::Operation read{.follows = t.strictOrdering ? self.copies : std::vector<int>()};
    if (!t.isLocal()) {
      read.raises = number(semaphoreIdOf(t.sourceSemaphore));
      read.raisesBy = dmaCredit(t.sourceSemaphore, t.bytes);
    }
    orders_.add(copy, read);
    party.kind = MemoryAccess::Kind::dmaWrite;
    if (auto target = footprintOf(t.target)) add({copy, 1, true, true, std::move(*target), std::move(party)});
    if (!t.staysHere()) self.sent[{t.target.device, t.target.core}].push_back({copy, orders_.operations(self.thread)});
    self.copies.push_back(copy);
    orders_.add(copy,
                {.raises = raised(t.targetSemaphore, actor), .raisesBy = dmaCredit(t.targetSemaphore.view, t.bytes)});
  }

  void signal(const Actor& actor, const PeerRef& semaphore, int64_t amount, const SourcePlace& place) override {
    given_ = given_ && amount >= 0;
    if (!isRecorded()) return;
    if (idOf(semaphore).kind != AllocationKind::barrier) enters(actor, semaphore.device, "a signal", place);
    orders_.add(program(actor).thread, {.raises = raised(semaphore, actor), .raisesBy = amount});
  }
  void waited(const Actor& actor, const Ref& semaphore, int64_t amount, const SourcePlace&) override {
    if (!isRecorded()) return;
    // A semaphore passed by the caller may have a nonzero count.
    given_ = idOf(*semaphore.buffer).kind != AllocationKind::array;
    orders_.add(program(actor).thread, {.waitsOn = number(semaphoreIdOf(semaphore)), .waitsFor = amount});
  }
  /// The steps of a kernel may depend on the time of a poll, unless it alone raises the semaphore, or the count is
  /// prescribed.
  void polled(const Actor& actor, const Ref& semaphore, int64_t count) override {
    if (context_.options->mayPoll) {
      if (isRecorded())
        orders_.add(program(actor).thread,
                    {.waitsOn = number(semaphoreIdOf(semaphore)), .waitsFor = count, .takes = false});
      return;
    }
    given_ = given_ && !isShared() && !countedByCopies_.contains(semaphoreIdOf(semaphore));
  }

  void runEnd(Runtime& runtime) override {
    if (given_) followInOrder();
    const bool all = given_ && orders_.races(kMaxWork, [&](const AllOrders::Access& a, const AllOrders::Access& b) {
      report(a, b);
    });
    for (const Entry& e : entries_)
      if (orders_.farthest(programs_[static_cast<size_t>(e.device)].thread, 0)[static_cast<size_t>(e.thread)] >
          e.after) {
        Diagnostic d = notEntered(e.what, e.place, e.device, e.fromDevice);
        d.where = e.where;
        context_.findings->add(std::move(d));
      }
    ++(all ? runtime.statistics.allOrders : runtime.statistics.someOrders);
  }

 private:
  static constexpr int64_t kMaxWork = 20'000'000, kMaxAccesses = 200'000;
  static constexpr size_t kMaxSent = 1'000;
  struct Program {
    int thread = 0;
    std::vector<int> copies;
    /// Copies to another core, with the operations of the program up to their start.
    std::map<std::pair<int, int>, std::vector<std::pair<int, int>>> sent;
    std::set<int> peers;  ///< devices that it has copied or signalled to
    Step step;
  };

  bool isShared() const { return programs_.size() > 1 && context_.kernel->usesCommunication; }
  bool isRecorded() const { return given_ && isShared(); }

  /// The first copy or signal to a device, which must have entered the kernel by then.
  struct Entry {
    int device = 0, fromDevice = 0;
    int thread = 0, after = 0;  ///< the operation that does it
    std::string what;
    SourcePlace place;
    std::vector<std::string> where;
  };
  void enters(const Actor& actor, int device, const std::string& what, const SourcePlace& place) {
    if (device == actor.device || !context_.usesBarrier()) return;
    given_ = given_ && context_.numCores == 1;
    Program& self = program(actor);
    if (!self.peers.insert(device).second) return;
    entries_.push_back(
        {device, actor.device, self.thread, orders_.operations(self.thread), what, place, context_.where(actor)});
  }

  Program& program(const Actor& actor) {
    return programs_[static_cast<size_t>(actor.device) * static_cast<size_t>(context_.numCores) +
                     static_cast<size_t>(actor.core)];
  }
  static Step stepOf(Program& p, const Actor& actor) {
    if (!p.step) p.step = std::make_shared<const std::vector<int32_t>>(actor.gridStep.begin(), actor.gridStep.end());
    return p.step;
  }
  /// Messages that were sent to another core before a copy to it was started arrive before the copy (Transport.h).
  void followInOrder() {
    constexpr size_t kLookBack = 16;
    for (Program& program : programs_)
      for (auto& [to, copies] : program.sent) {
        given_ = given_ && copies.size() <= kMaxSent;
        for (size_t i = 1; i < copies.size() && given_; ++i)
          for (size_t j = i; j > 0 && i - j < kLookBack; --j) {
            const auto& [earlier, start] = copies[j - 1];
            if (orders_.farthest(earlier, 0)[static_cast<size_t>(program.thread)] < copies[i].second)
              orders_.last(copies[i].first).follows.push_back(earlier);
          }
      }
  }
  int number(const SemaphoreId& id) {
    return semaphores_.try_emplace(id, static_cast<int>(semaphores_.size())).first->second;
  }
  /// A semaphore of a scope is zeroed where that begins: another program's signal may come before or after.
  int raised(const PeerRef& semaphore, const Actor& actor) {
    const bool own = semaphore.device == actor.device && semaphore.core == actor.core;
    given_ = given_ && (own || idOf(semaphore).kind != AllocationKind::region);
    return number(semaphoreIdOf(semaphore));
  }
  void add(AllOrders::Access access) {
    orders_.add(std::move(access));
    given_ = given_ && orders_.size() <= kMaxAccesses;
  }

  void report(const AllOrders::Access& a, const AllOrders::Access& b) {
    const Scene scene{b.footprint.region.buffer->name, b.footprint.allocation(), context_.numDevices,
                      context_.numCores};
    Diagnostic d = describe(scene, {&a.party, &a.footprint, a.write}, {&b.party, &b.footprint, b.write});
    d.where = context_.where(Actor{b.party.device, b.party.core, *b.party.step});
    context_.findings->add(std::move(d));
  }

  AllOrders orders_;
  std::vector<Program> programs_;
  std::map<SemaphoreId, int> semaphores_;
  std::vector<Entry> entries_;
  std::set<SemaphoreId> countedByCopies_;
  bool given_ = true;  ///< the record holds in every order
};

std::unique_ptr<Checker> makeOrderChecker(CheckContext context) { return std::make_unique<OrderChecker>(context); }

}  // namespace

const ObserverRow& orderRow() {
  static constexpr ObserverRow kRow{"orders", "", makeOrderChecker, OnCpu::machine};
  return kRow;
}

}  // namespace smalti::machine
