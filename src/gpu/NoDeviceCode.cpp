#include "gpu/NoDeviceCode.h"

namespace smalti::gpu {

Diagnostic noDeviceCode(const cpu::Unsupported& refusal) {
  return {.code = "SM7201",
          .message = "part of the kernel has no code for GPUs yet",
          .place = refusal.place,
          .need = "ops, dtypes and memories that docs/gpu.md lists",
          .have = refusal.reason,
          .help = "run it with --target cpu or interpret, or write this part with other ops"};
}

}  // namespace smalti::gpu
