#include "driver/cli/run/UndefinedMemory.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "driver/RunSettings.h"
#include "eval/Poison.h"
#include "ir/BlockGeometry.h"
#include "ir/KernelArguments.h"
#include "machine/observers/Registry.h"

namespace smalti::cli {
namespace {

/// About a second of the machine's time.
constexpr int64_t kMaxInstructions = 20'000'000;

/// A row of lanes: integers of fewer than 32 bits have their extremes often, but rarely so many in a row.
constexpr int64_t kRun = 128;

/// Whether `length` elements in a row, or all of them, hold what the machine puts into undefined memory.
bool holdsPoison(const Array& array, machine::Poison poison, int64_t length) {
  const auto size = static_cast<size_t>(storage_bytes(array.dtype()));
  std::array<std::byte, 16> poisoned{};
  eval::poison(array.dtype(), poison, poisoned.data(), 1);
  if (std::ranges::all_of(poisoned, [](std::byte b) { return b == std::byte{0}; })) return false;  // like any other 0
  length = std::min(length, array.elements());
  int64_t run = 0;
  for (int64_t i = 0; i < array.elements() && run < length; ++i)
    run = std::memcmp(array.data() + static_cast<size_t>(i) * size, poisoned.data(), size) == 0 ? run + 1 : 0;
  return length > 0 && run == length;
}

bool looksUndefined(const Array& array, machine::Poison poison) {
  if (is_float(array.dtype())) return poison != machine::Poison::zero && driver::summarise(array).nans > 0;
  if (!is_integer(array.dtype())) return false;
  return holdsPoison(array, poison, bit_width(array.dtype()) < 32 ? kRun : 1);
}

/// The machine keeps earlier contents of a window outside the array, as a TPU does: they look like any other number.
bool keepsEdges(const driver::CompileOptions& options, const Program& program) {
  if (!options.contract.staleEdges || (options.target != "interpret" && !options.target.starts_with("sim:")))
    return false;
  return std::ranges::any_of(program.kernels, [](const KernelPackage& kernel) {
    const KernelArguments arguments(kernel);
    for (size_t i = 0; i < arguments.numInputs(); ++i) {
      const auto& window = arguments.windowOf(i);
      if (!window) continue;
      const BlockGeometry geometry(*window, arguments.arrayOf(i).shape);
      for (size_t d = 0; d < window->bounds.size(); ++d)
        if (geometry.hasPartialBlock(d)) return true;
    }
    return false;
  });
}

}  // namespace

std::string undefinedMemoryNote(const Prepared& prepared, const driver::RunSettings& settings,
                                const driver::RunOutcome& outcome) {
  const auto suspect = [&](const Array& result) { return looksUndefined(result, settings.compile.contract.poison); };
  // Warnings are of reads outside of refs and of blocks outside of arrays.
  if (std::ranges::none_of(outcome.results, suspect) && outcome.findings.empty() &&
      !keepsEdges(settings.compile, prepared.program()))
    return "";
  driver::RunSettings follow = settings;
  follow.compile.target = "interpret";
  follow.compile.contract.checks =
      machine::checksOf([](std::string_view option) { return option == "check-initialisation"; });
  follow.execute.observers.clear();
  int64_t& limit = follow.execute.stepLimit;
  limit = limit > 0 ? std::min(limit, kMaxInstructions) : kMaxInstructions;
  const auto followed = driver::runProgram(prepared.program(), prepared.inputs, follow);
  const auto isUndefined = [](const machine::Finding& f) {
    return f.diagnostic.code == "SM4101" || f.diagnostic.code == "SM4102";
  };
  if (!followed || std::ranges::none_of(followed->findings, isUndefined)) return "";
  return "undefined memory reaches the results; smalti check reports its origin";
}

}  // namespace smalti::cli
