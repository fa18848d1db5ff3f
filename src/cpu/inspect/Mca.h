// What LLVM's model of a processor says of a loop: llvm-mca, where it is installed.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cpu/Processor.h"
#include "smalti/diagnostic.h"

namespace smalti::cpu {

struct LoopCycles {
  double cycles = 0;            ///< of one pass, in the long run
  double multiplyAddBound = 0;  ///< cycles that the multiply-adds alone take
  /// Of the peak of multiply-adds; 0 where there are none.
  double fraction() const { return cycles > 0 ? multiplyAddBound / cycles : 0; }
};

/// Path of llvm-mca of this LLVM; absent when it is not installed.
std::optional<std::string> findMca();
/// Runs it over a loop's text. SM7004 with what it prints when it fails.
Result<LoopCycles> loopCycles(const std::string& mca, std::string_view loop, const Processor&);
/// Reads what it prints for `iterations` passes.
std::optional<LoopCycles> parseMca(std::string_view report);

}  // namespace smalti::cpu
