// Vector clocks: what has happened before. A thread is a program, or a line of copies of which each started when the
// one before was known to have arrived.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace smalti::machine::race {

/// A moment of one thread.
struct Epoch {
  int thread = 0;
  int64_t time = 0;
  bool operator==(const Epoch&) const = default;
};

/// Up to which moment of each thread everything has happened.
class Clock {
 public:
  int64_t of(int thread) const {
    return static_cast<size_t>(thread) < times_.size() ? times_[static_cast<size_t>(thread)] : 0;
  }
  bool covers(Epoch e) const { return e.time <= of(e.thread); }
  void reach(Epoch e) {
    if (static_cast<size_t>(e.thread) >= times_.size()) times_.resize(static_cast<size_t>(e.thread) + 1, 0);
    int64_t& time = times_[static_cast<size_t>(e.thread)];
    time = std::max(time, e.time);
  }
  void join(const Clock& other) {
    if (other.times_.size() > times_.size()) times_.resize(other.times_.size(), 0);
    for (size_t i = 0; i < other.times_.size(); ++i) times_[i] = std::max(times_[i], other.times_[i]);
  }

 private:
  std::vector<int64_t> times_;
};

}  // namespace smalti::machine::race
