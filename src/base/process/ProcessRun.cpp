#include "base/process/ProcessRun.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/process/StoppedProcess.h"

namespace smalti {
namespace {

using std::chrono::microseconds;

/// Rank 0 polls in rounds whether all processes are idle: first immediately, then less and less often.
constexpr microseconds kFirstProbe{200}, kLastProbe{50'000};
/// How long a wait lasts at most before its caller looks at its own limits again.
constexpr microseconds kWait{100'000};

}  // namespace

ProcessRun::ProcessRun(Devices& devices, KernelMessages& messages, int64_t count)
    : devices_(devices),
      messages_(messages),
      processes_(*messages.processes),
      run_(++messages.runs),
      perProcess_(std::max<int64_t>(1, count / processes_.count())),
      arrivals_(static_cast<size_t>(processes_.count())),
      standings_(static_cast<size_t>(processes_.count())),
      probePause_(kFirstProbe) {}

ProcessRun::~ProcessRun() {
  if (barriers_ < 2) sendToAll(Kind::gaveUp, {});  // otherwise they would wait for this process
}

int ProcessRun::elsewhere(int64_t device) const {
  const int64_t to = device / perProcess_;
  return device < 0 || to >= processes_.count() || to == processes_.rank() ? -1 : static_cast<int>(to);
}

ByteWriter ProcessRun::begin(Kind kind) const {
  ByteWriter w;
  w.add(run_);
  w.add(kind);
  return w;
}
ByteWriter ProcessRun::message() const { return begin(Kind::content); }

Status ProcessRun::send(int to, Bytes message) {
  ++sent_;
  return processes_.send(to, Processes::Channel::kernel, std::move(message));
}

void ProcessRun::sendControl(int to, ByteWriter message) {
  if (Status ok = processes_.send(to, Processes::Channel::kernel, message.take()); !ok && failed_)
    failed_ = std::move(ok);
}
void ProcessRun::sendToAll(Kind kind, std::span<const std::byte> rest) {
  for (int r = 0; r < processes_.count(); ++r) {
    if (r == processes_.rank()) continue;
    ByteWriter w = begin(kind);
    w.addBytes(rest);
    sendControl(r, std::move(w));
  }
}

Result<bool> ProcessRun::progress(microseconds wait) {
  delivered_ = false;
  if (Status ok = takeAll(wait); !ok) return fail(std::move(ok.error()));
  return delivered_;
}

void ProcessRun::waitUntil(const std::function<bool()>& done) {
  const auto end = std::chrono::steady_clock::now() + kWait;
  while (!done() && failed_ && std::chrono::steady_clock::now() < end) {
    probeIfDue();
    if (Status ok = takeAll(std::min(probePause_, microseconds(1000))); !ok && failed_) failed_ = std::move(ok);
  }
}

Result<std::vector<uint64_t>> ProcessRun::barrier(uint64_t says, bool throughDeadlock,
                                                  const std::function<bool()>& stop) {
  ++barriers_;
  ByteWriter mine;
  mine.add(says);
  sendToAll(Kind::barrier, mine.bytes());
  sent_ += static_cast<uint64_t>(processes_.count() - 1);
  arrivals_[static_cast<size_t>(processes_.rank())].push_back(says);
  const auto allHere = [&] { return allAtBarrier(); };
  atBarrier_ = true;
  throughDeadlock_ = throughDeadlock;
  while (!allHere() && failed_ && !(stop && stop())) waitUntil(allHere);
  atBarrier_ = false;
  if (!failed_) return fail(failed_.error());
  std::vector<uint64_t> said;
  if (!allHere()) return said;
  for (auto& of : arrivals_) {
    said.push_back(of.front());
    of.pop_front();
  }
  return said;
}

Status ProcessRun::takeAll(microseconds wait) {
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

bool ProcessRun::allAtBarrier() const {
  return std::ranges::none_of(arrivals_, [](const auto& said) { return said.empty(); });
}

ProcessRun::Standing ProcessRun::standing() const {
  return {.idle = atBarrier_ ? !allAtBarrier() : devices_.idle(),
          .atBarrier = atBarrier_,
          .sent = sent_,
          .received = received_};
}

Status ProcessRun::take(Processes::Message message) {
  ByteReader r(message.bytes);
  const auto run = r.get<uint64_t>();
  const Kind kind = r.get<Kind>();
  if (run > run_) messages_.early.push_back(std::move(message));
  if (run != run_) return {};  // of one that this process has given up
  switch (kind) {
    case Kind::content: {
      Status delivered = devices_.deliver(message.from, r);
      ++received_;
      delivered_ = true;
      return r.atEnd() || !delivered ? std::move(delivered) : unreadable(message.from);
    }
    case Kind::barrier:
      ++received_;
      arrivals_[static_cast<size_t>(message.from)].push_back(r.get<uint64_t>());
      return {};
    case Kind::probe: {
      const Standing now = standing();
      ByteWriter w = begin(Kind::state);
      w.add(r.get<uint64_t>());
      w.add(now.idle);
      w.add(now.atBarrier);
      w.add(now.sent);
      w.add(now.received);
      sendControl(message.from, std::move(w));
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
      atDeadlock(processes_.name(message.from) + ": its devices are deadlocked");
      return {};
    case Kind::gaveUp:
      return failed_ = gaveUp(message.from, "it has given up the kernel");
  }
  return unreadable(message.from);
}

void ProcessRun::atDeadlock(std::string why) {
  deadlock_ = true;
  if (!atBarrier_ || throughDeadlock_ || !failed_) return;
  Diagnostic d = gaveUp(0, "").error();
  d.have = std::move(why);
  failed_ = fail(std::move(d));
}

void ProcessRun::probeIfDue() {
  if (processes_.rank() != 0 || asking_) return;
  const auto now = std::chrono::steady_clock::now();
  if (now < nextProbe_) return;
  asking_ = true;
  answers_ = 0;
  ++round_;
  ByteWriter w;
  w.add(round_);
  sendToAll(Kind::probe, w.bytes());
  nextProbe_ = now + probePause_;
  probePause_ = std::min(2 * probePause_, kLastProbe);
}

void ProcessRun::judge() {
  asking_ = false;
  standings_[0] = standing();
  Standing all{.idle = true, .atBarrier = true};
  for (const Standing& s : standings_) {
    all.idle &= s.idle;
    all.atBarrier &= s.atBarrier;
    all.sent += s.sent;
    all.received += s.received;
  }
  const bool still = all.idle && !all.atBarrier && all.sent == all.received;
  if (still && stillBefore_ && all.sent == sentBefore_ && !deadlock_) {
    sendToAll(Kind::deadlock, {});
    atDeadlock("the devices of other processes are deadlocked");
  }
  stillBefore_ = still;
  sentBefore_ = all.sent;
}

Status ProcessRun::gaveUp(int rank, std::string_view why) const {
  return fail(stoppedProcess(fmt::format("{}: {}", processes_.name(rank), why), kSeeItsOutput));
}

Status ProcessRun::unreadable(int rank) const {
  return fail({.code = "SM4058",
               .message = "a message from another device does not fit this one: it cannot be read",
               .place = {},
               .need = "the same version of Smalti in every process",
               .have = fmt::format("a message of {}", processes_.name(rank)),
               .help = "start all processes with the same program, inputs and options"});
}

void giveUpNextRun(KernelMessages& messages) {
  struct None final : ProcessRun::Devices {
    Status deliver(int, ByteReader&) override { return {}; }
    bool idle() const override { return false; }
  } none;
  const ProcessRun run(none, messages, 0);
}

}  // namespace smalti
