#include "smalti/diagnostic.h"

#include <fmt/format.h>

#include "base/Text.h"

namespace smalti {

std::string SourcePlace::str() const {
  if (file.empty()) return "";
  if (line == 0) return file;
  if (column == 0) return fmt::format("{}:{}", file, line);
  return fmt::format("{}:{}:{}", file, line, column);
}

std::string Diagnostic::str(std::string_view kind) const {
  // Messages quote names and attributes of modules, which may contain anything.
  const auto printable = [](std::string_view part) { return smalti::printable(part, "\n\t"); };
  std::string text = fmt::format("{}[{}]: {}\n", kind, code, printable(message));
  if (place.known()) text += fmt::format("  --> {}\n", printable(place.str()));
  if (!source_line.empty() && place.line > 0) {
    text += fmt::format("{:>5} | {}\n", place.line, printable(source_line));
    if (place.column > 0) text += fmt::format("      | {:>{}}\n", "^", place.column);
  }
  for (const std::string& w : where) text += fmt::format("   in {}\n", printable(w));
  if (!need.empty()) text += fmt::format("  need: {}\n", printable(need));
  if (!have.empty()) text += fmt::format("  have: {}\n", printable(have));
  if (!help.empty()) text += fmt::format("  help: {}\n", printable(help));
  for (const Diagnostic& d : related) text += d.str(kind);
  return text;
}

}  // namespace smalti
