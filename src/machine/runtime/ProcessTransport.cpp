#include "machine/ProcessTransport.h"

#include <algorithm>
#include <array>
#include <thread>

#include <fmt/format.h>

#include "machine/runtime/MessageBytes.h"

namespace smalti::machine {
namespace {

using std::chrono::microseconds;

enum class Kind : uint8_t { put, signal, barrier, probe, state, deadlock, gaveUp };

/// Rank 0 asks in rounds whether everybody stands still: first at once, then less and less often.
constexpr microseconds kFirstProbe{200}, kLastProbe{50'000};
/// How long a wait lasts at most before its caller looks at its own limits again.
constexpr microseconds kWait{100'000};

/// What a process says of itself to rank 0. The sums of what has been sent and received by all are equal in two rounds
/// one after the other, with everybody idle in both, only if no message was on its way in between (Mattern's
/// four-counter method, "Algorithms for distributed termination detection", 1987).
struct Standing {
  bool idle = false, atBarrier = false;
  uint64_t sent = 0, received = 0;
};

class ProcessTransport final : public Transport {
 public:
  ProcessTransport(Endpoint& endpoint, KernelMessages& messages, int64_t devices)
      : endpoint_(endpoint),
        messages_(messages),
        processes_(*messages.processes),
        run_(++messages.runs),
        perProcess_(std::max<int64_t>(1, devices / processes_.count())),
        standings_(static_cast<size_t>(processes_.count())) {}

  ~ProcessTransport() override {
    if (barriers_ < 2) toAll(Kind::gaveUp, {});  // they would wait for this process
  }

  Status put(const PutMessage& m) override { return pass(m, m.target.allocation.device, Kind::put); }
  Status signal(const SignalMessage& m) override { return pass(m, m.semaphore.allocation.device, Kind::signal); }

  Result<bool> progress() override {
    delivered_ = false;
    if (Status ok = takeAll(microseconds(0)); !ok) return fail(std::move(ok.error()));
    return delivered_;
  }

  bool awaitsMessages() override {
    delivered_ = false;
    waitUntil([&] { return delivered_ || deadlock_ || !failed_; }, /*atBarrier=*/false);
    return !deadlock_;
  }

  Status barrier() override {
    ++barriers_;
    toAll(Kind::barrier, {});
    const uint64_t all = barriers_ * static_cast<uint64_t>(processes_.count() - 1);
    while (arrivals_ < all && failed_)
      waitUntil([&] { return arrivals_ >= all || deadlock_ || !failed_; }, /*atBarrier=*/true);
    return failed_;
  }

 private:
  template <class M>
  Status pass(const M& m, int64_t device, Kind kind) {
    const int64_t to = device / perProcess_;
    if (device < 0 || to >= processes_.count() || to == processes_.rank()) return endpoint_.deliver(m);
    ByteWriter w = begin(kind);
    write(w, m);
    ++self_.sent;
    return processes_.send(static_cast<int>(to), Processes::Channel::kernel, w.bytes());
  }

  ByteWriter begin(Kind kind) const {
    ByteWriter w;
    w.add(run_);
    w.add(kind);
    return w;
  }
  void send(int to, Kind kind, std::span<const std::byte> rest) {
    ByteWriter w = begin(kind);
    w.addBytes(rest);
    if (Status ok = processes_.send(to, Processes::Channel::kernel, w.bytes()); !ok && failed_) failed_ = std::move(ok);
  }
  void toAll(Kind kind, std::span<const std::byte> rest) {
    for (int r = 0; r < processes_.count(); ++r)
      if (r != processes_.rank()) send(r, kind, rest);
  }

  /// Handles messages until `done`, at most for kWait.
  template <class Done>
  void waitUntil(Done done, bool atBarrier) {
    self_.idle = true;
    self_.atBarrier = atBarrier;
    const auto end = std::chrono::steady_clock::now() + kWait;
    while (!done() && std::chrono::steady_clock::now() < end) {
      probeIfDue();
      if (Status ok = takeAll(std::min(probePause_, microseconds(1000))); !ok && failed_) failed_ = std::move(ok);
    }
    self_.idle = false;
  }

  Status takeAll(microseconds wait) {
    for (auto kept = std::exchange(messages_.early, {}); Processes::Message& m : kept)
      if (Status ok = take(std::move(m)); !ok) return ok;
    for (;;) {
      auto message = processes_.receive(Processes::Channel::kernel, -1, wait);
      if (!message) return fail(std::move(message.error()));
      if (!*message) return failed_;
      if (Status ok = take(std::move(**message)); !ok) return ok;
      wait = microseconds(0);
    }
  }

  Status take(Processes::Message message) {
    ByteReader r(message.bytes);
    const auto run = r.get<uint64_t>();
    const Kind kind = r.get<Kind>();
    if (run > run_) messages_.early.push_back(std::move(message));
    if (run != run_) return {};  // of one that this process has given up
    switch (kind) {
      case Kind::put: {
        const PutMessage m = readPut(r);
        return r.atEnd() ? received(endpoint_.deliver(m)) : unreadable(message.from);
      }
      case Kind::signal: {
        const SignalMessage m = readSignal(r);
        return r.atEnd() ? received(endpoint_.deliver(m)) : unreadable(message.from);
      }
      case Kind::barrier:
        ++arrivals_;
        return {};
      case Kind::probe: {
        ByteWriter w;
        w.add(r.get<uint64_t>());
        w.add(self_.idle);
        w.add(self_.atBarrier);
        w.add(self_.sent);
        w.add(self_.received);
        send(message.from, Kind::state, w.bytes());
        return {};
      }
      case Kind::state: {
        if (r.get<uint64_t>() != round_) return {};
        Standing& s = standings_[static_cast<size_t>(message.from)];
        s.idle = r.get<bool>();
        s.atBarrier = r.get<bool>();
        s.sent = r.get<uint64_t>();
        s.received = r.get<uint64_t>();
        if (++answers_ == processes_.count() - 1) judge();
        return {};
      }
      case Kind::deadlock:
        deadlock_ = true;
        if (self_.atBarrier && failed_) failed_ = gaveUp(message.from, "its devices wait for each other for ever");
        return {};
      case Kind::gaveUp:
        return failed_ = gaveUp(message.from, "it has given up the kernel");
    }
    return unreadable(message.from);
  }

  Status received(Status delivered) {
    ++self_.received;
    delivered_ = true;
    return delivered;
  }

  void probeIfDue() {
    if (processes_.rank() != 0 || asking_) return;
    const auto now = std::chrono::steady_clock::now();
    if (now < nextProbe_) return;
    asking_ = true;
    answers_ = 0;
    ++round_;
    ByteWriter w;
    w.add(round_);
    toAll(Kind::probe, w.bytes());
    nextProbe_ = now + probePause_;
    probePause_ = std::min(2 * probePause_, kLastProbe);
  }

  void judge() {
    asking_ = false;
    standings_[0] = self_;
    Standing all{.idle = true, .atBarrier = true};
    for (const Standing& s : standings_) {
      all.idle &= s.idle;
      all.atBarrier &= s.atBarrier;
      all.sent += s.sent;
      all.received += s.received;
    }
    const bool still = all.idle && !all.atBarrier && all.sent == all.received;
    if (still && stillBefore_ && all.sent == sentBefore_) {
      deadlock_ = true;
      toAll(Kind::deadlock, {});
      if (self_.atBarrier && failed_)
        failed_ = gaveUp(0, "the devices of another process wait for each other for ever");
    }
    stillBefore_ = still;
    sentBefore_ = all.sent;
  }

  Status gaveUp(int rank, std::string_view why) const {
    return fail({.code = "SM5011",
                 .message = "another process has left the program",
                 .place = {},
                 .need = "every process to run the kernel to its end",
                 .have = fmt::format("{}: {}", processes_.name(rank), why),
                 .help = "look at what that process prints"});
  }
  Status unreadable(int rank) const {
    return fail({.code = "SM4058",
                 .message = "a message from another device does not fit this one: it cannot be read",
                 .place = {},
                 .need = "the same version of Smalti in every process",
                 .have = fmt::format("a message of {}", processes_.name(rank)),
                 .help = "start all processes with the same program, inputs and options"});
  }

  Endpoint& endpoint_;
  KernelMessages& messages_;
  Processes& processes_;
  const uint64_t run_;
  const int64_t perProcess_;
  uint64_t barriers_ = 0, arrivals_ = 0;
  Standing self_;
  bool delivered_ = false, deadlock_ = false;
  Status failed_;
  // Of rank 0, which looks for deadlocks.
  std::vector<Standing> standings_;
  uint64_t round_ = 0, sentBefore_ = 0;
  int answers_ = 0;
  bool asking_ = false, stillBefore_ = false;
  microseconds probePause_ = kFirstProbe;
  std::chrono::steady_clock::time_point nextProbe_{};
};

}  // namespace

std::unique_ptr<Transport> makeProcessTransport(Endpoint& endpoint, KernelMessages& messages, int64_t devices) {
  return std::make_unique<ProcessTransport>(endpoint, messages, devices);
}

}  // namespace smalti::machine
