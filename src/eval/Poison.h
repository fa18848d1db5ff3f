// The contents of undefined memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "smalti/dtype.h"

namespace smalti::eval {

/// The value of undefined memory: floats NaN, integers the type's minimum (or maximum), pred false, semaphores 0;
/// `zero`: all bits 0.
enum class Poison : uint8_t { intMin, intMax, zero };
void poison(DType, Poison, std::byte* out, int64_t elements);

}  // namespace smalti::eval
