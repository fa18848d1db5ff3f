// Observers see every access, transfer and signal of the machine; checkers, timelines and (later) clocks are observers.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "machine/Address.h"

namespace smalti::machine {

/// The origin of an event: the program of one core of one device, at one grid step.
struct Actor {
  int device = 0;
  int core = 0;
  std::span<const int32_t> gridStep{};  ///< empty without a grid
};

/// A range of a buffer: what a load, store, DMA or window copy touches. Never single elements.
struct MemoryAccess {
  enum class Kind : uint8_t {
    load,
    store,
    atomic,  ///< reads and writes; does not race with another atomic access
    dmaRead,
    dmaWrite,
    windowFetch,
    windowWriteBack,
  } kind;
  const Ref* ref = nullptr;            ///< the view that is indexed
  std::span<const int64_t> starts{};   ///< per dim of ref->viewShape()
  std::span<const int64_t> sizes{};    ///< elements taken per dim
  std::span<const int64_t> strides{};  ///< per dim; empty: all 1
  bool masked = false;                 ///< a masked store: only some elements are touched
  bool outside = false;                ///< a load that reaches outside `ref`; starts and sizes are of the part inside
  const SourcePlace* place = nullptr;
  /// The mask of a masked store: a byte for each element, row-major, or one byte for all.
  std::span<const uint8_t> selected{};
};

/// The use of an undefined value that made a difference.
enum class UndefinedUse : uint8_t { address, branch, semaphore, output, dmaSize, gridBound };

/// A copy, local or to another core or device (then its source has a semaphore, too).
struct DmaTransfer {
  int64_t id = 0;            ///< unique among the copies of a run
  int device = 0, core = 0;  ///< that started it, and own the source
  Ref source;
  PeerRef target;
  Ref sourceSemaphore;  ///< buffer null when local
  PeerRef targetSemaphore;
  int64_t bytes = 0;
  SourcePlace place;
  bool strictOrdering = false;  ///< arrives after all that its program started before
  bool isLocal() const { return sourceSemaphore.buffer == nullptr; }
  /// The target is the issuing core's own memory, or that of its device.
  bool staysHere() const { return target.device == device && target.core == core; }
};

/// The unit of a core that executes an op, according to its definition (the costs on a chip are the clock's
/// matter).
enum class OpClass : uint8_t {
  control,  ///< loops, branches, and the machine's own bookkeeping
  scalar,   ///< arithmetic and addresses on single numbers
  vector,   ///< element by element
  cross,    ///< between lanes or sublanes: transposes, rotations, gathers, reductions
  matrix,   ///< the matrix unit
  load,
  store,
  sync,  ///< semaphores and copies
  debug,
};
std::string_view name(OpClass);

/// The type of an operand or result, and the memory of a ref.
struct ValueType {
  DType dtype = DType::f32;
  Shape shape;
  std::optional<MemoryKind> memory;
  bool operator==(const ValueType&) const = default;
};

/// An op of the kernel's text, as an instruction of the flat program stands for it.
struct OpInfo {
  std::string_view name;  ///< "vector.load"
  OpClass kind = OpClass::control;
  std::span<const ValueType> operands, results;
  const SourcePlace* place = nullptr;
};

/// One instruction is about to be done. An op may be several of them (loops, checks), and a loop's op comes again with
/// every iteration; `begins` holds for the instruction with which the op starts. Ops that the machine gets for nothing
/// (reshapes, broadcasts) come with the next instruction of their block: they begin, too.
struct InstructionEvent {
  const OpInfo* op = nullptr;
  bool begins = false;
};

/// An event of a grid's software pipeline on a TPU, whose copies overlap with the steps before or after. The machine's
/// own copies are reported by `windowFetched` and `windowWrittenBack`: as late and as early as possible.
struct PipelineEvent {
  enum class Kind : uint8_t { fetchStart, fetchComplete, writeBackStart, writeBackComplete } kind;
  int operand = 0;                 ///< inputs, then outputs
  int slot = 0;                    ///< the number of the operand's buffer
  int64_t step = 0;                ///< of this core's steps, from 0: the one during which this happens
  std::span<const int64_t> block;  ///< the index map's result
  int64_t bytes = 0;               ///< of the part of the block inside the array
};

/// The expensive events that an observer subscribes to.
struct Interest {
  bool initialisation = false;  ///< that the machine tracks which elements are defined
  bool instructions = false;    ///< `instruction`
  bool pipeline = false;        ///< `pipeline`
  Interest operator|(const Interest& o) const {
    return {initialisation || o.initialisation, instructions || o.instructions, pipeline || o.pipeline};
  }
};

/// All callbacks default to nothing. They may not change the machine.
class Observer {
 public:
  virtual ~Observer() = default;
  /// Asked once, before the run.
  virtual Interest interest() const { return {}; }
  virtual void instruction(const Actor&, const InstructionEvent&) {}
  virtual void pipeline(const Actor&, const PipelineEvent&) {}
  virtual void access(const Actor&, const MemoryAccess&) {}
  virtual void undefinedUse(const Actor&, UndefinedUse, const SourcePlace&, const std::string& what) {}
  virtual void allocate(const Actor&, const Buffer&) {}
  virtual void release(const Actor&, const Buffer&) {}
  virtual void dmaStart(const Actor&, const DmaTransfer&) {}
  /// Its data has left the source, and is on its way if the target is another core.
  virtual void dmaComplete(const DmaTransfer&) {}
  /// The wait that makes the transfer's data safe to use (target side) or to overwrite (source side).
  virtual void dmaWaited(const Actor&, const DmaTransfer&, bool targetSide) {}
  /// The actor raises a semaphore, its own or another's.
  virtual void signal(const Actor&, const PeerRef& semaphore, int64_t amount, const SourcePlace&) {}
  virtual void waited(const Actor&, const Ref& semaphore, int64_t amount, const SourcePlace&) {}
  /// The actor has looked at the count of a semaphore of its own.
  virtual void polled(const Actor&, const Ref& semaphore, int64_t count) {}
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
