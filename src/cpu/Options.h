// Options of compiling native code, and of one call.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "cpu/Processor.h"
#include "eval/Poison.h"
#include "smalti/diagnostic.h"

namespace smalti::cpu {

class CompileCache;

struct NativeOptions {
  Processor processor = hostProcessor();
  eval::Poison poison = eval::Poison::intMin;  ///< the value of undefined memory
  bool checkBlocks = true;                     ///< blocks outside their array are found
  bool devices = false;                        ///< compile for `callOnDevices`, in which each device runs on one thread
  CompileCache* cache = nullptr;               ///< keeps code between processes; not owned
};

/// What a call read outside of refs and arrays, each once.
struct ReadsOutsideRefs {
  std::vector<SourcePlace> loads;
  std::vector<int> blocks;  ///< operands, inputs in their order, whose index map gave a block outside the array
  bool empty() const { return loads.empty() && blocks.empty(); }
};

/// Options of one call.
struct CallOptions {
  int threads = 0;                          ///< threads that share parallel grid axes; 0: one per core
  int64_t stepLimit = 0;                    ///< loop iterations of each thread; 0: no limit
  int64_t memoryLimitBytes = 0;             ///< most memory for results, copies and values; 0: no limit
  const std::atomic<bool>* stop = nullptr;  ///< not owned; true ends the call with a fault
  bool copiesAtOnce = false;                ///< copies are complete when they start (runtime/AsyncCopies.h)
  /// If not null, a load that reaches outside its ref gets undefined elements there, a block of an input outside its
  /// array is undefined, both are added here, and the call continues. If null, the call ends with a fault. Not owned.
  ReadsOutsideRefs* outsideReads = nullptr;
};

}  // namespace smalti::cpu
