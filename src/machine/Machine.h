// The abstract machine: runs one KernelPackage on devices × cores, deterministically by seed, under observers.
// No wall-clock, no global state: a clock can join as one more observer, scheduler and DMA policy.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "eval/Numerics.h"
#include "ir/KernelPackage.h"
#include "machine/Memory.h"
#include "machine/Observer.h"
#include "smalti/executable.h"

namespace smalti::machine {

enum class Semantics : uint8_t {
  tpu,  ///< edges are undefined, output windows start undefined, nothing is preloaded
  hlo,  ///< interpret=True: arrays padded, output blocks preloaded each step
};
/// When data of a DMA really moves between its start and its wait.
enum class DmaExecution : uint8_t { eager, onWait, random };

class Scheduler;
class DmaPolicy;
class Transport;
class Endpoint;
struct ObserverRow;

struct MachineOptions {
  Semantics semantics = Semantics::tpu;
  Numerics numerics = Numerics::f32;
  Poison poison = Poison::intMin;
  bool staleEdges = true;  ///< tpu semantics: elements beyond an edge keep what the window held; else they are poison
  DmaExecution dma = DmaExecution::random;
  bool naivePipeline = false;  ///< copy every block in and out at every step: the oracle
  int cores = 1;               ///< cores per device that share parallel grid axes
  uint64_t seed = 0;
  int64_t stepQuantum = 10'000;  ///< instructions before a program is preempted
  int64_t stepLimit = 0;  ///< instructions over all programs before "livelock" (exact but for index maps, which run to
                          ///< their end); 0: none
  int64_t memoryLimitBytes = 0;  ///< of everything the machine allocates; 0: none
  /// Polled between turns; true ends the run with SM9006. For deadlines: the machine itself has no clock.
  const std::atomic<bool>* stop = nullptr;
  // Custom policies, created for each run from its options. Empty: as the fields above specify.
  std::function<std::unique_ptr<Scheduler>(const MachineOptions&)> scheduler;
  std::function<std::unique_ptr<DmaPolicy>(const MachineOptions&)> dmaPolicy;
  std::function<std::unique_ptr<Transport>(Endpoint&)> transport;
  /// Whether a program, by number, may poll a semaphore now; otherwise it is blocked. Empty: always.
  std::function<bool(int program, const SemaphoreId&)> mayPoll;
  bool hasOwnParts() const { return scheduler || dmaPolicy || transport || mayPoll; }
  bool checkBounds = true;  ///< finds blocks outside their array, and says it of reads outside
  /// Loads outside of a ref (SM4010) and blocks of inputs outside their array (SM4111) read something on a TPU, and
  /// undefined elements here: warnings with this, findings without. All else that is out of bounds ends the run.
  bool readsOutsideAreWarnings = false;
  /// Where other processes run some of the kernel's devices: how many there are in all (0: those of the operands), and
  /// the number of the first one here. Needs a transport; checks that must see all devices (races) are off.
  int allDevices = 0, firstDevice = 0;
  /// Observers, in this order; all are in machine/observers/Registry.h.
  std::vector<const ObserverRow*> checks;
};

/// Of an observer, or of the machine itself: SM41xx, SM4010.
using smalti::Finding;
using smalti::Severity;

struct RunStatistics {
  int64_t gridSteps = 0, instructions = 0, windowFetches = 0, windowWriteBacks = 0, dmaTransfers = 0, dmaBytes = 0;
  int64_t peakWindowBytes = 0, valueBytes = 0;
  /// Runs of which every order was covered, and others, if requested (observers/Registry.h, orderRow).
  int64_t allOrders = 0, someOrders = 0;
};

struct KernelResult {
  std::vector<std::vector<Array>> results;  ///< [device][result]
  std::vector<Finding> findings;
  std::vector<std::string> log;  ///< debug prints, in order: "d0: text"
  RunStatistics statistics;
};

/// A kernel compiled for the machine; reusable and thread-safe.
class CompiledKernel;
Result<std::shared_ptr<const CompiledKernel>> compileKernel(const KernelPackage&, Numerics);

/// SM4056 for operands that are not what the kernel takes.
Status checkOperands(const CompiledKernel&, const std::vector<Array>& operands);

/// operands[device] in the custom call's order. Inputs are not changed (aliased ones are copied unless unique).
/// `extra` observers see everything, too. Fails if the run cannot continue (out of bounds, deadlock SM4103, livelock
/// SM4104, limits).
Result<KernelResult> run(const CompiledKernel&, std::span<const std::vector<Array>> operands, const MachineOptions&,
                         std::span<Observer* const> extra = {});

}  // namespace smalti::machine
