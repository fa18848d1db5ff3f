#include "driver/cli/show/ConfigView.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "driver/term/Style.h"

namespace smalti::cli {

std::vector<std::pair<std::string, std::string>> configRows(const KernelPackage& kernel) {
  std::vector<std::pair<std::string, std::string>> rows;
  const auto flag = [&](const char* key, const std::optional<bool>& value) {
    if (value) rows.emplace_back(key, *value ? "true" : "false");
  };
  const auto number = [&](const char* key, const std::optional<int64_t>& value) {
    if (value) rows.emplace_back(key, std::to_string(*value));
  };
  const KernelConfig& c = kernel.config;
  flag("has_communication", c.hasCommunication);
  number("collective_id", c.collectiveId);
  if (c.costEstimate)
    rows.emplace_back("cost_estimate",
                      fmt::format("{} flops, {} transcendentals, {} accessed, {} sent to other devices",
                                  term::grouped(c.costEstimate->flops), term::grouped(c.costEstimate->transcendentals),
                                  term::humanBytes(c.costEstimate->bytes_accessed),
                                  term::humanBytes(c.costEstimate->remote_bytes_transferred)));
  flag("needs_hlo_passes", c.needsHloPasses);
  number("serialization_format", c.serializationFormat);
  flag("needs_layout_passes", c.needsLayoutPasses);
  flag("shape_invariant_numerics", c.shapeInvariantNumerics);
  if (!c.allowInputFusion.empty())
    rows.emplace_back("allow_input_fusion", fmt::format("{}", fmt::join(c.allowInputFusion, ", ")));
  number("internal_scratch_in_bytes", c.internalScratchInBytes);
  const auto colors = [&](const char* key, const std::vector<KernelConfig::MemorySpaceColor>& list) {
    std::vector<std::string> parts;
    for (const auto& color : list)
      parts.push_back(color.index ? fmt::format("{} at {}", color.color, *color.index) : std::to_string(color.color));
    if (!parts.empty()) rows.emplace_back(key, fmt::format("{}", fmt::join(parts, ", ")));
  };
  colors("input_memory_space_colors", c.inputMemorySpaceColors);
  colors("output_memory_space_colors", c.outputMemorySpaceColors);
  flag("disable_bounds_checks", c.disableBoundsChecks);
  flag("disable_semaphore_checks", c.disableSemaphoreChecks);
  flag("skip_device_barrier", c.skipDeviceBarrier);
  for (const auto& memory : c.scopedMemory)
    rows.emplace_back("scoped_memory", fmt::format("space {}: {} at {}", memory.memorySpace,
                                                   term::humanBytes(memory.size), memory.offset));
  for (const auto& f : c.flags) rows.emplace_back("flag " + f.type, f.valueJson);
  for (const auto& [key, value] : c.unknown) rows.emplace_back(key, value);
  for (const Alias& alias : kernel.aliases)
    rows.emplace_back("alias", fmt::format("output {} is operand {}", alias.output, alias.operand));
  if (kernel.hasSideEffect) rows.emplace_back("has_side_effect", "true");
  for (const auto& [key, value] : kernel.frontendAttributes) rows.emplace_back(key, value);
  return rows;
}

}  // namespace smalti::cli
