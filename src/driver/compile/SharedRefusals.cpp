#include "driver/compile/SharedRefusals.h"

#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace smalti::driver {
namespace {

std::string withoutChip(std::string text, const std::string& chip) {
  const std::string words = " for " + chip + " ";
  if (const size_t at = text.find(words); at != std::string::npos) text.replace(at, words.size(), " ");
  return text;
}

}  // namespace

std::string SharedRefusal::who() const {
  std::string text = fmt::format("{}, for {}", modules[0].path, fmt::join(modules[0].chips, ", "));
  std::vector<bool> isReported(modules.size());
  isReported[0] = true;
  for (size_t i = 0; i < modules.size(); ++i) {
    // The modules with the same chips as module i.
    std::vector<std::string> paths;
    for (size_t j = i; j < modules.size(); ++j)
      if (!isReported[j] && modules[j].chips == modules[i].chips) {
        paths.push_back(modules[j].path);
        isReported[j] = true;
      }
    if (paths.empty()) continue;
    text += fmt::format("; the same of {}", fmt::join(paths, ", "));
    if (i > 0) text += fmt::format(", for {}", fmt::join(modules[i].chips, ", "));
  }
  return text;
}

std::vector<SharedRefusal> sharedRefusals(const std::vector<RequestedModule>& asked,
                                          const std::vector<std::string>& chips, const Verdicts& verdicts) {
  std::vector<SharedRefusal> all;
  std::map<std::tuple<std::string, std::string, std::string, std::string>, size_t> known;
  for (const RequestedModule& a : asked) {
    if (a.error) continue;
    for (size_t c = 0; c < chips.size(); ++c) {
      const CompilerVerdict& v = verdicts[a.judged][c];
      if (v.accepted || v.error || !v.diagnostic) continue;
      const Diagnostic& d = *v.diagnostic;
      const auto [at, isNew] = known.try_emplace(
          {v.reason, d.place.known() ? d.place.str() : a.path, withoutChip(d.message, chips[c]), d.have}, all.size());
      if (isNew) all.push_back({&d, {}});
      auto& modules = all[at->second].modules;
      if (modules.empty() || modules.back().path != a.path) modules.push_back({a.path, {}});
      auto& names = modules.back().chips;  // a module may be given twice
      if (std::ranges::find(names, chips[c]) == names.end()) names.push_back(chips[c]);
    }
  }
  return all;
}

}  // namespace smalti::driver
