// A call after a time.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace smalti::driver {

/// Calls `ring` once, on a thread of its own, after these seconds or when `watched` (may be null) is true, but not
/// after it is destroyed.
class Alarm {
 public:
  Alarm(double seconds, const std::atomic<bool>* watched, std::function<void()> ring);
  ~Alarm();
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;

 private:
  void wait(double seconds, const std::atomic<bool>* watched);

  std::mutex mutex_;
  std::condition_variable over_;
  bool isOver_ = false;
  std::function<void()> ring_;
  std::thread thread_;
};

}  // namespace smalti::driver
