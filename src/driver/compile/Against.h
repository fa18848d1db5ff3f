// Two verdicts on one kernel and chip: Smalti's and the compiler's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "driver/compile/Verdict.h"

namespace smalti::driver {

/// Ours, with the compiler's names for reasons.
struct OwnVerdict {
  std::optional<Diagnostic> error;  ///< we cannot read the module
  bool accepted = false;
  std::string reason;  ///< of a refusal
  int64_t vmemBytes = 0;
  Json json;  ///< as `check --chip --json` has it
};

enum class Agreement {
  same,         ///< accepted by both, or refused for the same reason
  otherReason,  ///< refused by both
  weAccept,     ///< accepted by Smalti, refused by the compiler
  weRefuse,     ///< refused by Smalti, accepted by the compiler
  unknown,      ///< one of both has no verdict: the module cannot be read, the compiler crashed or hung
};
Agreement compareVerdicts(const OwnVerdict&, const CompilerVerdict&);
/// "same", "other-reason", "we-accept", "we-refuse", "unknown".
std::string_view name(Agreement);
/// Ours over the compiler's bytes, of what both accept; nullopt where XLA itself keeps operands in VMEM, which the
/// kernel then needs no windows for, and where there is nothing to compare.
std::optional<double> vmemRatio(const OwnVerdict&, const CompilerVerdict&);

/// The numbers of agreements and differences, over all modules and chips.
struct AgainstTally {
  int64_t same = 0, otherReason = 0, weAccept = 0, weRefuse = 0, unknown = 0;
  int64_t vmemPairs = 0, vmemEqual = 0, vmemNear = 0;  ///< near: within kNear
  static constexpr double kNear = 0.03;
  void add(const OwnVerdict&, const CompilerVerdict&);
  bool agrees() const { return otherReason + weAccept + weRefuse == 0; }
  int64_t numVerdicts() const { return same + otherReason + weAccept + weRefuse + unknown; }
};

}  // namespace smalti::driver
