// One operand of a pipeline: its buffers, and the copies between them and its Ref.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "lang/pipeline/PipelineGrid.h"
#include "smalti/dma.h"
#include "smalti/pipeline.h"

namespace smalti::lang {

/// A block: what the index map gave per axis.
struct BlockIndex {
  struct Axis {
    Array start;
    std::optional<Array> size;  ///< of a ds
  };
  std::vector<Axis> axes;
};

/// Copies started and awaited so far (i32), and how far lookahead has looked.
struct Counters {
  Array copyIn, waitIn, copyOut, waitOut;
  GridPoint fetchPoint;  ///< with lookahead only, as fetchStep
  Array fetchStep;
};

class PipelineWindow {
 public:
  /// Checks the spec against the Ref. Without a grid, the owner of the window chooses the block: none is trivial.
  /// Errors SM6521 … SM6525.
  PipelineWindow(std::string name, const Ref& source, const BlockSpec& spec, bool input, bool output,
                 const PipelineGrid* grid, const Location& at);

  const Ref& source() const { return source_; }
  const Location& at() const { return at_; }
  bool input() const { return input_; }
  bool output() const { return output_; }
  /// The window is the Ref's own memory: nothing is copied.
  bool inPlace() const { return inPlace_; }
  /// The whole Ref at every step: copied once.
  bool trivial() const { return trivial_; }
  bool buffered() const { return !inPlace_; }
  bool pipelined() const { return !inPlace_ && !trivial_; }
  bool lookahead() const { return lookahead_; }
  int64_t inCount() const { return inCount_; }
  int64_t outCount() const { return outCount_; }
  /// The number of blocks that the kernel fetches before the pipeline begins.
  int64_t prefetched() const { return prefetched_; }

  /// The same window of another Ref of that type. Error SM6522.
  PipelineWindow of(const Ref& source) const;
  /// Memory of the kernel's own as the buffer. Error SM6522: it is another type.
  void useBuffer(const Ref&);
  /// Buffer (unless it is the kernel's own) and semaphores to allocate, and the Refs to them.
  std::vector<MemoryRef> memory() const;
  void bind(const Ref*& refs);

  /// The index map at a point of the grid: user's code.
  BlockIndex blockAt(const GridPoint&) const;
  /// The slice of the source that a block is.
  std::vector<Index> sourceSlice(const BlockIndex& block) const { return slices(block).source; }
  /// The Ref that the body gets; `slot` counts copies.
  Ref view(const BlockIndex&, const Array& count) const;
  void startIn(const BlockIndex&, const Array& count) const;
  void waitIn(const BlockIndex&, const Array& count) const;
  void startOut(const BlockIndex&, const Array& count) const;
  void waitOut(const BlockIndex&, const Array& count) const;
  /// The copy of a trivial window, or of a block into slot 0; done when it returns.
  void copyNow(const BlockIndex&, bool in) const;

 private:
  struct Slices {
    std::vector<Index> source, window;
    bool partial = false;
  };
  void checkSpec() const;
  void checkIndexMap(size_t rank) const;
  void checkBuffering(const Buffered*);
  MemoryRef bufferType() const;
  bool isTrivial(const PipelineGrid&) const;
  Slices slices(const BlockIndex&) const;
  Index slice(size_t axis, const BlockIndex::Axis&, std::optional<Array>& partialSize) const;
  Ref slot(const Array& count, const Slices*) const;
  AsyncCopyDescriptor copy(const BlockIndex&, const Array& count, bool in) const;

  std::string name_;
  Ref source_;
  BlockSpec spec_;
  std::vector<BlockDim> block_;
  Shape windowShape_;  ///< without squeezed axes
  MemorySpace space_ = MemorySpace::vmem;
  Location at_;
  bool input_, output_, inPlace_ = false, trivial_ = false, lookahead_ = false;
  int64_t inCount_ = 0, outCount_ = 0, slots_ = 1, prefetched_ = 0;
  bool ownBuffer_ = false;  ///< the kernel's
  Ref buffer_, inSems_, outSems_;
};

/// Error SM6527: Refs are not those to what was asked for.
void checkAllocations(std::span<const Ref> given, const std::vector<MemoryRef>& wanted, const Location& at);

/// An index or count as i32, a number where it is known.
Array scalarI32(const Operand&);

/// Whether two blocks differ.
Array differ(const BlockIndex&, const BlockIndex&);

}  // namespace smalti::lang
