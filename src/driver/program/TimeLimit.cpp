#include "driver/program/TimeLimit.h"

#include <fmt/format.h>

namespace smalti::driver {

Diagnostic notInTime(std::string_view work, double seconds) {
  return {.code = "SM9012",
          .message = fmt::format("the {} timed out", work),
          .place = {},
          .need = fmt::format("at most {} s", seconds),
          .help = "raise --timeout-seconds, or lower --step-limit to see where it hangs"};
}

Diagnostic stoppedAt(const SourcePlace& place, std::string where) {
  return {.code = "SM9006",
          .message = "the run was stopped before its end",
          .place = place,
          .where = {std::move(where)},
          .need = "a program that finishes within the caller's time limit",
          .help = "give it more time, or smaller inputs"};
}

TimeLimit::TimeLimit(ExecuteSettings settings)
    : settings_(std::move(settings)),
      callersStop_(settings_.stop),
      alarm_(settings_.timeLimitSeconds, callersStop_, [this] { stop_.store(true, std::memory_order_relaxed); }) {
  settings_.stop = &stop_;
}

Diagnostic TimeLimit::judged(Diagnostic d) const {
  if (d.code != "SM9006" || (callersStop_ && callersStop_->load(std::memory_order_relaxed))) return d;
  Diagnostic late = notInTime("run", settings_.timeLimitSeconds);
  late.place = std::move(d.place);
  late.where = std::move(d.where);
  late.have = std::move(d.have);
  late.related = std::move(d.related);
  for (Diagnostic& r : late.related) r.code = late.code;
  return late;
}

}  // namespace smalti::driver
