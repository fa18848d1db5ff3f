// How data and signals get from device to device. Everything that leaves a core of a device goes through a Transport,
// in messages that name memory by Address; nothing else connects devices. Within one process messages are delivered at
// once; between processes an implementation sends them, and delivers here what the others sent.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "machine/Address.h"

namespace smalti::machine {

/// The sender of a message and its source line, for deadlock reports.
struct Sender {
  int device = 0, core = 0;
  SourcePlace place;
};

/// The data of a remote copy, and the count by which it raises the target's semaphore.
struct PutMessage {
  int64_t id = 0;  ///< the copy's, unique among its sender's
  Sender sender;
  Address target, semaphore;
  int64_t credit = 0;               ///< bytes, or 1 on a regular semaphore (S-G2, S-G3)
  std::span<const std::byte> data;  ///< the view's elements, row-major, in storage form; valid during the call
  std::span<const uint8_t> mask;    ///< whether each element is defined, a byte each; empty: all are
};

struct SignalMessage {
  Sender sender;
  Address semaphore;
  int64_t amount = 0;
};

/// The devices of this process, as a transport sees them. Refuses with SM4058 what names no memory of theirs.
class Endpoint {
 public:
  virtual ~Endpoint() = default;
  virtual Status deliver(const PutMessage&) = 0;
  virtual Status deliver(const SignalMessage&) = 0;
};

/// One for each run. Messages from one core to another arrive in the order in which they were sent (S-G1 allows copies
/// any order; which order those leave in is the DmaPolicy's matter).
class Transport {
 public:
  virtual ~Transport() = default;
  virtual Status put(const PutMessage&) = 0;
  virtual Status signal(const SignalMessage&) = 0;
  /// Called between turns: delivers to the endpoint what has arrived. True when there was something.
  virtual Result<bool> progress() = 0;
  /// No program here can continue. False: no message will arrive, so that this is a deadlock. May block for a while.
  virtual bool awaitsMessages() = 0;
  /// A barrier of all devices: everything sent before has been delivered afterwards. Called when the
  /// memories of this process's devices have been made, and when its programs have finished.
  virtual Status barrier() = 0;
};

/// Between devices of one process: a message is delivered when it is sent.
std::unique_ptr<Transport> makeLocalTransport(Endpoint&);

}  // namespace smalti::machine
