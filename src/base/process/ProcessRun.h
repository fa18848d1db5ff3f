// One kernel that processes run together: the messages of its devices, barriers, and detection of deadlocks.
// The contents of the messages are defined by the runner of the kernel: the abstract machine or native code.
#pragma once

#include <deque>
#include <functional>

#include "base/io/ByteStream.h"
#include "base/process/Processes.h"

namespace smalti {

/// State that persists between kernels: how many the processes have run together, and messages for the next one, which
/// some of them may have begun already.
struct KernelMessages {
  Processes* processes = nullptr;
  uint64_t runs = 0;
  std::deque<Processes::Message> early;
};

/// One thread at a time may use it.
class ProcessRun {
 public:
  /// The devices of this process, as their messages see them.
  class Devices {
   public:
    virtual ~Devices() = default;
    /// Reads a message to its end.
    virtual Status deliver(int from, ByteReader&) = 0;
    /// Whether none of them can continue before a message arrives; false after a message that lets a device continue,
    /// even if the device has not seen it yet.
    virtual bool idle() const = 0;
  };

  /// The next kernel that the processes run together; process r has the devices [r, r + 1) * devices / count.
  ProcessRun(Devices&, KernelMessages&, int64_t devices);
  /// After fewer than two barriers the others are notified that this process has given up.
  ~ProcessRun();
  ProcessRun(const ProcessRun&) = delete;
  ProcessRun& operator=(const ProcessRun&) = delete;

  /// The process of a device that is not here; -1: it is here, or there is none.
  int elsewhere(int64_t device) const;
  /// A message to the devices of a process, to be written to.
  ByteWriter message() const;
  Status send(int to, Bytes message);

  /// Delivers what has arrived, after at most `wait`. SM5011 when another process has given up.
  Result<bool> progress(std::chrono::microseconds wait);
  /// Called by an idle process: polls whether all processes are idle, and delivers messages until `done`, for at most a
  /// tenth of a second.
  void waitUntil(const std::function<bool()>& done);
  /// All processes know that the run ends here, before its second barrier.
  void ends() { barriers_ = 2; }
  /// No process can continue and no message is in flight: all of them are notified.
  bool deadlock() const { return deadlock_; }
  const Status& failed() const { return failed_; }

  /// Waits until every process has called it and all earlier messages are delivered; returns the value `says` of each
  /// process, by rank. With `throughDeadlock` deadlocked processes arrive, too; otherwise SM5011 at a deadlock.
  Result<std::vector<uint64_t>> barrier(uint64_t says, bool throughDeadlock, const std::function<bool()>& stop = {});

 private:
  enum class Kind : uint8_t { content, barrier, probe, state, deadlock, gaveUp };
  bool allAtBarrier() const;
  /// The state that a process reports to rank 0: it counts the messages that let others continue (content and arrivals
  /// at barriers), and is not idle from the arrival of such a message on. The sums of sent and of received messages of
  /// all processes are equal in two consecutive rounds, with all processes idle in both, only if no message was in
  /// flight in between (Mattern's four-counter method, "Algorithms for distributed termination detection", 1987).
  struct Standing {
    bool idle = false, atBarrier = false;
    uint64_t sent = 0, received = 0;
  };

  ByteWriter begin(Kind) const;
  void sendControl(int to, ByteWriter message);
  void sendToAll(Kind, std::span<const std::byte> rest);
  Status take(Processes::Message);
  Status takeAll(std::chrono::microseconds wait);
  Standing standing() const;
  void probeIfDue();
  void judge();
  void atDeadlock(std::string why);
  Status gaveUp(int rank, std::string_view why) const;
  Status unreadable(int rank) const;

  Devices& devices_;
  KernelMessages& messages_;
  Processes& processes_;
  const uint64_t run_;
  const int64_t perProcess_;
  int barriers_ = 0;
  std::vector<std::deque<uint64_t>> arrivals_;  ///< by rank: what it said at barriers that this process has yet to pass
  bool atBarrier_ = false, throughDeadlock_ = false;
  uint64_t sent_ = 0, received_ = 0;
  bool delivered_ = false, deadlock_ = false;
  Status failed_;
  // Used by rank 0, which detects deadlocks.
  std::vector<Standing> standings_;
  uint64_t round_ = 0, sentBefore_ = 0;
  int answers_ = 0;
  bool asking_ = false, stillBefore_ = false;
  std::chrono::microseconds probePause_;
  std::chrono::steady_clock::time_point nextProbe_{};
};

/// This process does not take part in the next kernel: the others are notified when they run it.
void giveUpNextRun(KernelMessages&);

}  // namespace smalti
