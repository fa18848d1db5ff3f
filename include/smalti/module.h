// Modules from elsewhere: load one or a recorded case, run it, check it.
//
//   auto module = smalti::Module::load("attention.mlir");
//   if (!module) { std::cerr << module.error().str(); return 1; }
//   auto run = module->check(*smalti::make_inputs(*module));
//   for (const smalti::Finding& f : run->findings) std::cout << f.diagnostic.str();
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "smalti/array.h"
#include "smalti/diagnostic.h"
#include "smalti/dtype.h"

namespace smalti {

/// "smalti 0.1.0 (MLIR 22.1.8)".
std::string version();

/// The options of the command line by the same names: "semantics" = "hlo", "seed" = "7" (`smalti env` lists them).
class Settings {
 public:
  Settings();
  ~Settings();
  Settings(const Settings&);
  Settings& operator=(const Settings&);
  /// Fails with SM1011 and the allowed values.
  Status set(std::string_view option, std::string_view value);
  /// Takes the SMALTI_… variables.
  Status read_environment();

 private:
  friend class Module;
  friend void use_settings(const Settings&);
  struct State;
  std::unique_ptr<State> state_;
};

/// Target and options of the pallas_calls that follow on this thread; until then the SMALTI_… variables.
void use_settings(const Settings& settings);

/// Something a TPU would punish silently, and how often it was seen.
struct Finding {
  Diagnostic diagnostic;
  int64_t count = 1;
};

struct Statistics {
  int64_t grid_steps = 0, instructions = 0, window_fetches = 0, window_write_backs = 0;
  int64_t dma_transfers = 0, dma_bytes = 0, peak_window_bytes = 0, value_bytes = 0;
};

/// What came out of a run.
struct RunReport {
  std::vector<Array> results;
  std::vector<Finding> findings;
  std::vector<std::string> log;  ///< what the kernel printed
  Statistics statistics;
};

/// A module: StableHLO text with kernels in it, or one bare kernel. Copies share it; it may be used from several
/// threads.
class Module {
 public:
  /// A file, or a folder with case.json. Bare kernels need `results` (and `arguments`): array shapes are not in them.
  static Result<Module> load(const std::string& path, std::span<const ArrayType> arguments = {},
                             std::span<const ArrayType> results = {});
  /// The same from memory; `name` stands in messages.
  static Result<Module> parse(std::string_view content, const std::string& name,
                              std::span<const ArrayType> arguments = {}, std::span<const ArrayType> results = {});

  const std::string& name() const;
  const std::vector<ArrayType>& arguments() const;
  const std::vector<ArrayType>& results() const;
  /// Names of the kernels in it, in program order.
  const std::vector<std::string>& kernels() const;

  Result<RunReport> run(std::span<const Array> arguments, const Settings& = {}) const;
  /// The same under every observer.
  Result<RunReport> check(std::span<const Array> arguments, const Settings& = {}) const;

  /// Of a case folder: the recorded inputs (those missing are ones) and what is expected (may be empty).
  Result<std::vector<Array>> recorded_inputs() const;
  Result<std::vector<Array>> expected_results() const;

  /// StableHLO text with kernel bodies of this stable_mosaic version (8 to 18).
  Result<std::string> export_stablehlo(int bytecode_version = 13) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

/// Arrays for every argument of a module: "ones", "iota" or "random".
Result<std::vector<Array>> make_inputs(const Module&, const std::string& fill = "ones", uint64_t seed = 0);

/// numpy's .npy; types that numpy lacks are stored raw (bf16 as uint16) and need `as` to be read back.
Result<Array> read_npy(const std::string& path);
Result<Array> read_npy(const std::string& path, DType as);
Status write_npy(const std::string& path, const Array&);

}  // namespace smalti
