// What of a call's checks is settled when the kernel is compiled, and what code must look at: per memory whether it may
// be read before it is written, per window where its blocks lie.
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
  bool mayBeOutside = false;    ///< its index map is not proved to give blocks that the array has
  std::vector<bool> isPartial;  ///< per dimension: the last block may be partial
  bool anyPartial() const;
  /// Outputs: a block is visited in consecutive steps, from index 0 on of every axis from here.
  int visitAxes = 0;
  /// Outputs: that may be so, but depends on what the index map finds in memory; `visitAxes` says nothing then.
  bool followsVisits = false;
};

struct CheckPlan {
  std::vector<WindowCheck> windows;
  std::vector<unsigned> tracked;  ///< arguments of the kernel function whose elements may be read undefined
  void track(unsigned argument);
  std::vector<unsigned> resets;  ///< outputs among them that must be made undefined at the first step of a block
};

/// Fails with the reason where native code cannot judge a call: the machine does.
tl::expected<CheckPlan, Unsupported> planChecks(const KernelPackage&);

}  // namespace smalti::cpu
