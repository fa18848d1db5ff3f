// A kernel with the arrays of a call in the GPU's memory, which can be launched any number of times, on any stream.
#pragma once

#include <memory>
#include <vector>

#include "cpu/runtime/KernelStatus.h"
#include "gpu/driver/DeviceMemory.h"
#include "gpu/driver/Launch.h"

namespace smalti::gpu {

class BoundKernel {
 public:
  /// Bytes that are copied before each launch: of an operand to the result that is aliased to it, or to a copy that the
  /// kernel may overwrite.
  struct Copy {
    CudaAddress to = 0, from = 0;
    int64_t bytes = 0;
  };
  /// Memory of undefined elements that is filled before each launch.
  struct Fill {
    CudaAddress to = 0;
    int64_t elements = 0;
    int elementBytes = 4;  ///< 1, 2 or 4
    uint32_t bits = 0;
  };

  BoundKernel(const CudaGpu& gpu, std::shared_ptr<const void> code, Launch launch, std::vector<Copy> copies,
              std::vector<Fill> fills, std::vector<DeviceMemory> memory)
      : gpu_(gpu),
        code_(std::move(code)),
        launch_(std::move(launch)),
        copies_(std::move(copies)),
        fills_(std::move(fills)),
        memory_(std::move(memory)) {}
  BoundKernel(const BoundKernel&) = delete;
  BoundKernel& operator=(const BoundKernel&) = delete;

  /// Adds copies, fills and the launch to the stream, and returns at once. The GPU is current.
  Status enqueue(CudaHandle stream) const;
  /// How the launches so far have ended; if several had a fault, one of these. Waits for all work on the GPU, which is
  /// current.
  Result<cpu::KernelStatus> ended() const;

 private:
  CudaGpu gpu_;
  std::shared_ptr<const void> code_;  ///< keeps the loaded code
  Launch launch_;
  std::vector<Copy> copies_;
  std::vector<Fill> fills_;
  std::vector<DeviceMemory> memory_;
};

}  // namespace smalti::gpu
