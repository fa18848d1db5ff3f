// The time of one core, in its cycles: what it computes, and copies that are on their way meanwhile.
#pragma once

#include <deque>
#include <unordered_map>

#include "sim/Recorder.h"
#include "sim/Work.h"

namespace smalti::sim {

/// Where the time of a core goes, in cycles.
struct Spent {
  std::array<double, Work::numUnits> units{};  ///< computing, by the unit that was busiest
  double scalar = 0;                           ///< scalar instructions, and what a step costs whatever it does
  double bandwidth = 0;                        ///< waiting for HBM that moves data at its full rate
  double latency = 0;                          ///< waiting for copies to start and to end
  double ici = 0;                              ///< waiting for other devices
};

class Clock {
 public:
  /// `hbmShare`: of the chip's bandwidth, what this core may use.
  Clock(const tpu::Chip& chip, double hbmShare);

  double now() const { return now_; }
  void compute(const Work&);
  void scalar(double cycles) {
    now_ += cycles;
    spent.scalar += cycles;
  }

  struct Copy {
    double bandwidthDone = 0, done = 0;
    bool remote = false;
    int32_t number = -1;  ///< of the recorder
  };
  enum class Way : uint8_t { hbm, onChip, ici };
  Copy start(Way, double bytes);
  void waitFor(const Copy&);

  Recorder* recorder = nullptr;  ///< not owned; null: nobody looks
  Spent spent;
  Work work;            ///< all of it
  double hbmBytes = 0;  ///< moved
  int64_t copies = 0;
  double copyBytes = 0;

 private:
  const tpu::Chip& chip_;
  double now_ = 0, hbmFree_ = 0, iciFree_ = 0;
  double hbmBytesPerCycle_, iciBytesPerCycle_, latency_;
};

}  // namespace smalti::sim
