// The prediction of LLVM's processor model for a loop: runs llvm-mca, if it is installed.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cpu/Processor.h"
#include "smalti/diagnostic.h"

namespace smalti::cpu {

struct LoopCycles {
  double cycles = 0;            ///< per iteration, in steady state
  double multiplyAddBound = 0;  ///< cycles per iteration for the multiply-adds alone
  /// The fraction of the peak of multiply-adds; 0 if there are none.
  double fraction() const { return cycles > 0 ? multiplyAddBound / cycles : 0; }
};

/// Path of llvm-mca of this LLVM; nullopt if it is not installed.
std::optional<std::string> findMca();
/// Runs it on a loop's text. SM7004 with its output if it fails.
Result<LoopCycles> loopCycles(const std::string& mca, std::string_view loop, const Processor&);
/// Parses its output for `iterations` iterations.
std::optional<LoopCycles> parseMca(std::string_view report);

}  // namespace smalti::cpu
