// Executable: a module or a pallas_call, compiled once, executed many times.
//
//   smalti::Settings settings;
//   settings.set("target", "cpu");
//   auto attention = module.compile(settings);          // or: call.compile(q, k, v)
//   auto run = attention->execute(inputs);              // results in memory of their own
//   auto done = attention->execute_into(inputs, outputs);  // results in the caller's memory
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "smalti/array.h"
#include "smalti/diagnostic.h"

namespace smalti {

/// A `note` is not a mistake as far as the module says: no check fails for it.
enum class Severity : uint8_t { finding, note };

/// Something a TPU would punish silently, and how often it was seen.
struct Finding {
  Diagnostic diagnostic;
  int64_t count = 1;
  Severity severity = Severity::finding;
};

/// What the abstract machine counted; native code counts nothing.
struct Statistics {
  int64_t grid_steps = 0, instructions = 0, window_fetches = 0, window_write_backs = 0;  ///< of all cores and devices
  int64_t dma_transfers = 0, dma_bytes = 0, peak_window_bytes = 0, value_bytes = 0;  ///< copies by hand; memory at most
};

/// What came out of a run.
struct RunReport {
  std::vector<Array> results;
  std::vector<Finding> findings;
  std::vector<std::string> log;  ///< what the kernel printed
  Statistics statistics;
};

/// When the data of a copy (DMA) moves between its start and its wait.
enum class DmaTiming : uint8_t { eager, on_wait, random };

/// How one execution goes. None of it changes the code: any Executable takes any.
struct ExecuteOptions {
  int threads = 0;    ///< of native code, which share parallel grid axes; 0: one per core
  uint64_t seed = 0;  ///< of the machine's scheduler and of random DMA
  DmaTiming dma = DmaTiming::random;
  int64_t step_quantum = 10'000;  ///< instructions before a program of the machine yields to the others
  /// Instructions of one kernel, else SM4104; 0: none. Native code counts grid steps, and on each thread the rounds of
  /// loops.
  int64_t step_limit = 200'000'000;
  int64_t memory_limit_bytes = 0;  ///< of one kernel, else SM9002; 0: none
  double time_limit_seconds = 0;   ///< of the whole run, else SM9012; 0: none. Looked at as `stop` is
  /// Not owned; true ends the run with SM9006. Looked at between ops, by the machine every `step_quantum` instructions,
  /// by native code in loops (as `step_limit` counts them).
  const std::atomic<bool>* stop = nullptr;
};

/// A module or a call, compiled for a target. Copies share it; it may be executed from several threads at once.
class Executable {
 public:
  /// Types of the inputs and results, in order.
  const std::vector<ArrayType>& arguments() const;
  const std::vector<ArrayType>& results() const;
  /// The options of executions that name none: those of the Settings it was compiled with.
  const ExecuteOptions& options() const;

  /// Inputs may be views of the caller's memory (`Array::view`): they are read there, not copied, and never changed.
  /// Error SM1008 for inputs of another number or type, and for views that are not aligned to their elements.
  Result<RunReport> execute(std::span<const Array> inputs) const { return execute(inputs, options()); }
  Result<RunReport> execute(std::span<const Array> inputs, const ExecuteOptions&) const;

  /// The same with the results in memory that the caller gives; the report's results are `outputs`. Native code of one
  /// kernel writes there directly where an output begins at a multiple of 64 bytes, else results are copied. Error
  /// SM1017 for outputs of another number or type, and for one that overlaps another output or an input; it may be the
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
