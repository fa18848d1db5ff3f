#include "gpu/LaunchResult.h"

namespace smalti::gpu {

Result<LaunchResult> launchWithPrintBuffer(const DeviceKernel& kernel,
                                           const std::function<Result<LaunchResult>(int64_t)>& launch) {
  // Chosen, not measured: most kernels print little, and few calls need a second launch.
  constexpr int64_t kFirstBytes = 1 << 16, kMaxBytes = 1 << 28, kGrowth = 16;
  int64_t bytes = kernel.prints ? kFirstBytes : 0;
  for (;; bytes *= kGrowth) {
    auto result = launch(bytes);
    if (!result || result->end != KernelStatus::printBufferFull || bytes >= kMaxBytes) return result;
    if (!kernel.prints)
      return fail({.code = "SM9001",
                   .message = "the kernel's code reports that its prints do not fit into memory, and it prints nothing",
                   .place = {},
                   .help = "this is a bug in Smalti: please report it with the module"});
  }
}

}  // namespace smalti::gpu
