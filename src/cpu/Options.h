// What native code is compiled for, and how one call of it goes.
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
  eval::Poison poison = eval::Poison::intMin;  ///< of undefined integers
  bool checkBlocks = true;                     ///< a block that lies outside of its array is a fault
  bool devices = false;                        ///< made for `callTogether`: each device on one thread
  CompileCache* cache = nullptr;               ///< where code is kept between processes; not owned
};

/// How one call goes.
struct CallOptions {
  int threads = 0;                          ///< that share parallel grid axes; 0: one per core
  int64_t stepLimit = 0;                    ///< rounds of loops, of each thread; 0: none
  int64_t memoryLimitBytes = 0;             ///< of results, copies and values; 0: none
  const std::atomic<bool>* stop = nullptr;  ///< not owned; true ends the call with a fault
  /// Not null: a load that reaches outside of its ref reads what is undefined there, and the call goes on; its place
  /// is added. Null: the call ends with a fault. Not owned.
  std::vector<SourcePlace>* wentOnAt = nullptr;
};

}  // namespace smalti::cpu
