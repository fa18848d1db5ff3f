#include "driver/target/cpu/ReadsOutside.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "driver/target/Alarm.h"

namespace smalti::driver {
namespace {

/// Seconds. The machine takes up to a thousand times as long as native code: minutes for a layer of a large model. Of
/// the recorded kernels and those of JAX's tests that read outside, none takes a second.
constexpr double kLongest = 2;
/// Instructions between two looks at the clock. An instruction on a large block takes milliseconds.
constexpr int64_t kBetweenLooks = 64;

Finding findingOf(const SourcePlace& place) {
  return {{.code = "SM4010",
           .message = "out-of-bounds read: elements outside are undefined",
           .place = place,
           .need = {},
           .have = {},
           .help = "harmless if nothing uses those elements; otherwise clamp the index, which `smalti check` reports"}};
}

}  // namespace

std::vector<Finding> findingsOf(const std::vector<SourcePlace>& places) {
  std::vector<Finding> findings;
  for (const SourcePlace& place : places) findings.push_back(findingOf(place));
  return findings;
}

std::vector<Finding> nameElements(const std::vector<SourcePlace>& places, machine::MachineOptions options,
                                  const MachineRun& run) {
  std::atomic<bool> stop{false};
  const Alarm alarm(kLongest, options.stop, [&] { stop.store(true, std::memory_order_relaxed); });
  options.stop = &stop;
  options.stepQuantum = kBetweenLooks;
  auto result = run(options);
  if (result) return std::move(result->findings);
  std::vector<Finding> findings = findingsOf(places);
  for (Finding& finding : findings) {
    const auto known = std::ranges::find_if(result.error().related, [&](const Diagnostic& d) {
      return d.code == finding.diagnostic.code && d.place == finding.diagnostic.place;
    });
    if (known != result.error().related.end()) finding.diagnostic = *known;
  }
  return findings;
}

}  // namespace smalti::driver
