#include "machine/ProcessTransport.h"

#include "machine/runtime/MessageBytes.h"

namespace smalti::machine {
namespace {

enum class Kind : uint8_t { put, signal };

class ProcessTransport final : public Transport, private ProcessRun::Devices {
 public:
  ProcessTransport(Endpoint& endpoint, KernelMessages& messages, int64_t devices)
      : endpoint_(endpoint), run_(*this, messages, devices) {}

  Status put(const PutMessage& m) override { return pass(m, m.target.allocation.device, Kind::put); }
  Status signal(const SignalMessage& m) override { return pass(m, m.semaphore.allocation.device, Kind::signal); }

  Result<bool> progress() override { return run_.progress(std::chrono::microseconds(0)); }

  bool awaitsMessages() override {
    arrived_ = false;
    idle_ = true;
    run_.waitUntil([&] { return arrived_ || run_.deadlock(); });
    idle_ = false;
    return !run_.deadlock();
  }

  Status barrier() override {
    auto passed = run_.barrier(0, /*throughDeadlock=*/false);
    if (!passed) return fail(std::move(passed.error()));
    return {};
  }

 private:
  template <class M>
  Status pass(const M& m, int64_t device, Kind kind) {
    const int to = run_.elsewhere(device);
    if (to < 0) return endpoint_.deliver(m);
    ByteWriter w = run_.message();
    w.add(kind);
    write(w, m);
    return run_.send(to, w.take());
  }

  Status deliver(int /*from*/, ByteReader& r) override {
    arrived_ = true;
    if (r.get<Kind>() == Kind::put) {
      const PutMessage m = readPut(r);
      return r.atEnd() ? endpoint_.deliver(m) : Status();
    }
    const SignalMessage m = readSignal(r);
    return r.atEnd() ? endpoint_.deliver(m) : Status();
  }
  bool idle() const override { return idle_ && !arrived_; }

  Endpoint& endpoint_;
  bool idle_ = false, arrived_ = false;
  ProcessRun run_;
};

}  // namespace

std::unique_ptr<Transport> makeProcessTransport(Endpoint& endpoint, KernelMessages& messages, int64_t devices) {
  return std::make_unique<ProcessTransport>(endpoint, messages, devices);
}

}  // namespace smalti::machine
