// The public API (smalti/module.h) over the driver.
#include <algorithm>
#include <mutex>

#include <fmt/format.h>

#include "base/Guarded.h"
#include "base/Settings.h"
#include "driver/RunSettings.h"
#include "driver/Version.h"
#include "driver/case/ModuleOrCase.h"
#include "driver/program/Executables.h"
#include "driver/symbolic/Specialise.h"
#include "interop/Interop.h"
#include "interop/npy/Npy.h"
#include "ir/Lifetime.h"
#include "smalti/module.h"
#include "tpu/Legality.h"

namespace smalti {
namespace {

/// No exception of a library leaves the API, and nothing is done while the program ends.
template <class F>
auto guardedCall(F&& work) -> decltype(work()) {
  if (Status alive = checkAlive(); !alive) return fail(std::move(alive.error()));
  return guarded(std::forward<F>(work));
}

/// The same for UnforkedWork. The check follows the entry: the end of the program refuses this work or waits for it.
template <class F>
auto guardedWork(F&& work) -> decltype(work()) {
  const UnforkedWork unforked;
  return guardedCall(std::forward<F>(work));
}

}  // namespace

std::string version() { return versionText(); }

struct Module::State {
  using Shared = std::shared_ptr<const State>;
  std::shared_ptr<const driver::ModuleOrCase> module;
  std::vector<ArrayType> arguments;
  std::vector<std::string> kernels;
  std::unique_ptr<driver::Executables> executables;  ///< null: the module has symbolic shapes
  /// Of a module with symbolic shapes: what it is for arguments of some types, the last used at the end.
  static constexpr size_t kMostSpecialised = 64;
  mutable std::mutex specialising;
  mutable std::vector<Shared> specialised;
  const Program& program() const { return module->program ? *module->program : *module->symbolic; }

  static Result<Shared> make(Result<driver::ModuleOrCase> loaded, std::span<const ArrayType> arguments,
                             std::span<const ArrayType> results) {
    if (!loaded) return fail(loaded.error());
    auto state = std::make_shared<State>();
    const auto shared = std::make_shared<driver::ModuleOrCase>(std::move(*loaded));
    if (shared->bare && results.empty()) return fail(driver::requireShapes(*shared).error());
    if (shared->bare || (shared->symbolic && !arguments.empty()))
      if (Status status = driver::setShapes(*shared, arguments, results); !status) return fail(status.error());
    state->module = shared;
    state->arguments = driver::argumentTypes(state->program());
    for (const KernelPackage& kernel : state->program().kernels) state->kernels.push_back(kernel.name);
    if (shared->symbolic) return state;
    // Its Executables keep the module alive, as they may outlive the Module.
    state->executables =
        std::make_unique<driver::Executables>(std::shared_ptr<const Program>(shared, &*shared->program));
    return state;
  }

  /// The state of the module for arguments of these types.
  static Result<Shared> with(const Shared& state, std::span<const ArrayType> types) {
    if (state->executables) return state;
    const LockedUnforkedWork lock(state->specialising);
    std::vector<Shared>& kept = state->specialised;
    const auto isFor = [&](const Shared& made) { return std::ranges::equal(made->arguments, types); };
    if (const auto found = std::ranges::find_if(kept, isFor); found != kept.end()) {
      std::rotate(found, found + 1, kept.end());
      return kept.back();
    }
    auto program = driver::specialise(*state->module->symbolic, types);
    if (!program) return fail(std::move(program.error()));
    driver::ModuleOrCase module;
    module.path = state->module->path;
    module.kind = state->module->kind;
    module.program = std::move(*program);
    auto made = make(std::move(module), {}, {});
    if (!made) return made;
    if (kept.size() == kMostSpecialised) kept.erase(kept.begin());
    kept.push_back(*made);
    return made;
  }
  static Result<Shared> with(const Shared& state, std::span<const Array> given) {
    if (state->executables) return state;
    std::vector<ArrayType> types;
    for (const Array& a : given) types.push_back(a.type());
    return with(state, types);
  }

  Result<Executable> compile(Options options, bool check) const {
    if (Status ok = driver::validate(options); !ok) return fail(ok.error());
    options.check = options.check || check;
    if (Status ok = driver::requireShapes(*module); !ok) return fail(ok.error());
    auto ready = executables->get(
        driver::runSettings(options, module->recorded ? std::optional(module->recorded->poison) : std::nullopt));
    if (!ready) return fail(std::move(ready.error()));
    return Executable(std::move(*ready));
  }

