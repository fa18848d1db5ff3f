#include "cpu/cache/ReportText.h"

#include <charconv>

#include <fmt/format.h>

namespace smalti::cpu {
namespace {

std::optional<int64_t> number(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::string reportText(const NativeReport& report) {
  std::string text = fmt::format("object {}\narena {}\n", report.compile.objectBytes, report.arenaBytes);
  for (const std::string& line : report.matmuls) text += fmt::format("matmul {}\n", line);
  if (!report.sequentialReason.empty()) text += fmt::format("order {}\n", report.sequentialReason);
  return text;
}

std::optional<NativeReport> readReport(std::string_view text) {
  NativeReport report;
  report.compile.fromCache = true;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    if (end == text.npos) return std::nullopt;
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    const size_t space = line.find(' ');
    if (space == line.npos) return std::nullopt;
    const std::string_view name = line.substr(0, space), value = line.substr(space + 1);
    if (name == "matmul") {
      report.matmuls.emplace_back(value);
    } else if (name == "order") {
      report.sequentialReason = value;
    } else {
      const auto n = number(value);
      if (!n || (name != "object" && name != "arena")) return std::nullopt;
      (name == "object" ? report.compile.objectBytes : report.arenaBytes) = *n;
    }
  }
  return report;
}

}  // namespace smalti::cpu
