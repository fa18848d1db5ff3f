// The services that a running kernel program needs from the machine. An Execution of a FlatProgram calls this; the
// runtime (devices, cores, DMA engines, semaphores) implements it.
// Codes: SM4000…SM4049 are the flat program's, SM4050…SM4099 the runtime's, SM41xx the observers'.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "machine/Memory.h"
#include "machine/Observer.h"

namespace smalti::machine {

struct DmaRequest {
  Ref source, target, targetSemaphore;
  std::optional<Ref> sourceSemaphore;   ///< remote copies only
  std::optional<int32_t> device, core;  ///< target; absent: this one
  int32_t priority = 0;
  bool strictOrdering = false;
  const SourcePlace* place = nullptr;
};

enum class Wait : uint8_t { done, blocked };

/// The state of a program after a turn.
enum class RunState : uint8_t { finished, preempted, blocked };

class Core {
 public:
  virtual ~Core() = default;
  virtual const Actor& actor() const = 0;
  virtual int32_t deviceId() const = 0;
  virtual int32_t coreId() const = 0;
  virtual int32_t iterationBound(int dim) const = 0;
  /// `identity` is static (the op's position in the module), the same on every device, so that a peer may
  /// signal or write before this core has got here. Zeroed semaphores, poisoned data.
  virtual Result<Buffer*> allocate(int identity, ArrayType, MemoryKind, const SourcePlace&) = 0;
  virtual void release(Buffer&) = 0;
  virtual Result<Buffer*> barrierSemaphore(const SourcePlace&) = 0;
  /// An out-of-bounds read. False: it ends the run; true: elements outside are undefined.
  virtual bool continuesAfter(Diagnostic readOutside) = 0;

  virtual Result<Wait> semaphoreWait(const Ref&, int64_t amount, const SourcePlace&) = 0;
  /// The count; nullopt: the program may not poll yet, and is blocked (MachineOptions::mayPoll).
  virtual std::optional<int32_t> semaphoreRead(const Ref&) = 0;
  virtual Status semaphoreSignal(const Ref&, int64_t amount, std::optional<int32_t> device, std::optional<int32_t> core,
                                 const SourcePlace&) = 0;
  virtual Status startDma(const DmaRequest&) = 0;
  /// Waits for the bytes of `ref` (or one count on a regular semaphore).
  virtual Result<Wait> waitDma(const Ref& semaphore, const Ref& ref, bool targetSide, const SourcePlace&) = 0;

  virtual void log(std::string line) = 0;
  virtual void prngSeed(std::span<const int32_t>) = 0;
  virtual void prngFill(uint32_t* out, int64_t n) = 0;
  virtual void trace(std::string_view message, bool begin) = 0;
  virtual void delay(int64_t nanoseconds) = 0;

  /// Null when nothing observes: then the program skips making MemoryAccess records.
  virtual Observer* observer() = 0;
  /// False: initialisation is not tracked (shadows are ignored everywhere).
  virtual bool tracksInitialisation() const = 0;
  virtual Poison poisonKind() const = 0;
};

}  // namespace smalti::machine
