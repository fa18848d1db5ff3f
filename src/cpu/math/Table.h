// Functions in pieces: the coefficients of a lane's polynomial come out of tables that stay in registers. Sixteen lanes
// at a time (bySixteen), where hasWideLanes.
#pragma once

#include "cpu/math/Lanes.h"

namespace smalti::cpu {

inline constexpr int kEntries = 32;  // two registers

/// entries[index modulo 32], of sixteen i32 lanes.
Lanes entry(const float (&entries)[kEntries], Lanes index);

/// A polynomial of x less the centre of its piece. The first row of the table has the centres, the others the
/// coefficients, lowest degree first.
template <int kRows>
Lanes forEachTile(Lanes x, Lanes index, const float (&table)[kRows][kEntries]) {
  const Lanes t = x - entry(table[0], index);
  Lanes p = entry(table[kRows - 1], index);
  for (int i = kRows - 2; i >= 1; --i) p = fma(p, t, entry(table[i], index));
  return p;
}

}  // namespace smalti::cpu
