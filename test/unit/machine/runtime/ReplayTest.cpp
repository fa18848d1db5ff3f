// What the hardware leaves open can be recorded and replayed: the order of turns, and when copies move.
#include <set>

#include <gtest/gtest.h>

#include "TextKernel.h"
#include "machine/DmaPolicy.h"
#include "machine/Scheduler.h"

namespace smalti::machine::testing {
namespace {

/// One run's choices: turns (nothing: the end of a round), and copies that moved (nothing: none).
struct Choices {
  std::vector<std::optional<Turn>> turns;
  std::vector<std::optional<size_t>> copies;
  size_t nextTurn = 0, nextCopy = 0;
};

class RecordingScheduler final : public Scheduler {
 public:
  RecordingScheduler(std::unique_ptr<Scheduler> inner, Choices& choices)
      : inner_(std::move(inner)), choices_(&choices) {}
  void start(std::span<const Actor> programs) override { inner_->start(programs); }
  std::optional<Turn> next() override { return choices_->turns.emplace_back(inner_->next()); }
  void ran(const Turn& turn, const TurnOutcome& outcome) override { inner_->ran(turn, outcome); }

 private:
  std::unique_ptr<Scheduler> inner_;
  Choices* choices_;
};

class ReplayingScheduler final : public Scheduler {
 public:
  explicit ReplayingScheduler(Choices& choices) : choices_(&choices) {}
  void start(std::span<const Actor>) override {}
  std::optional<Turn> next() override { return choices_->turns.at(choices_->nextTurn++); }
  void ran(const Turn&, const TurnOutcome&) override {}

 private:
  Choices* choices_;
};

class RecordingDma final : public DmaPolicy {
 public:
  RecordingDma(std::unique_ptr<DmaPolicy> inner, Choices& choices) : inner_(std::move(inner)), choices_(&choices) {}
  std::optional<size_t> choose(DmaOccasion occasion, const DmaCandidates& candidates) override {
    return choices_->copies.emplace_back(inner_->choose(occasion, candidates));
  }

 private:
  std::unique_ptr<DmaPolicy> inner_;
  Choices* choices_;
};

class ReplayingDma final : public DmaPolicy {
 public:
  explicit ReplayingDma(Choices& choices) : choices_(&choices) {}
  std::optional<size_t> choose(DmaOccasion, const DmaCandidates&) override {
    return choices_->copies.at(choices_->nextCopy++);
  }

