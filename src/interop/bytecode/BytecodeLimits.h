// Limits of the bytecode reader. Real kernels stay far below: the largest of 700 recorded ones has 16 KiB.
#pragma once

#include <cstdint>

namespace smalti::interop::bytecode {

inline constexpr uint64_t kMaxBytes = 16ull << 20;  ///< of one body
inline constexpr int kMaxRegionDepth = 96;          ///< ops inside ops
inline constexpr int kMaxAttributeDepth = 48;       ///< attributes and types inside each other
inline constexpr uint64_t kMaxTextBytes = 4096;     ///< one attribute or type stored as text
inline constexpr int kMaxTextDepth = 16;            ///< brackets inside brackets in such a text
inline constexpr int kMaxRank = 32;
inline constexpr int kMaxAffineNodes = 64;  ///< of one map's expressions
inline constexpr int64_t kMaxAffineConstant = 1 << 20;
inline constexpr uint64_t kMaxElements = 1ull << 40;  ///< of one vector or memref
/// Attributes share their parts, so a small body can spell an attribute that is astronomically large when walked.
inline constexpr uint64_t kMaxAttributeNodes = 1ull << 20;  ///< of one attribute, every part counted where it is used
inline constexpr uint64_t kMaxModuleNodes = 1ull << 24;     ///< of all ops' attributes, types and locations together

}  // namespace smalti::interop::bytecode
