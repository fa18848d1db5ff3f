// The public API (smalti/module.h) over the driver.
#include "base/Guarded.h"
#include "base/Settings.h"
#include "driver/RunSettings.h"
#include "driver/Version.h"
#include "driver/case/ModuleOrCase.h"
#include "driver/program/Executables.h"
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

}  // namespace

std::string version() { return versionText(); }

struct Module::State {
  std::shared_ptr<const driver::ModuleOrCase> module;
  std::vector<ArrayType> arguments;
  std::vector<std::string> kernels;
  std::unique_ptr<driver::Executables> executables;
  const Program& program() const { return *module->program; }

  static Result<std::shared_ptr<const State>> make(Result<driver::ModuleOrCase> loaded,
                                                   std::span<const ArrayType> arguments,
                                                   std::span<const ArrayType> results) {
    if (!loaded) return fail(loaded.error());
    auto state = std::make_shared<State>();
    const auto shared = std::make_shared<driver::ModuleOrCase>(std::move(*loaded));
    if (shared->bare && results.empty()) return fail(driver::requireShapes(*shared).error());
    if (Status status = driver::setShapes(*shared, arguments, results); !status) return fail(status.error());
    state->module = shared;
    state->arguments = driver::argumentTypes(state->program());
    for (const KernelPackage& kernel : state->program().kernels) state->kernels.push_back(kernel.name);
    // Its Executables keep the module alive, as they may outlive the Module.
    state->executables =
        std::make_unique<driver::Executables>(std::shared_ptr<const Program>(shared, &*shared->program));
    return state;
  }

  Result<Executable> compile(Options options, bool check) const {
    if (Status ok = driver::validate(options); !ok) return fail(ok.error());
    options.check = options.check || check;
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
  return guardedCall([&]() -> Result<Module> {
    const UnforkedWork work;
    auto state = State::make(driver::loadModuleOrCase(path), arguments, results);
    if (!state) return fail(state.error());
    Module module;
    module.state_ = std::move(*state);
    return module;
  });
}

Result<Module> Module::parse(std::string_view content, const std::string& name, std::span<const ArrayType> arguments,
                             std::span<const ArrayType> results) {
  return guardedCall([&]() -> Result<Module> {
    const UnforkedWork work;
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

const std::string& Module::name() const { return state_->program().name; }
const std::vector<ArrayType>& Module::arguments() const { return state_->arguments; }
const std::vector<ArrayType>& Module::results() const { return driver::resultTypes(state_->program()); }
const std::vector<std::string>& Module::kernels() const { return state_->kernels; }

Result<Executable> Module::compile(const Settings& settings) const {
  return guardedCall([&] { return state_->compile(settings.state().options.values, false); });
}

Result<RunReport> Module::run(std::span<const Array> arguments, const Settings& settings) const {
  return guardedCall([&] { return state_->run(arguments, settings.state().options.values, false); });
}

Result<std::vector<Finding>> Module::refusals(const Settings& settings) const {
  return guardedCall([&]() -> Result<std::vector<Finding>> {
    const std::string& chips = settings.state().options.values.chip;
    std::vector<Finding> refusals;
    if (chips.empty()) return refusals;
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
  auto refused = refusals(settings);
  if (!refused) return fail(std::move(refused.error()));
  return guardedCall([&] {
    auto report = state_->run(arguments, settings.state().options.values, true);
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
  return guardedCall([&] {
    const auto alone = state_->executables->alone();
    return interop::exportStableHlo(state_->program(), bytecodeVersion);
  });
}

Result<std::vector<Array>> make_inputs(const Module& module, const std::string& fill, uint64_t seed) {
  return guardedCall([&]() -> Result<std::vector<Array>> {
    if (Status known = OptionSet().set(*findOption("fill"), fill, Origin::commandLine, "fill"); !known)
      return fail(std::move(known.error()));
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
