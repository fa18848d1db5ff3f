// Copies operands of products to shared memory across the steps of the grid (plan/StreamPlan.h).
//
// The chunks are copied in the order in which they are multiplied. The copies have loops of their own over the points
// of this block, the steps of the grid and the chunks of each step. Either all threads copy (cp.async):
//
//   begin: start copying the first stages - 1 chunks
//   for each chunk: wait for its copy; start copying the chunk that is stages - 1 further on; multiply
//
// Or an additional thread copies boxes with TMA as long as stages are free. Each stage has two mbarriers, which signal
// when its data has arrived (`full`) and when all warps have read it (`free`):
//
//   additional thread:  for each chunk: wait for `free` of the stage; copy, which completes `full`
//   computing threads:  for each chunk: wait for `full`; multiply; arrive at `free`
//
// Operands that are the same in all steps of a point (StreamPlan::residents) have buffers of their own. With TMA these
// have mbarriers like those of stages, and are filled at the first chunk of each point; otherwise all threads copy and
// wait when they begin the point.
//
// If warp groups take turns (StreamPlan::turns), only the group whose turn it is issues products. Otherwise, groups
// that begin at the same time would wait for the tensor cores at the same time, and the tensor cores for them:
//
//   group 0:  issue | compute with registers | issue | compute …
//   group 1:        | issue | compute with registers | issue …
#pragma once

#include "gpu/emit/BlockRunCode.h"
#include "gpu/emit/GpuLowering.h"
#include "gpu/emit/Staging.h"
#include "gpu/plan/StreamPlan.h"

namespace smalti::gpu {

/// The services that a stream needs from the kernel.
class StreamSource {
 public:
  virtual ~StreamSource() = default;
  /// The indices of a point of the launch, by grid axis: of the shared axes, and where its run would begin.
  virtual std::vector<Reg> indicesOf(Reg point) = 0;
  /// The indices of all grid axes in the step that is being emitted.
  virtual std::span<const Reg> currentIndices() = 0;
  /// The run that begins at the last of these indices (LaunchPlan::runs).
  virtual tl::expected<BlockRun, cpu::Unsupported> runAt(Reg step) = 0;
  /// The first element of an input's block at a step, by dimension of its array. `indices`: of all grid axes.
  virtual tl::expected<std::vector<Reg>, cpu::Unsupported> blockAt(size_t block, std::span<const Reg> indices) = 0;
  /// A scalar that only depends on grid indices and scalar prefetch, at a step.
  virtual tl::expected<Reg, cpu::Unsupported> scalarAt(mlir::Value, std::span<const Reg> indices) = 0;
  virtual const View& array(size_t block) = 0;
  /// The sizes of an input's block.
  virtual const Shape& bounds(size_t block) = 0;
};

class Stream {
 public:
  Stream(GpuLowering& l, const StreamPlan& plan, StreamSource& source) : l_(l), b_(l.b), plan_(plan), source_(source) {}

  const StreamPlan& plan() const { return plan_; }

  /// Before the first step. This block takes the points first, first + step, …, below `points`, which is 0 if one of
  /// the other axes is empty. Executed by the computing threads.
  void begin(Reg first, Reg points, Reg step);
  /// Initialises the mbarriers. Executed by all threads of the block; contains a barrier.
  void initMbarriers();
  /// The code of the copying thread.
  void copyAll(Reg first, Reg points, Reg step);
  /// Before the block ends early. Executed by all computing threads, or by the copying one.
  void endEarly();

  /// Tells that the computing threads are at this point of the launch.
  void enterPoint(Reg point);
  /// Before the first chunk of a product: waits for the point's residents.
  void beginProduct();
  /// Where a chunk (i64) of a resident operand begins.
  Reg residentAt(const StreamedProduct&, size_t side, Reg chunk);

