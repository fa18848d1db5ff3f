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
  /// One core's share of a grid whose dimensions `shared` (a bit each) are divided: every one of them, so that what is
  /// carried along any of them is missing somewhere. Each is cut into as many runs of points as there are cores, and a
  /// point is that core's whose number is the sum of its runs' (modulo the cores). With one shared dimension these are
  /// consecutive points (S-H6).
  GridWalk(std::vector<int64_t> bounds, uint64_t shared, int core, int cores);
  /// The points at which dimension `dim` is `at`: what one core of a core mesh runs (S-H7).
  static GridWalk fixed(std::vector<int64_t> bounds, int dim, int64_t at);

  bool done() const { return done_; }
  std::span<const int32_t> step() const { return step_; }
  void next();

 private:
  void findMine();
  void advance();
  bool isMine() const;

  std::vector<int64_t> bounds_;
  std::vector<int32_t> step_;
  uint64_t shared_ = 0;
  int core_ = 0, cores_ = 1;
  int fixedDim_ = -1;
  bool done_ = false;
};

}  // namespace smalti::machine
