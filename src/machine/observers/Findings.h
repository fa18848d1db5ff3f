// The findings of observers: each once per place, with its number of occurrences.
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

/// The number of findings that are neither warnings nor notes.
int64_t countMistakes(const std::vector<Finding>&);

}  // namespace smalti::machine
