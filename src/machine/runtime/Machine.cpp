// run: devices × cores × grid, until every program has ended.
#include "machine/Machine.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/Success.h"
#include "ir/facts/GridBounds.h"
#include "machine/observers/Checks.h"
#include "machine/runtime/RunCores.h"

namespace smalti::machine {
namespace {

/// The grid axes that may be divided among cores (S-H2), a bit each: wherever they stand, an `arbitrary` one before
/// them included.
uint64_t parallelAxes(const CompiledKernel& kernel) {
  uint64_t axes = 0;
  const size_t rank = std::min({kernel.grid.size(), kernel.dimensionSemantics.size(), size_t{64}});
  for (size_t d = 0; d < rank; ++d)
    if (kernel.dimensionSemantics[d] == DimensionSemantics::parallel) axes |= uint64_t{1} << d;
  return axes;
}

/// The cores that run at the same time on each device.
Result<int> numCores(const CompiledKernel& kernel, const std::vector<int64_t>& bounds, const MachineOptions& options) {
  constexpr int64_t kMaxCores = 64;
  if (kernel.coreAxis >= 0) {
    const int64_t n = bounds[kernel.coreAxis];
    if (n > kMaxCores)
      return fail({.code = "SM4057",
                   .message = fmt::format("the kernel needs {} cores at the same time", n),
                   .place = {},
                   .where = {fmt::format("kernel '{}'", kernel.name)},
                   .need = fmt::format("at most {} cores", kMaxCores),
                   .have = fmt::format("grid axis {} of {} points is core_parallel", kernel.coreAxis, n),
                   .help = "use `parallel` for axes that need not run at the same time"});
    return static_cast<int>(std::max<int64_t>(1, n));
  }
  if (parallelAxes(kernel) == 0 || kernel.usesCommunication) return 1;
  return static_cast<int>(std::clamp<int64_t>(options.cores, 1, kMaxCores));
}

/// The bytes of one program: the values that the kernel and its index maps hold at the same time.
int64_t bytesOfValues(const CompiledKernel& kernel) {
  int64_t bytes = kernel.valueBytes;
  for (const OperandPlan& operand : kernel.operands)
    if (operand.map.program) bytes += valueBytes(*operand.map.program);
  return bytes;
}

GridWalk walkOf(const CompiledKernel& kernel, const std::vector<int64_t>& bounds, int core, int cores) {
  if (kernel.coreAxis >= 0) return GridWalk::fixed(bounds, kernel.coreAxis, core);
  if (cores == 1) return GridWalk(bounds);
  return GridWalk(bounds, parallelAxes(kernel), core, cores);
}

}  // namespace

Status checkGridSteps(const CompiledKernel& kernel, const std::vector<Array>& operands, int64_t stepLimit) {
  if (stepLimit == 0) return success();
  if (kernel.fixedGridSteps && *kernel.fixedGridSteps <= stepLimit) return success();
  const std::vector<int64_t> bounds = boundsOfCall(kernel.grid, operands);
  const int64_t steps = gridPoints(bounds);
  if (steps <= stepLimit) return success();
  return fail({.code = "SM4104",
               .message = "the grid has more steps than the step limit",
               .place = {},
               .where = {fmt::format("kernel '{}'", kernel.name)},
               .need = fmt::format("at most {} instructions and grid steps", stepLimit),
               .have = fmt::format("a grid of {}", fmt::join(bounds, " x ")),
               .help = "make the grid smaller, or raise the step limit"});
}

Result<KernelResult> run(const CompiledKernel& kernel, std::span<const std::vector<Array>> operands,
                         const MachineOptions& options, std::span<Observer* const> extra) {
  const int here = static_cast<int>(operands.size()), devices = options.allDevices > 0 ? options.allDevices : here;
  if (here == 0) return KernelResult{};
  for (const auto& perDevice : operands)
    if (auto ok = checkOperands(kernel, perDevice); !ok) return fail(std::move(ok.error()));
  std::vector<std::vector<int64_t>> bounds;
  int cores = 1;
  for (const auto& perDevice : operands) {
    if (auto ok = checkGridSteps(kernel, perDevice, options.stepLimit); !ok) return fail(std::move(ok.error()));
    bounds.push_back(boundsOfCall(kernel.grid, perDevice));
    auto n = numCores(kernel, bounds.back(), options);
    if (!n) return fail(std::move(n.error()));
    cores = std::max(cores, *n);
  }

  Checks checks(kernel, options, devices, cores, extra);
  Runtime runtime(kernel, options, devices, here, cores, checks.observer(), checks.findings());
  if (auto ok = setUpDevices(runtime, operands); !ok) return fail(std::move(ok.error()));
  std::vector<std::unique_ptr<CoreExecution>> programs;
  const int64_t values = bytesOfValues(kernel);
  for (const int d : runtime.devicesHere())
    for (int c = 0; c < cores; ++c) {
      if (auto ok = runtime.memory.take(values, "the kernel's values"); !ok) return fail(std::move(ok.error()));
      const std::vector<int64_t>& grid = bounds[static_cast<size_t>(d - options.firstDevice)];
      programs.push_back(std::make_unique<CoreExecution>(runtime, d, c, grid, walkOf(kernel, grid, c, cores),
                                                         static_cast<int>(programs.size())));
    }
  if (auto ok = runtime.transport->barrier(); !ok) return fail(std::move(ok.error()));
  if (auto ok = runCores(runtime, programs); !ok) {
    Diagnostic failure = std::move(ok.error());
    // What was found before may be the cause, such as a size that was read outside of a ref.
    for (Finding& f : checks.takeFindings()) failure.related.push_back(std::move(f.diagnostic));
    return fail(std::move(failure));
  }
  checks.runEnd(runtime);

  KernelResult result;
  for (const int d : runtime.devicesHere()) {
    auto arrays = takeResults(runtime, d);
    if (!arrays) return fail(std::move(arrays.error()));
    result.results.push_back(std::move(*arrays));
  }
  result.findings = checks.takeFindings();
  result.log = std::move(runtime.log);
  result.statistics = runtime.statistics;
  for (const auto& p : programs) result.statistics.instructions += p->work();
  result.statistics.valueBytes = kernel.valueBytes;
  return result;
}

}  // namespace smalti::machine
