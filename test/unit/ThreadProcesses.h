// Processes that are threads of one, for tests of what is spread over several.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>

#include "base/process/Processes.h"

namespace smalti::test {

/// Messages between threads that each stand for a process.
class Post {
 public:
  explicit Post(int count) : boxes_(static_cast<size_t>(count)) {}
  int count() const { return static_cast<int>(boxes_.size()); }
  /// How many messages all have sent.
  int sent() const { return sent_; }
  void put(int to, Processes::Channel channel, Processes::Message message) {
    const std::lock_guard lock(mutex_);
    ++sent_;
    boxes_[static_cast<size_t>(to)].push_back({channel, std::move(message)});
    changed_.notify_all();
  }
  std::optional<Processes::Message> take(int who, Processes::Channel channel, int from,
                                         std::chrono::microseconds wait) {
    std::unique_lock lock(mutex_);
    std::optional<Processes::Message> found;
    changed_.wait_for(lock, wait, [&] {
      auto& box = boxes_[static_cast<size_t>(who)];
      for (auto it = box.begin(); it != box.end(); ++it)
        if (it->channel == channel && (from < 0 || it->message.from == from)) {
          found = std::move(it->message);
          box.erase(it);
          return true;
        }
      return false;
    });
    return found;
  }

 private:
  struct Letter {
    Processes::Channel channel;
    Processes::Message message;
  };
  std::mutex mutex_;
  int sent_ = 0;
  std::condition_variable changed_;
  std::vector<std::deque<Letter>> boxes_;
};

class ThreadProcesses final : public Processes {
 public:
  /// `lag`: how much longer it takes until it sees that nothing has come.
  ThreadProcesses(Post& post, int rank, std::chrono::microseconds lag = {}) : post_(post), rank_(rank), lag_(lag) {}
  int rank() const override { return rank_; }
  int count() const override { return post_.count(); }
  std::string name(int rank) const override { return "thread " + std::to_string(rank); }
  Status send(int to, Channel channel, Bytes message) override {
    post_.put(to, channel, {rank_, std::move(message)});
    return {};
  }
  Result<std::optional<Message>> receive(Channel channel, int from, std::chrono::microseconds wait) override {
    return post_.take(rank_, channel, from, wait + lag_);
  }

 private:
  Post& post_;
  int rank_;
  std::chrono::microseconds lag_;
};

}  // namespace smalti::test
