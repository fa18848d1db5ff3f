#include "cpu/runtime/Devices.h"

#include <chrono>

#include "cpu/runtime/Pause.h"

namespace smalti::cpu {
namespace {

using Clock = std::chrono::steady_clock;

/// How long a device with a core of its own spins on a semaphore before it sleeps. Waking takes 20 to 60 us, and what
/// another device does between two signals is seldom longer.
constexpr std::chrono::microseconds kSpin{200};
/// The limit where devices share cores, since the other device needs this core.
constexpr std::chrono::microseconds kSpinShared{2};
/// How often a sleeping device checks whether the caller has stopped the call.
constexpr std::chrono::milliseconds kStopPollInterval{10};

std::atomic_ref<int64_t> counter(int64_t* semaphore) { return std::atomic_ref<int64_t>(*semaphore); }

}  // namespace

/// Needs no compare-and-swap, since only the semaphore's own device subtracts from it.
bool DeviceGroup::takeFrom(int64_t* semaphore, int64_t amount) const {
  if (counter(semaphore).load() < amount) return false;
  counter(semaphore).fetch_sub(amount);
  return true;
}

DeviceGroup::DeviceGroup(int devices, const std::atomic<bool>* stop, bool ownCores)
    : memory_(static_cast<size_t>(devices)), stop_(stop), ownCores_(ownCores), blocked_(static_cast<size_t>(devices)) {}

std::optional<DeviceGroup::Place> DeviceGroup::placeOf(std::span<const Region> memory, const std::byte* here) {
  for (size_t i = 0; i < memory.size(); ++i) {
    // An empty range may begin at the end of its region.
    const auto offset = reinterpret_cast<intptr_t>(here) - reinterpret_cast<intptr_t>(memory[i].begin);
    if (offset < 0 || offset > memory[i].bytes || (offset == memory[i].bytes && memory[i].bytes > 0)) continue;
    return Place{i, offset};
  }
  return std::nullopt;
}

std::byte* DeviceGroup::peer(int device, int64_t other, const std::byte* here) const {
  if (other < 0 || other >= devices()) return nullptr;
  const auto place = placeOf(memory_[static_cast<size_t>(device)], here);
  return place ? memory_[static_cast<size_t>(other)][place->region].begin + place->offset : nullptr;
}

bool DeviceGroup::signalTo(int device, int64_t other, int64_t* semaphore, int64_t amount) {
  std::byte* there = DeviceGroup::peer(device, other, reinterpret_cast<const std::byte*>(semaphore));
  if (there) signal(reinterpret_cast<int64_t*>(there), amount);
  return there != nullptr;
}

bool DeviceGroup::put(int device, int64_t other, const std::byte* /*target*/, const CopiedBox& /*box*/,
                      int64_t* semaphore, int64_t amount) {
  return DeviceGroup::signalTo(device, other, semaphore, amount);  // the copy already wrote there directly
}

void DeviceGroup::signal(int64_t* semaphore, int64_t amount) {
  // Sequential consistency: either the sleeper sees the new count, or this thread sees the sleeper.
  counter(semaphore).fetch_add(amount);
  if (sleeping_.load() == 0) return;
  const std::lock_guard lock(mutex_);
  changed_.notify_all();
}

bool DeviceGroup::wait(int device, int64_t* semaphore, int64_t amount) {
  if (takeFrom(semaphore, amount)) return true;
  const Clock::time_point end = Clock::now() + (ownCores_ ? kSpin : kSpinShared);
  do {
    for (int i = 0; i < 32; ++i) {
      if (takeFrom(semaphore, amount)) return true;
      pauseBriefly();
    }
    if (failed_.load(std::memory_order_relaxed)) return false;
  } while (Clock::now() < end);
  return sleep(device, semaphore, amount);
}

std::optional<int64_t> DeviceGroup::read(int64_t* semaphore) {
  if (failed_.load(std::memory_order_relaxed) || stopped()) return std::nullopt;
  return counter(semaphore).load();
}

bool DeviceGroup::sleep(int device, int64_t* semaphore, int64_t amount) {
  std::unique_lock lock(mutex_);
  blocked_[static_cast<size_t>(device)] = Blocked{semaphore, amount};
  sleeping_.fetch_add(1);
  bool taken = takeFrom(semaphore, amount);
  while (!taken && !failed_.load()) {
    if (isDeadlocked() || stopped()) {
      fail();
      break;
    }
    changed_.wait_for(lock, kStopPollInterval);
    taken = takeFrom(semaphore, amount);
  }
  sleeping_.fetch_sub(1);
  blocked_[static_cast<size_t>(device)].reset();
  return taken;
}

/// Whether all devices that have not finished sleep, and none of their waits is satisfied.
bool DeviceGroup::isDeadlocked() const {
  if (sleeping_.load() + left_ < devices()) return false;
  for (const auto& b : blocked_)
    if (b && counter(b->semaphore).load() >= b->amount) return false;
  return true;
}

void DeviceGroup::fail() {
  failed_.store(true);
  changed_.notify_all();
}

void DeviceGroup::leave(bool failed) {
  const std::lock_guard lock(mutex_);
  ++left_;
  if (failed || (sleeping_.load() > 0 && isDeadlocked())) return fail();
}

}  // namespace smalti::cpu
