// A progress line on a terminal's standard error, for anything that takes over two seconds.
#pragma once

#include <chrono>
#include <string>

namespace smalti::term {

/// The caller updates it whenever it likes; it appears after two seconds, changes at most ten times a second, and
/// vanishes at the end. Silent when standard error is not a terminal.
class Progress {
 public:
  Progress();
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void update(const std::string& text);
  /// Removes the line; the next update shows it again.
  void clear();
  double seconds() const;

 private:
  std::chrono::steady_clock::time_point start_, last_;
  bool terminal_;
  bool shown_ = false;
};

/// The same from a thread of its own, during work that cannot call: "WHAT… 12 s".
class Ticker {
 public:
  explicit Ticker(std::string what);
  ~Ticker();
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;

 private:
  struct State;
  State* state_;
};

}  // namespace smalti::term
