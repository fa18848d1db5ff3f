// A limit on the time of an execution.
#pragma once

#include <atomic>
#include <string_view>
#include <utility>

#include "driver/target/Alarm.h"
#include "driver/target/RunOptions.h"
#include "smalti/diagnostic.h"

namespace smalti::driver {

/// SM9012. `work`: "run", "case", "module".
Diagnostic notInTime(std::string_view work, double seconds);
/// SM9006, of a program between its ops. `where`: "program 'main'".
Diagnostic stoppedAt(const SourcePlace&, std::string where);

/// Has an execution stop when its time is over.
class TimeLimit {
 public:
  explicit TimeLimit(ExecuteSettings);
  const ExecuteSettings& settings() const { return settings_; }
  /// SM9012 for what ended because the time was over.
  Diagnostic judged(Diagnostic) const;

 private:
  ExecuteSettings settings_;
  const std::atomic<bool>* callersStop_;
  std::atomic<bool> stop_{false};
  Alarm alarm_;
};

/// What `run` gives for the settings; SM9012 after their time limit, if they have one.
template <class Run>
auto withinTimeLimit(const ExecuteSettings& settings, Run&& run) -> decltype(run(settings)) {
  if (settings.timeLimitSeconds <= 0) return run(settings);
  const TimeLimit limit(settings);
  auto result = run(limit.settings());
  if (!result) return fail(limit.judged(std::move(result.error())));
  return result;
}

}  // namespace smalti::driver
