// Implements smalti/autotune.h: candidates are ranked once per target and operand types.
#include "smalti/autotune.h"

#include <algorithm>
#include <map>
#include <mutex>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/Settings.h"
#include "base/Text.h"
#include "driver/tune/Measure.h"
#include "driver/tune/TunedFile.h"
#include "lang/call/Work.h"
#include "lang/trace/SourceLocationScope.h"

namespace smalti {
namespace {

using driver::TunedEntry;

/// A candidate counts as faster only if its measured time is below this fraction of an earlier one's.
constexpr double kFaster = 0.98;

std::vector<std::string> namesOf(const Candidate& c) {
  std::vector<std::string> names;
  for (const auto& [name, size] : c.sizes()) names.push_back(name);
  return names;
}

/// The source of times: "cpu", a chip, or none for targets without time.
struct TimeSource {
  std::optional<tpu::Chip> chip;
  bool native = false;

  std::string name() const { return chip ? chip->name : native ? "cpu" : ""; }
};

/// Calls of candidates, which keep what they were compiled to.
struct Made {
  std::mutex mutex;
  std::map<std::string, std::optional<PallasCall>> calls;
};

TimeSource timeSourceOf(std::string_view target) {
  lang::requireAlive();
  std::string name(target);
  if (name.empty()) name = unwrap(activeSettings().values).target;
  if (name == "cpu") return {{}, true};
  if (name == "interpret") return {};
  const std::string chip = name.starts_with("sim:") ? name.substr(4) : name;
  auto found = tpu::findChip(chip);
  if (!found) lang::refuse(std::move(found.error()));
  return {std::move(*found), false};
}

}  // namespace

int64_t Candidate::operator[](std::string_view name) const {
  for (const auto& [n, size] : sizes_)
    if (n == name) return size;
  const auto near = nearest(name, namesOf(*this), 1);
  raise({.code = "SM6910",
         .message = fmt::format("a candidate does not define '{}'", name),
         .place = {},
         .need = fmt::format("{}", fmt::join(namesOf(*this), ", ")),
         .have = std::string(name),
         .help = near.empty() ? "" : fmt::format("did you mean '{}'?", near[0])});
}

std::string Candidate::str() const {
  std::vector<std::string> parts;
  for (const auto& [name, size] : sizes_) parts.push_back(fmt::format("{} = {}", name, size));
  return fmt::format("{}", fmt::join(parts, ", "));
}

Autotune autotune(std::vector<Candidate> candidates, std::string key, Location at) {
  const lang::SourceLocationScope place(at);
  const auto refuse = [](std::string message, std::string need, std::string have, std::string help) {
    lang::refuse({.code = "SM6910",
                  .message = std::move(message),
                  .place = {},
                  .need = std::move(need),
                  .have = std::move(have),
                  .help = std::move(help)});
  };
  if (key.empty())
    refuse("autotune has no key", "a name for the kernel, as the file of tuned candidates has it", "\"\"",
           "autotune({…}, \"my_matmul\")");
  if (candidates.empty())
    refuse(fmt::format("autotune of '{}' has no candidates", key), "one at least", "none",
           "autotune({{{\"block\", 128}}, {{\"block\", 256}}}, \"" + key + "\")");
  std::vector<std::string> names = namesOf(candidates[0]);
  names.push_back(key);
  for (const std::string& name : names)
    if (printable(name) != name)
      refuse("a name for autotune cannot be written to a file", "printable characters of UTF-8",
             fmt::format("'{}'", printable(name)), "use letters, digits and '_'");
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (candidates[i].sizes().empty() || namesOf(candidates[i]) != namesOf(candidates[0]))
      refuse(fmt::format("candidate {} of '{}' has different size names", i, key),
             fmt::format("{}", fmt::join(namesOf(candidates[0]), ", ")), candidates[i].str(),
             "give every candidate the same sizes in the same order");
    for (size_t j = 0; j < i; ++j)
      if (candidates[i] == candidates[j])
        refuse(fmt::format("candidates {} and {} of '{}' are equal", j, i, key), "each once", candidates[i].str(),
               "leave one out");
  }
  return {std::move(candidates), std::move(key), at};
}

struct Autotuned::State {
  std::vector<Candidate> candidates;
  std::string key;
  TunedCallMaker make;
  Location at;

  /// The choices, by target, types of operands and file; calls by candidate.
  std::mutex mutex;
  std::map<std::string, size_t> found;

  TunedCall callOf(size_t candidate, const std::vector<Operand>& operands) const {
    return make(candidates[candidate], operands);
  }

  /// An exception of one candidate does not affect the others.
  Result<TunedCall> tried(size_t candidate, const std::vector<Operand>& operands) const {
    try {
      return callOf(candidate, operands);
    } catch (const Error& error) {
      return fail(error.diagnostic());
    } catch (const std::exception& error) {
      return fail({.code = "SM6911",
                   .message = fmt::format("candidate {} of '{}' makes no call", candidates[candidate].str(), key),
                   .place = {},
                   .have = error.what()});
    }
  }

