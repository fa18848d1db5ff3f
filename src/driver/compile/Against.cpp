#include "driver/compile/Against.h"

#include <cmath>

namespace smalti::driver {
namespace {

/// Whether the compiler failed to give a verdict.
bool hasNoVerdict(const CompilerVerdict& v) {
  return v.error.has_value() || (!v.accepted && (v.reason == "crash" || v.reason == "timeout"));
}

}  // namespace

Agreement compareVerdicts(const OwnVerdict& ours, const CompilerVerdict& theirs) {
  if (ours.error || hasNoVerdict(theirs)) return Agreement::unknown;
  if (ours.accepted != theirs.accepted) return ours.accepted ? Agreement::weAccept : Agreement::weRefuse;
  return ours.accepted || ours.reason == theirs.reason ? Agreement::same : Agreement::otherReason;
}

std::string_view name(Agreement a) {
  switch (a) {
    case Agreement::same:
      return "same";
    case Agreement::otherReason:
      return "other-reason";
    case Agreement::weAccept:
      return "we-accept";
    case Agreement::weRefuse:
      return "we-refuse";
    case Agreement::unknown:
      return "unknown";
  }
  return "";
}

std::optional<double> vmemRatio(const OwnVerdict& ours, const CompilerVerdict& theirs) {
  if (ours.error || hasNoVerdict(theirs) || !ours.accepted || !theirs.accepted) return std::nullopt;
  if (theirs.xlaVmemOperands > 0 || theirs.vmemBytes <= 0) return std::nullopt;
  return static_cast<double>(ours.vmemBytes) / static_cast<double>(theirs.vmemBytes);
}

void AgainstTally::add(const OwnVerdict& ours, const CompilerVerdict& theirs) {
  switch (compareVerdicts(ours, theirs)) {
    case Agreement::same:
      ++same;
      break;
    case Agreement::otherReason:
      ++otherReason;
      break;
    case Agreement::weAccept:
      ++weAccept;
      break;
    case Agreement::weRefuse:
      ++weRefuse;
      break;
    case Agreement::unknown:
      ++unknown;
      break;
  }
  const auto ratio = vmemRatio(ours, theirs);
  if (!ratio) return;
  ++vmemPairs;
  vmemEqual += ours.vmemBytes == theirs.vmemBytes;
  vmemNear += std::abs(*ratio - 1) <= kNear;
}

}  // namespace smalti::driver
