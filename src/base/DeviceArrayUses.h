// The launches that use an array on a GPU. Those of one stream are in order; those of several have to be ordered.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <set>

#include "smalti/device_array.h"

namespace smalti {

struct DeviceArray::Uses {
 public:
  /// A launch on `stream` will read the elements: adds the stream that has written them to `earlier`,
  /// unless it is the same.
  void read(void* stream, std::set<void*>& earlier);
  /// The same for a launch that will write them, which comes after those that read them.
  void write(void* stream, std::set<void*>& earlier);
  /// The stream of the last launch that writes.
  std::optional<void*> writer() const;

  /// The number of uses so far.
  uint64_t count() const;
  /// All of `count` uses are over. If there were more since, nothing is forgotten.
  void forget(uint64_t count);

 private:
  mutable std::mutex mutex_;
  uint64_t count_ = 0;
  std::optional<void*> writer_;
  std::set<void*> readers_;  ///< since the last write
};

}  // namespace smalti
