#include "driver/cli/run/CrashText.h"

namespace smalti::cli {

std::string crashText(const Session& session, const std::vector<driver::ConformCase>& cases,
                      const std::vector<driver::CaseOutcome>& outcomes) {
  std::string text;
  for (size_t i = 0; i < cases.size(); ++i) {
    const driver::CaseOutcome& o = outcomes[i];
    if (o.verdict == driver::Verdict::crash && o.diagnostic)
      text += cases[i].name + ":\n" + session.diagnosticText(*o.diagnostic, "error", session.colorOut()) + "\n";
  }
  return text;
}

}  // namespace smalti::cli
