// A transport that turns every message into bytes, keeps it for a while, and reads it again before it is delivered:
// what a transport between processes does, within one.
#pragma once

#include <cstring>
#include <deque>
#include <stdexcept>
#include <vector>

#include "machine/Transport.h"

namespace smalti::test {

class Writer {
 public:
  std::vector<std::byte> bytes;
  void raw(const void* data, size_t n) {
    const auto* b = static_cast<const std::byte*>(data);
    bytes.insert(bytes.end(), b, b + n);
  }
  template <class T>
  void number(T value) {
    static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>);
    raw(&value, sizeof value);
  }
  template <class T>
  void list(const T& items) {
    number<uint64_t>(items.size());
    raw(items.data(), items.size() * sizeof *items.data());
  }
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : left_(bytes) {}
  bool done() const { return left_.empty(); }
  void raw(void* out, size_t n) {
    if (n > left_.size()) throw std::runtime_error("the message is too short");
    if (n > 0) std::memcpy(out, left_.data(), n);
    left_ = left_.subspan(n);
  }
  template <class T>
  T number() {
    T value;
    raw(&value, sizeof value);
    return value;
  }
  template <class T>
  T list() {
    T items;
    items.resize(number<uint64_t>());
    raw(items.data(), items.size() * sizeof *items.data());
    return items;
  }

 private:
  std::span<const std::byte> left_;
};

inline void write(Writer& w, const machine::Sender& s) {
  w.number(s.device);
  w.number(s.core);
  w.list(s.place.file);
  w.number(s.place.line);
  w.number(s.place.column);
}
inline machine::Sender readSender(Reader& r) {
  machine::Sender s;
  s.device = r.number<int>();
  s.core = r.number<int>();
  s.place.file = r.list<std::string>();
  s.place.line = r.number<decltype(s.place.line)>();
  s.place.column = r.number<decltype(s.place.column)>();
  return s;
}

inline void write(Writer& w, const machine::Address& a) {
  w.number(a.allocation.kind);
  w.number(a.allocation.index);
  w.number(a.allocation.device);
  w.number(a.allocation.core);
  w.number(a.type.dtype);
  w.list(a.type.shape);
  w.number(a.offset);
  w.list(a.shape);
  w.list(a.strides);
  w.number<uint64_t>(a.transforms.size());
  for (const machine::RefTransform& t : a.transforms) {
    w.number(t.kind);
    w.number(t.dtype);
    w.list(t.shape);
    w.list(t.starts);
  }
  w.list(a.padding);
  w.list(a.present);
}
inline machine::Address readAddress(Reader& r) {
  machine::Address a;
  a.allocation.kind = r.number<machine::AllocationKind>();
  a.allocation.index = r.number<int>();
  a.allocation.device = r.number<int>();
  a.allocation.core = r.number<int>();
  a.type.dtype = r.number<DType>();
  a.type.shape = r.list<Shape>();
  a.offset = r.number<int64_t>();
  a.shape = r.list<Shape>();
  a.strides = r.list<Shape>();
  a.transforms.resize(r.number<uint64_t>());
  for (machine::RefTransform& t : a.transforms) {
    t.kind = r.number<machine::RefTransform::Kind>();
    t.dtype = r.number<DType>();
    t.shape = r.list<Shape>();
    t.starts = r.list<std::vector<int64_t>>();
  }
  a.padding = r.list<Shape>();
  a.present = r.list<Shape>();
  return a;
}

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
    Writer w;
    w.number<char>('p');
    w.number(m.id);
    write(w, m.sender);
    write(w, m.target);
    write(w, m.semaphore);
    w.number(m.credit);
    w.list(m.data);
    w.list(m.mask);
    return queue(std::move(w));
  }
  Status signal(const machine::SignalMessage& m) override {
    ++traffic_->signals;
    Writer w;
    w.number<char>('s');
    write(w, m.sender);
    write(w, m.semaphore);
    w.number(m.amount);
    return queue(std::move(w));
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
    std::vector<std::byte> bytes;
    int64_t due = 0;
  };

  Status queue(Writer w) {
    traffic_->bytes += static_cast<int64_t>(w.bytes.size());
    queue_.push_back({std::move(w.bytes), now_ + delay_});
    traffic_->mostInFlight = std::max(traffic_->mostInFlight, static_cast<int64_t>(queue_.size()));
    return {};
  }

  Status deliverFirst() {
    const Late late = std::move(queue_.front());
    queue_.pop_front();
    Reader r(late.bytes);
    if (r.number<char>() == 's') {
      machine::SignalMessage m{.sender = readSender(r), .semaphore = readAddress(r)};
      m.amount = r.number<int64_t>();
      return endpoint_->deliver(m);
    }
    machine::PutMessage m{.id = r.number<int64_t>(),
                          .sender = readSender(r),
                          .target = readAddress(r),
                          .semaphore = readAddress(r),
                          .data = {},
                          .mask = {}};
    m.credit = r.number<int64_t>();
    const auto data = r.list<std::vector<std::byte>>();
    const auto mask = r.list<std::vector<uint8_t>>();
    m.data = data;
    m.mask = mask;
    return endpoint_->deliver(m);
  }

  machine::Endpoint* endpoint_;
  int delay_;
  Traffic* traffic_;
  int64_t now_ = 0;
  std::deque<Late> queue_;
};

}  // namespace smalti::test
