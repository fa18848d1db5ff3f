#include "driver/target/Alarm.h"

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace smalti::driver {

Alarm::Alarm(double seconds, const std::atomic<bool>* watched, std::function<void()> ring) : ring_(std::move(ring)) {
  sigset_t all, before;  // signals are for the user's own threads
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this, seconds, watched] { wait(seconds, watched); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Alarm::~Alarm() {
  {
    const std::lock_guard lock(mutex_);
    isOver_ = true;
  }
  over_.notify_one();
  thread_.join();
}

void Alarm::wait(double seconds, const std::atomic<bool>* watched) {
  using Clock = std::chrono::steady_clock;
  constexpr double kMax = 1e9;  // the clock cannot represent longer times
  const auto end = Clock::now() +
                   std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(std::min(seconds, kMax)));
  std::unique_lock lock(mutex_);
  while (!isOver_ && Clock::now() < end && !(watched && watched->load(std::memory_order_relaxed)))
    over_.wait_until(lock, watched ? std::min(end, Clock::now() + std::chrono::milliseconds(10)) : end);
  if (!isOver_) ring_();
}

}  // namespace smalti::driver
