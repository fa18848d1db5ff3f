#include "Meeting.h"

#include <algorithm>
#include <cstring>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "BlockingTasks.h"
#include "smalti/error.h"

namespace smalti::python {
namespace {

ArrayType withDevices(const ArrayType& type, size_t devices) {
  ArrayType all = type;
  all.shape.insert(all.shape.begin(), static_cast<int64_t>(devices));
  return all;
}

/// Every device's array, one behind the other.
Array gathered(const std::vector<std::optional<Seat>>& seats, size_t input) {
  auto all = unwrap(Array::allocate(withDevices(seats[0]->inputs[input].type(), seats.size())));
  auto* to = reinterpret_cast<std::byte*>(all.data());
  for (const auto& seat : seats) {
    const Array& one = seat->inputs[input];
    if (one.bytes() > 0) std::memcpy(to, one.data(), static_cast<size_t>(one.bytes()));
    to += one.bytes();
  }
  return all;
}

std::shared_ptr<const RunReport> execute(const Executable& executable, std::vector<std::optional<Seat>>& seats) {
  std::vector<Array> inputs;
  for (size_t i = 0; i < executable.arguments().size(); ++i) inputs.push_back(gathered(seats, i));
  auto report = unwrap(executable.execute(inputs));
  for (size_t i = 0; i < report.results.size(); ++i) {
    const auto* from = reinterpret_cast<const std::byte*>(report.results[i].data());
    for (auto& seat : seats) {
      Array& one = seat->outputs[i];
      if (one.bytes() > 0) std::memcpy(one.data(), from, static_cast<size_t>(one.bytes()));
      from += one.bytes();
    }
  }
  return std::make_shared<const RunReport>(std::move(report));
}

Diagnostic absence(const std::vector<std::optional<Seat>>& seats, std::chrono::seconds limit) {
  std::vector<size_t> missing;
  for (size_t d = 0; d < seats.size(); ++d)
    if (!seats[d]) missing.push_back(d);
  return {.code = "SM5010",
          .message = "a kernel that devices run together did not get all of them",
          .place = {},
          .need = fmt::format("all {} devices of the mesh within {} s", seats.size(), limit.count()),
          .have = fmt::format("no call from device{} {}", missing.size() == 1 ? "" : "s", fmt::join(missing, ", ")),
          .help =
              "let every device of the shard_map reach the call (a branch or a loop around it must go the same way on "
              "all), with all devices in one process; longer calls before it need a larger timeout_seconds"};
}

/// XLA continues the program of a device inside done(), and blocks there in a collective until the other devices reach
/// it: each gets a thread of its own. The last device has not waited, so its program continues after done().
void finish(std::vector<std::optional<Seat>>& seats, size_t last, const Outcome& outcome) {
  for (size_t d = 0; d < seats.size(); ++d)
    if (d != last) BlockingTasks::instance().start([seat = std::move(*seats[d]), outcome] { seat.done(outcome); });
  seats[last]->done(outcome);
}

}  // namespace

Meetings& Meetings::instance() {
  static auto* meetings = new Meetings;  // JAX's threads may still run kernels while the process ends
  return *meetings;
}

int Meetings::visit(const CallSite& site, int device) {
  constexpr size_t kRemembered = 1 << 16;
  const auto [at, isNew] = visits_.try_emplace({site, device});
  if (isNew)
    at->second.place = lastVisits_.insert(lastVisits_.end(), at->first);
  else
    lastVisits_.splice(lastVisits_.end(), lastVisits_, at->second.place);
  if (visits_.size() > kRemembered) {
    visits_.erase(lastVisits_.front());
    lastVisits_.pop_front();
  }
  return at->second.count++;
}

void Meetings::meet(const CallSite& site, int device, int devices, Seat seat, const Executable& executable,
                    std::chrono::seconds limit) {
  std::vector<std::optional<Seat>> all;
  {
    const std::lock_guard lock(mutex_);
    const Key key{site, visit(site, device)};
    Round& round = rounds_[key];
    if (round.seats.empty()) {
      round.seats.resize(static_cast<size_t>(devices));
      round.limit = limit;
      round.until = std::chrono::steady_clock::now() + limit;
      if (!std::exchange(watched_, true)) std::thread([this] { watch(); }).detach();
      changed_.notify_all();
    }
    round.seats[static_cast<size_t>(device)] = std::move(seat);
    const bool last = ++round.taken == devices;
    if (round.givenUp) {
      round.until = std::chrono::steady_clock::now();  // the watcher tells this one, too
      changed_.notify_all();
      return;
    }
    if (!last) return;
    all = std::move(round.seats);
    rounds_.erase(key);
  }
  const Outcome outcome = attempt([&] { return execute(executable, all); });
  finish(all, static_cast<size_t>(device), outcome);
}

/// Takes the seats of those who wait.
Diagnostic Meetings::giveUp(Round& round, std::vector<Seat>& waiting) {
  Diagnostic why = absence(round.seats, round.limit);
  for (auto& seat : round.seats)
    if (seat && seat->done) waiting.push_back(std::exchange(*seat, Seat{}));
  round.givenUp = true;
  round.until = std::chrono::steady_clock::time_point::max();
  return why;
}

void Meetings::watch() {
  std::unique_lock lock(mutex_);
  while (true) {
    const auto next = std::min_element(rounds_.begin(), rounds_.end(),
                                       [](const auto& a, const auto& b) { return a.second.until < b.second.until; });
    if (next == rounds_.end() || next->second.until == std::chrono::steady_clock::time_point::max()) {
      changed_.wait(lock);
      continue;
    }
    if (std::chrono::steady_clock::now() < next->second.until) {
      changed_.wait_until(lock, next->second.until);
      continue;
    }
    std::vector<Seat> waiting;
    const Outcome outcome = fail(giveUp(next->second, waiting));
    if (next->second.taken == static_cast<int>(next->second.seats.size())) rounds_.erase(next);
    for (Seat& seat : waiting)
      BlockingTasks::instance().start([seat = std::move(seat), outcome] { seat.done(outcome); });
  }
}

}  // namespace smalti::python
