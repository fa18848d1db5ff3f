#include "base/DeviceArrayUses.h"

namespace smalti {

void DeviceArray::Uses::read(void* stream, std::set<void*>& earlier) {
  const std::lock_guard lock(mutex_);
  ++count_;
  const bool isFirst = readers_.insert(stream).second;  // later ones come after it, and so after the writer
  if (isFirst && writer_ && *writer_ != stream) earlier.insert(*writer_);
}

void DeviceArray::Uses::write(void* stream, std::set<void*>& earlier) {
  const std::lock_guard lock(mutex_);
  ++count_;
  if (writer_ && *writer_ != stream) earlier.insert(*writer_);
  readers_.erase(stream);
  earlier.merge(readers_);
  readers_.clear();
  writer_ = stream;
}

std::optional<void*> DeviceArray::Uses::writer() const {
  const std::lock_guard lock(mutex_);
  return writer_;
}

uint64_t DeviceArray::Uses::count() const {
  const std::lock_guard lock(mutex_);
  return count_;
}

void DeviceArray::Uses::forget(uint64_t count) {
  const std::lock_guard lock(mutex_);
  if (count != count_) return;
  writer_.reset();
  readers_.clear();
}

}  // namespace smalti
