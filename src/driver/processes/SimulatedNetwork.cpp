#include "driver/processes/SimulatedNetwork.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>

#include <fmt/format.h>

namespace smalti::driver {
namespace {

using Clock = std::chrono::system_clock;  // of all processes of a host

class SlowProcesses final : public Processes {
 public:
  SlowProcesses(Processes& inner, const Network& network)
      : inner_(inner), network_(network), linkFree_(static_cast<size_t>(inner.count())) {}

  int rank() const override { return inner_.rank(); }
  int count() const override { return inner_.count(); }
  std::string name(int rank) const override { return inner_.name(rank); }

  Status send(int to, Channel channel, Bytes message) override {
    const std::lock_guard lock(mutex_);
    Clock::time_point& free = linkFree_[static_cast<size_t>(to)];
    const double seconds =
        network_.bytesPerSecond > 0 ? static_cast<double>(message.size()) / network_.bytesPerSecond : 0;
    free = std::max(free, Clock::now()) + duration(seconds);
    const Clock::rep due = (free + duration(network_.latencySeconds)).time_since_epoch().count();
    message.append(std::as_bytes(std::span(&due, 1)));
    return inner_.send(to, channel, std::move(message));
  }

  Result<std::optional<Message>> receive(Channel channel, int from, std::chrono::microseconds wait) override {
    const auto end = Clock::now() + wait;
    for (;;) {
      {
        const std::lock_guard lock(mutex_);
        if (auto message = takeDue(channel, from)) return message;
        auto arrived = inner_.receive(channel, from, std::chrono::microseconds(0));
        if (!arrived) return arrived;
        if (*arrived) {
          Bytes& bytes = (*arrived)->bytes;
          Clock::rep due = 0;
          if (bytes.size() >= sizeof due) {
            bytes.resize(bytes.size() - sizeof due);
            std::memcpy(&due, bytes.data() + bytes.size(), sizeof due);
          }
          underway_.push_back({channel, Clock::time_point(Clock::duration(due)), std::move(**arrived)});
          continue;
        }
      }
      if (Clock::now() >= end) return std::nullopt;
      std::this_thread::yield();
    }
  }

 private:
  struct Underway {
    Channel channel;
    Clock::time_point due;
    Message message;
  };
  static Clock::duration duration(double seconds) {
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  }
  std::optional<Message> takeDue(Channel channel, int from) {
    const auto now = Clock::now();
    const auto it = std::ranges::find_if(underway_, [&](const Underway& u) {
      return u.channel == channel && (from < 0 || u.message.from == from) && u.due <= now;
    });
    if (it == underway_.end()) return std::nullopt;
    Message message = std::move(it->message);
    underway_.erase(it);
    return message;
  }

  Processes& inner_;
  const Network network_;
  std::mutex mutex_;
  std::vector<Clock::time_point> linkFree_;  ///< when what was sent to a process so far has left
  std::deque<Underway> underway_;            ///< in the order of arrival, which is that of sending for each link
};

}  // namespace

Result<Network> parseNetwork(std::string_view text) {
  if (text.empty()) return Network{};
  constexpr double kMax = 1e9;  // durations in nanoseconds stay within 64 bits
  double numbers[2] = {};
  const char *at = text.data(), *end = at + text.size();
  bool ok = true;
  for (int i = 0; i < 2 && ok; ++i) {
    const auto [rest, error] = std::from_chars(at, end, numbers[i]);
    ok = error == std::errc() && numbers[i] >= 0 && numbers[i] <= kMax &&
         (i == 0 ? rest < end && *rest == ',' : rest == end);
    at = rest + (i == 0);
  }
  if (ok) return Network{numbers[0] * 1e-6, numbers[1] * 1e9};
  return fail({.code = "SM1011",
               .message = fmt::format("net cannot be '{}'", text),
               .place = {},
               .need = "latency in microseconds and bandwidth in GB/s: two numbers from 0 to 10^9 with a comma between",
               .have = std::string(text),
               .help = "SMALTI_NET=20,12.5 is a network of 100 Gbit/s; a bandwidth of 0 is unlimited"});
}

std::unique_ptr<Processes> slowed(Processes& inner, const Network& network) {
  return std::make_unique<SlowProcesses>(inner, network);
}

}  // namespace smalti::driver
