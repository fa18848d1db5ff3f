// Processes over MPI: point-to-point messages of bytes on a communicator of our own.
#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>
#include <thread>

#include "base/MpiEntry.h"
#include "base/process/StoppedProcess.h"
#include "mpi/PeerMonitor.h"

namespace smalti {

MessageMemory messageMemory;

namespace {

/// MPI counts elements by int. A message is sent in parts; a full part is followed by another one.
constexpr size_t kPart = size_t{1} << 30;  // bytes
/// A receiver polls: first without pauses, which last longer than they should and delay short computations, then with
/// pauses.
constexpr std::chrono::microseconds kSpin{2000}, kPause{50};

std::string errorText(int code) {
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  return {text, static_cast<size_t>(length)};
}

class MpiProcesses final : public Processes {
 public:
  explicit MpiProcesses(MPI_Comm comm) : comm_(comm) {
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &count_);
    char host[MPI_MAX_PROCESSOR_NAME] = {};
    int length = 0;
    MPI_Get_processor_name(host, &length);
    std::vector<char> hosts(static_cast<size_t>(count_) * MPI_MAX_PROCESSOR_NAME);
    MPI_Allgather(host, MPI_MAX_PROCESSOR_NAME, MPI_CHAR, hosts.data(), MPI_MAX_PROCESSOR_NAME, MPI_CHAR, comm_);
    for (int r = 0; r < count_; ++r) hosts_.emplace_back(&hosts[static_cast<size_t>(r) * MPI_MAX_PROCESSOR_NAME]);
    std::vector<std::string> names;
    for (int r = 0; r < count_; ++r) names.push_back(name(r));
    if (count_ > 1)
      lifelines_.emplace(rank_, std::move(names), [this](const std::string& mine) { return gather(mine); });
  }

  int rank() const override { return rank_; }
  int count() const override { return count_; }
  std::string name(int rank) const override {
    return "process " + std::to_string(rank) + " on " + hosts_[static_cast<size_t>(rank)];
  }

  Status send(int to, Channel channel, Bytes message) override {
    const std::lock_guard lock(mutex_);
    Sent& sent = sent_.emplace_back();
    sent.bytes = std::move(message);
    for (size_t at = 0;; at += kPart) {
      const size_t n = std::min(kPart, sent.bytes.size() - at);
      if (const int code = MPI_Isend(sent.bytes.data() + at, static_cast<int>(n), MPI_BYTE, to,
                                     static_cast<int>(channel), comm_, &sent.requests.emplace_back()))
        return failed("send to", to, code);
      if (n < kPart) break;
    }
    release();
    return {};
  }

  Result<std::optional<Message>> receive(Channel channel, int from, std::chrono::microseconds wait) override {
    const auto begin = std::chrono::steady_clock::now();
    for (;;) {
      {
        const std::lock_guard lock(mutex_);
        auto message = take(channel, from);
        if (!message || *message) return message;
        release();
      }
      if (lifelines_ && lifelines_->dead() >= 0) {
        lifelines_->setReported();
        return fail(died(lifelines_->dead()));
      }
      if (const int ended = lifelines_ ? lifelines_->ended(from) : -1; ended >= 0) {
        waitedInVain_ = true;
        return fail(stoppedProcess(name(ended) + " has ended", kSeeItsOutput));
      }
      const auto waited = std::chrono::steady_clock::now() - begin;
      if (waited >= wait) return std::nullopt;
      if (waited > kSpin)
        std::this_thread::sleep_for(kPause);
      else
        std::this_thread::yield();
    }
  }

  /// MPI still reads the messages that were sent.
  void finish() {
    const std::lock_guard lock(mutex_);
    int finalized = 0;
    MPI_Finalized(&finalized);
    const bool alone = isAlone();
    lifelines_.reset();
    if (finalized || alone) return;
    for (Sent& s : sent_) MPI_Waitall(static_cast<int>(s.requests.size()), s.requests.data(), MPI_STATUSES_IGNORE);
    sent_.clear();
  }

  /// A process has died, or does not receive what this one has sent: MPI would wait for it forever.
  bool isAlone() const { return waitedInVain_ || (lifelines_ && lifelines_->dead() >= 0); }

