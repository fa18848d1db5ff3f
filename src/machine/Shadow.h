// Initialisation shadows and masks: one byte per element, 1 = defined.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>

namespace smalti::machine {

inline bool allOnes(const uint8_t* mask, int64_t n) { return std::memchr(mask, 0, static_cast<size_t>(n)) == nullptr; }

/// Masks under a bitcast (S-D7, S-D8): a wide element is defined when all its parts are; narrow row r*k+j takes
/// what wide row r has.
void bitcastMask(const uint8_t* in, std::span<const int64_t> inShape, int inBits, uint8_t* out, int outBits);

}  // namespace smalti::machine