  Result<RunReport> run(std::span<const Array> given, const Options& options, bool check) const {
    const auto ready = compile(options, check);
    if (!ready) return fail(ready.error());
    return ready->execute(given);
  }
};

Result<Module> Module::load(const std::string& path, std::span<const ArrayType> arguments,
                            std::span<const ArrayType> results) {
  return guardedWork([&]() -> Result<Module> {
    auto state = State::make(driver::loadModuleOrCase(path), arguments, results);
    if (!state) return fail(state.error());
    Module module;
    module.state_ = std::move(*state);
    return module;
  });
}

Result<Module> Module::parse(std::string_view content, const std::string& name, std::span<const ArrayType> arguments,
                             std::span<const ArrayType> results) {
  return guardedWork([&]() -> Result<Module> {
    auto parsed = driver::parseModule(content, name).map([](driver::LoadedModule&& module) {
      return driver::ModuleOrCase{std::move(module), {}};
    });
    auto state = State::make(std::move(parsed), arguments, results);
    if (!state) return fail(state.error());
    Module module;
    module.state_ = std::move(*state);
    return module;
  });
}

bool Module::has_symbolic_shapes() const { return !state_->executables; }

Result<Module> Module::with_arguments(std::span<const ArrayType> arguments) const {
  return guardedWork([&]() -> Result<Module> {
    auto state = State::with(state_, arguments);
    if (!state) return fail(state.error());
    Module module;
    module.state_ = std::move(*state);
    return module;
  });
}

const std::string& Module::name() const { return state_->program().name; }
const std::vector<ArrayType>& Module::arguments() const { return state_->arguments; }
const std::vector<ArrayType>& Module::results() const { return driver::resultTypes(state_->program()); }
const std::vector<std::string>& Module::kernels() const { return state_->kernels; }

Result<Executable> Module::compile(const Settings& settings) const {
  return guardedCall([&] { return state_->compile(settings.state().options.values, false); });
}

Result<RunReport> Module::run(std::span<const Array> arguments, const Settings& settings) const {
  return guardedCall([&]() -> Result<RunReport> {
    const auto state = State::with(state_, arguments);
    if (!state) return fail(state.error());
    return (*state)->run(arguments, settings.state().options.values, false);
  });
}

Result<std::vector<Finding>> Module::refusals(const Settings& settings) const {
  return guardedWork([&]() -> Result<std::vector<Finding>> {
    const std::string& chips = settings.state().options.values.chip;
    std::vector<Finding> refusals;
    if (chips.empty()) return refusals;
    if (Status ok = driver::requireShapes(*state_->module); !ok) return fail(ok.error());
    for (const KernelPackage& kernel : state_->program().kernels) {
      const auto alone = state_->executables->alone();
      auto found = tpu::refusalsOf(kernel, chips);
      if (!found) return fail(std::move(found.error()));
      for (Diagnostic& d : *found) refusals.push_back({std::move(d)});
    }
    return refusals;
  });
}

Result<RunReport> Module::check(std::span<const Array> arguments, const Settings& settings) const {
  auto state = guardedWork([&] { return State::with(state_, arguments); });
  if (!state) return fail(std::move(state.error()));
  Module module;
  module.state_ = std::move(*state);
  auto refused = module.refusals(settings);
  if (!refused) return fail(std::move(refused.error()));
  return guardedCall([&] {
    auto report = module.state_->run(arguments, settings.state().options.values, true);
    if (report)
      report->findings.insert(report->findings.begin(), std::make_move_iterator(refused->begin()),
                              std::make_move_iterator(refused->end()));
    return report;
  });
}

Result<std::vector<Array>> Module::recorded_inputs() const {
  return guardedCall([&] {
    const driver::Case none;
    const auto& recorded = state_->module->recorded;
    if (Status ok = driver::requireShapes(*state_->module); !ok) return Result<std::vector<Array>>(fail(ok.error()));
    return driver::readInputs(recorded ? *recorded : none, state_->arguments, "ones", 0);
  });
}

Result<std::vector<Array>> Module::expected_results() const {
  return guardedCall([&]() -> Result<std::vector<Array>> {
    if (!state_->module->recorded) return std::vector<Array>();
    return driver::readExpected(*state_->module->recorded);
  });
}

Result<std::string> Module::export_stablehlo(int bytecodeVersion) const {
  return guardedWork([&]() -> Result<std::string> {
    if (Status ok = driver::requireShapes(*state_->module); !ok) return fail(ok.error());
    const auto alone = state_->executables->alone();
    return interop::exportStableHlo(state_->program(), bytecodeVersion);
  });
}

Result<std::vector<Array>> make_inputs(const Module& module, const std::string& fill, uint64_t seed) {
  return guardedCall([&]() -> Result<std::vector<Array>> {
    if (Status known = OptionSet().set(*findOption("fill"), fill, Origin::commandLine, "fill"); !known)
      return fail(std::move(known.error()));
    if (module.has_symbolic_shapes())
      return fail(
          {.code = "SM1021",
           .message = fmt::format("'{}' has symbolic shapes: its arguments say how large arrays are", module.name()),
           .place = {},
           .need = "the types of its arguments (with_arguments in C++ and Python)",
           .help = "make inputs of the module for these types"});
    return driver::readInputs({}, module.arguments(), fill, seed);
  });
}

Result<Array> read_npy(const std::string& path) {
  return guardedCall([&] { return interop::readNpy(path); });
}
Result<Array> read_npy(const std::string& path, DType as) {
  return guardedCall([&] { return interop::readNpy(path, as); });
}
Status write_npy(const std::string& path, const Array& array) {
  return guardedCall([&] { return interop::writeNpy(path, array); });
}

}  // namespace smalti