 private:
  /// The value of every process, by rank.
  std::vector<std::string> gather(const std::string& mine) {
    constexpr size_t kMax = 1024;
    std::string text = mine.substr(0, kMax - 1);
    text.resize(kMax, '\0');
    std::vector<char> all(kMax * static_cast<size_t>(count_));
    MPI_Allgather(text.data(), kMax, MPI_CHAR, all.data(), kMax, MPI_CHAR, comm_);
    std::vector<std::string> texts;
    for (size_t r = 0; r < static_cast<size_t>(count_); ++r) texts.emplace_back(&all[r * kMax]);
    return texts;
  }

  Diagnostic died(int rank) const { return stoppedProcess(name(rank) + " has died", kSeeItsOutputAndTheLauncher); }

  struct Sent {
    Bytes bytes;
    std::vector<MPI_Request> requests;
  };

  Result<std::optional<Message>> take(Channel channel, int from) {
    Message message;
    int source = from < 0 ? MPI_ANY_SOURCE : from;
    for (bool first = true;; first = false) {
      int there = 0;
      MPI_Message handle{};
      MPI_Status status{};
      const int tag = static_cast<int>(channel);
      const int code = first ? MPI_Improbe(source, tag, comm_, &there, &handle, &status)
                             : MPI_Mprobe(source, tag, comm_, &handle, &status);
      if (code) return fail(failed("receive from", from, code).error());
      if (first && !there) return std::nullopt;
      int n = 0;
      MPI_Get_count(&status, MPI_BYTE, &n);
      const size_t at = message.bytes.size();
      message.bytes.resize(at + static_cast<size_t>(n));
      if (const int received = MPI_Mrecv(message.bytes.data() + at, n, MPI_BYTE, &handle, &status))
        return fail(failed("receive from", from, received).error());
      message.from = source = status.MPI_SOURCE;
      if (static_cast<size_t>(n) < kPart) return message;
    }
  }

  /// Forgets what has been sent.
  void release() {
    while (!sent_.empty()) {
      int done = 0;
      Sent& s = sent_.front();
      MPI_Testall(static_cast<int>(s.requests.size()), s.requests.data(), &done, MPI_STATUSES_IGNORE);
      if (!done) return;
      sent_.pop_front();
    }
  }

  Status failed(std::string_view what, int rank, int code) const {
    return fail(stoppedProcess(
        "MPI cannot " + std::string(what) + " " + (rank < 0 ? "others" : name(rank)) + ": " + errorText(code),
        kSeeItsOutputAndTheLauncher));
  }

  MPI_Comm comm_;
  int rank_ = 0, count_ = 1;
  std::vector<std::string> hosts_;
  std::mutex mutex_;
  std::deque<Sent> sent_;
  std::optional<PeerMonitor> lifelines_;
  std::atomic<bool> waitedInVain_{false};  ///< for a process that had ended
};

MpiProcesses* theProcesses = nullptr;
bool weInitialised = false;

void atEnd() {
  const bool alone = theProcesses->isAlone();
  theProcesses->finish();
  if (alone) return;
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (weInitialised && !finalized) MPI_Finalize();
}

}  // namespace
}  // namespace smalti

extern "C" __attribute__((visibility("default"))) const char* smalti_mpi_version() {
  return smalti::kMpiEntryVersion.data();
}

extern "C" __attribute__((visibility("default"))) smalti::Processes* smalti_mpi_join(
    const smalti::MessageMemory& memory, std::string& error) {
  using namespace smalti;
  messageMemory = memory;
  int initialised = 0, level = MPI_THREAD_SINGLE;
  MPI_Initialized(&initialised);
  if (initialised) {
    MPI_Query_thread(&level);
  } else {
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level);
    weInitialised = true;
  }
  if (level < MPI_THREAD_SERIALIZED) {
    error = "an MPI of one thread; the program should call MPI_Init_thread with MPI_THREAD_SERIALIZED";
    return nullptr;
  }
  MPI_Comm comm{};
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  theProcesses = new MpiProcesses(comm);  // until the process ends
  std::atexit(atEnd);
  if (theProcesses->count() == 1) return nullptr;
  return theProcesses;
}
