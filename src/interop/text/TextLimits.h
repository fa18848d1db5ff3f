// Limits of Mosaic text. They are checked before MLIR's parser sees the text, because that parser recurses, allocates
// and loops according to the text. Real kernels stay far below: the largest of 700 recorded ones has 200 KiB.
#pragma once

#include <cstdint>

namespace smalti::interop::text {

inline constexpr uint64_t kMaxBytes = 64ull << 20;
inline constexpr uint64_t kMaxTokens = 8'000'000;
inline constexpr int kMaxNesting = 128;  ///< brackets inside brackets, those of aliases counted where used
inline constexpr uint64_t kMaxAliasTokens = 1ull << 20;  ///< of one alias, those of its parts counted where used
inline constexpr uint64_t kMaxUsedTokens = 1ull << 25;   ///< of all uses of aliases together
inline constexpr int kMaxDigits = 40;                    ///< of one number, hexadecimal splats outside quotes included
inline constexpr int kMaxNameBytes = 1024;               ///< of one identifier
inline constexpr int kMaxRank = 32;                      ///< of a type written 8x128xf32
inline constexpr uint64_t kMaxElements = 1ull << 40;     ///< of such a type
inline constexpr int kMaxIntegerBits = 64;               ///< of iN
inline constexpr uint64_t kMaxResults = 1024;            ///< of one op: %0:N and %0#N
inline constexpr int kMaxAffineTokens = 128;             ///< of one affine map or set

}  // namespace smalti::interop::text