 private:
  Choices* choices_;
};

MachineOptions recording(uint64_t seed, Choices& choices) {
  MachineOptions o;
  o.seed = seed;
  o.stepQuantum = 3;
  o.scheduler = [&](const MachineOptions& m) {
    return std::make_unique<RecordingScheduler>(makeSeededScheduler(m.seed, m.stepQuantum), choices);
  };
  o.dmaPolicy = [&](const MachineOptions& m) {
    return std::make_unique<RecordingDma>(makeDmaPolicy(m.dma, m.seed), choices);
  };
  return o;
}

MachineOptions replaying(uint64_t seed, Choices& choices) {
  MachineOptions o;
  o.seed = seed;
  o.scheduler = [&](const MachineOptions&) { return std::make_unique<ReplayingScheduler>(choices); };
  o.dmaPolicy = [&](const MachineOptions&) { return std::make_unique<ReplayingDma>(choices); };
  return o;
}

/// Each device copies into the other's memory and keeps looking at its own: what it sees tells who ran when, and when
/// the copies moved.
TextKernel watchers() {
  TextKernel k;
  const Val x = k.input({.dtype = "i32", .array = {8, 8}, .space = "any"});
  const Val o = k.output({.dtype = "i32", .array = {32}, .block = {32}, .map = "%c0", .space = "smem"});
  const Val inbox = k.scratch("i32", {8, 8}, "smem"), send = k.dmaSemaphore(), receive = k.dmaSemaphore();
  const Val signals = k.semaphore(), zero = k.constant(0), one = k.constant(1);
  const Val peer = k.binary("arith.subi", one, k.deviceId());
  k.loop(zero, k.constant(32), [&](Val i) { k.scalarStore(zero, o, {i}); });
  k.loop(zero, k.constant(8), [&](Val i) {
    const Val from = k.slice(x, {i, zero}, {1, 8}), to = k.slice(inbox, {i, zero}, {1, 8});
    k.remoteDma(from, send, to, receive, peer);
    k.semSignal(signals, one, peer);
    const Val seen =
        k.binary("arith.addi", k.semRead(signals), k.binary("arith.muli", k.semRead(receive), k.constant(100)));
    k.scalarStore(seen, o, {i});
  });
  k.loop(zero, k.constant(8), [&](Val i) {
    const Val from = k.slice(x, {i, zero}, {1, 8}), to = k.slice(inbox, {i, zero}, {1, 8});
    k.waitSend(from, send, to, receive, peer);
    k.waitReceive(from, send, to, receive, peer);
  });
  k.semWait(signals, k.constant(8));
  return k;
}

std::vector<std::vector<int32_t>> seen(const Result<KernelResult>& r) {
  EXPECT_TRUE(r) << r.error().str();
  std::vector<std::vector<int32_t>> all;
  if (r)
    for (const auto& perDevice : r->results) all.push_back(ints(perDevice[0]));
  return all;
}

TEST(Replay, ARecordedRunIsTheSameUnderAnotherSeed) {
  const TextKernel k = watchers();
  const Array x = i32Array({8, 8}, [](int64_t i) { return static_cast<int32_t>(i); });
  std::set<std::vector<std::vector<int32_t>>> different;
  for (uint64_t seed = 0; seed < 5; ++seed) {
    Choices choices;
    const auto recorded = seen(runOn(k, {{x}, {x}}, recording(seed, choices)));
    EXPECT_GT(choices.turns.size(), 10u);
    EXPECT_GT(choices.copies.size(), 10u);
    EXPECT_EQ(seen(runOn(k, {{x}, {x}}, replaying(seed + 100, choices))), recorded) << "seed " << seed;
    EXPECT_EQ(choices.nextTurn, choices.turns.size());
    EXPECT_EQ(choices.nextCopy, choices.copies.size());
    different.insert(recorded);
  }
  EXPECT_GT(different.size(), 1u) << "the kernel sees nothing of the order";
}

TEST(Replay, RecordingChangesNothing) {
  const TextKernel k = watchers();
  const Array x = i32Array({8, 8}, [](int64_t i) { return static_cast<int32_t>(i); });
  Choices choices;
  MachineOptions plain;
  plain.seed = 4;
  plain.stepQuantum = 3;
  EXPECT_EQ(seen(runOn(k, {{x}, {x}}, plain)), seen(runOn(k, {{x}, {x}}, recording(4, choices))));
}

/// Gives one program all turns, and never ends a round.
class StubbornScheduler final : public Scheduler {
 public:
  void start(std::span<const Actor>) override {}
  std::optional<Turn> next() override { return Turn{.program = 1, .maxInstructions = 100}; }
  void ran(const Turn&, const TurnOutcome&) override {}
};

TEST(Scheduler, OneThatNeverEndsARoundEndsInADiagnostic) {
  TextKernel waits;
  waits.semWait(waits.semaphore(), waits.constant(1));
  TextKernel spins;
  const Val sem = spins.semaphore();
  spins.whileLoop([&] { return spins.compare("slt", spins.semRead(sem), spins.constant(1)); }, [] {});
  MachineOptions o;
  o.scheduler = [](const MachineOptions&) { return std::make_unique<StubbornScheduler>(); };
  o.stepLimit = 10'000;
  auto r = runOn(waits, {{}, {}}, o);
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code, "SM4103");
  r = runOn(spins, {{}, {}}, o);
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code, "SM4104");
}

}  // namespace
}  // namespace smalti::machine::testing
