#include "BlockingTasks.h"

#include <thread>
#include <utility>

namespace smalti::python {

BlockingTasks& BlockingTasks::instance() {
  static auto* tasks = new BlockingTasks;  // its threads may still run while the process ends
  return *tasks;
}

void BlockingTasks::start(std::function<void()> task) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back(std::move(task));
  if (waiting_.size() > idleThreads_)
    std::thread([this] { work(); }).detach();
  else
    changed_.notify_one();
}

void BlockingTasks::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    ++idleThreads_;
    changed_.wait(lock, [&] { return !waiting_.empty(); });
    --idleThreads_;
    auto task = std::exchange(waiting_.front(), nullptr);
    waiting_.pop_front();
    lock.unlock();
    task();
    task = nullptr;  // what it holds may take the lock when it is destroyed
    lock.lock();
  }
}

}  // namespace smalti::python
