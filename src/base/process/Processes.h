// The processes that run a program together, each with some of its devices, and messages between them.
// The connection between them is up to the implementation (src/mpi).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "base/io/Bytes.h"
#include "smalti/diagnostic.h"

namespace smalti {

class Processes {
 public:
  /// Messages of different channels do not overtake or hide each other.
  enum class Channel : uint8_t { kernel, program };
  struct Message {
    int from = 0;
    Bytes bytes;
  };

  virtual ~Processes() = default;
  virtual int rank() const = 0;
  virtual int count() const = 0;
  /// The name in messages: "process 1 on node7".
  virtual std::string name(int rank) const = 0;
  /// Messages of a channel to one process arrive in the order in which they were sent.
  virtual Status send(int to, Channel, Bytes message) = 0;
  /// A message that has arrived from `from`, or from anyone (-1), after at most this long; nullopt: there is none.
  virtual Result<std::optional<Message>> receive(Channel, int from, std::chrono::microseconds wait) = 0;
};

/// The devices of one process: equal shares, in order of their numbers.
struct DeviceShare {
  int64_t first = 0, count = 0;
  bool holds(int64_t device) const { return device >= first && device < first + count; }
};

}  // namespace smalti
