// SM4107, SM4108, SM4113, SM4114: accesses to the same memory that nothing orders (S-G1, S-G11), found with vector
// clocks. A copy is a thread of its own: it begins where it is started, and is known to have ended where a wait takes
// what it adds to its semaphores. Found is what no wait of this run orders, whichever of the two came first in it.
#include <map>

#include <fmt/format.h>

#include "machine/observers/Checker.h"
#include "machine/observers/race/Credits.h"
#include "machine/observers/race/Text.h"

namespace smalti::machine {
namespace {

using namespace race;

class RaceChecker final : public Checker {
 public:
  explicit RaceChecker(CheckContext context)
      : Checker(context), shared_(context.numDevices * context.numCores > 1), usesBarrier_(context.usesBarrier()) {}

  void stepBegin(const Actor& actor) override { program(actor).step = nullptr; }

  void access(const Actor& actor, const MemoryAccess& access) override {
    using Kind = MemoryAccess::Kind;
    if (access.kind == Kind::dmaRead || access.kind == Kind::dmaWrite) return;  // copies are seen when they start
    const bool window = access.kind == Kind::windowFetch || access.kind == Kind::windowWriteBack;
    // interpret=True runs grids one step after another, with blocks that it copies both ways.
    if (window && context_.options->semantics == Semantics::hlo) return;
    const AllocationId id = idOf(*access.ref->buffer);
    const bool alone = isAlone(id);
    if (alone && histories_.empty()) return;
    const auto found = histories_.find(id);
    if (alone && found == histories_.end()) return;
    const auto footprint = footprintOf(access);
    if (!footprint) return;
    Thread& self = program(actor);
    const bool write =
        access.kind == Kind::store || access.kind == Kind::atomic || access.kind == Kind::windowWriteBack;
    const Party party{actor.device, actor.core, stepOf(self, actor), access.kind, context_.placeOf(access), nullptr};
    History& history = found == histories_.end() ? histories_[id] : found->second;
    look(history, self.clock, *footprint, write, party);
    if (!alone)
      history.add({{self.number, self.clock.of(self.number)}, write, *footprint, party}, self.clock);
    else
      forget(id, self.clock);
  }

  void dmaStart(const Actor& actor, const DmaTransfer& t) override {
    Thread& self = program(actor);
    enters(actor, self, t.target.device, "a copy", t.place);
    const Line line = lineFor(self);
    Clock clock = self.clock;
    if (t.strictOrdering)
      for (const auto& [thread, owner] : lines_)
        if (owner.program == self.number) clock.join(owner.end);
    const Epoch read{line.thread, line.last + 1}, written{line.thread, line.last + 2};
    lines_[line.thread] = {self.number, written.time, line.thread};
    auto copy = std::make_shared<Copy>(Copy{t.place, t.source.buffer->name, t.target.view.buffer->name,
                                            t.isLocal() ? "" : t.sourceSemaphore.buffer->name,
                                            t.targetSemaphore.view.buffer->name, t.target.device, t.target.core});
    Party party{actor.device, actor.core, stepOf(self, actor), MemoryAccess::Kind::dmaRead, nullptr, std::move(copy)};
    if (auto source = footprintOf(t.source)) touch(*source, false, read, clock, party);
    clock.reach(read);
    if (!t.isLocal())
      credits_[semaphoreIdOf(t.sourceSemaphore)].raise(read, clock, dmaCredit(t.sourceSemaphore, t.bytes));
    std::vector<Sent>* sent = t.staysHere() ? nullptr : &sent_[{self.number, t.target.device, t.target.core}];
    if (sent) followInOrder(*sent, self.clock, clock);
    party.kind = MemoryAccess::Kind::dmaWrite;
    if (auto target = footprintOf(t.target)) touch(*target, true, written, clock, party);
    clock.reach(written);
    if (sent) sent->push_back({read, clock});
    lines_[line.thread].end = clock;
    credits_[semaphoreIdOf(t.targetSemaphore)].raise(written, std::move(clock),
                                                     dmaCredit(t.targetSemaphore.view, t.bytes));
    tick(self);
  }

  void signal(const Actor& actor, const PeerRef& semaphore, int64_t amount, const SourcePlace& place) override {
    Thread& self = program(actor);
    if (idOf(semaphore).kind != AllocationKind::barrier) enters(actor, self, semaphore.device, "a signal", place);
    credits_[semaphoreIdOf(semaphore)].raise({self.number, self.clock.of(self.number)}, self.clock, amount);
    tick(self);
  }
  void waited(const Actor& actor, const Ref& semaphore, int64_t amount, const SourcePlace&) override {
    credits_[semaphoreIdOf(semaphore)].take(amount, program(actor).clock);
  }
  void polled(const Actor& actor, const Ref& semaphore, int64_t count) override {
    credits_[semaphoreIdOf(semaphore)].see(count, program(actor).clock);
  }
  void release(const Actor&, const Buffer& buffer) override {
    if (!is_semaphore(buffer.type.dtype)) return;
    const AllocationId id = idOf(buffer);
    credits_.erase(credits_.lower_bound({id, 0}), credits_.upper_bound({id, INT64_MAX}));
  }

