// x = n π/2 + r with |r| ≤ π/4, for every finite f32.
#pragma once

#include "cpu/math/Lanes.h"

namespace smalti::cpu {

struct QuarterTurns {
  Lanes n;          ///< i32, right modulo 4
  Lanes remainder;  ///< float
  Lanes rest;       ///< the rounding error of the remainder
};

/// Reduces x ≥ 0; infinity and NaN give NaN. Vectors with a large x in any lane take a separate block, which rarely
/// runs: the builder is left in another block than before.
QuarterTurns reduceByQuarterTurns(Lanes x);

}  // namespace smalti::cpu
