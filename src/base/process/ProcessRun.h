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

/// For one thread at a time.
class ProcessRun {
 public:
  /// The devices of this process, as their messages see them.
  class Devices {
   public:
    virtual ~Devices() = default;
    /// Reads a message to its end.
    virtual Status deliver(int from, ByteReader&) = 0;
    /// None of them can go on until a message comes: not after one that lets a device go on, though it has yet to
    /// see it.
    virtual bool idle() const = 0;
  };

  /// The next kernel that the processes run together; process r has the devices [r, r + 1) * devices / count.
  ProcessRun(Devices&, KernelMessages&, int64_t devices);
  /// After fewer than two barriers the others are told that this process has given up.
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
  /// For a process that is idle: looks from time to time whether all are, and delivers until `done`, at most for a
  /// tenth of a second.
  void waitUntil(const std::function<bool()>& done);
  /// All processes know that the run ends here, before its second barrier.
  void ends() { barriers_ = 2; }
  /// No process can continue and no message is in flight: all of them are notified.
  bool deadlock() const { return deadlock_; }
  const Status& failed() const { return failed_; }

  /// Every process comes here before any goes on, and all that was sent before has been delivered. What each of them
  /// says, by rank. With `throughDeadlock` those that are stuck come here in the end; else SM5011 at a deadlock.
  Result<std::vector<uint64_t>> barrier(uint64_t says, bool throughDeadlock, const std::function<bool()>& stop = {});

 private:
  enum class Kind : uint8_t { content, barrier, probe, state, deadlock, gaveUp };
  bool allAtBarrier() const;
  /// What a process says of itself to rank 0: it counts what makes others go on, content and arrivals at barriers, and
  /// is not idle once such a message has come, before it goes on itself. The sums of what has been sent and received by
  /// all are equal in two rounds one after the other, with everybody idle in both, only if no message was on its way in
  /// between (Mattern's four-counter method, "Algorithms for distributed termination detection", 1987).
  struct Standing {
    bool idle = false, atBarrier = false;
    uint64_t sent = 0, received = 0;
  };

  ByteWriter begin(Kind) const;
  void tell(int to, ByteWriter message);
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
  // Of rank 0, which looks for deadlocks.
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
