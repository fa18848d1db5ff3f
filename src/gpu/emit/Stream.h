// Operands of products on their way to shared memory across the steps of the grid (plan/StreamPlan.h).
//
// Which item is next is a walk of its own through the points of this block, the steps of the grid, and the chunks.
// Either all threads copy:
//
//   begin: the first stages - 1 items are on their way
//   each chunk of each product:  wait for its item; the item stages - 1 further on is on its way; multiply
//
// Or one thread more copies boxes, as far ahead as there are free stages, and each stage has two signals:
//
//   it:      for all items:      wait for `free` of the stage; copy, which ends in `full`
//   others:  for each product's: wait for `full`; multiply; `free`
#pragma once

#include "gpu/emit/GpuLowering.h"
#include "gpu/emit/Staging.h"
#include "gpu/plan/StreamPlan.h"

namespace smalti::gpu {

/// The services that a stream needs from the kernel.
class StreamSource {
 public:
  virtual ~StreamSource() = default;
  /// The first element of an input's block, by dimension of its array, at a point of the shared grid axes and the
  /// indices of the others.
  virtual tl::expected<std::vector<Reg>, cpu::Unsupported> blockAt(size_t block, Reg point,
                                                                   std::span<const Reg> inner) = 0;
  /// A scalar of the grid's indices alone, in such a step.
  virtual tl::expected<Reg, cpu::Unsupported> scalarAt(mlir::Value, Reg point, std::span<const Reg> inner) = 0;
  virtual const View& array(size_t block) = 0;
  /// The sizes of an input's block.
  virtual const Shape& bounds(size_t block) = 0;
};

class Stream {
 public:
  Stream(GpuLowering& l, const StreamPlan& plan, StreamSource& source) : l_(l), b_(l.b), plan_(plan), source_(source) {}

  const StreamPlan& plan() const { return plan_; }

  /// Before the first step: this block takes the points from `first` on that are `step` apart. By all threads; where
  /// boxes are copied, by those that compute.
  void begin(Reg first, Reg points, Reg step);
  /// Signals, by all threads of the block; a barrier.
  void makeSignals();
  /// All that the thread does that copies boxes.
  void copyAll(Reg first, Reg points, Reg step);
  /// The block ends before its last step: by all threads that compute, or by the one that copies.
  void giveUp();

  /// Waits for the item that is multiplied next; its stage. `forGroups`: products of warp groups read it.
  Reg next(bool forGroups);
  /// That item is the last one.
  void advance();
  /// The last item, if it has not been released, has been read by this warp: its stage may be filled again.
  void release();

 private:
  /// The stage that is filled or used next, and whether that is the first, third, … time (parity 0) or the others.
  struct Turn {
    Reg stage = nullptr, parity = nullptr;  ///< slots
  };
  Reg get(Reg slot, llvm::Type* type) { return b_.CreateLoad(type, slot); }
  Reg get(Reg slot) { return get(slot, b_.getInt32Ty()); }
  Reg slot(Reg value);
  Reg number(int64_t i) { return b_.getInt32(static_cast<uint32_t>(i)); }
  Reg stageAt(Reg number);
  Reg signal(bool full, Reg stage);
  Reg ended();
  void nextTurn(const Turn&);
  void beginWalk(Reg first, Reg points, Reg step);
  void fetchNext();
  void copyItem();
  void copyBoxes(const StreamedProduct&, size_t product, Reg chunk, Reg to, Reg full);
  void forProductOfItem(const std::function<void(size_t, Reg chunk)>&);
  void lookUp();
  void walkOn();
  void toNextItem();
  Reg isItemNeeded();
  bool hasConditions() const;
  StagedOperand operand(const StreamedProduct&, size_t side, Reg base);

  GpuLowering& l_;
  Builder& b_;
  const StreamPlan& plan_;
  StreamSource& source_;
  Reg points_ = nullptr, step_ = nullptr;
  // Slots: whether there is a next item; its point, indices and number in its step; the stage of the last one used, and
  // whether it is to be released.
  Reg more_ = nullptr, point_ = nullptr, item_ = nullptr, last_ = nullptr, held_ = nullptr;
  Turn fills_, uses_;
  bool copies_ = false;  ///< what is emitted is done by the thread that copies
  std::vector<Reg> inner_;
  /// By product, of both operands in that step: its address, or its indices in the array.
  std::vector<std::array<std::vector<Reg>, 2>> places_;
  std::vector<Reg> needed_;  ///< by product: whether that step computes it; null: each does
};

}  // namespace smalti::gpu
