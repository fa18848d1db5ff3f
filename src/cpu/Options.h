// Options of compiling native code, and of one call.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "cpu/Processor.h"
#include "eval/Poison.h"

namespace smalti::cpu {

class CompileCache;

struct NativeOptions {
  Processor processor = hostProcessor();
  eval::Poison poison = eval::Poison::intMin;  ///< the value of undefined memory
  bool checkBlocks = true;                     ///< a block outside its array is a fault
  bool devices = false;                        ///< compile for `callOnDevices`, in which each device runs on one thread
  CompileCache* cache = nullptr;               ///< keeps code between processes; not owned
};

/// Options of one call.
struct CallOptions {
  int threads = 0;                          ///< threads that share parallel grid axes; 0: one per core
  int64_t stepLimit = 0;                    ///< loop iterations of each thread; 0: no limit
  int64_t memoryLimitBytes = 0;             ///< most memory for results, copies and values; 0: no limit
  const std::atomic<bool>* stop = nullptr;  ///< not owned; true ends the call with a fault
  bool copiesAtOnce = false;                ///< copies are complete when they start (runtime/AsyncCopies.h)
  /// If not null, a load that reaches outside its ref gets undefined elements there, its place is added to the list,
  /// and the call continues. If null, the call ends with a fault. Not owned.
  std::vector<SourcePlace>* outsideReads = nullptr;
};

}  // namespace smalti::cpu
