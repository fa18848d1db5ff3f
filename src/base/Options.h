// Every option of Smalti, once: a C++ field = a command line flag = an SMALTI_* variable.
// The command line wins over the environment, the environment over the built-in value.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "smalti/diagnostic.h"
#include "smalti/executable.h"

namespace smalti {

struct Options {
  // How kernels run.
  std::string target = "interpret";
  std::string semantics = "tpu";
  std::string numerics = "auto";
  std::string poison = "auto";
  std::string dma = "auto";
  bool naivePipeline = false;
  int64_t cores = 1;
  int64_t threads = 0;
  int64_t seed = 0;
  std::string fill = "ones";
  int64_t stepQuantum = ExecuteOptions().step_quantum;
  int64_t stepLimit = ExecuteOptions().step_limit;
  int64_t memoryLimitMib = 0;
  // What is checked.
  bool check = false;
  bool checkBounds = true;
  std::set<std::string, std::less<>> checksOff;  ///< option names of the observers that do not run: "check-dma"
  // What TPUs take.
  std::string chip;
  std::string tuned;
  // Many cases.
  std::string corpus;
  int64_t jobs = 0;
  int64_t timeoutSeconds = 0;  ///< 0: not given
  int64_t childMemoryMib = 8192;
  std::string mpi = "auto", net;
  // Compiled kernels.
  std::string cache = "auto";
  int64_t cacheLimitMib = 256;
  // What is printed.
  bool json = false;
  std::string color = "auto";

  /// The time limit of a case, a checked module or the model of a kernel, which all have one.
  int64_t caseSeconds() const { return timeoutSeconds > 0 ? timeoutSeconds : 60; }
};

enum class OptionGroup : uint8_t { run, check, tpu, tune, cases, cache, output };
enum class Origin : uint8_t { builtIn, environment, commandLine };

/// An observer of the machine (machine/observers/Registry.h): on unless it is in Options::checksOff.
struct CheckSwitch {};
using OptionField = std::variant<bool Options::*, int64_t Options::*, std::string Options::*, CheckSwitch>;

struct OptionRow {
  std::string_view name;  ///< "step-limit": --step-limit, SMALTI_STEP_LIMIT
  OptionGroup group;
  OptionField field;
  std::string_view help;
  std::vector<std::string_view> choices{};  ///< of a text; empty: any, or those that a layer above provides
  int64_t min = 0, max = INT64_MAX;         ///< of a number

  bool isSwitch() const;         ///< on or off
  std::string flag() const;      ///< "--step-limit"
  std::string variable() const;  ///< "SMALTI_STEP_LIMIT"
  /// The allowed values: "tpu|hlo", "a number ≥ 1", "on|off".
  std::string allowed() const;
  bool hasChoices() const;
};

/// The values of an option that a layer above knows: the targets, for example.
struct OptionValues {
  std::function<std::vector<std::string>()> list;  ///< as help shows them
  std::function<Status(std::string_view)> check;   ///< `need` and `have` of its refusal are shown
};
/// Sets the values of the option, which before accepts any text. Called while the program starts.
void provideValues(std::string_view option, OptionValues values);

std::span<const OptionRow> optionRows();
const OptionRow* findOption(std::string_view name);

/// Values and where each came from (in the order of `optionRows`).
struct OptionSet {
  Options values;
  std::vector<Origin> origins;
  OptionSet();
  std::string text(const OptionRow&) const;
  Origin origin(const OptionRow&) const;
  /// SM1011 names the allowed values; `spelled` is how the user gave it ("--poison", "SMALTI_POISON").
  Status set(const OptionRow&, std::string_view value, Origin, const std::string& spelled);
  /// Reads every variable that `lookUp` knows.
  Status readEnvironment(const std::function<const char*(const char*)>& lookUp);
};

/// Variables named SMALTI_… that look like a misspelt option, each with the nearest one.
std::vector<std::pair<std::string, std::string>> misspeltVariables(std::span<const std::string> names);

}  // namespace smalti
