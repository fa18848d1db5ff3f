// What observers have found: each thing once per place, with how often.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "machine/Machine.h"

namespace smalti::machine {

class Findings {
 public:
  /// Equal code, place and message are one finding; the first one's numbers are kept.
  void add(Diagnostic, Severity = Severity::finding);
  std::vector<Finding> take() { return std::move(findings_); }

 private:
  std::map<std::string, size_t> known_;
  std::vector<Finding> findings_;
};

/// How many are no notes.
int64_t countMistakes(const std::vector<Finding>&);

}  // namespace smalti::machine
