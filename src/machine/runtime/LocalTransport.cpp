#include "machine/Transport.h"

namespace smalti::machine {
namespace {

class LocalTransport final : public Transport {
 public:
  explicit LocalTransport(Endpoint& endpoint) : endpoint_(&endpoint) {}
  Status put(const PutMessage& m) override { return endpoint_->deliver(m); }
  Status signal(const SignalMessage& m) override { return endpoint_->deliver(m); }
  Result<bool> progress() override { return false; }
  bool awaitsMessages() override { return false; }
  Status barrier() override { return {}; }

 private:
  Endpoint* endpoint_;
};

}  // namespace

std::unique_ptr<Transport> makeLocalTransport(Endpoint& endpoint) { return std::make_unique<LocalTransport>(endpoint); }

}  // namespace smalti::machine
