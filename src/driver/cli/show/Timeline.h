// The blocks that are fetched and written back at each grid step: an observer that keeps the first steps.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "machine/Observer.h"

namespace smalti::cli {

struct TimelineStep {
  int core = 0;
  std::vector<int32_t> gridStep;
  std::map<int, std::string> fetched;  ///< operand → "(0, 1)"
  std::map<int, std::string> writtenBack;
};

/// The timeline of device 0. A kernel begins at the end of the previous one.
class Timeline : public machine::Observer {
 public:
  explicit Timeline(size_t maxSteps) : maxSteps_(maxSteps), kernels_(1) {}
  void stepBegin(const machine::Actor&) override;
  void windowFetched(const machine::Actor&, int operand, std::span<const int64_t> block) override;
  void windowWrittenBack(const machine::Actor&, int operand, std::span<const int64_t> block) override;
  void kernelEnd(const machine::Actor&) override;

  struct Kernel {
    std::vector<TimelineStep> steps;
    int64_t moreSteps = 0;     ///< not kept
    TimelineStep afterTheEnd;  ///< the write-backs after the last step
    bool ended = false;
  };
  const std::vector<Kernel>& kernels() const { return kernels_; }

 private:
  TimelineStep* stepOf(const machine::Actor&, bool begin);
  size_t maxSteps_;
  std::vector<Kernel> kernels_;
};

}  // namespace smalti::cli
