// Imported modules: load a module or a recorded case, run it, check it.
//
//   auto module = smalti::Module::load("attention.mlir");
//   if (!module) { std::cerr << module.error().str(); return 1; }
//   auto run = module->check(*smalti::make_inputs(*module));
//   for (const smalti::Finding& f : run->findings) std::cout << f.str();
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
#include "smalti/executable.h"
#include "smalti/settings.h"

namespace smalti {

/// "smalti 0.1.0 (MLIR 22.1.8)".
std::string version();

/// A module: StableHLO text that contains kernels, or one bare kernel. Copies share it; its functions may be called
/// by several threads at once.
class Module {
 public:
  /// A file, or a folder with case.json. Bare kernels need `results` (and `arguments`): array shapes are not in them.
  /// With `arguments`, a module with symbolic shapes becomes the module for arguments of these types.
  /// Errors: SM1001 (cannot be read), SM1013 (not a module), SM1015 (too large), SM2xxx (what the importer refuses).
  static Result<Module> load(const std::string& path, std::span<const ArrayType> arguments = {},
                             std::span<const ArrayType> results = {});
  /// The same from memory; `name` is used in messages.
  static Result<Module> parse(std::string_view content, const std::string& name,
                              std::span<const ArrayType> arguments = {}, std::span<const ArrayType> results = {});

  /// The module was exported with symbolic shapes (jax.export): dimensions of its arguments and results that it leaves
  /// open are -1. `run` and `check` are for arrays of any shapes that it allows; for the rest it needs `with_arguments`
  /// (SM1021).
  bool has_symbolic_shapes() const;
  /// The module for arguments of these types; the last 64 are kept. A module of known shapes is returned as it is.
  /// Errors: SM1008 (other arguments than it takes), SM2015 (they violate a constraint of the module), SM2003.
  Result<Module> with_arguments(std::span<const ArrayType> arguments) const;

  const std::string& name() const;
  const std::vector<ArrayType>& arguments() const;
  const std::vector<ArrayType>& results() const;
  /// Names of the kernels in it, in program order.
  const std::vector<std::string>& kernels() const;

  /// Compiles the module. The code is kept: the same settings return the same code again. Kernels are
  /// compiled in parallel if cores are free.
  Result<Executable> compile(const Settings& = {}) const;
  /// Compiles (once for these settings) and executes; results are in the order of results(). SM1008: wrong inputs.
  Result<RunReport> run(std::span<const Array> arguments, const Settings& = {}) const;
  /// What the compilers of the TPUs in the setting `chip` refuse; empty without that setting.
  Result<std::vector<Finding>> refusals(const Settings&) const;
  /// As `run`, with all checks; with the setting `chip`, `findings` also lists what the compilers of those TPUs refuse.
  Result<RunReport> check(std::span<const Array> arguments, const Settings& = {}) const;

  /// Of a case folder: the recorded inputs (missing ones are filled with ones) and expected results (may be empty).
  /// Of any other module: ones, and nothing.
  Result<std::vector<Array>> recorded_inputs() const;
  Result<std::vector<Array>> expected_results() const;

  /// StableHLO text with kernel bodies of this stable_mosaic version (8 to 18, else SM2110).
  Result<std::string> export_stablehlo(int bytecode_version = 13) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

/// Arrays for every argument of a module: "ones", "iota" (0, 1, 2, … in row-major order, from 0 again after the
/// dtype's largest number) or "random" (floats from a standard normal distribution, integers from 0 to 7). SM1011:
/// another `fill`.
Result<std::vector<Array>> make_inputs(const Module&, const std::string& fill = "ones", uint64_t seed = 0);

/// numpy's .npy; types that numpy lacks are stored raw (bf16 as uint16) and need `as` to be read back. Errors: SM1001
/// (cannot be read), SM1002 (not such a file), SM1006 (cannot be written).
Result<Array> read_npy(const std::string& path);
Result<Array> read_npy(const std::string& path, DType as);
Status write_npy(const std::string& path, const Array&);

}  // namespace smalti
