// A transport that turns every message into bytes, keeps it for a while, and reads it again before it is delivered:
// what a transport between processes does, within one.
#pragma once

#include <algorithm>
#include <deque>

#include "machine/runtime/MessageBytes.h"

namespace smalti::test {

class LoopbackTransport final : public machine::Transport {
 public:
  struct Traffic {
    int64_t puts = 0, signals = 0, bytes = 0, mostInFlight = 0;
  };
  /// Each message waits for `delay` calls of `progress`.
  LoopbackTransport(machine::Endpoint& endpoint, int delay, Traffic& traffic)
      : endpoint_(&endpoint), delay_(delay), traffic_(&traffic) {}

  Status put(const machine::PutMessage& m) override {
    ++traffic_->puts;
    return queue('p', m);
  }
  Status signal(const machine::SignalMessage& m) override {
    ++traffic_->signals;
    return queue('s', m);
  }
  Result<bool> progress() override {
    ++now_;
    bool some = false;
    while (!queue_.empty() && queue_.front().due <= now_) {
      if (Status ok = deliverFirst(); !ok) return fail(std::move(ok.error()));
      some = true;
    }
    return some;
  }
  bool awaitsMessages() override { return !queue_.empty(); }
  Status barrier() override {
    while (!queue_.empty())
      if (Status ok = deliverFirst(); !ok) return ok;
    return {};
  }

 private:
  struct Late {
    Bytes bytes;
    int64_t due = 0;
  };

  template <class M>
  Status queue(char kind, const M& m) {
    ByteWriter w;
    w.add(kind);
    machine::write(w, m);
    traffic_->bytes += static_cast<int64_t>(w.bytes().size());
    queue_.push_back({w.take(), now_ + delay_});
    traffic_->mostInFlight = std::max(traffic_->mostInFlight, static_cast<int64_t>(queue_.size()));
    return {};
  }

  Status deliverFirst() {
    const Late late = std::move(queue_.front());
    queue_.pop_front();
    ByteReader r(late.bytes);
    if (r.get<char>() == 's') return endpoint_->deliver(machine::readSignal(r));
    return endpoint_->deliver(machine::readPut(r));
  }

  machine::Endpoint* endpoint_;
  int delay_;
  Traffic* traffic_;
  int64_t now_ = 0;
  std::deque<Late> queue_;
};

}  // namespace smalti::test
