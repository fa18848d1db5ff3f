#include "base/Options.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/Lasting.h"
#include "base/Text.h"

namespace smalti {
namespace {

using enum OptionGroup;

std::vector<OptionRow> makeRows() {
  return {
      {"target", run, &Options::target, "what runs the kernels (smalti env describes each)"},
      {"semantics",
       run,
       &Options::semantics,
       "the TPU's contract for windows, or that of interpret=True (padding, preloaded outputs)",
       {"tpu", "hlo"}},
      {"numerics",
       run,
       &Options::numerics,
       "f32 matmuls in f32, or in the TPU's 1, 3 or 6 bf16 passes; auto: the target's default (tpu for sim); f64: all "
       "floats in f64 (kernels in C++, on interpret)",
       {"auto", "f32", "tpu", "f64"}},
      {"poison",
       run,
       &Options::poison,
       "undefined memory: NaN and the minimum or maximum of the integer type, or zero; auto: as the case was recorded",
       {"auto", "min", "max", "zero"}},
      {"dma",
       run,
       &Options::dma,
       "when a copy's data moves between its start and its wait; auto: at random on the target interpret and in "
       "checks, at the start on other targets",
       {"auto", "eager", "on-wait", "random"}},
      {"naive-pipeline", run, &Options::naivePipeline, "copy every block in and out at every grid step"},
      {"cores", run, &Options::cores, "cores of a device that share parallel grid axes", {}, 1, 64},
      {"threads",
       run,
       &Options::threads,
       "threads of native code that share parallel grid axes; 0: one per core",
       {},
       0,
       1024},
      {"mpi",
       run,
       &Options::mpi,
       "divide the devices of meshes among the processes that mpirun started; auto: if there are several",
       {"auto", "on", "off"}},
      {"net", run, &Options::net,
       "simulate a network between these processes: 'MICROSECONDS,GB/S' (latency and bandwidth of each link)"},
      {"seed", run, &Options::seed, "seed of the scheduler, of random DMA and of random inputs"},
      {"fill", run, &Options::fill, "values of inputs that are not given", {"ones", "random", "iota"}},
      {"step-quantum",
       run,
       &Options::stepQuantum,
       "instructions that a program runs before it yields to the others",
       {},
       1},
      {"step-limit",
       run,
       &Options::stepLimit,
       "instructions after which a kernel counts as livelocked (native code: grid steps, loop iterations); 0: no "
       "limit",
       {},
       0},
      {"memory-limit-mib",
       run,
       &Options::memoryLimitMib,
       "memory that one kernel may use; 0: no limit",
       {},
       0,
       int64_t{1} << 40},
      {"check", OptionGroup::check, &Options::check, "run with the checks that are enabled below"},
      {"check-bounds", OptionGroup::check, &Options::checkBounds, "accesses outside of a ref's logical bounds"},
      {"check-initialisation", OptionGroup::check, CheckSwitch{},
       "undefined elements that reach an output, an address, a branch or a semaphore"},
      {"check-revisits", OptionGroup::check, CheckSwitch{}, "output blocks that are visited again after others"},
      {"check-semaphores", OptionGroup::check, CheckSwitch{}, "semaphores that are not zero at the end"},
      {"check-races", OptionGroup::check, CheckSwitch{},
       "unordered accesses of the kernel, its copies, cores and devices to the same memory"},
      {"check-dma", OptionGroup::check, CheckSwitch{},
       "copies that are never waited for, and prefetches that overtake write-backs"},
      {"check-copies", OptionGroup::check, CheckSwitch{}, "copies whose source and target overlap"},
      {"chip", OptionGroup::tpu, &Options::chip,
       "TPUs whose compilers must accept the kernels: chips that `smalti chips` lists (v5e), all, a chip's .toml file, "
       "or "
       "several separated by commas; results do not depend on it"},
      {"tuned", tune, &Options::tuned,
       "the file of tuned candidates (TOML) that autotune and smalti tune read and extend; none: keep nothing"},
      {"corpus", cases, &Options::corpus, "the folder that conform uses if none is named"},
      {"jobs", cases, &Options::jobs, "cases run at once; 0: one per processor", {}, 0, 1024},
      {"timeout-seconds",
       cases,
       &Options::timeoutSeconds,
       "time after which a case or checked module counts as crashed, and the limit of the run of show and of the "
       "model of each kernel in time, report and tune (0: 60); the limit of a run (0: none)",
       {},
       0,
       86'400},
      {"child-memory-mib",
       cases,
       &Options::childMemoryMib,
       "address space that the process of one case may use; 0: no limit, as for cuda and tpu",
       {},
       0,
       int64_t{1} << 40},
      {"cache", OptionGroup::cache, &Options::cache,
       "the folder of compiled kernels; auto: smalti in $XDG_CACHE_HOME or ~/.cache; off: keep none"},
      {"cache-limit-mib",
       OptionGroup::cache,
       &Options::cacheLimitMib,
       "size limit of that folder; the least recently used kernels are removed first",
       {},
       0,
       int64_t{1} << 40},
      {"json", output, &Options::json, "print JSON instead of tables"},
      {"color",
       output,
       &Options::color,
       "colours: auto follows the terminal and NO_COLOR",
       {"auto", "always", "never"}},
  };
}

const std::vector<OptionRow>& rows() {
  static constinit Lasting<const std::vector<OptionRow>> kRows;
  return kRows.get(makeRows);
}

std::vector<std::pair<std::string, OptionValues>>& provided() {
  static constinit Lasting<std::vector<std::pair<std::string, OptionValues>>> all;
  return all.get();
}

const OptionValues* findProvided(std::string_view option) {
  for (const auto& [name, values] : provided())
    if (name == option) return &values;
  return nullptr;
}

std::optional<bool> boolFrom(std::string_view text) {
  for (std::string_view t : {"1", "on", "true", "yes"})
    if (text == t) return true;
  for (std::string_view t : {"0", "off", "false", "no"})
    if (text == t) return false;
  return std::nullopt;
}

}  // namespace

void provideValues(std::string_view option, OptionValues values) { provided().emplace_back(option, std::move(values)); }

std::span<const OptionRow> optionRows() { return rows(); }

const OptionRow* findOption(std::string_view name) {
  for (const OptionRow& row : rows())
    if (row.name == name) return &row;
  return nullptr;
}

bool OptionRow::isSwitch() const {
  return std::holds_alternative<bool Options::*>(field) || std::holds_alternative<CheckSwitch>(field);
}

std::string OptionRow::flag() const { return fmt::format("--{}", name); }

std::string OptionRow::variable() const {
  std::string text = fmt::format("SMALTI_{}", name);
  for (char& c : text) c = c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

std::string OptionRow::allowed() const {
  if (isSwitch()) return "on|off";
  if (std::holds_alternative<int64_t Options::*>(field))
    return max == INT64_MAX ? fmt::format("a number from {}", min) : fmt::format("a number from {} to {}", min, max);
  if (const OptionValues* values = findProvided(name)) return fmt::format("{}", fmt::join(values->list(), "|"));
  return choices.empty() ? "a name" : fmt::format("{}", fmt::join(choices, "|"));
}

bool OptionRow::hasChoices() const { return !choices.empty() || findProvided(name); }

OptionSet::OptionSet() : origins(rows().size(), Origin::builtIn) {}

std::string OptionSet::text(const OptionRow& row) const {
  if (auto* b = std::get_if<bool Options::*>(&row.field)) return values.*(*b) ? "on" : "off";
  if (auto* n = std::get_if<int64_t Options::*>(&row.field)) return std::to_string(values.*(*n));
  if (std::holds_alternative<CheckSwitch>(row.field)) return values.checksOff.contains(row.name) ? "off" : "on";
  return values.*std::get<std::string Options::*>(row.field);
}

Origin OptionSet::origin(const OptionRow& row) const { return origins[static_cast<size_t>(&row - rows().data())]; }

Status OptionSet::set(const OptionRow& row, std::string_view value, Origin origin, const std::string& spelled) {
  bool good = false;
  std::string need, have;  ///< of a refusal that says more than the row
  if (auto* b = std::get_if<bool Options::*>(&row.field)) {
    const auto parsed = boolFrom(value);
    if ((good = parsed.has_value())) values.*(*b) = *parsed;
  } else if (std::holds_alternative<CheckSwitch>(row.field)) {
    const auto parsed = boolFrom(value);
    good = parsed.has_value();
    if (good && *parsed) values.checksOff.erase(std::string(row.name));
    if (good && !*parsed) values.checksOff.emplace(row.name);
  } else if (auto* n = std::get_if<int64_t Options::*>(&row.field)) {
    int64_t parsed = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), parsed);
    good = error == std::errc() && end == value.data() + value.size() && parsed >= row.min && parsed <= row.max;
    if (good) values.*(*n) = parsed;
  } else {
    const OptionValues* fromAbove = findProvided(row.name);
    const Status accepted = fromAbove ? fromAbove->check(value) : Status();
    if (!accepted) need = accepted.error().need, have = accepted.error().have;
    good = accepted &&
           (row.choices.empty() || std::find(row.choices.begin(), row.choices.end(), value) != row.choices.end());
    if (good) values.*std::get<std::string Options::*>(row.field) = value;
  }
  if (!good)
    return fail({.code = "SM1011",
                 .message = fmt::format("{} cannot be '{}'", spelled, value.substr(0, 100)),
                 .place = {},
                 .need = need.empty() ? row.allowed() : need,
                 .have = have,
                 .help = fmt::format("{}: {}", row.name, row.help)});
  origins[static_cast<size_t>(&row - rows().data())] = origin;
  return {};
}

Status OptionSet::readEnvironment(const std::function<const char*(const char*)>& lookUp) {
  for (const OptionRow& row : rows()) {
    const std::string variable = row.variable();
    const char* value = lookUp(variable.c_str());
    if (!value || !*value) continue;
    if (Status status = set(row, value, Origin::environment, variable); !status) return status;
  }
  return {};
}

std::vector<std::pair<std::string, std::string>> misspeltVariables(std::span<const std::string> names) {
  std::vector<std::string> known;
  for (const OptionRow& row : rows()) known.push_back(row.variable());
  std::vector<std::pair<std::string, std::string>> found;
  constexpr int kTypos = 3;
  for (const std::string& name : names) {
    if (!name.starts_with("SMALTI_") || std::find(known.begin(), known.end(), name) != known.end()) continue;
    const auto near = nearest(name, known, 1);
    if (!near.empty() && editDistance(name, near[0]) <= kTypos) found.emplace_back(name, near[0]);
  }
  return found;
}

}  // namespace smalti
