// Launches that the driver starts together (CUDA graphs), and the order of streams.
#pragma once

#include <functional>
#include <memory>

#include "gpu/driver/CudaGpu.h"

namespace smalti::gpu {

class LaunchGraph {
 public:
  /// A graph of the work that `enqueue` adds to its stream; none of it is executed.
  static Result<std::unique_ptr<LaunchGraph>> capture(const CudaGpu&,
                                                      const std::function<Status(CudaHandle stream)>& enqueue);
  ~LaunchGraph();
  LaunchGraph(const LaunchGraph&) = delete;
  LaunchGraph& operator=(const LaunchGraph&) = delete;

  /// The GPU is current.
  Status launch(CudaHandle stream) const;

 private:
  explicit LaunchGraph(const CudaGpu& gpu) : gpu_(gpu) {}
  CudaGpu gpu_;
  CudaHandle executable_ = nullptr;
};

/// Work that is added to the stream `later` from now on begins after the work that the stream `earlier` has now. Their
/// GPU is current. Without effect while one of them records a graph, which would not run in this order.
Status waitOn(const CudaDriver&, CudaHandle earlier, CudaHandle later);

}  // namespace smalti::gpu
