// Devices that run one call together, each in a thread of its own: memory of the others by address, semaphores, and
// waits that see when nobody can go on.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

namespace smalti::cpu {

/// What generated code with devices calls (lower/Sync.cpp); `context` as of the kernel function.
/// i32 (ptr context): the number of this device.
inline constexpr const char* kDeviceSymbol = "smalti_cpu_device";
/// ptr (ptr context, i64 device, ptr here): the place on that device of what is `here` on this one; null: there is no
/// such device, or `here` is not a memory of the call.
inline constexpr const char* kPeerSymbol = "smalti_cpu_peer";
/// void (ptr context, ptr semaphore, i64 amount): adds to a semaphore of any device.
inline constexpr const char* kSignalSymbol = "smalti_cpu_signal";
/// i32 (ptr context, ptr semaphore, i64 amount): waits for a semaphore of this device, and takes the amount off; not 0:
/// the call shall end.
inline constexpr const char* kWaitSymbol = "smalti_cpu_wait";
/// i64 (ptr context, ptr semaphore): the count of a semaphore of this device; INT64_MIN: the call shall end.
inline constexpr const char* kReadSymbol = "smalti_cpu_read";

class DeviceGroup {
 public:
  /// A part of a device's memory; the parts of all devices are alike, in the same order.
  struct Region {
    std::byte* begin = nullptr;
    int64_t bytes = 0;
  };
  /// `stop` (may be null) ends all waits when it is raised; not owned. Devices spin before they sleep, where each has a
  /// core of its own.
  DeviceGroup(int devices, const std::atomic<bool>* stop, bool ownCores);

  int devices() const { return static_cast<int>(memory_.size()); }
  /// Before any device runs.
  void setMemory(int device, std::vector<Region> regions) { memory_[static_cast<size_t>(device)] = std::move(regions); }
  std::byte* peer(int device, int64_t other, const std::byte* here) const;

  /// A device's own thread waits for its semaphores, nobody else; every thread may add to every one.
  void signal(int64_t* semaphore, int64_t amount);
  bool wait(int device, int64_t* semaphore, int64_t amount);
  /// nullopt: the call shall end. A kernel may read until another device has signalled.
  std::optional<int64_t> read(int64_t* semaphore) const;
  /// The device's thread is done. `failed`: the others end, too.
  void leave(bool failed);

 private:
  struct Blocked {
    int64_t* semaphore = nullptr;
    int64_t amount = 0;
  };
  bool sleep(int device, int64_t* semaphore, int64_t amount);
  bool nobodyCanGoOn() const;
  void fail();

  std::vector<std::vector<Region>> memory_;
  const std::atomic<bool>* stop_;
  const bool ownCores_;
  std::atomic<bool> failed_{false};
  std::atomic<int> sleeping_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::optional<Blocked>> blocked_;  ///< with the mutex, as `left_`
  int left_ = 0;
};

/// A device, for the run-time functions.
struct DeviceMember {
  DeviceGroup* group = nullptr;
  int device = 0;
};

}  // namespace smalti::cpu
