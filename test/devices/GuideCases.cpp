// The kernels of Pallas' guide, on four devices.
#include "Cases.h"
#include "GuideReduceScatter.h"

namespace smalti::devices::test {

void guideCases(Cases& cases) {
  const auto add = [&](std::string name, const ShardMap& call, Shape shape) {
    cases.all.push_back({"guide_" + std::move(name), call, {numbers(std::move(shape))}});
  };
  add("right_permute", guide::rightPermute(), {32, 128});
  add("all_gather", guide::allGather(), {32, 128});
  add("all_reduce", guide::allReduce(), {32, 128});
  add("reduce_scatter", guide::reduceScatter(16, 128), {16 * guide::kDevices, 128 * guide::kDevices});
  add("reduce_scatter_pipelined", guide::reduceScatterInPipelines(32, 256),
      {32 * guide::kDevices, 256 * guide::kDevices});
}

}  // namespace smalti::devices::test
