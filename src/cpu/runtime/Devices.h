// Devices that run one call together, each in its own thread: access to each other's memory, semaphores, and
// waits that detect deadlock.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace smalti::cpu {

/// Functions that generated code for several devices calls (emit/ops/Sync.cpp); `context` as of the kernel function.
/// i32 (ptr context): the number of this device.
inline constexpr const char* kDeviceSymbol = "smalti_cpu_device";
/// ptr (ptr context, i64 device, ptr here): the address on that device that corresponds to `here`; null: there is no
/// such device, or `here` is not a memory of the call.
inline constexpr const char* kPeerSymbol = "smalti_cpu_peer";
/// i32 (ptr context, i64 device, ptr semaphore, i64 amount): adds to the semaphore of a device that corresponds to
/// `semaphore` on this one; not 0: there is no such device.
inline constexpr const char* kSignalSymbol = "smalti_cpu_signal";
/// i32 (ptr context, i64 device, ptr target, ptr box, ptr semaphore, i64 amount): completes a remote copy. It delivers
/// the data at `target` (an address from kPeerSymbol), then adds to the semaphore as kSignalSymbol does. `box`:
/// CopiedBox. Not 0: there is no such memory.
inline constexpr const char* kPutSymbol = "smalti_cpu_put";
/// i32 (ptr context, ptr semaphore, i64 amount): waits for a semaphore of this device, and subtracts the amount; not 0:
/// the call must end.
inline constexpr const char* kWaitSymbol = "smalti_cpu_wait";
/// i64 (ptr context, ptr semaphore): the count of a semaphore of this device; INT64_MIN: the call must end.
inline constexpr const char* kReadSymbol = "smalti_cpu_read";

/// What a copy has written: the number of elements per dimension, their size in bytes, and their strides in elements.
struct CopiedBox {
  int64_t elementBytes = 0;  ///< 0: the extent of the write is unknown
  int64_t rank = 0;
  int64_t dims[1];  ///< sizes, then strides

  std::span<const int64_t> sizes() const { return {dims, static_cast<size_t>(rank)}; }
  std::span<const int64_t> strides() const { return {dims + rank, static_cast<size_t>(rank)}; }
};

class DeviceGroup {
 public:
  /// A region of a device's memory; all devices have the same regions in the same order.
  struct Region {
    std::byte* begin = nullptr;
    int64_t bytes = 0;
  };
  /// `stop` (may be null) ends all waits when it becomes true; not owned. Devices spin before they sleep if each has a
  /// core of its own.
  DeviceGroup(int devices, const std::atomic<bool>* stop, bool ownCores);
  virtual ~DeviceGroup() = default;
  DeviceGroup(const DeviceGroup&) = delete;
  DeviceGroup& operator=(const DeviceGroup&) = delete;

  int devices() const { return static_cast<int>(memory_.size()); }
  /// Must be called before any device runs.
  virtual void setMemory(int device, std::vector<Region> regions) {
    memory_[static_cast<size_t>(device)] = std::move(regions);
  }
  virtual std::byte* peer(int device, int64_t other, const std::byte* here) const;

  /// Only a device's own thread waits for its semaphores; every thread may add to them.
  void signal(int64_t* semaphore, int64_t amount);
  virtual bool wait(int device, int64_t* semaphore, int64_t amount);
  /// nullopt: the call must end. A kernel may poll until another device has signalled.
  virtual std::optional<int64_t> read(int64_t* semaphore);
  /// To be called when the device's thread has finished. `failed`: the other devices must end, too.
  virtual void leave(bool failed);
  /// `device` and `other` as for `peer`, `semaphore` a place on the first.
  virtual bool signalTo(int device, int64_t other, int64_t* semaphore, int64_t amount);
  virtual bool put(int device, int64_t other, const std::byte* target, const CopiedBox&, int64_t* semaphore,
                   int64_t amount);

 private:
  struct Blocked {
    int64_t* semaphore = nullptr;
    int64_t amount = 0;
  };
  bool sleep(int device, int64_t* semaphore, int64_t amount);
  bool isDeadlocked() const;

 protected:
  /// A place in a device's memory: a region, and the offset in it.
  struct Place {
    size_t region = 0;
    int64_t offset = 0;
  };
  static std::optional<Place> placeOf(std::span<const Region> memory, const std::byte* here);
  bool takeFrom(int64_t* semaphore, int64_t amount) const;
  bool stopped() const { return stop_ && stop_->load(std::memory_order_relaxed); }
  void fail();

  std::vector<std::vector<Region>> memory_;
  std::atomic<bool> failed_{false};

 private:
  const std::atomic<bool>* stop_;
  const bool ownCores_;
  std::atomic<int> sleeping_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::optional<Blocked>> blocked_;  ///< guarded by the mutex, as is `left_`
  int left_ = 0;
};

/// A device, for the run-time functions.
struct DeviceMember {
  DeviceGroup* group = nullptr;
  int device = 0;  ///< number in the group
  int number = 0;  ///< among all devices
};

}  // namespace smalti::cpu
