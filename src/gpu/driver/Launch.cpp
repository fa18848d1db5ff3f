#include "gpu/driver/Launch.h"

#include <array>

namespace smalti::gpu {

Status start(const CudaDriver& driver, Launch l, CudaHandle stream) {
  std::array<void*, 6> arguments{&l.arrays, &l.workspace, &l.ended, &l.points, &l.iterations, l.maps.data()};
  return driver.check(
      driver.call().launch(l.function, static_cast<unsigned>(l.blocks), 1, 1, static_cast<unsigned>(l.threads), 1, 1,
                           l.sharedBytes, stream, arguments.data(), nullptr),
      "launch the kernel");
}

}  // namespace smalti::gpu
