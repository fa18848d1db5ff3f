// Receives messages from other cores and devices: finds the memory that they name, and updates it.
#pragma once

#include <vector>

#include "machine/Transport.h"

namespace smalti::machine {

class Runtime;
struct Allocation;

class Inbox final : public Endpoint {
 public:
  explicit Inbox(Runtime& runtime) : runtime_(runtime) {}
  Status deliver(const PutMessage&) override;
  Status deliver(const SignalMessage&) override;

 private:
  /// The allocation that the address names; a region's is made when its core has not got there yet.
  Result<Allocation*> find(const Address&);
  Result<Ref> resolve(const Address&);
  Result<Ref> semaphore(const Address&);

  Runtime& runtime_;
};

}  // namespace smalti::machine
