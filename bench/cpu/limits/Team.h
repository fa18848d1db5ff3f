// Threads, one pinned to each CPU of this process's mask, that run one task together and are timed together.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace smalti::bench {

class Team {
 public:
  explicit Team(int threads);
  ~Team();
  int size() const { return static_cast<int>(threads_.size()) + 1; }
  /// part(index) on every member; returns when all are done. They start together: each waits, spinning, for the others.
  /// Gives the seconds from then until the last was done: waking them is not part of it.
  double run(const std::function<void(int)>& part);
  /// Seconds from a call until its members, the caller among them, begin: the mean over them.
  double wake();

 private:
  void member(int index);
  void play(int index, const std::function<void(int)>& part);
  std::vector<int> cpus_;
  std::vector<std::thread> threads_;
  std::vector<double> arrivals_, starts_, ends_;  ///< of each member's part
  std::mutex mutex_;
  std::condition_variable wake_;
  const std::function<void(int)>* part_ = nullptr;
  uint64_t generation_ = 0;
  bool stop_ = false;
  std::atomic<int> arrived_{0}, left_{0};
};

}  // namespace smalti::bench
