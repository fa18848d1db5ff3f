#include "driver/target/ReadsOutside.h"

#include <algorithm>
#include <atomic>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "driver/target/Alarm.h"
#include "machine/pipeline/BlockOutside.h"
#include "machine/runtime/Compiled.h"

namespace smalti::driver {
namespace {

/// Seconds; chosen, not measured. The machine takes up to a thousand times as long as native code: minutes for a layer
/// of a large model.
constexpr double kLongest = 2;
/// Instructions between two looks at the clock. An instruction on a large block takes milliseconds.
constexpr int64_t kBetweenLooks = 64;

Finding warning(Diagnostic d, const machine::CompiledKernel& kernel) {
  d.where = {fmt::format("kernel '{}'", kernel.name)};
  return {.diagnostic = std::move(d), .severity = Severity::warning};
}

Finding ofLoad(std::string_view what, SourcePlace place, const machine::CompiledKernel& kernel) {
  return warning(
      {.code = "SM4010",
       .message = fmt::format("out-of-bounds read{}: elements outside are undefined", what),
       .place = std::move(place),
       .help = "harmless if nothing uses those elements; otherwise clamp the index, which `smalti check` reports"},
      kernel);
}

bool isAmong(const std::vector<Finding>& findings, const SourcePlace& place) {
  return std::ranges::any_of(findings, [&](const Finding& f) { return f.diagnostic.place == place; });
}

}  // namespace

std::vector<Finding> readsOutside(const cpu::ReadsOutsideRefs& seen, const machine::CompiledKernel& kernel) {
  std::vector<Finding> findings;
  for (const SourcePlace& place : seen.loads) findings.push_back(ofLoad("", place, kernel));
  for (const int operand : seen.blocks)
    findings.push_back(
        warning(machine::undefinedBlock(machine::blockOutside(kernel.operands[static_cast<size_t>(operand)])), kernel));
  return findings;
}

std::vector<Finding> readsOutside(cpu::KernelStatus end, const machine::CompiledKernel& kernel) {
  if (end == cpu::KernelStatus::readOutside) return {ofLoad(" of a scalar", {}, kernel)};
  if (end != cpu::KernelStatus::blockReadOutside) return {};
  return {warning(machine::undefinedBlock({.code = "SM4111",
                                           .message = "the index map of an input gives a block outside the array",
                                           .help = "clamp the block index, which `smalti check` reports"}),
                  kernel)};
}

std::vector<Finding> ReadsOutside::named(std::vector<Finding> unnamed, const machine::CompiledKernel& kernel,
                                         std::span<const std::vector<Array>> operands, const Contract& contract,
                                         const ExecuteSettings& settings) {
  if (named_.exchange(true)) return unnamed;
  // A further owner, so that the machine leaves the operands as they are.
  const std::vector<std::vector<Array>> kept(operands.begin(), operands.end());
  machine::MachineOptions options = machineOptionsInPlaceOfCode(contract, settings);
  std::atomic<bool> stop{false};
  const Alarm alarm(kLongest, options.stop, [&] { stop.store(true, std::memory_order_relaxed); });
  options.stop = &stop;
  options.stepQuantum = kBetweenLooks;
  auto result = machine::run(kernel, operands, options);
  if (result) return std::move(result->findings);
  std::vector<Finding> findings;
  for (const Diagnostic& d : result.error().related)
    if (d.code == "SM4010") findings.push_back({.diagnostic = d, .severity = Severity::warning});
  const bool nothingKnown = findings.empty();
  for (Finding& f : unnamed)
    if (nothingKnown || (f.diagnostic.place.known() && !isAmong(findings, f.diagnostic.place)))
      findings.push_back(std::move(f));
  return findings;
}

}  // namespace smalti::driver
