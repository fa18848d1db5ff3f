// Detects processes that have died: each has an idle connection to every other one. The system closes
// it when a process dies, however that happens, which MPI itself does not tell.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace smalti {

class PeerMonitor {
 public:
  /// Gives every process what all of them give, one after the other; as MPI_Allgather.
  using Gather = std::function<std::vector<std::string>(const std::string&)>;
  /// Called by all processes together. Those that cannot be reached (a firewall) are not watched.
  PeerMonitor(int rank, std::vector<std::string> names, const Gather&);
  /// Says goodbye: this process ends on purpose.
  ~PeerMonitor();
  PeerMonitor(const PeerMonitor&) = delete;
  PeerMonitor& operator=(const PeerMonitor&) = delete;

  /// The first process that has died; -1: none that is known of.
  int dead() const { return dead_.load(std::memory_order_acquire); }
  /// The process, or any where `rank` is negative, that ended on purpose so long ago that what it sent has arrived; -1:
  /// none.
  int ended(int rank) const;
  /// The caller reports it to the user.
  void setReported() { reported_.store(true); }

 private:
  void connectAll(const Gather&);
  void watch();
  void report() const;

  const int rank_;
  const std::vector<std::string> names_;
  std::vector<int> lines_;  ///< by rank; -1: not watched
  int wake_[2] = {-1, -1};  ///< a pipe, which ends the watch
  std::atomic<int> dead_{-1};
  std::vector<std::atomic<int64_t>> endedAt_;  ///< by rank: nanoseconds; 0: it runs
  std::atomic<bool> reported_{false};
  std::thread watcher_;
};

}  // namespace smalti
