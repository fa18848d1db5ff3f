// Arrays to a device and back.
#pragma once

#include <atomic>
#include <cstddef>

#include "pjrt/Client.h"
#include "smalti/array.h"

namespace smalti::pjrt {

/// A buffer with a copy of the array, which is read during the call only. SM6809 for arrays that no device takes,
/// SM6803 for what the plugin says; `number` is the operand's, in messages.
Result<Handle> toDevice(const Client&, const Device&, const Array&, size_t number, const std::atomic<bool>* stop);
/// What a buffer holds. SM6808 unless it is of this type.
Result<Array> toHost(const Client&, const Device&, void* buffer, const ArrayType&, size_t number,
                     const std::atomic<bool>* stop);

}  // namespace smalti::pjrt
