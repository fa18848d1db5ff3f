#include "driver/cli/time/TuneText.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/Text.h"
#include "driver/cli/time/TimeText.h"
#include "driver/term/Style.h"
#include "driver/term/Table.h"
#include "ir/KernelArguments.h"

namespace smalti::cli {
namespace {

driver::TunedEntry entryOf(const TunedKernel& kernel, const std::string& target, Candidate candidate, double us) {
  driver::TunedEntry entry{
      kernel.kernel, target, {}, std::move(candidate), us, kernel.measured, static_cast<int64_t>(kernel.rows.size())};
  for (const ArrayType& o : kernel.operands) entry.operands.push_back(o.str());
  return entry;
}

std::string tuple(const auto& sizes) { return fmt::format("({})", fmt::join(sizes, ", ")); }

/// "input 1".
std::string blockName(const KernelArguments& arguments, size_t block) {
  const bool isInput = block < arguments.numInputs();
  return fmt::format("{} {}", isInput ? "input" : "output", isInput ? block : block - arguments.numInputs());
}

}  // namespace

TunedKernel tunedKernel(const Ranking& ranking, const std::string& fileTarget, const Candidate& base) {
  TunedKernel out{ranking.kernel, ranking.target, ranking.operands, ranking.measured, true, {}, {}};
  for (const RankedCandidate& r : ranking.candidates) {
    Json sizes = Json::object();
    for (const auto& [name, size] : r.candidate.sizes()) sizes[name] = size;
    out.rows.push_back({r.candidate.str(), std::move(sizes), r.us, 0, r.refusal, r.candidate == base});
  }
  if (!ranking.candidates.empty() && !ranking.candidates[0].refusal)
    out.entries.push_back(entryOf(out, fileTarget, ranking.candidates[0].candidate, ranking.candidates[0].us));
  return out;
}

TunedKernel tunedKernel(const KernelPackage& kernel, const tpu::Chip& chip, const driver::BlockRanking& ranking) {
  const KernelArguments arguments(kernel);
  TunedKernel out{kernel.name, chip.name, kernel.operands, false, ranking.all, {}, {}};
  for (const driver::BlockCandidate& c : ranking.candidates) {
    std::vector<std::string> parts{"grid " + tuple(c.grid)};
    Json blocks = Json::array();
    for (size_t b = 0; b < c.blocks.size(); ++b) {
      blocks.push_back(c.blocks[b].empty() ? Json(nullptr) : Json(c.blocks[b]));
      if (!c.blocks[b].empty()) parts.push_back(fmt::format("{} {}", blockName(arguments, b), tuple(c.blocks[b])));
    }
    out.rows.push_back({fmt::format("{}", fmt::join(parts, ", ")),
                        {{"grid", c.grid}, {"blocks", std::move(blocks)}},
                        c.us,
                        c.vmemBytes,
                        c.refusal,
                        c.isCurrent});
  }
  if (ranking.candidates.empty() || ranking.candidates[0].refusal) return out;
  std::vector<Candidate::Size> sizes;
  const driver::BlockCandidate& best = ranking.candidates[0];
  for (size_t d = 0; d < best.grid.size(); ++d) sizes.emplace_back(fmt::format("grid_{}", d), best.grid[d]);
  for (size_t b = 0; b < best.blocks.size(); ++b)
    for (size_t d = 0; d < best.blocks[b].size(); ++d) {
      std::string name = blockName(arguments, b);
      std::replace(name.begin(), name.end(), ' ', '_');
      sizes.emplace_back(fmt::format("{}_{}", name, d), best.blocks[b][d]);
    }
  out.entries.push_back(entryOf(out, driver::tunedTarget(chip), Candidate(std::move(sizes)), best.us));
  // A kernel of a module may have the name of one of the library.
  out.entries.back().kernel = "module: " + kernel.name;
  return out;
}

std::string tuneText(const Session& session, const std::string& title, const TunedKernel& k, size_t most) {
  const bool color = session.colorOut();
  const auto runs =
      static_cast<size_t>(std::count_if(k.rows.begin(), k.rows.end(), [](const TunedRow& r) { return !r.refusal; }));
  const auto base = std::find_if(k.rows.begin(), k.rows.end(), [](const TunedRow& r) { return r.isBase; });
  const double now = base == k.rows.end() || base->refusal ? 0 : base->us;
  std::string text = fmt::format("{} on {}: {} of {}{} run, times {}\n", term::styled(term::Style::bold, title, color),
                                 k.target, runs, counted(k.rows.size(), "candidate"),
                                 k.all ? "" : " (more exist: --most)", k.measured ? "measured" : "by the model");
  const bool hasBytes = std::any_of(k.rows.begin(), k.rows.end(), [](const TunedRow& r) { return r.vmemBytes > 0; });
  std::vector<term::Table::Column> columns{{"time", term::Align::right}, {"of now", term::Align::right}};
  if (hasBytes) columns.push_back({"VMEM", term::Align::right});
  columns.push_back({"candidate"});
  term::Table table(columns);
  for (size_t i = 0; i < k.rows.size(); ++i) {
    const TunedRow& r = k.rows[i];
    if (r.refusal || (i >= most && !r.isBase)) continue;
    std::vector<std::string> cells{micro(r.us), now > 0 ? fmt::format("{:.2f}", r.us / now) : ""};
    if (hasBytes) cells.push_back(fmt::format("{:.2f} MiB", static_cast<double>(r.vmemBytes) / (1 << 20)));
    cells.push_back(r.candidate + (r.isBase ? term::styled(term::Style::dim, "  (current)", color) : ""));
    table.add(std::move(cells));
  }
  if (!table.empty()) text += table.str(color, 2);
  // A reason that several candidates share is printed once, with the numbers of the first one.
  std::map<std::string, std::pair<size_t, std::string>> reasons;
  for (const TunedRow& r : k.rows) {
    if (!r.refusal) continue;
    // SM6904 has the compiler's code and reason in what there is.
    const bool byCompiler = r.refusal->code == "SM6904";
    const std::string said = byCompiler ? r.refusal->have : fmt::format("{}: {}", r.refusal->code, r.refusal->message);
    auto& reason = reasons.try_emplace(said.substr(0, said.find(':')), 0, said).first->second;
    ++reason.first;
  }
  std::vector<std::pair<size_t, std::string>> ordered;
  for (auto& [code, reason] : reasons) ordered.push_back(std::move(reason));
  std::stable_sort(ordered.begin(), ordered.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  for (const auto& [count, said] : ordered)
    text += fmt::format("  refused: {}, {}\n", counted(count, "candidate"), said);
  return text;
}

Json toJson(const TunedKernel& k) {
  Json operands = Json::array(), candidates = Json::array();
  for (const ArrayType& o : k.operands) operands.push_back(o.str());
  for (const TunedRow& r : k.rows) {
    Json of = r.sizes;
    of["us"] = r.refusal ? Json(nullptr) : Json(r.us);
    of["vmem_bytes"] = r.vmemBytes > 0 ? Json(r.vmemBytes) : Json(nullptr);
    of["as_it_is"] = r.isBase;
    of["error"] = r.refusal ? driver::toJson(*r.refusal) : Json(nullptr);
    candidates.push_back(std::move(of));
  }
  return {{"kernel", k.kernel},     {"target", k.target}, {"operands", std::move(operands)},
          {"measured", k.measured}, {"all", k.all},       {"candidates", std::move(candidates)}};
}

}  // namespace smalti::cli
