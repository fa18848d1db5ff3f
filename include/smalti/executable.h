// Executable: a module or a pallas_call, compiled once, executed many times.
//
//   smalti::Settings settings;
//   settings.set("target", "cpu");
//   auto attention = module.compile(settings);          // or: call.compile(q, k, v)
//   auto run = attention->execute(inputs);              // results in new memory
//   auto done = attention->execute_into(inputs, outputs);  // results in the caller's memory
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "smalti/array.h"
#include "smalti/diagnostic.h"

namespace smalti {

/// A `warning` is about undefined elements that were read, after which the run went on: harmless if nothing uses them.
/// A `note` is not a mistake according to the module. No check fails because of either.
enum class Severity : uint8_t { finding, warning, note };
constexpr std::string_view name(Severity severity) {
  return severity == Severity::finding ? "finding" : severity == Severity::warning ? "warning" : "note";
}

/// A mistake that fails silently on a TPU, and how often it occurred.
struct Finding {
  Diagnostic diagnostic;
  int64_t count = 1;
  Severity severity = Severity::finding;
  /// The whole message, as Diagnostic::str has it; the kind is that of the severity: "finding[SM4105]".
  std::string str() const;
};

/// Counters of the abstract machine; native code counts nothing.
struct Statistics {
  int64_t grid_steps = 0, instructions = 0, window_fetches = 0, window_write_backs = 0;  ///< of all cores and devices
  int64_t dma_transfers = 0, dma_bytes = 0, peak_window_bytes = 0, value_bytes = 0;      ///< manual copies; peak memory
};

/// The outcome of a run.
struct RunReport {
  std::vector<Array> results;
  std::vector<Finding> findings;
  std::vector<std::string> log;  ///< output of debug_print
  Statistics statistics;
};

/// When the data of a copy (DMA) moves between its start and its wait.
enum class DmaTiming : uint8_t { eager, on_wait, random };

/// Options of one execution. None of them changes the code: every Executable accepts all of them.
struct ExecuteOptions {
  int threads = 0;    ///< of native code, which share parallel grid axes; 0: one per core
  uint64_t seed = 0;  ///< of the machine's scheduler and of random DMA
  /// nullopt: random on the target interpret and in checks; eager on the others, whether or not they have code for the
  /// kernel.
  std::optional<DmaTiming> dma{};
  int64_t step_quantum = 10'000;  ///< instructions before a program of the machine yields to the others
  /// Limit on instructions of one kernel (SM4104); 0: none. Native code counts grid steps, and each thread iterations
  /// of loops.
  int64_t step_limit = 200'000'000;
  int64_t memory_limit_bytes = 0;  ///< of one kernel (SM9002); 0: none
  double time_limit_seconds = 0;   ///< of the whole run (SM9012); 0: none. Checked as often as `stop`
  /// Not owned; true ends the run with SM9006. Checked between ops, by the machine every `step_quantum` instructions,
  /// by native code in loops (as `step_limit` counts them).
  const std::atomic<bool>* stop = nullptr;
};

/// A module or a call, compiled for a target. Copies share the code; several threads may execute it at once.
class Executable {
 public:
  /// Types of the inputs and results, in order.
  const std::vector<ArrayType>& arguments() const;
  const std::vector<ArrayType>& results() const;
  /// The default options of executions: those of the Settings with which it was compiled.
  const ExecuteOptions& options() const;

  /// Inputs may be views of the caller's memory (`Array::view`): they are read there, not copied, and never changed.
  /// Error SM1008 for the wrong number or types of inputs, and for views that are not aligned to their elements.
  Result<RunReport> execute(std::span<const Array> inputs) const { return execute(inputs, options()); }
  Result<RunReport> execute(std::span<const Array> inputs, const ExecuteOptions&) const;

  /// The same with results in the caller's memory; the report's results are `outputs`. Native code of one
  /// kernel writes there directly if an output is aligned to 64 bytes, otherwise results are copied. Error
  /// SM1017 for the wrong number or types of outputs, and for one that overlaps another one or an input; it may be the
  /// memory of an input that the kernel aliases to it. After any other error the elements of outputs are undefined.
  Result<RunReport> execute_into(std::span<const Array> inputs, std::span<Array> outputs) const {
    return execute_into(inputs, outputs, options());
  }
  Result<RunReport> execute_into(std::span<const Array> inputs, std::span<Array> outputs, const ExecuteOptions&) const;

  struct State;
  explicit Executable(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  const std::shared_ptr<const State>& state() const { return state_; }

 private:
  std::shared_ptr<const State> state_;
};

}  // namespace smalti
