// The time of one core, in its cycles: what it computes, and copies that are on their way meanwhile.
#pragma once

#include <map>

#include "sim/Recorder.h"
#include "sim/Work.h"

namespace smalti::sim {

/// The breakdown of a core's time, in cycles.
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
  enum class Route : uint8_t { hbm, onChip, ici };
  /// `device`: that an ici copy goes to; those to one device share a link, those to several go at the same time.
  Copy start(Route, double bytes, int64_t device = 0);
  void waitFor(const Copy&);

  Recorder* recorder = nullptr;  ///< not owned; null: no recorder
  /// The arrival time of a signal that another device sends now: all devices do the same at the same time.
  double signalled() const { return now_ + hop(); }
  /// Waits for other devices.
  void waitUntil(double cycles);
  /// HBM at one end of a copy between devices.
  void countHbm(double bytes) { hbmBytes += bytes; }

  Spent spent;
  Work work;            ///< all of it
  double hbmBytes = 0;  ///< moved
  int64_t copies = 0;
  double copyBytes = 0;

 private:
  /// The latency from a device to its neighbour, in cycles.
  double hop() const { return chip_.ici.hopLatencyUs * 1e3 * chip_.device.clockGhz; }

  const tpu::Chip& chip_;
  double now_ = 0, hbmFree_ = 0;
  std::map<int64_t, double> iciFree_;  ///< by device: when the link to it is free again
  double hbmBytesPerCycle_, iciBytesPerCycle_, latency_;
};

}  // namespace smalti::sim
