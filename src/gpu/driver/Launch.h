// A kernel's launch: the arguments of its code (ptx/LaunchHeader.cpp), and how many blocks run it.
#pragma once

#include <vector>

#include "gpu/driver/CudaDriver.h"
#include "gpu/driver/TensorMaps.h"

namespace smalti::gpu {

struct Launch {
  CudaHandle function = nullptr;
  int64_t blocks = 1, points = 1, iterations = 0;
  int threads = 32;
  unsigned sharedBytes = 0;
  CudaAddress arrays = 0, workspace = 0, ended = 0;
  std::vector<EncodedTensorMap> maps;
};

/// Adds the launch to the stream (null: the default one), and returns at once.
Status start(const CudaDriver&, Launch, CudaHandle stream);

}  // namespace smalti::gpu
