#include "cpu/runtime/SpreadDevices.h"

#include <algorithm>
#include <thread>

#include "base/RowMajor.h"
#include "cpu/runtime/Pause.h"
#include "eval/Shape.h"

namespace smalti::cpu {
namespace {

using Clock = std::chrono::steady_clock;

/// How long a device polls for messages without pausing, about the latency between hosts.
constexpr std::chrono::microseconds kSpinForMessages{100};
constexpr std::chrono::microseconds kPause{20};
constexpr uint64_t kFault = 1;

Diagnostic memoryMismatch(std::string have) {
  return {.code = "SM4058",
          .message = "a message from another device names memory that does not exist here",
          .place = {},
          .need = "the same kernel with the same types on every device",
          .have = std::move(have),
          .help = "start all processes with the same program, inputs and options"};
}

/// Whether a box that begins `offset` bytes after the start ends within the given number of bytes.
bool fits(int64_t offset, int64_t elementBytes, std::span<const int64_t> sizes, std::span<const int64_t> strides,
          int64_t bytes) {
  if (elementBytes < 1 || elementBytes > 64 || offset < 0 || sizes.size() != strides.size()) return false;
  int64_t end = 1;
  for (size_t d = 0; d < sizes.size(); ++d) {
    int64_t reach = 0;
    if (sizes[d] < 0 || strides[d] < 0) return false;
    if (sizes[d] == 0) return true;
    if (__builtin_mul_overflow(sizes[d] - 1, strides[d], &reach) || __builtin_add_overflow(end, reach, &end))
      return false;
  }
  int64_t last = 0;
  return !__builtin_mul_overflow(end, elementBytes, &last) && !__builtin_add_overflow(last, offset, &last) &&
         last <= bytes;
}

}  // namespace

ProcessDeviceGroup::ProcessDeviceGroup(const ProcessSpread& spread, int devicesHere, const std::atomic<bool>* stop)
    : DeviceGroup(devicesHere, stop, true),
      first_(spread.firstDevice),
      all_(spread.allDevices),
      mirror_(static_cast<size_t>(devicesHere)),
      waiting_(static_cast<size_t>(devicesHere)),
      run_(*this, *spread.messages, spread.allDevices) {}

ProcessDeviceGroup::~ProcessDeviceGroup() = default;

void ProcessDeviceGroup::setMemory(int device, std::vector<Region> regions) {
  // Only copies to other processes write there, so most of its pages are never allocated.
  constexpr int64_t kPage = 4096;
  int64_t bytes = 0;
  for (const Region& r : regions) bytes += (r.bytes + kPage) / kPage * kPage;
  void* memory = allocateBlock(static_cast<size_t>(bytes));
  std::vector<Region>& mirror = mirror_[static_cast<size_t>(device)];
  if (memory) {
    auto* at = static_cast<std::byte*>(memory);
    mirrors_.emplace_back(at, FreeBlock{static_cast<size_t>(bytes)});
    for (const Region& r : regions) {
      mirror.push_back({at, r.bytes});
      at += (r.bytes + kPage) / kPage * kPage;
    }
  }
  DeviceGroup::setMemory(device, std::move(regions));
}

Result<bool> ProcessDeviceGroup::begin(uint64_t layout) {
  const bool mirrored = std::ranges::none_of(mirror_, [](const auto& m) { return m.empty(); });
  auto all = run_.barrier(mirrored ? layout : 0, /*throughDeadlock=*/true);
  if (!all) return smalti::fail(std::move(all.error()));
  const bool agreed = layout != 0 && std::ranges::all_of(*all, [&](uint64_t theirs) { return theirs == layout; });
  if (!agreed) run_.ends();
  return agreed;
}

Result<bool> ProcessDeviceGroup::end(bool fault) {
  auto all = run_.barrier(fault ? kFault : 0, /*throughDeadlock=*/true);
  if (!all) return smalti::fail(std::move(all.error()));
  return std::ranges::any_of(*all, [](uint64_t theirs) { return theirs != 0; });
}

std::byte* ProcessDeviceGroup::peer(int device, int64_t other, const std::byte* here) const {
  if (isHere(other)) return DeviceGroup::peer(device, other - first_, here);
  if (other < 0 || other >= all_) return nullptr;
  const auto place = placeOf(memory_[static_cast<size_t>(device)], here);
  return place ? mirror_[static_cast<size_t>(device)][place->region].begin + place->offset : nullptr;
}

std::optional<ByteWriter> ProcessDeviceGroup::messageTo(int device, int64_t other, Kind kind,
                                                        const std::byte* semaphore, int64_t amount) const {
  const auto place = placeOf(memory_[static_cast<size_t>(device)], semaphore);
  if (!place || other < 0 || other >= all_) return std::nullopt;
  ByteWriter w = run_.message();
  w.add(kind);
  w.add(other);
  w.add(static_cast<uint64_t>(place->region));
  w.add(place->offset);
  w.add(amount);
  return w;
}

bool ProcessDeviceGroup::send(int64_t other, Bytes message) {
  const std::lock_guard lock(network_);
  return run_.send(run_.elsewhere(other), std::move(message)).has_value();
}

bool ProcessDeviceGroup::signalTo(int device, int64_t other, int64_t* semaphore, int64_t amount) {
  if (isHere(other)) return DeviceGroup::signalTo(device, other - first_, semaphore, amount);
  auto w = messageTo(device, other, Kind::signal, reinterpret_cast<const std::byte*>(semaphore), amount);
  return w && send(other, w->take());
}

bool ProcessDeviceGroup::put(int device, int64_t other, const std::byte* target, const CopiedBox& box,
                             int64_t* semaphore, int64_t amount) {
  if (isHere(other)) return signalTo(device, other, semaphore, amount);
  const auto place = placeOf(mirror_[static_cast<size_t>(device)], target);
  auto w = messageTo(device, other, Kind::put, reinterpret_cast<const std::byte*>(semaphore), amount);
  if (!w || !place || box.elementBytes == 0) return false;
  w->add(static_cast<uint64_t>(place->region));
  w->add(place->offset);
  w->add(box.elementBytes);
  w->addList(box.sizes());
  w->addList(box.strides());
  const auto bytes = static_cast<size_t>(num_elements(box.sizes()) * box.elementBytes);
  w->add(static_cast<uint64_t>(bytes));
  Bytes message = w->take();
  const size_t head = message.size();
  message.resize(head + bytes);
  eval::copyStrided(target, box.strides(), message.data() + head, rowMajorStrides(box.sizes()), box.sizes(),
                    static_cast<int>(box.elementBytes));
  return send(other, std::move(message));
}

Status ProcessDeviceGroup::deliver(int /*from*/, ByteReader& r) {
  const Kind kind = r.get<Kind>();
  const auto device = r.get<int64_t>();
  if (!isHere(device)) return smalti::fail(memoryMismatch("a message to device " + std::to_string(device)));
  const std::vector<Region>& memory = memory_[static_cast<size_t>(device - first_)];
  if (kind == Kind::signal) return raise(r, memory);
  // The data is delivered first, although the semaphore precedes it in the message, since the semaphore announces the
  // data.
  ByteReader semaphore = r;
  for (int i = 0; i < 3; ++i) (void)r.get<int64_t>();
  if (Status ok = deliverPut(r, memory); !ok) return ok;
  return raise(semaphore, memory);
}

Status ProcessDeviceGroup::deliverPut(ByteReader& r, const std::vector<Region>& memory) {
  const auto region = r.get<uint64_t>();
  const auto offset = r.get<int64_t>(), elementBytes = r.get<int64_t>();
  const auto sizes = r.numbers<int64_t>(), strides = r.numbers<int64_t>();
  const auto data = r.list(1);
  if (!r.ok() || region >= memory.size() || !fits(offset, elementBytes, sizes, strides, memory[region].bytes) ||
      static_cast<int64_t>(data.size()) != num_elements(sizes) * elementBytes)
    return smalti::fail(memoryMismatch("a copy of " + std::to_string(data.size()) + " bytes"));
  eval::copyStrided(data.data(), rowMajorStrides(sizes), memory[region].begin + offset, strides, sizes,
                    static_cast<int>(elementBytes));
  return {};
}

Status ProcessDeviceGroup::raise(ByteReader& r, const std::vector<Region>& memory) {
  const auto region = r.get<uint64_t>();
  const auto offset = r.get<int64_t>(), amount = r.get<int64_t>();
  if (!r.ok() || region >= memory.size() || offset < 0 || offset % 8 != 0 || offset + 8 > memory[region].bytes)
    return smalti::fail(memoryMismatch("a signal"));
  signal(reinterpret_cast<int64_t*>(memory[region].begin + offset), amount);
  return {};
}

/// Whether no device of this process can continue: all wait, no wait is satisfied, and afterwards all are still in the
/// same waits. The last condition is necessary because a device may signal another, which has been examined, and then
/// wait itself.
bool ProcessDeviceGroup::idle() const {
  const uint64_t waited = waited_.load();
  const int left = left_.load();
  const auto allWait = [&] {
    return left + std::ranges::count_if(waiting_, [](const Waiting& w) { return w.semaphore.load() != nullptr; }) ==
           devices();
  };
  if (!allWait()) return false;
  for (const Waiting& w : waiting_)
    if (int64_t* semaphore = w.semaphore.load())
      if (std::atomic_ref<int64_t>(*semaphore).load() >= w.amount.load()) return false;
  return allWait() && waited_.load() == waited;
}

/// To be called before the device subtracts from its semaphore.
void ProcessDeviceGroup::stopWaiting(Waiting& device) {
  device.semaphore.store(nullptr);
  waited_.fetch_add(1);
}

bool ProcessDeviceGroup::progress(bool mayProbe) {
  if (failed_.load(std::memory_order_relaxed) || stopped()) return false;
  const std::unique_lock lock(network_, std::try_to_lock);
  if (!lock) return true;
  if (mayProbe && idle())
    run_.waitUntil([&] { return !idle() || run_.deadlock(); });
  else if (auto some = run_.progress(std::chrono::microseconds(0)); !some)
    return false;
  return run_.failed() && !run_.deadlock();
}

bool ProcessDeviceGroup::wait(int device, int64_t* semaphore, int64_t amount) {
  if (takeFrom(semaphore, amount)) return true;
  Waiting& mine = waiting_[static_cast<size_t>(device)];
  mine.amount = amount;
  mine.semaphore.store(semaphore);
  const Clock::time_point end = Clock::now() + kSpinForMessages;
  bool taken = false, continues = true;
  while (!taken && continues) {
    const bool spins = Clock::now() < end;
    continues = progress(!spins);
    if (std::atomic_ref<int64_t>(*semaphore).load() >= amount) {
      stopWaiting(mine);
      taken = takeFrom(semaphore, amount);
    }
    if (taken || !continues) break;
    if (spins)
      pauseBriefly();
    else
      std::this_thread::sleep_for(kPause);
  }
  if (!taken) {
    stopWaiting(mine);
    fail();
  }
  return taken;
}

std::optional<int64_t> ProcessDeviceGroup::read(int64_t* semaphore) {
  if (!progress(false)) return std::nullopt;
  return DeviceGroup::read(semaphore);
}

void ProcessDeviceGroup::leave(bool failed) {
  left_.fetch_add(1);
  if (failed) fail();
}

}  // namespace smalti::cpu