 private:
  /// A program.
  struct Thread {
    int number = -1;
    Clock clock;
    Step step;  ///< the grid step it is in; made on demand
  };
  /// Copies one after another, by the thread's number.
  struct Line {
    int program = 0;
    int64_t last = 0;
    int thread = 0;
    Clock end;  ///< all events before the arrival of the last one
  };
  /// A copy on its way to another core.
  struct Sent {
    Epoch left;
    Clock arrived;
  };

  Thread& program(const Actor& actor) {
    const size_t at =
        static_cast<size_t>(actor.device) * static_cast<size_t>(context_.numCores) + static_cast<size_t>(actor.core);
    if (at >= programs_.size()) programs_.resize(at + 1);
    Thread& thread = programs_[at];
    if (thread.number < 0) {
      thread.number = static_cast<int>(at);
      thread.clock.reach({thread.number, 1});
    }
    return thread;
  }
  static void tick(Thread& t) { t.clock.reach({t.number, t.clock.of(t.number) + 1}); }
  static Step stepOf(Thread& t, const Actor& actor) {
    if (!t.step) t.step = std::make_shared<const std::vector<int32_t>>(actor.gridStep.begin(), actor.gridStep.end());
    return t.step;
  }

  /// Only one program and its own copies can access this memory: its own accesses need not be recorded.
  bool isAlone(const AllocationId& id) const {
    return !shared_ || (!context_.kernel->usesCommunication && (id.core >= 0 || context_.numCores == 1));
  }

  /// A line whose last copy the program knows to have ended, or a new one.
  Line lineFor(const Thread& self) {
    for (const auto& [thread, line] : lines_)
      if (self.clock.covers({thread, line.last})) return {self.number, line.last, thread};
    const int thread = context_.numDevices * context_.numCores + static_cast<int>(lines_.size());
    return {self.number, 0, thread};
  }

  void touch(const Footprint& footprint, bool write, Epoch epoch, const Clock& clock, const Party& party) {
    History& history = histories_[footprint.allocation()];
    look(history, clock, footprint, write, party);
    history.add({epoch, write, footprint, party}, clock);
  }

  /// Messages that were sent to another core before a copy to it was started arrive before the copy (Transport.h).
  /// `sent`: such copies, which no other one follows yet.
  static void followInOrder(std::vector<Sent>& sent, const Clock& started, Clock& clock) {
    std::erase_if(sent, [&](const Sent& earlier) {
      const bool left = started.covers(earlier.left);
      if (left) clock.join(earlier.arrived);
      return left;
    });
  }

  void forget(const AllocationId& id, const Clock& clock) {
    const auto found = histories_.find(id);
    found->second.forget(clock);
    if (found->second.empty()) histories_.erase(found);
  }

  void look(const History& history, const Clock& clock, const Footprint& footprint, bool write, const Party& party) {
    history.check(clock, footprint, write, party, [&](const Record& r) {
      const Scene scene{footprint.region.buffer->name, footprint.allocation(), context_.numDevices, context_.numCores};
      Diagnostic d = describe(scene, {&r.party, &r.footprint, r.write}, {&party, &footprint, write});
      const std::vector<int32_t> none;
      d.where = context_.where(Actor{party.device, party.core, party.step ? *party.step : none});
      context_.findings->add(std::move(d));
    });
  }

  /// S-G9: a kernel that uses the barrier semaphore starts on each device independently.
  void enters(const Actor& actor, const Thread& self, int device, const std::string& what, const SourcePlace& place) {
    if (!usesBarrier_ || device == actor.device) return;
    for (int core = 0; core < context_.numCores; ++core)
      if (self.clock.covers({device * context_.numCores + core, 1})) return;
    Diagnostic d = notEntered(what, place, device, actor.device);
    d.where = context_.where(actor);
    context_.findings->add(std::move(d));
  }

  const bool shared_, usesBarrier_;
  std::vector<Thread> programs_;
  std::map<int, Line> lines_;
  std::map<std::tuple<int, int, int>, std::vector<Sent>> sent_;  ///< by program, target's device and core
  std::map<SemaphoreId, Credits> credits_;
  std::map<AllocationId, History> histories_;
};

}  // namespace

std::unique_ptr<Checker> makeRaceChecker(CheckContext context) { return std::make_unique<RaceChecker>(context); }

}  // namespace smalti::machine
