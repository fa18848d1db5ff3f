#include "cpu/inspect/InnerLoop.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <vector>

namespace smalti::cpu {
namespace {

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") + 1 - begin);
}

struct Line {
  std::string_view code;
  bool spills = false;  ///< as its comment says
};

/// Labels and instructions; directives, comments and empty lines left out.
std::vector<Line> codeLines(std::string_view assembly) {
  std::vector<Line> lines;
  while (!assembly.empty()) {
    const size_t end = std::min(assembly.find('\n'), assembly.size());
    std::string_view line = assembly.substr(0, end);
    assembly.remove_prefix(std::min(end + 1, assembly.size()));
    const size_t code = std::min({line.size(), line.find("//"), line.find("# ")});  // "#1" is a number of AArch64
    const std::string_view comment = line.substr(code);
    line = trimmed(line.substr(0, code));
    if (line.empty() || (line[0] == '.' && !line.ends_with(':'))) continue;
    lines.push_back({line, comment.find(" Spill") != comment.npos || comment.find(" Reload") != comment.npos});
  }
  return lines;
}

bool isLabel(std::string_view line) { return line.ends_with(':'); }
std::string_view mnemonic(std::string_view line) { return line.substr(0, line.find_first_of(" \t")); }

/// The label that a jump goes to; empty for other instructions.
std::string_view jumpTarget(std::string_view line) {
  const std::string_view op = mnemonic(line);
  const bool jumps =
      op.starts_with('j') || op == "b" || op.starts_with("b.") || op.starts_with("cb") || op.starts_with("tb");
  if (!jumps) return {};
  const size_t at = line.find_last_of(" \t,");
  return at == line.npos ? std::string_view() : line.substr(at + 1);
}

bool usesVectors(std::string_view line) {
  static constexpr std::array<std::string_view, 6> kRegisters{"%zmm", "%ymm", "%xmm", ".4s", ".2d", ".16b"};
  return std::any_of(kRegisters.begin(), kRegisters.end(),
                     [&](std::string_view r) { return line.find(r) != line.npos; });
}

struct Loop {
  size_t begin = 0, end = 0;  ///< the label, the jump
};

std::vector<Loop> loopsOf(const std::vector<Line>& lines) {
  std::map<std::string_view, size_t> labels;
  std::map<size_t, size_t> ends;  // a label's last jump back
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string_view line = lines[i].code;
    if (isLabel(line)) {
      labels[line.substr(0, line.size() - 1)] = i;
    } else if (const auto target = labels.find(jumpTarget(line)); target != labels.end()) {
      ends[target->second] = i;
    }
  }
  std::vector<Loop> loops;
  for (const auto& [begin, end] : ends) loops.push_back({begin, end});
  return loops;
}

}  // namespace

bool isMultiplyAdd(std::string_view instruction) {
  static constexpr std::array<std::string_view, 13> kNames{"vfmadd",  "vfnmadd", "vfmsub", "vfnmsub", "vpdp",
                                                           "vdpbf16", "fmla",    "fmls",   "fmadd",   "fmsub",
                                                           "sdot",    "udot",    "bfdot"};
  return usesVectors(instruction) &&
         std::ranges::any_of(kNames, [&](std::string_view name) { return instruction.starts_with(name); });
}

std::optional<InnerLoop> findInnerLoop(std::string_view assembly) {
  const std::vector<Line> lines = codeLines(assembly);
  const std::vector<Loop> loops = loopsOf(lines);
  std::optional<InnerLoop> best;
  std::tuple<int, int, int, int> bestScore{-1, 0, 0, 0};
  for (const Loop& loop : loops) {
    int depth = 0;
    bool innermost = true;
    for (const Loop& other : loops) {
      const bool same = other.begin == loop.begin && other.end == loop.end;
      if (!same && other.begin >= loop.begin && other.end <= loop.end) innermost = false;
      if (!same && other.begin <= loop.begin && other.end >= loop.end) ++depth;
    }
    if (!innermost) continue;
    InnerLoop found;
    int vectors = 0;
    for (size_t i = loop.begin; i <= loop.end; ++i) {
      const std::string_view line = lines[i].code;
      found.text += isLabel(line) ? "" : "\t";
      found.text += line;
      found.text += '\n';
      if (isLabel(line)) continue;
      ++found.instructions;
      found.multiplyAdds += isMultiplyAdd(line);
      vectors += usesVectors(line);
      found.spills += lines[i].spills;
    }
    const std::tuple score{found.multiplyAdds, vectors, depth, found.instructions};
    if (score <= bestScore) continue;
    bestScore = score;
    best = std::move(found);
  }
  return best;
}

int countSpills(std::string_view assembly) {
  return static_cast<int>(std::ranges::count_if(codeLines(assembly), &Line::spills));
}

}  // namespace smalti::cpu
