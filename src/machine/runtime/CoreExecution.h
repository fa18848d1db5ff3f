// One core of one device: walks its share of the grid, keeps its windows, runs the kernel, and is the `Core` that the
// kernel talks to. Resumable: it stops when it has used up its quantum, or when a wait blocks.
#pragma once

#include <optional>
#include <vector>

#include "eval/Bits.h"
#include "machine/Core.h"
#include "machine/pipeline/Grid.h"
#include "machine/pipeline/Overlap.h"
#include "machine/pipeline/WindowPipeline.h"
#include "machine/runtime/Runtime.h"

namespace smalti::machine {

class CoreExecution final : public Core {
 public:
  CoreExecution(Runtime&, int device, int core, std::vector<int64_t> bounds, GridWalk walk, int number);

  /// Runs up to `maxInstructions`; index maps, which run to their end, may take more. 0: only sees whether it is done.
  Result<RunState> advance(int64_t maxInstructions);
  RunState state() const { return state_; }
  /// Instructions of the kernel and its index maps done so far; a step or a try of a wait counts at least as one.
  int64_t work() const { return work_; }
  /// Waits that came through: a program blocked again at the same count has made no progress.
  int64_t waitsDone() const { return waitsDone_; }

  struct Waiting {
    Ref semaphore;
    int64_t amount = 0;
    SourcePlace place;
  };
  /// The event for which it waits.
  const Waiting& waiting() const { return waiting_; }
  SourcePlace place() const { return execution_.place(); }

  const Actor& actor() const override { return actor_; }
  int32_t deviceId() const override { return actor_.device; }
  int32_t coreId() const override { return actor_.core; }
  int32_t iterationBound(int dim) const override { return static_cast<int32_t>(bounds_[dim]); }
  Result<Buffer*> allocate(int identity, ArrayType, MemoryKind, const SourcePlace&) override;
  void release(Buffer&) override;
  Result<Buffer*> barrierSemaphore(const SourcePlace&) override;
  bool continuesAfter(Diagnostic readOutside) override;
  Result<Wait> semaphoreWait(const Ref&, int64_t amount, const SourcePlace&) override;
  std::optional<int32_t> semaphoreRead(const Ref&) override;
  Status semaphoreSignal(const Ref&, int64_t amount, std::optional<int32_t> device, std::optional<int32_t> core,
                         const SourcePlace&) override;
  Status startDma(const DmaRequest&) override;
  Result<Wait> waitDma(const Ref& semaphore, const Ref& ref, bool targetSide, const SourcePlace&) override;
  void log(std::string line) override;
  void prngSeed(std::span<const int32_t> words) override { prng_.seed(words); }
  void prngFill(uint32_t* out, int64_t n) override { prng_.fill(out, n); }
  void trace(std::string_view, bool) override {}
  void delay(int64_t) override {}
  Observer* observer() override { return unseen_ ? nullptr : runtime_.observer; }
  bool tracksInitialisation() const override { return runtime_.tracks; }
  Poison poisonKind() const override { return runtime_.options.poison; }

 private:
  /// Tells the observer of the overlapped pipeline's events around this step.
  void reportOverlap();
  Status beginStep();
  void endStep();
  void buildArguments();
  void buildPipeline();
  Result<RunState> runSteps(int64_t maxInstructions);
  bool isOwn(const PeerRef& ref) const { return ref.device == actor_.device && ref.core == actor_.core; }
  Sender sender(const SourcePlace& place) const { return {actor_.device, actor_.core, place}; }
  Result<Wait> wait(const Ref& semaphore, int64_t amount, const Ref* ref, const SourcePlace&);

  Runtime& runtime_;
  std::vector<int64_t> bounds_;
  GridWalk walk_;
  Actor actor_;
  int number_;
  WindowPipeline pipeline_;
  std::optional<Overlap> overlap_;  ///< when an observer subscribes to it
  bool unseen_ = false;             ///< while it looks ahead
  Execution execution_;
  std::vector<Argument> arguments_;
  eval::Prng prng_;
  RunState state_ = RunState::preempted;
  bool inStep_ = false;
  int64_t work_ = 0, waitsDone_ = 0;
  Waiting waiting_;
};

}  // namespace smalti::machine
