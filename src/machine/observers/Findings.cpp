#include "machine/observers/Findings.h"

#include <algorithm>

namespace smalti::machine {

void Findings::add(Diagnostic d, Severity severity) {
  auto [it, isNew] = known_.try_emplace(d.code + '\n' + d.place.str() + '\n' + d.message, findings_.size());
  if (isNew)
    findings_.push_back({.diagnostic = std::move(d), .severity = severity});
  else
    ++findings_[it->second].count;
}

int64_t countMistakes(const std::vector<Finding>& findings) {
  return std::count_if(findings.begin(), findings.end(),
                       [](const Finding& f) { return f.severity == Severity::finding; });
}

}  // namespace smalti::machine
