#include "machine/pipeline/BlockOutside.h"

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "machine/runtime/Compiled.h"

namespace smalti::machine {

Diagnostic blockOutside(const OperandPlan& plan) {
  return {.code = "SM4111",
          .message = fmt::format("the index map of {} gives a block outside the array", plan.name),
          .place = plan.mapPlace,
          .need = fmt::format("at least one element of every block inside {}", plan.array.str()),
          .help = "clamp the block index in the index map, or make the grid smaller"};
}

Diagnostic blockOutside(const OperandPlan& plan, const BlockGeometry& geometry, std::span<const int64_t> block) {
  std::vector<std::string> range;
  for (size_t d = 0; d < block.size(); ++d) {
    const int64_t at = geometry.start(block, d);
    range.push_back(fmt::format("{}:{}", at, at + plan.window->bounds[d]));
  }
  Diagnostic d = blockOutside(plan);
  d.have = fmt::format("block index ({}), elements [{}]", fmt::join(block, ", "), fmt::join(range, ", "));
  return d;
}

Diagnostic undefinedBlock(Diagnostic blockOutside) {
  blockOutside.help = "harmless if nothing uses the block, which is undefined; otherwise " + blockOutside.help;
  return blockOutside;
}

}  // namespace smalti::machine
