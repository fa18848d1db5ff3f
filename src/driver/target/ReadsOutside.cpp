#include "driver/target/ReadsOutside.h"

#include <algorithm>
#include <atomic>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "driver/target/Alarm.h"

namespace smalti::driver {
namespace {

/// Seconds; chosen, not measured. The machine takes up to a thousand times as long as native code: minutes for a layer
/// of a large model.
constexpr double kLongest = 2;
/// Instructions between two looks at the clock. An instruction on a large block takes milliseconds.
constexpr int64_t kBetweenLooks = 64;

Finding findingOf(std::string_view what, std::string_view kernel) {
  return {{.code = "SM4010",
           .message = fmt::format("out-of-bounds read{}: elements outside are undefined", what),
           .place = {},
           .where = {fmt::format("kernel '{}'", kernel)},
           .need = {},
           .have = {},
           .help = "harmless if nothing uses those elements; otherwise clamp the index, which `smalti check` reports"}};
}

bool isAmong(const std::vector<Finding>& findings, const SourcePlace& place) {
  return std::ranges::any_of(findings, [&](const Finding& f) { return f.diagnostic.place == place; });
}

}  // namespace

std::vector<Finding> readsOutside(const std::vector<SourcePlace>& places, std::string_view kernel) {
  std::vector<Finding> findings;
  for (const SourcePlace& place : places) {
    findings.push_back(findingOf("", kernel));
    findings.back().diagnostic.place = place;
  }
  return findings;
}

Finding scalarReadOutside(std::string_view kernel) { return findingOf(" of a scalar", kernel); }

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
    if (d.code == "SM4010") findings.push_back({d});
  const bool nothingKnown = findings.empty();
  for (Finding& f : unnamed)
    if (nothingKnown || (f.diagnostic.place.known() && !isAmong(findings, f.diagnostic.place)))
      findings.push_back(std::move(f));
  return findings;
}

}  // namespace smalti::driver
