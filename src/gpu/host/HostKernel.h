// Runs device code in this process: the threads of a block are fibres, and blocks run one after another. The results
// are those of the same code on a GPU, and undefined behaviour is reported.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "eval/Poison.h"
#include "gpu/LaunchResult.h"
#include "gpu/emit/Kernel.h"
#include "ir/KernelPackage.h"

namespace smalti::gpu {

struct HostOptions {
  Architecture architecture = architectures().back();  ///< the architecture whose code is run
  eval::Poison poison = eval::Poison::intMin;
  bool checkBlocks = true;
};

/// The memory of a call as passed to the code.
struct WatchedCall {
  std::span<void* const> pointers;  ///< operands, then results
  std::vector<int64_t> operandBytes, resultBytes;
  std::vector<int> aliases;  ///< by operand: the result that it is aliased to; -1: none
  std::vector<DType> resultTypes;
  int64_t printBytes = 0;  ///< capacity for debug prints; 0: the kernel has none
  int64_t points = 0;      ///< number of points of the grid axes that are divided among blocks
};

/// Is notified before and after the launch of each call, in the thread that calls.
class CallWatcher {
 public:
  virtual ~CallWatcher() = default;
  virtual Status before(const WatchedCall&) = 0;
  virtual Status after(const WatchedCall&) = 0;
  /// The call that has begun has no valid results. Also after an error of the other functions.
  virtual void givenUp() = 0;
};

struct HostCall {
  uint64_t seed = 0;  ///< determines the order of the threads; 0: by their numbers
  int64_t stepLimit = 0, memoryLimitBytes = 0;
  const std::atomic<bool>* stop = nullptr;
  CallWatcher* watcher = nullptr;  ///< not owned
};

class HostKernel {
 public:
  virtual ~HostKernel() = default;
  virtual const DeviceKernel& lowered() const = 0;
  /// One call; operands in the custom call's order and of its types. SM9001: not all threads reach a barrier.
  virtual Result<LaunchResult> call(std::span<const Array> operands, const HostCall&) const = 0;
};

/// SM7201: part of the kernel has no device code.
Result<std::shared_ptr<const HostKernel>> compileForHost(const KernelPackage&, const HostOptions&);

}  // namespace smalti::gpu
