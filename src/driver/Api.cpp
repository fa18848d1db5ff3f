// The public API (smalti/module.h) over the driver.
#include <cstdlib>
#include <new>

#include "driver/ApiReport.h"
#include "driver/RunSettings.h"
#include "driver/Target.h"
#include "driver/Version.h"
#include "driver/case/ModuleOrCase.h"
#include "interop/Interop.h"
#include "interop/npy/Npy.h"
#include "smalti/module.h"

namespace smalti {
namespace {

/// No exception of a library leaves the API.
template <class F>
auto guarded(F&& work) -> decltype(work()) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return fail({.code = "SM9013", .message = "there is no memory left", .place = {}});
  } catch (const std::exception& error) {
    return fail({.code = "SM9010",
                 .message = "internal error: this is a defect of Smalti",
                 .place = {},
                 .have = error.what(),
                 .help = "please report it with the module"});
  }
}

Status checkArguments(std::span<const Array> given, const std::vector<ArrayType>& types) {
  if (given.size() != types.size())
    return fail({.code = "SM1008",
                 .message = "the module takes another number of inputs",
                 .place = {},
                 .need = std::to_string(types.size()) + " inputs",
                 .have = std::to_string(given.size())});
  for (size_t i = 0; i < types.size(); ++i)
    if (given[i].type() != types[i])
      return fail({.code = "SM1008",
                   .message = "input " + std::to_string(i) + " is not what the module takes",
                   .place = {},
                   .need = types[i].str(),
                   .have = given[i].type().str()});
  return {};
}

}  // namespace

std::string version() { return versionText(); }

struct Settings::State {
  OptionSet options;
};

Settings::Settings() : state_(std::make_unique<State>()) {}
Settings::~Settings() = default;
Settings::Settings(const Settings& other) : state_(std::make_unique<State>(*other.state_)) {}
Settings& Settings::operator=(const Settings& other) {
  *state_ = *other.state_;
  return *this;
}

Status Settings::set(std::string_view option, std::string_view value) {
  const OptionRow* row = findOption(option);
  if (!row)
    return fail({.code = "SM1011",
                 .message = "there is no option '" + std::string(option) + "'",
                 .place = {},
                 .help = "smalti env lists them"});
  return state_->options.set(*row, value, Origin::commandLine, std::string(option));
}

Status Settings::read_environment() {
  return state_->options.readEnvironment([](const char* name) { return std::getenv(name); });
}

void use_settings(const Settings& settings) { driver::useOptions(driver::runOptions(settings.state_->options.values)); }

struct Module::State {
  driver::ModuleOrCase module;
  std::vector<ArrayType> arguments;
  std::vector<std::string> kernels;
  const Program& program() const { return *module.program; }

  static Result<std::shared_ptr<const State>> make(Result<driver::ModuleOrCase> loaded,
                                                   std::span<const ArrayType> arguments,
                                                   std::span<const ArrayType> results) {
    if (!loaded) return fail(loaded.error());
    auto state = std::make_shared<State>();
    state->module = std::move(*loaded);
    if (state->module.bare && results.empty()) return fail(driver::requireShapes(state->module).error());
    if (Status status = driver::setShapes(state->module, arguments, results); !status) return fail(status.error());
    state->arguments = driver::argumentTypes(state->program());
    for (const KernelPackage& kernel : state->program().kernels) state->kernels.push_back(kernel.name);
    return state;
  }

  Result<RunReport> run(std::span<const Array> given, Options options, bool check) const {
    if (Status status = checkArguments(given, arguments); !status) return fail(status.error());
    options.check = options.check || check;
    const auto settings =
        driver::runOptions(options, module.recorded ? std::optional(module.recorded->poison) : std::nullopt);
    auto outcome = driver::runProgram(program(), given, settings);
    if (!outcome) return fail(outcome.error());
    return driver::report(std::move(*outcome));
  }
};

Result<Module> Module::load(const std::string& path, std::span<const ArrayType> arguments,
                            std::span<const ArrayType> results) {
  return guarded([&]() -> Result<Module> {
    auto state = State::make(driver::loadModuleOrCase(path), arguments, results);
    if (!state) return fail(state.error());
    Module module;
    module.state_ = std::move(*state);
    return module;
  });
}

Result<Module> Module::parse(std::string_view content, const std::string& name, std::span<const ArrayType> arguments,
                             std::span<const ArrayType> results) {
  return guarded([&]() -> Result<Module> {
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

Result<RunReport> Module::run(std::span<const Array> arguments, const Settings& settings) const {
  return guarded([&] { return state_->run(arguments, settings.state_->options.values, false); });
}

Result<RunReport> Module::check(std::span<const Array> arguments, const Settings& settings) const {
  return guarded([&] { return state_->run(arguments, settings.state_->options.values, true); });
}

Result<std::vector<Array>> Module::recorded_inputs() const {
  return guarded([&] {
    const driver::Case none;
    const auto& recorded = state_->module.recorded;
    return driver::readInputs(recorded ? *recorded : none, state_->arguments, "ones", 0);
  });
}

Result<std::vector<Array>> Module::expected_results() const {
  return guarded([&]() -> Result<std::vector<Array>> {
    if (!state_->module.recorded) return std::vector<Array>();
    return driver::readExpected(*state_->module.recorded);
  });
}

Result<std::string> Module::export_stablehlo(int bytecodeVersion) const {
  return guarded([&] { return interop::exportStableHlo(state_->program(), bytecodeVersion); });
}

Result<std::vector<Array>> make_inputs(const Module& module, const std::string& fill, uint64_t seed) {
  return guarded([&]() -> Result<std::vector<Array>> {
    if (Status known = OptionSet().set(*findOption("fill"), fill, Origin::commandLine, "fill"); !known)
      return fail(std::move(known.error()));
    return driver::readInputs({}, module.arguments(), fill, seed);
  });
}

Result<Array> read_npy(const std::string& path) {
  return guarded([&] { return interop::readNpy(path); });
}
Result<Array> read_npy(const std::string& path, DType as) {
  return guarded([&] { return interop::readNpy(path, as); });
}
Status write_npy(const std::string& path, const Array& array) {
  return guarded([&] { return interop::writeNpy(path, array); });
}

}  // namespace smalti
