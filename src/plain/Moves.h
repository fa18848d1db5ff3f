// Memory that moves between the arrays of several devices: rows of bytes, split over threads, by non-temporal stores
// for more bytes than the caches hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "plain/ShareWork.h"

namespace smalti::plain {

/// Below this, waking another thread takes longer than the work.
inline constexpr int64_t kWorthSharingBytes = 512 << 10;
/// Results from this size on are written by non-temporal stores: the cache lines need not be read first. Of the
/// second-level caches of today's servers, 1 to 2 MiB a core, several cores' together.
inline constexpr int64_t kStreamedBytes = 4 << 20;

struct Move {
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
  int64_t rows = 0, rowBytes = 0;
  int64_t fromStride = 0, toStride = 0;  ///< in bytes, from row to row
};
/// Source and target do not overlap. `share` may be empty: then on the caller alone.
void moveAll(std::span<const Move>, const ShareWork& share);

/// Copies with non-temporal stores; what other threads read afterwards has to be ordered by `endStream` first.
void stream(const std::byte* from, std::byte* to, int64_t bytes);
void endStream();

}  // namespace smalti::plain
