// Divides a call's checks into those proved at compile time and those done at run time: per memory whether it may
// be read before it is written, per window whether its blocks may be partial or outside.
#pragma once

#include <string>
#include <vector>

#include "cpu/Unsupported.h"
#include "ir/KernelPackage.h"

namespace smalti::cpu {

/// One input's or output's window, by number as in KernelSignature::windows.
struct WindowCheck {
  int number = 0;
  bool isOutput = false;
  bool mayBeOutside = false;    ///< its index map is not proved to give blocks inside the array
  std::vector<bool> isPartial;  ///< per dimension: the last block may be partial
  bool anyPartial() const;
  /// Outputs: a block is visited in consecutive steps, from index 0 on of every axis from here.
  int visitAxes = 0;
  /// Outputs: this may hold, but depends on values that the index map reads from memory; `visitAxes` is invalid then.
  bool followsVisits = false;
};

struct CheckPlan {
  std::vector<WindowCheck> windows;
  std::vector<unsigned> tracked;  ///< arguments of the kernel function whose elements may be read undefined
  void track(unsigned argument);
  std::vector<unsigned> resets;  ///< outputs among them that must be made undefined at the first step of a block
};

/// Fails with the reason if native code cannot check a call; the machine does it then.
tl::expected<CheckPlan, Unsupported> planChecks(const KernelPackage&);

}  // namespace smalti::cpu
