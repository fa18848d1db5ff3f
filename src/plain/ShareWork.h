// Work that several threads share. Which of them does a part does not show in the result.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>

namespace smalti::plain {

/// Calls its argument for ranges that together are [0, points), on any threads; returns when all have returned.
using ShareWork = std::function<void(int64_t points, const std::function<void(int64_t first, int64_t last)>&)>;

/// Element-wise steps, or multiply-adds by SIMD instructions, below which waking another thread (10 to 50 µs) takes
/// longer than the work.
inline constexpr int64_t kWorthSharingSteps = 1 << 18;

/// Calls work(first, last) for ranges that together are [0, points), in multiples of `piece`: by `share`, unless it is
/// empty or `steps` in all are too few.
template <class Work>
void shareInPieces(const ShareWork& share, int64_t points, int64_t piece, int64_t steps, const Work& work) {
  if (!share || steps < kWorthSharingSteps || points <= piece) return work(int64_t{0}, points);
  share((points + piece - 1) / piece,
        [&](int64_t first, int64_t last) { work(first * piece, std::min(points, last * piece)); });
}

}  // namespace smalti::plain
