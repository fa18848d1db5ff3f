// The walk over the grid: row-major, last dimension fastest (S-A1), the whole of it or one core's share.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace smalti::machine {

class GridWalk {
 public:
  /// The whole grid. Rank 0 is one step; a bound ≤ 0 means no step (S-A2).
  explicit GridWalk(std::vector<int64_t> bounds);
  /// One core's share of the leading `prefixRank` dimensions: points [begin, end) of their row-major order (S-H6).
  GridWalk(std::vector<int64_t> bounds, int prefixRank, int64_t begin, int64_t end);
  /// The points at which dimension `dim` is `at`: what one core of a core mesh runs (S-H7).
  static GridWalk fixed(std::vector<int64_t> bounds, int dim, int64_t at);

  bool done() const { return done_; }
  std::span<const int32_t> step() const { return step_; }
  void next();

 private:
  std::vector<int64_t> bounds_;
  std::vector<int32_t> step_;
  int prefixRank_ = 0;
  int64_t prefixLeft_ = 1;  ///< points of the prefix still to do, this one included
  int fixedDim_ = -1;
  bool done_ = false;
};

/// The share [begin, end) of core `core` of `cores` in `points` points: ceil(points / cores) consecutive ones.
std::pair<int64_t, int64_t> coreShare(int64_t points, int core, int cores);

}  // namespace smalti::machine
