// A kernel as native code: the whole call is one function.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cpu/Processor.h"
#include "cpu/gemm/Gemm.h"
#include "cpu/jit/Jit.h"
#include "eval/Poison.h"
#include "ir/KernelPackage.h"

namespace smalti::cpu {

class CompileCache;

struct NativeOptions {
  Processor processor = hostProcessor();
  eval::Poison poison = eval::Poison::intMin;  ///< of undefined integers
  bool checkBlocks = true;                     ///< a block that lies outside of its array is a fault
  bool devices = false;                        ///< made for `callTogether`: each device on one thread
  CompileCache* cache = nullptr;               ///< where code is kept between processes; not owned
};

/// What the compiler did, for `show` and for people who wonder.
struct NativeReport {
  CompileReport compile;
  int64_t arenaBytes = 0;                ///< of values and packed operands, per thread
  std::vector<std::string> matmuls;      ///< one line per product: shape, tile, blocks
  int sharedAxes = 0;                    ///< leading grid axes that threads share
  std::string inOrder;                   ///< why no more of them are (Parallel.h)
  std::vector<std::string> interpreted;  ///< ops that are not native yet: computed by src/eval, one line per kind
  SourcePlace notNativeAt;               ///< of what has no native code at all, where known
};

/// How one call goes.
struct CallOptions {
  int threads = 0;                          ///< that share parallel grid axes; 0: one per core
  int64_t stepLimit = 0;                    ///< rounds of loops, of each thread; 0: none
  int64_t memoryLimitBytes = 0;             ///< of results, copies and values; 0: none
  const std::atomic<bool>* stop = nullptr;  ///< not owned; true ends the call with a fault
};

/// Compiled once, run many times, from several threads.
class NativeKernel {
 public:
  virtual ~NativeKernel() = default;
  virtual const NativeReport& report() const = 0;
  /// One call; operands in the custom call's order and of its types. `into`: empty, or one Array for each result, of
  /// its type, which the code writes to where it begins at a multiple of 64 bytes and its memory holds the kernel's own
  /// dtype; the other results are elsewhere. `fault` is set when the code met an access out of bounds or the like, or
  /// a limit, and stopped. The operands are untouched then, and running the kernel on the machine says what is wrong.
  /// SM9002 at the limit of memory. `log` (may be null) gets the debug prints, as machine::KernelResult has them.
  virtual Result<std::vector<Array>> call(std::span<const Array> operands, std::span<Array> into, const CallOptions&,
                                          bool& fault, std::vector<std::string>* log = nullptr) const = 0;
  /// The same on several devices, which copy to and signal each other, each on a thread of its own; operands, results
  /// and prints of each. `fault` also where nobody can go on. Of kernels compiled for `devices`.
  virtual Result<std::vector<std::vector<Array>>> callTogether(std::span<const std::vector<Array>> operands,
                                                               const CallOptions&, bool& fault,
                                                               std::vector<std::vector<std::string>>& logs) const = 0;
  Result<std::vector<Array>> call(std::span<const Array> operands, int threads, bool& fault,
                                  std::vector<std::string>* log = nullptr) const {
    return call(operands, {}, {.threads = threads}, fault, log);
  }
};

/// Why a kernel runs on the machine instead ("it signals other devices"); absent: it has native code.
using NotNative = std::string;
struct NativeOutcome {
  std::shared_ptr<const NativeKernel> kernel;  ///< null exactly when `reason` says why
  NotNative reason;
};
Result<NativeOutcome> compileNative(const KernelPackage&, const NativeOptions&);

}  // namespace smalti::cpu