  /// Waits until it is the turn of this warp group, if groups take turns and its turn has not begun.
  void beginTurn();
  void endTurn();
  /// Ends the turn after the last product of a step, unless a product of the point's next step ends it.
  void endTurnUnlessContinued();

  /// Waits for the next chunk and returns its stage. `forGroups`: products of warp groups read it.
  Reg next(bool forGroups);
  /// Ends the use of that chunk, whose stage is then released by `release`.
  void advance();
  /// Tells that this warp has read the last chunk that `advance` ended, whose stage may then be filled again.
  void release();

 private:
  /// The stage that is filled or used next, and the parity of its phase: 0 the first, third, … time.
  struct PipelineState {
    Reg stage = nullptr, parity = nullptr;  ///< slots
  };
  Reg get(Reg slot, llvm::Type* type) { return b_.CreateLoad(type, slot); }
  Reg get(Reg slot) { return get(slot, b_.getInt32Ty()); }
  Reg slot(Reg value);
  Reg number(int64_t i) { return b_.getInt32(static_cast<uint32_t>(i)); }
  Reg stageAt(Reg number);
  Reg mbarrier(StreamMbarrier kind, Reg number);
  void waitFor(Reg mbarrier, Reg parity);
  Reg ended();
  void advanceState(const PipelineState&, int count);
  Reg group();
  void beginCopies(Reg first, Reg points, Reg step);
  void fetchNext();
  void copyNext();
  void copyBoxes(size_t product, size_t side, Reg chunk, Reg to, Reg full);
  void waitToCopy(Reg mbarrier, Reg parity, llvm::BasicBlock* ended);
  void copyResidents(llvm::BasicBlock* ended);
  void waitForStarted();
  void copyResidentsByAll(Reg point);
  void forNextProduct(const std::function<void(size_t, Reg chunk)>&);
  std::vector<Reg> indicesOfStep();
  tl::expected<Reg, cpu::Unsupported> isComputed(const StreamedProduct&, std::span<const Reg> indices);
  void lookUpConditions();
  Reg addressInside(size_t block, std::vector<Reg> starts);
  void lookUpBlocks();
  void toNextChunk();
  Reg toNextStep();
  void alongLastAxis();
  void toComputedStep();
  void toRun();
  void skipProducts(Reg chunk);
  int64_t chunksPerStep() const;
  bool hasConditions() const;
  StagedOperand operand(const StreamedProduct&, size_t side, Reg base);

  GpuLowering& l_;
  Builder& b_;
  const StreamPlan& plan_;
  StreamSource& source_;
  Reg points_ = nullptr, step_ = nullptr;
  // Slots. Of the next chunk to be copied: whether there is one, its point, and its number in its step. Of the last
  // chunk that was multiplied: its stage, and whether that has to be released.
  Reg more_ = nullptr, point_ = nullptr, chunkInStep_ = nullptr, lastStage_ = nullptr, hasUnreleasedStage_ = nullptr;
  PipelineState fills_, uses_, residentFills_, residentUses_;
  // Slots: the point whose residents have been copied, or have been waited for; the point of the computing threads.
  Reg filledPoint_ = nullptr, usedPoint_ = nullptr, atPoint_ = nullptr;
  Reg holdsTurn_ = nullptr, turnParity_ = nullptr;  ///< slots; the parity of the next turn
  bool copies_ = false;                             ///< the code that is emitted belongs to the copying thread
  std::vector<Reg> inner_;  ///< slots: indices of the other grid axes, of the next chunk to be copied
  /// Slots, if the axis of inner_[0] is divided into runs: its end, and the indices of the shared axes.
  Reg runEnd_ = nullptr;
  std::vector<Reg> shared_;
  /// Slots, by product and operand: the address of its block in the step of the next chunk, or the indices in the
  /// array.
  std::vector<std::array<std::vector<Reg>, 2>> places_;
  std::vector<Reg> needed_;  ///< slots, by product: whether that step computes it; null: all steps do
};

}  // namespace smalti::gpu
