// Runs work in child processes: a crash, a hang or memory exhaustion affects one piece of work, not the others.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace smalti::driver {

struct ChildLimits {
  int64_t atOnce = 1;
  double seconds = 60;          ///< wall-clock time of one piece of work; then it is killed
  int64_t addressSpaceMib = 0;  ///< beyond what the parent has; 0: no limit
  int64_t piecesEach = 1;       ///< that one child does after another; for work whose preparation is costly
  int64_t errorBytes = 600;     ///< of `ChildResult::standardError`
  const bool* stop = nullptr;   ///< when it has become true, no further piece is begun
};

struct ChildResult {
  bool finished = false;  ///< it came to its end; `output` is what it returned
  bool timedOut = false;
  int signal = 0;  ///< that ended it
  std::string output;
  std::string standardError;  ///< the last lines a library wrote before it died, at most `errorBytes`
  double seconds = 0;
};

/// Calls `work(i)` for i < count in forks of this (single-threaded) process, and `done(i, result)` here in the order in
/// which they end. After a piece that does not finish, its child is gone, and the next piece gets a new one. `tick` is
/// called a few times a second.
void runInChildren(int64_t count, const ChildLimits&, const std::function<std::string(int64_t)>& work,
                   const std::function<void(int64_t, const ChildResult&)>& done, const std::function<void()>& tick);

/// Processors that this process may use.
int64_t numProcessors();

}  // namespace smalti::driver
