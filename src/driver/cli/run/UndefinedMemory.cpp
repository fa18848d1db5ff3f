#include "driver/cli/run/UndefinedMemory.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "driver/RunSettings.h"
#include "eval/FloatFormats.h"
#include "machine/observers/Registry.h"

namespace smalti::cli {
namespace {

/// About a second of the machine's time.
constexpr int64_t kMaxInstructions = 20'000'000;

template <class T>
bool holds(const Array& array, T value) {
  const T* p = array.as<T>();
  return std::find(p, p + array.elements(), value) != p + array.elements();
}

/// Integers of fewer than 32 bits have their extremes too often for other reasons.
bool looksUndefined(const Array& array, machine::Poison poison) {
  if (poison == machine::Poison::zero) return false;  // like any other 0
  const bool max = poison == machine::Poison::intMax;
  const auto extreme = [&]<class T>() {
    return holds(array, max ? std::numeric_limits<T>::max() : std::numeric_limits<T>::min());
  };
  switch (array.dtype()) {
    case DType::i32:
      return extreme.operator()<int32_t>();
    case DType::i64:
      return extreme.operator()<int64_t>();
    default:
      return is_float(array.dtype()) && driver::summarise(array).nans > 0;
  }
}

}  // namespace

std::string undefinedMemoryNote(const Prepared& prepared, const driver::RunSettings& settings,
                                const driver::RunOutcome& outcome) {
  const auto suspect = [&](const Array& result) { return looksUndefined(result, settings.compile.contract.poison); };
  if (std::none_of(outcome.results.begin(), outcome.results.end(), suspect)) return "";
  driver::RunSettings follow = settings;
  follow.compile.target = "interpret";
  follow.compile.contract.checks =
      machine::checksOf([](std::string_view option) { return option == "check-initialisation"; });
  follow.execute.observers.clear();
  int64_t& limit = follow.execute.stepLimit;
  limit = limit > 0 ? std::min(limit, kMaxInstructions) : kMaxInstructions;
  const auto followed = driver::runProgram(prepared.program(), prepared.inputs, follow);
  if (!followed || followed->findings.empty()) return "";
  return "note: undefined memory reaches the results; smalti check reports its origin\n";
}

}  // namespace smalti::cli
