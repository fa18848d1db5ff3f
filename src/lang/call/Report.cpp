#include "lang/call/Report.h"

#include <cstdio>
#include <cstring>

#include "base/Source.h"

namespace smalti::lang {

std::vector<Array> printAndTakeResults(RunReport&& report) {
  for (const std::string& line : report.log) std::printf("%s\n", line.c_str());
  if (!report.findings.empty()) {
    std::fflush(stdout);
    for (Finding& finding : report.findings) {
      showSource(finding.diagnostic);
      std::string text = finding.diagnostic.str();
      if (finding.severity != Severity::finding) text.replace(0, std::strlen("error"), name(finding.severity));
      std::fprintf(stderr, "%s\n", text.c_str());
    }
  }
  return std::move(report.results);
}

}  // namespace smalti::lang
