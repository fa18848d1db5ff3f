#include "limits/Team.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <numeric>

#include "actor/Actor.h"

namespace smalti::bench {
namespace {

void pin(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

std::vector<int> cpusOfThisProcess() {
  cpu_set_t set;
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  if (cpus.empty()) cpus.push_back(0);
  return cpus;
}

}  // namespace

// Members are made before the caller pins itself: a thread inherits its creator's mask.
Team::Team(int threads)
    : cpus_(cpusOfThisProcess()),
      arrivals_(static_cast<size_t>(threads)),
      starts_(static_cast<size_t>(threads)),
      ends_(static_cast<size_t>(threads)) {
  for (int i = 1; i < threads; ++i) threads_.emplace_back([this, i] { member(i); });
  pin(cpus_[0]);
}

Team::~Team() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (std::thread& t : threads_) t.join();
}

void Team::play(int index, const std::function<void(int)>& part) {
  arrivals_[static_cast<size_t>(index)] = seconds();
  ++arrived_;
  while (arrived_ < size()) {
  }
  starts_[static_cast<size_t>(index)] = seconds();
  part(index);
  ends_[static_cast<size_t>(index)] = seconds();
}

double Team::run(const std::function<void(int)>& part) {
  arrived_ = 0, left_ = 0;
  {
    const std::lock_guard lock(mutex_);
    part_ = &part;
    ++generation_;
  }
  wake_.notify_all();
  play(0, part);
  while (left_ < size() - 1) {
  }
  return *std::max_element(ends_.begin(), ends_.end()) - *std::min_element(starts_.begin(), starts_.end());
}

double Team::wake() {
  const double call = seconds();
  run([](int) {});
  return std::accumulate(arrivals_.begin(), arrivals_.end(), 0.) / size() - call;
}

void Team::member(int index) {
  pin(cpus_[index % cpus_.size()]);
  for (uint64_t seen = 0;;) {
    const std::function<void(int)>* part = nullptr;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return stop_ || generation_ != seen; });
      if (stop_) return;
      seen = generation_;
      part = part_;
    }
    play(index, *part);
    ++left_;
  }
}

}  // namespace smalti::bench
