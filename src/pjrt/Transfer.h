// Arrays to a device and back.
#pragma once

#include <atomic>
#include <cstddef>

#include "pjrt/Client.h"
#include "smalti/array.h"

namespace smalti::pjrt {

/// A buffer with a copy of the array, which is read during the call only. SM6809: an array that no device takes;
/// SM6803: an error of the plugin. `number` is the operand's, in messages.
Result<Handle> toDevice(const Client&, const Device&, const Array&, size_t number, const std::atomic<bool>* stop);
/// The content of a buffer. Error SM6808: it has another type.
Result<Array> toHost(const Client&, const Device&, void* buffer, const ArrayType&, size_t number,
                     const std::atomic<bool>* stop);

}  // namespace smalti::pjrt
