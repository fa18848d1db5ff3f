// The state of one run of a kernel: memories of all devices, the DMA engine, the way to other devices, who raised which
// semaphore.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "machine/Machine.h"
#include "machine/observers/Findings.h"
#include "machine/runtime/Allocation.h"
#include "machine/runtime/Compiled.h"
#include "machine/runtime/DmaEngine.h"
#include "machine/runtime/DmaLedger.h"
#include "machine/runtime/Inbox.h"

namespace smalti::machine {

/// The last increment of a semaphore, for deadlock reports.
struct SignalRecord {
  Sender sender;
  int64_t times = 0;
};

class Runtime {
 public:
  /// `numHere` of the devices, from `options.firstDevice` on, have their memory in this process.
  Runtime(const CompiledKernel& kernel, const MachineOptions& options, int numDevices, int numHere, int numCores,
          Observer* observer, Findings& findings);

  const CompiledKernel& kernel;
  const MachineOptions& options;
  const int numDevices, numHere, numCores;
  const bool tracks;
  Observer* const observer;  ///< null: no observer
  Findings& findings;
  MemoryAccount memory;
  std::vector<DeviceMemory> devices;
  RunStatistics statistics;
  Inbox inbox;
  std::unique_ptr<Transport> transport;  ///< the only way to other cores and devices
  DmaEngine dma;
  DmaLedger ledger;
  std::vector<std::string> log;

  auto devicesHere() const { return std::views::iota(options.firstDevice, options.firstDevice + numHere); }
  /// The same view of the same allocation on another device or core (S-G6, S-G8). Refuses ids out of range.
  Result<PeerRef> peer(const Ref&, const Actor&, std::optional<int32_t> toDevice, std::optional<int32_t> toCore,
                       const SourcePlace&) const;
  /// A region allocation of one core, made when it is not there yet.
  Result<Allocation*> region(int device, int core, int identity, const ArrayType&, MemoryKind, const SourcePlace&);
  /// `dma`: by a copy.
  void recordSignal(const SemaphoreId&, Sender, bool dma);
  const SignalRecord* lastSignal(const Ref& semaphore) const;
  /// "kernel 'add'", "device 1", "core 0", "grid step (3, 0)": as far as relevant here.
  std::vector<std::string> context(const Actor&) const;

 private:
  std::map<SemaphoreId, SignalRecord> signals_;
};

/// Makes every device's arrays, windows, scratch and semaphores.
Status setUpDevices(Runtime&, std::span<const std::vector<Array>> operands);
/// The result arrays of one device, in the custom call's types.
Result<std::vector<Array>> takeResults(Runtime&, int device);

}  // namespace smalti::machine
