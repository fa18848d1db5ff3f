#include "lang/call/Report.h"

#include <cstdio>

#include "base/Source.h"

namespace smalti::lang {

std::vector<Array> printAndTakeResults(RunReport&& report) {
  for (const std::string& line : report.log) std::printf("%s\n", line.c_str());
  if (!report.findings.empty()) {
    std::fflush(stdout);
    for (Finding& finding : report.findings) {
      showSource(finding.diagnostic);
      std::fprintf(stderr, "%s\n", finding.str().c_str());
    }
  }
  return std::move(report.results);
}

}  // namespace smalti::lang
