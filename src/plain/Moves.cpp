#include "plain/Moves.h"

#include <algorithm>
#include <cstring>
#include <vector>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace smalti::plain {
namespace {

/// The number of bytes that a thread moves at a time.
constexpr int64_t kPieceBytes = 256 << 10;
/// Shorter rows are seldom whole cache lines, which non-temporal stores need.
constexpr int64_t kStreamedRow = 1024;

void moveRows(const Move& m, bool streamed) {
  for (int64_t r = 0; r < m.rows; ++r) {
    const std::byte* from = m.from + r * m.fromStride;
    std::byte* to = m.to + r * m.toStride;
    if (streamed && m.rowBytes >= kStreamedRow)
      stream(from, to, m.rowBytes);
    else
      std::memcpy(to, from, static_cast<size_t>(m.rowBytes));
  }
}

/// The same in pieces for threads to share.
std::vector<Move> pieces(std::span<const Move> moves) {
  std::vector<Move> all;
  for (const Move& m : moves) {
    if (m.rowBytes == 0) continue;
    const int64_t rows = std::max<int64_t>(1, kPieceBytes / m.rowBytes), bytes = std::min(m.rowBytes, kPieceBytes);
    for (int64_t r = 0; r < m.rows; r += rows)
      for (int64_t b = 0; b < m.rowBytes; b += bytes)
        all.push_back({m.from + r * m.fromStride + b, m.to + r * m.toStride + b, std::min(rows, m.rows - r),
                       std::min(bytes, m.rowBytes - b), m.fromStride, m.toStride});
  }
  return all;
}

}  // namespace

void moveAll(std::span<const Move> moves, const ShareWork& share) {
  int64_t bytes = 0;
  for (const Move& m : moves) bytes += m.rows * m.rowBytes;
  if (!share || bytes < kWorthSharingBytes) {
    for (const Move& m : moves) moveRows(m, false);
    return;
  }
  const bool streamed = bytes >= kStreamedBytes;
  const std::vector<Move> all = pieces(moves);
  share(static_cast<int64_t>(all.size()), [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) moveRows(all[static_cast<size_t>(i)], streamed);
    if (streamed) endStream();
  });
}

void stream(const std::byte* from, std::byte* to, int64_t bytes) {
#if defined(__x86_64__)
  constexpr int64_t kLine = 64;
  const auto past = static_cast<int64_t>(reinterpret_cast<uintptr_t>(to) % kLine);
  const int64_t head = std::min(bytes, past == 0 ? 0 : kLine - past);
  std::memcpy(to, from, static_cast<size_t>(head));
  int64_t i = head;
  for (; i + kLine <= bytes; i += kLine)
    for (int64_t part = 0; part < kLine; part += 16)
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + i + part),
                       _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i + part)));
  std::memcpy(to + i, from + i, static_cast<size_t>(bytes - i));
#else
  std::memcpy(to, from, static_cast<size_t>(bytes));
#endif
}

void endStream() {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

}  // namespace smalti::plain
