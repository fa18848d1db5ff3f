// The options of compilation, and those of one run: each option belongs to one of the two.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "machine/Machine.h"

namespace smalti::driver {

/// The semantics of a kernel on every target: machine::MachineOptions documents each field.
struct Contract {
  machine::Semantics semantics = machine::Semantics::tpu;
  Numerics numerics = Numerics::f32;
  machine::Poison poison = machine::Poison::intMin;
  bool staleEdges = true, naivePipeline = false, checkBounds = true;
  bool readsOutsideAreWarnings = true;  ///< in `smalti check` errors
  int cores = 1;
  std::vector<const machine::ObserverRow*> checks;  ///< observers that run (all of them in `smalti check`)
  bool operator==(const Contract&) const = default;
};

/// Equal options, equal code.
struct CompileOptions {
  std::string target = "interpret";  ///< with its argument, where it takes one: "name:argument"
  Contract contract;
  std::string processes = "off";  ///< whether meshes are spread over MPI's, as Options::mpi
  std::string network;            ///< before them, as Options::net
  bool floatsInF64 = false;       ///< numerics "f64", which the language has, and no target
  std::string cache = "off";      ///< of compiled kernels, as Options::cache; see cpu/cache/CompileCache.h
  int64_t cacheLimitBytes = 0;
  bool operator==(const CompileOptions&) const = default;
};

/// Options of one run; any code accepts them. Of the machine, as machine::MachineOptions has them, and of native code.
struct ExecuteSettings {
  std::optional<machine::DmaExecution> dma{};  ///< nullopt: as the target has it
  uint64_t seed = 0;
  int64_t stepQuantum = 10'000;
  int64_t stepLimit = 0;
  int64_t memoryLimitBytes = 0;
  double timeLimitSeconds = 0;  ///< of a Program; 0: none
  const std::atomic<bool>* stop = nullptr;
  decltype(machine::MachineOptions::scheduler) scheduler = {};  ///< of the caller's own; empty: the machine's
  decltype(machine::MachineOptions::dmaPolicy) dmaPolicy = {};
  decltype(machine::MachineOptions::transport) transport = {};
  decltype(machine::MachineOptions::mayPoll) mayPoll = {};
  int allDevices = 0, firstDevice = 0;        ///< as machine::MachineOptions has them
  int threads = 0;                            ///< of native code; 0: one per core
  std::vector<machine::Observer*> observers;  ///< not owned; see every kernel of the Program
  /// Whether it takes the machine, whatever the target: nothing else has these parts.
  bool needsMachine() const { return !observers.empty() || scheduler || dmaPolicy || transport || mayPoll; }
};

/// Both as the machine takes them. `dma`: if the settings say nothing.
machine::MachineOptions machineOptions(const Contract&, const ExecuteSettings&,
                                       machine::DmaExecution dma = machine::DmaExecution::random);
/// The same for the machine in place of code that completes copies when they start, as most TPUs would: results must
/// not depend on which kernels have such code. Only checks look for other orders.
machine::MachineOptions machineOptionsInPlaceOfCode(const Contract&, const ExecuteSettings&);

}  // namespace smalti::driver
