// The times that measured code records, of one thread.
#pragma once

#include <chrono>

#include "cpu/Measurement.h"

namespace smalti::cpu {

class Stamps {
 public:
  using Clock = std::chrono::steady_clock;
  Stamps(size_t parts, Clock::time_point begin) : ns_(parts), times_(parts), begin_(begin), last_(begin) {}

  /// The following time belongs to the part; `opens`: it has just begun.
  void stamp(int32_t part, bool opens) {
    const auto now = Clock::now();
    ns_[current_] += nanoseconds(now - last_);
    current_ = static_cast<size_t>(part);
    times_[current_] += opens;
    last_ = now;
  }
  void step(int64_t number) {
    endStep();
    step_ = number;
    stepBegan_ = Clock::now();
    ++steps_;
  }
  /// The thread is idle: time is not counted until `begins`.
  void ends() {
    stamp(0, false);
    endStep();
    step_ = -1;
  }
  void begins() { last_ = Clock::now(); }

  void addTo(Measurement& m, int thread) const {
    for (size_t p = 0; p < ns_.size(); ++p) {
      m.parts[p].ns += ns_[p];
      m.parts[p].times += times_[p];
    }
    m.steps += steps_;
    for (MeasuredStep s : first_) {
      s.thread = thread;
      m.firstSteps.push_back(s);
    }
  }

 private:
  static double nanoseconds(Clock::duration d) { return std::chrono::duration<double, std::nano>(d).count(); }
  void endStep() {
    if (step_ < 0 || first_.size() >= kMaxMeasuredSteps) return;
    first_.push_back({0, step_, nanoseconds(stepBegan_ - begin_), nanoseconds(Clock::now() - begin_)});
  }

  std::vector<double> ns_;
  std::vector<int64_t> times_;
  std::vector<MeasuredStep> first_;
  Clock::time_point begin_, last_, stepBegan_;
  size_t current_ = 0;
  int64_t step_ = -1, steps_ = 0;
};

}  // namespace smalti::cpu
