#include "driver/case/ChildFailure.h"

#include <cstring>

#include <fmt/format.h>

#include "driver/program/TimeLimit.h"
#include "driver/target/Target.h"

namespace smalti::driver {

Diagnostic outOfMemory(std::string_view work) {
  return {.code = "SM9013",
          .message = fmt::format("out of memory for this {}", work),
          .place = {},
          .help = "raise --child-memory-mib, or run fewer at once with --jobs"};
}

Diagnostic failureOf(const ChildResult& result, const Options& options, std::string_view work) {
  if (result.timedOut) return notInTime(work, static_cast<double>(options.caseSeconds()));
  // Without memory the C++ library and LLVM end by SIGABRT, the kernel by SIGKILL.
  if (result.standardError.find("out of memory") != std::string::npos ||
      result.standardError.find("bad_alloc") != std::string::npos)
    return outOfMemory(work);
  return {.code = "SM9011",
          .message = fmt::format("the process of this {0} ended before the {0} did", work),
          .place = {},
          .have = (result.signal ? fmt::format("signal {} ({})", result.signal, ::strsignal(result.signal))
                                 : std::string("no outcome")) +
                  (result.standardError.empty() ? "" : "; " + result.standardError),
          .help = fmt::format("this is a bug in Smalti: please report it with the {}", work)};
}

Options optionsInChild(Options options) {
  options.timeoutSeconds = 0;
  return options;
}

ChildLimits limitsOf(const Options& options) {
  const Target* target = findTarget(options.target);
  return {.atOnce = options.jobs > 0 ? options.jobs : numProcessors(),
          .seconds = static_cast<double>(options.caseSeconds()),
          .addressSpaceMib = target && target->reservesAddressSpace ? 0 : options.childMemoryMib};
}

}  // namespace smalti::driver
