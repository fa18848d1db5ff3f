// Runs the scalars, copies and semaphores of one function of a kernel against a clock.
#pragma once

#include <chrono>
#include <span>

#include "sim/Code.h"
#include "sim/Memory.h"
#include "sim/Time.h"

namespace smalti::sim {

class Runner {
 public:
  Runner(const Code&, const tpu::Chip&, Memory&, std::span<const int64_t> grid, const Question&);

  void setNumber(size_t argument, int64_t value);
  void setRef(size_t argument, const View&);
  /// Runs the code from its beginning to its end.
  Status run(Clock&);
  /// The results of an index map, after `run`. Error SM6902: a coordinate is not known.
  Result<std::vector<int64_t>> results() const;

  /// How often each stretch has been passed.
  const std::vector<int64_t>& passed() const { return passed_; }
  int64_t rounds() const { return rounds_; }

 private:
  struct Number {
    int64_t value = 0;
    int32_t origin = -1;  ///< of `Code::origins`; -1: the value is known
    bool known() const { return origin < 0; }
  };

  bool isLate() const { return std::chrono::steady_clock::now() > deadline_; }
  Status step(const Instruction&, Clock&);
  View sliceOf(const Instruction&) const;
  std::optional<int64_t> offsetOf(const View&, const Instruction&) const;
  void startCopy(const Instruction&, Clock&);
  static void waitSignal(Semaphore&, int64_t amount, Clock&);
  Status waitCopy(const Instruction&, Clock&);
  Number unknown(int32_t origin) const;
  Diagnostic notKnown(const Instruction&, const Number&) const;

  const Code& code_;
  const tpu::Chip& chip_;
  Memory& memory_;
  std::vector<int64_t> grid_;
  const Question& question_;
  std::vector<Number> numbers_;
  std::vector<View> refs_;
  struct ReadFrom {
    std::string name;
    std::optional<size_t> operand;
  };
  std::vector<ReadFrom> readFrom_;               ///< by origin: the buffer that a number was read from
  std::vector<std::optional<int64_t>> assumed_;  ///< by origin
  std::vector<int64_t> passed_;
  size_t at_ = 0;
  int64_t rounds_ = 0;
  uint64_t instructions_ = 0;
  std::chrono::steady_clock::time_point deadline_;
};

}  // namespace smalti::sim