  Ranking rank(const std::vector<Operand>& operands, const TimeSource& source,
               const std::function<void(size_t)>& progress) const {
    Ranking ranking{key, source.name(), {}, source.native, {}};
    for (const Operand& o : operands) ranking.operands.push_back(o.array().type());
    for (size_t i = 0; i < candidates.size(); ++i) {
      if (progress) progress(i);
      RankedCandidate ranked{candidates[i], 0, {}};
      const auto call = tried(i, operands);
      const auto us = !call         ? fail(call.error())
                      : source.chip ? driver::modelled(*call, *source.chip)
                                    : driver::measured(*call);
      if (us)
        ranked.us = *us;
      else
        ranked.refusal = us.error();
      ranking.candidates.push_back(std::move(ranked));
    }
    const double faster = source.native ? kFaster : 1;
    // The fastest; ties go to the first one, so that the result does not vary from run to run.
    std::stable_sort(ranking.candidates.begin(), ranking.candidates.end(),
                     [](const RankedCandidate& a, const RankedCandidate& b) {
                       return std::pair(a.refusal.has_value(), a.us) < std::pair(b.refusal.has_value(), b.us);
                     });
    if (faster < 1 && !ranking.candidates[0].refusal) {
      const auto place = [&](const Candidate& c) { return std::find(candidates.begin(), candidates.end(), c); };
      auto first = ranking.candidates.begin();
      for (auto r = first; r != ranking.candidates.end() && !r->refusal; ++r)
        if (r->us * faster <= ranking.candidates[0].us && place(r->candidate) < place(first->candidate)) first = r;
      std::rotate(ranking.candidates.begin(), first, first + 1);
    }
    return ranking;
  }

  size_t best(const std::vector<Operand>& operands, std::string_view target) {
    const lang::SourceLocationScope place(at);
    const TimeSource source = timeSourceOf(target);
    if (source.name().empty() || candidates.size() == 1) return 0;
    const std::string file = unwrap(activeSettings().values).tuned;
    TunedEntry entry{key,
                     source.chip ? driver::tunedTarget(*source.chip) : driver::tunedTarget(),
                     {},
                     Candidate{},
                     0,
                     source.native,
                     static_cast<int64_t>(candidates.size())};
    for (const Operand& o : operands) entry.operands.push_back(o.array().type().str());
    const std::string about = fmt::format("{}\n{}\n{}", entry.target, file, fmt::join(entry.operands, "\n"));
    const std::lock_guard lock(mutex);
    if (const auto it = found.find(about); it != found.end()) return it->second;
    if (!file.empty()) {
      auto entries = driver::readTuned(file);
      if (!entries) lang::refuse(std::move(entries.error()));
      for (const TunedEntry& e : *entries) {
        if (!e.isAbout(entry)) continue;
        // The entry's candidate no longer exists: it was tuned for a different list.
        if (const auto it = std::find(candidates.begin(), candidates.end(), e.candidate); it != candidates.end())
          return found[about] = static_cast<size_t>(it - candidates.begin());
      }
    }
    Ranking ranking = rank(operands, source, {});
    if (ranking.candidates[0].refusal) lang::refuse(noneRuns(ranking));
    entry.candidate = ranking.candidates[0].candidate;
    entry.us = ranking.candidates[0].us;
    if (!file.empty())
      if (Status written = driver::addTuned(file, {entry}); !written) lang::refuse(std::move(written.error()));
    const auto it = std::find(candidates.begin(), candidates.end(), entry.candidate);
    return found[about] = static_cast<size_t>(it - candidates.begin());
  }

  static Diagnostic noneRuns(Ranking& ranking) {
    Diagnostic d{.code = "SM6911",
                 .message = fmt::format("no candidate of '{}' runs on {}", ranking.kernel, ranking.target),
                 .place = {},
                 .need = "one at least",
                 .have = counted(ranking.candidates.size(), "candidate") + ", all refused",
                 .help = "add a candidate of smaller blocks"};
    for (RankedCandidate& r : ranking.candidates) {
      Diagnostic refusal = std::move(*r.refusal);
      refusal.where.insert(refusal.where.begin(), fmt::format("candidate {}", r.candidate.str()));
      d.related.push_back(std::move(refusal));
    }
    return d;
  }
};

Autotuned::Autotuned(std::vector<Candidate> candidates, std::string key, TunedCallMaker make, Location at)
    : state_(std::make_shared<State>(std::move(candidates), std::move(key), std::move(make), at)) {}

Autotuned::Autotuned(std::vector<Candidate> candidates, std::string key, PallasCallMaker make, Location at)
    : Autotuned(std::move(candidates), std::move(key),
                TunedCallMaker([made = std::make_shared<Made>(), make = std::move(make)](
                                   const Candidate& c, const std::vector<Operand>& operands) -> TunedCall {
                  const std::lock_guard lock(made->mutex);
                  auto& call = made->calls[c.str()];
                  if (!call) call = make(c);
                  return {*call, operands};
                }),
                at) {}

const std::vector<Candidate>& Autotuned::candidates() const { return state_->candidates; }

Results Autotuned::run(const std::vector<Operand>& operands) const {
  const TunedCall call = pick(operands);
  return call.call.run(call.operands);
}

Candidate Autotuned::best(const std::vector<Operand>& operands, std::string_view target) const {
  return state_->candidates[state_->best(operands, target)];
}

TunedCall Autotuned::pick(const std::vector<Operand>& operands, std::string_view target) const {
  return state_->callOf(state_->best(operands, target), operands);
}

Ranking Autotuned::rank(const std::vector<Operand>& operands, std::string_view target,
                        const std::function<void(size_t)>& progress) const {
  const lang::SourceLocationScope place(state_->at);
  const TimeSource source = timeSourceOf(target);
  if (source.name().empty())
    lang::refuse({.code = "SM6911",
                  .message = fmt::format("candidates of '{}' cannot be ranked on interpret", state_->key),
                  .place = {},
                  .need = "a target with meaningful times",
                  .have = "the reference, which has no timing",
                  .help = "rank them on cpu or on a chip"});
  return state_->rank(operands, source, progress);
}

}  // namespace smalti
