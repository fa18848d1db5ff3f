// x = n π/2 + r with |r| ≤ π/4, for every finite f32.
#pragma once

#include "cpu/math/Lanes.h"

namespace smalti::cpu {

struct QuarterTurns {
  Lanes n;          ///< i32, right modulo 4
  Lanes remainder;  ///< float
  Lanes rest;       ///< the rounding error of the remainder
};

/// Of x ≥ 0; NaN for infinity and NaN. Large x, in any lane, go through a block of their own that is rarely run: the
/// builder is left in another block.
QuarterTurns reduceByQuarterTurns(Lanes x);

}  // namespace smalti::cpu
