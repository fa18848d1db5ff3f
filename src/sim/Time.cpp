#include "sim/Time.h"

#include <fmt/format.h>

#include "ir/KernelArguments.h"
#include "sim/Pipeline.h"

namespace smalti::sim {
namespace {

/// The grid with its dynamic bounds. SM6902.
Result<std::vector<int64_t>> gridOf(const KernelPackage& package, const Question& question) {
  std::vector<int64_t> grid = package.signature.grid;
  size_t operand = 0;
  for (size_t d = 0; d < grid.size(); ++d) {
    if (grid[d] != kDynamicBound) continue;
    if (operand >= question.operands.size() || !question.operands[operand] ||
        question.operands[operand]->dtype() != DType::i32)
      return fail(
          {.code = "SM6902",
           .message = fmt::format("the number of steps along grid axis {} depends on data that is not given", d),
           .place = placeOf(package.kernelFunction().getLoc()),
           .have = operand < question.sources.size() ? fmt::format("it is {}", question.sources[operand].what)
                                                     : fmt::format("it is operand {}", operand),
           .help = operand < question.sources.size() ? question.sources[operand].help
                                                     : "give the kernel's operands, which the time depends on"});
    grid[d] = *question.operands[operand++]->as<int32_t>();
  }
  return grid;
}

/// The axis that the cores of a device share: the first parallel one that they divide, else the longest.
std::optional<size_t> sharedAxis(const KernelPackage& package, const std::vector<int64_t>& grid, int64_t cores) {
  std::optional<size_t> longest;
  const auto& semantics = package.signature.dimensionSemantics;
  for (size_t d = 0; d < grid.size() && d < semantics.size(); ++d) {
    if (semantics[d] != smalti::DimensionSemantics::parallel || package.signature.grid[d] == kDynamicBound) continue;
    if (grid[d] % cores == 0) return d;
    if (!longest || grid[d] > grid[*longest]) longest = d;
  }
  return longest;
}

}  // namespace

bool Assumptions::Number::isOf(const SourcePlace& p) const {
  return p.known() && (p.str() == place || fmt::format("{}:{}", p.file, p.line) == place);
}

std::optional<int64_t> Assumptions::at(const SourcePlace& p) const {
  for (const Number& n : numbers)
    if (n.isOf(p)) return n.value;
  return std::nullopt;
}

Result<KernelTime> timeOf(const KernelPackage& package, const tpu::Chip& chip, const Question& question) {
  const KernelArguments arguments(package);
  auto body = codeOf(package.kernelFunction(), chip);
  if (!body) return fail(std::move(body.error()));
  KernelCode code{std::move(*body), {}};
  for (size_t b = 0; b < arguments.numBlocks(); ++b) {
    code.maps.emplace_back();
    if (const auto& window = arguments.windowOf(b)) {
      auto map = codeOf(arguments.indexMap(*window), chip);
      if (!map) return fail(std::move(map.error()));
      code.maps.back() = std::move(*map);
    }
  }
  auto whole = gridOf(package, question);
  if (!whole) return fail(std::move(whole.error()));
  std::vector<int64_t> grid = *whole;
  const int64_t cores = chip.device.coresPerDevice;
  const auto axis = cores > 1 ? sharedAxis(package, grid, cores) : std::nullopt;
  const bool shared = axis && grid[*axis] > 1;
  if (shared) grid[*axis] = (grid[*axis] + cores - 1) / cores;
  const double ofCores = 1.0 / static_cast<double>(chip.device.coresPerChip);
  const double hbmShare = cores > 1 && !shared ? chip.time.soleCoreHbmShare : ofCores;
  auto time = runPipeline(package, code, chip, question, grid, *whole, hbmShare);
  if (time && shared) time->cores = static_cast<int>(cores);
  return time;
}

}  // namespace smalti::sim
