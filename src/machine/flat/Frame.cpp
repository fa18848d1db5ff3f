#include "machine/flat/Frame.h"

#include <sys/mman.h>

#include <cstring>
#include <utility>

#include "base/process/ThreadLasting.h"
#include "machine/Shadow.h"

namespace smalti::machine::flat {

Pages::Pages(Pages&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

namespace {

constexpr int64_t kGranule = 1 << 16;

/// A small arena cached per thread: most kernels need no more, and mapping one costs as much as a short run.
struct Spare {
  std::byte* data = nullptr;
  ~Spare() {
    if (data) munmap(data, kGranule);
  }
};
thread_local constinit ThreadLasting<Spare> tSpare;

void giveBack(std::byte* data, int64_t bytes) {
  if (!data) return;
  if (bytes == kGranule && !tSpare.get().data)
    tSpare.get().data = data;
  else
    munmap(data, static_cast<size_t>(bytes));
}

}  // namespace

Pages::~Pages() { giveBack(data_, bytes_); }

std::byte* Pages::reserve(int64_t bytes) {
  if (bytes <= bytes_ && data_) return data_;
  giveBack(std::exchange(data_, nullptr), std::exchange(bytes_, 0));
  const int64_t size = (bytes / kGranule + 1) * kGranule;
  if (size == kGranule && tSpare.get().data) {
    bytes_ = size;
    return data_ = std::exchange(tSpare.get().data, nullptr);
  }
  void* memory = mmap(nullptr, static_cast<size_t>(size), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  data_ = static_cast<std::byte*>(memory);
  bytes_ = size;
  return data_;
}

void Frame::setUndefined(const Operand& o) { std::memset(newMask(o), 0, static_cast<size_t>(o.stored())); }

uint8_t* Frame::newMask(Slot& slot) {
  // A vector's mask has the same offset in the mask arena as the vector in the arena: masks are never larger.
  uint8_t* mask = slot.home == reinterpret_cast<std::byte*>(&slot.bits)
                      ? &slot.bitsMask
                      : reinterpret_cast<uint8_t*>(maskArena.data() + (slot.home - arena.data()));
  slot.mask = mask;
  return mask;
}

void Frame::tidyMask(const Operand& o) {
  Slot& slot = slots[o.slot];
  if (slot.mask && allOnes(slot.mask, o.stored())) slot.mask = nullptr;
}

namespace {
template <class T>
int64_t read(const std::byte* data) {
  T value;
  std::memcpy(&value, data, sizeof value);
  return value;
}
}  // namespace

int64_t Frame::integer(const Operand& o) const {
  const std::byte* data = slots[o.slot].data;
  switch (storage_bytes(o.dtype)) {
    case 1:
      return read<int8_t>(data);
    case 2:
      return read<int16_t>(data);
    case 4:
      return read<int32_t>(data);
    default:
      return read<int64_t>(data);
  }
}

int64_t Frame::integerUsed(const Operand& o, UndefinedUse use, const char* what) {
  if (undefined(o) && observer) observer->undefinedUse(core->actor(), use, place(), what);
  return integer(o);
}

bool Frame::fail(Diagnostic d) {
  if (!d.place.known()) d.place = place();
  failure = std::move(d);
  stop = Stop::failed;
  return false;
}

bool Frame::fail(Status status) { return fail(std::move(status.error())); }

void Frame::releaseSite(int site) {
  Buffer*& buffer = allocated[static_cast<size_t>(site)];
  if (!buffer) return;
  core->release(*buffer);
  buffer = nullptr;
}

}  // namespace smalti::machine::flat
