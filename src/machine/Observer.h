// Observers see every access, transfer and signal of the machine; checkers, timelines and (later) clocks are observers.
#pragma once

#include <string>

#include "machine/Memory.h"

namespace smalti::machine {

/// Who does something: the program of one core of one device, at one grid step.
struct Actor {
  int device = 0;
  int core = 0;
  std::span<const int32_t> gridStep{};  ///< empty without a grid
};

/// A range of a buffer: what a load, store, DMA or window copy touches. Never single elements.
struct Access {
  enum class Kind : uint8_t { load, store, dmaRead, dmaWrite, windowFetch, windowWriteBack } kind;
  const Ref* ref = nullptr;            ///< the view that is indexed
  std::span<const int64_t> starts{};   ///< per dim of ref->viewShape()
  std::span<const int64_t> sizes{};    ///< elements taken per dim
  std::span<const int64_t> strides{};  ///< per dim; empty: all 1
  bool masked = false;                 ///< a masked store: only some elements are touched
  const SourcePlace* place = nullptr;
};

/// Where an undefined value mattered.
enum class UndefinedUse : uint8_t { address, branch, semaphore, output, dmaSize, gridBound };

struct DmaTransfer {
  int64_t id = 0;
  Ref source, target;
  Ref sourceSemaphore, targetSemaphore;  ///< source: buffer null when local
  int sourceDevice = 0, targetDevice = 0;
  int64_t bytes = 0;
  SourcePlace place;
};

/// All callbacks default to nothing. They may not change the machine.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void access(const Actor&, const Access&) {}
  virtual void undefinedUse(const Actor&, UndefinedUse, const SourcePlace&, const std::string& what) {}
  virtual void allocate(const Actor&, const Buffer&) {}
  virtual void release(const Actor&, const Buffer&) {}
  virtual void dmaStart(const Actor&, const DmaTransfer&) {}
  virtual void dmaComplete(const DmaTransfer&) {}
  /// The wait that makes the transfer's data safe to use (target side) or to overwrite (source side).
  virtual void dmaWaited(const Actor&, const DmaTransfer&, bool targetSide) {}
  virtual void signal(const Actor&, const Ref& semaphore, int64_t amount, const SourcePlace&) {}
  virtual void waited(const Actor&, const Ref& semaphore, int64_t amount, const SourcePlace&) {}
  virtual void stepBegin(const Actor&) {}
  virtual void stepEnd(const Actor&) {}
  /// `block` is the index map's result; `operand` counts inputs then outputs. Visited: it becomes the current
  /// block of the operand (an output's window is undefined then); fetched, written back: elements are copied.
  virtual void windowVisited(const Actor&, int operand, std::span<const int64_t> block) {}
  virtual void windowFetched(const Actor&, int operand, std::span<const int64_t> block) {}
  virtual void windowWrittenBack(const Actor&, int operand, std::span<const int64_t> block) {}
  virtual void kernelEnd(const Actor&) {}
};

}  // namespace smalti::machine
