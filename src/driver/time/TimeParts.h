// The breakdown of a module's time, in µs, and the model's uncertainty.
#pragma once

#include "driver/time/ProgramTime.h"

namespace smalti::driver {

struct TimeParts {
  double matrix = 0;       ///< matrix units are busy
  double vector = 0;       ///< vector arithmetic, transcendental or cross-lane units are
  double vmem = 0;         ///< vector loads or stores are
  double hbm = 0;          ///< waiting for data that HBM moves at its full rate
  double copyLatency = 0;  ///< waiting for copies to begin and to end
  double steps = 0;        ///< grid steps, scalar instructions, starting kernels
  double ici = 0;          ///< waiting for other devices
  double ops = 0;          ///< ops around the kernels
};
TimeParts partsOf(const ProgramTime&, const tpu::Chip&);

/// Sets `lowUs` and `highUs`. Each part of the time is wrong by its own share, and parts are wrong independently of
/// each other (section `uncertainty` of the chip's file).
void setRange(ProgramTime&, const tpu::Chip&);

}  // namespace smalti::driver
