#include "cpu/inspect/Mca.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include <fmt/format.h>

#include "base/io/File.h"
#include "cpu/inspect/InnerLoop.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/Program.h"

namespace smalti::cpu {
namespace {

std::optional<double> numberAfter(std::string_view text, std::string_view label) {
  const size_t at = text.find(label);
  if (at == text.npos) return std::nullopt;
  const size_t begin = text.find_first_not_of(' ', at + label.size());
  if (begin == text.npos) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data() + begin, text.data() + text.size(), value);
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

/// A row of "Instruction Info": uops, latency, throughput, marks of side effects, then the instruction.
std::optional<double> multiplyAddThroughput(std::string_view row) {
  double value = 0;
  for (int column = 0; column < 3; ++column) {
    const size_t begin = row.find_first_not_of(' ');
    if (begin == row.npos) return std::nullopt;
    row.remove_prefix(begin);
    const auto [end, error] = std::from_chars(row.data(), row.data() + row.size(), value);
    if (error != std::errc()) return std::nullopt;
    row.remove_prefix(static_cast<size_t>(end - row.data()));
  }
  row.remove_prefix(std::min(row.find_first_not_of(" *U"), row.size()));
  return isMultiplyAdd(row) ? std::optional(value) : std::nullopt;
}

Diagnostic failure(const std::string& mca, std::string have) {
  return {.code = "SM7004",
          .message = fmt::format("'{}' cannot predict the time of the inner loop", mca),
          .place = {},
          .have = std::move(have),
          .help = "the rest of the output does not need it"};
}

}  // namespace

std::optional<std::string> findMca() {
  for (const std::string& name : {fmt::format("llvm-mca-{}", LLVM_VERSION_MAJOR), std::string("llvm-mca")})
    if (auto found = llvm::sys::findProgramByName(name)) return *found;
  return std::nullopt;
}

std::optional<LoopCycles> parseMca(std::string_view report) {
  const auto iterations = numberAfter(report, "Iterations:"), cycles = numberAfter(report, "Total Cycles:");
  if (!iterations || !cycles || *iterations <= 0) return std::nullopt;
  LoopCycles loop{.cycles = *cycles / *iterations};
  const size_t table = report.find("Instructions:\n", report.find("Instruction Info:"));
  if (table == report.npos) return loop;
  std::string_view rows = report.substr(report.find('\n', table) + 1);
  while (!rows.empty() && rows[0] != '\n') {
    const size_t end = std::min(rows.find('\n'), rows.size());
    loop.multiplyAddBound += multiplyAddThroughput(rows.substr(0, end)).value_or(0);
    rows.remove_prefix(std::min(end + 1, rows.size()));
  }
  return loop;
}

Result<LoopCycles> loopCycles(const std::string& mca, std::string_view loop, const Processor& processor) {
  llvm::SmallString<128> input, output;
  if (llvm::sys::fs::createTemporaryFile("smalti_loop", "s", input) ||
      llvm::sys::fs::createTemporaryFile("smalti_mca", "txt", output))
    return fail(failure(mca, "there is no room for temporary files"));
  const llvm::FileRemover removeInput(input), removeOutput(output);
  if (Status written = writeFile(input.str().str(), {loop}); !written) return fail(written.error());
  constexpr unsigned kSecondsLimit = 20;
  const std::string triple = "-mtriple=" + processor.triple, cpu = "-mcpu=" + processor.name;
  const llvm::StringRef arguments[] = {mca, triple, cpu, "-iterations=200", "-resource-pressure=0", input};
  std::string problem;
  const int code = llvm::sys::ExecuteAndWait(mca, arguments, std::nullopt,
                                             {llvm::StringRef(""), llvm::StringRef(output), llvm::StringRef(output)},
                                             kSecondsLimit, 0, &problem);
  const auto report = readFile(output.str().str());
  if (!report) return fail(report.error());
  if (code == 0)
    if (const auto cycles = parseMca(*report)) return *cycles;
  return fail(failure(mca, problem.empty() ? report->substr(0, report->find('\n')) : problem));
}

}  // namespace smalti::cpu
