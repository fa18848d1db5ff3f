#include "machine/pipeline/CompiledIndexMap.h"

#include <algorithm>

#include <fmt/format.h>

#include "ir/facts/IndexMaps.h"

namespace smalti::machine {
Result<CompiledIndexMap> compileIndexMap(mlir::func::FuncOp function, int gridRank, const CompileOptions& options) {
  CompiledIndexMap map;
  const IndexMapFacts facts(function, static_cast<size_t>(gridRank));
  map.gridDims = 0;
  for (int d = 0; d < gridRank; ++d)
    if (d >= 64 || facts.uses(static_cast<size_t>(d))) map.gridDims |= uint64_t{1} << std::min(d, 63);
  map.readsMemory = facts.usesScalarPrefetch();

  bool simple = true;
  for (const BlockCoordinate& coordinate : facts.coordinates()) {
    const auto axis = coordinate.form ? coordinate.form->gridIndex() : std::nullopt;
    if (axis)
      map.simple.push_back({.gridDim = static_cast<int>(*axis)});
    else if (coordinate.form && coordinate.form->isConstant())
      map.simple.push_back({.constant = static_cast<int32_t>(coordinate.form->constant / coordinate.form->divisor)});
    else
      simple = false;
  }
  if (simple) {
    map.readsMemory = false;
    return map;
  }
  map.simple.clear();
  auto program = compile(function, options);
  if (!program) return fail(std::move(program.error()));
  map.program = std::move(*program);
  return map;
}

IndexMapRun::IndexMapRun(const CompiledIndexMap& map) : map_(&map) {
  if (map.program) execution_.emplace(map.program);
}

smalti::Result<bool> IndexMapRun::evaluate(std::span<const int32_t> step, std::span<const Argument> arguments,
                                           Core& core, std::vector<int64_t>& block) {
  bool same = !lastStep_.empty() && !map_->readsMemory;
  for (size_t d = 0; same && d < step.size(); ++d)
    same = step[d] == lastStep_[d] || !(map_->gridDims >> std::min<size_t>(d, 63) & 1);
  if (same) return false;
  lastStep_.assign(step.begin(), step.end());

  if (!execution_) {
    block.resize(map_->simple.size());
    for (size_t i = 0; i < block.size(); ++i)
      block[i] = map_->simple[i].gridDim < 0 ? map_->simple[i].constant : step[map_->simple[i].gridDim];
    return true;
  }
  constexpr int64_t kMaxInstructions = 1'000'000;
  execution_->start(arguments);
  auto state = execution_->run(core, kMaxInstructions);
  if (!state) return fail(std::move(state.error()));
  if (*state != RunState::finished)
    return fail({.code = "SM4050",
                 .message = "the index map does not end",
                 .place = execution_->place(),
                 .need = "an index map that computes block indices from grid indices and scalar prefetch values",
                 .have = fmt::format("{} after {} instructions",
                                     *state == RunState::blocked ? "waiting on a semaphore" : "still running",
                                     kMaxInstructions),
                 .help = "move loops and waits into the kernel"});
  const auto results = execution_->results();
  block.assign(results.begin(), results.end());
  undefined_ = execution_->resultsUndefined();
  return true;
}

}  // namespace smalti::machine
