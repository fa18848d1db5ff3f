// Tasks that may block until other tasks have run.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>

namespace smalti::python {

/// Every task gets a thread that no unfinished task occupies. Threads that are idle are used again.
class BlockingTasks {
 public:
  static BlockingTasks& instance();

  /// Returns immediately.
  void start(std::function<void()> task);

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  size_t idleThreads_ = 0;
};

}  // namespace smalti::python
