#include "driver/case/Warm.h"

#include <chrono>
#include <new>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cpu/CheckedKernel.h"
#include "cpu/cache/CompileCache.h"
#include "driver/Json.h"
#include "driver/RunSettings.h"
#include "driver/case/ChildTrouble.h"

namespace smalti::driver {
namespace {

struct Made {
  std::shared_ptr<const cpu::NativeKernel> kernel;  ///< null exactly when `reason` says why
  std::string reason;
  double milliseconds = 0;
};

Result<Made> make(const KernelPackage& package, const cpu::NativeOptions& options, bool check) {
  const auto begin = std::chrono::steady_clock::now();
  Made made;
  if (check) {
    auto checked = cpu::compileChecked(package, options);
    if (!checked) return fail(std::move(checked.error()));
    made.reason = std::move(checked->reason);
    if (checked->kernel) made.kernel = {checked->kernel, &checked->kernel->kernel()};
  } else {
    auto native = cpu::compileNative(package, options);
    if (!native) return fail(std::move(native.error()));
    made.reason = std::move(native->reason);
    made.kernel = std::move(native->kernel);
  }
  made.milliseconds = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  return made;
}

Result<WarmedKernel> warm(const KernelPackage& package, const cpu::NativeOptions& options, bool check) {
  // The machine's compiler says what is wrong with a kernel.
  if (auto compiled = machine::compileKernel(package, machine::Numerics::f32); !compiled)
    return fail(std::move(compiled.error()));
  auto made = make(package, options, check);
  if (!made) return fail(std::move(made.error()));
  if (!made->kernel) return WarmedKernel{package.name, Warmth::notNative, 0, 0, made->reason};
  const cpu::NativeReport& report = made->kernel->report();
  WarmedKernel warmed{package.name, Warmth::kept, made->milliseconds, report.compile.objectBytes, {}};
  if (report.compile.fromCache) return warmed;
  if (Status trouble = options.cache->trouble(); !trouble) return fail(std::move(trouble.error()));
  warmed.state = Warmth::notKept;
  if (!report.interpreted.empty()) {
    warmed.reason = fmt::format("ops that are not native yet: {}", fmt::join(report.interpreted, ", "));
    return warmed;
  }
  const auto again = make(package, options, check);
  if (again && again->kernel->report().compile.fromCache)
    warmed.state = Warmth::compiled;
  else
    warmed.reason = "it is too large for --cache-limit-mib";
  return warmed;
}

WarmOutcome warmModule(const std::string& path, const ModuleLoader& load, const Options& options) {
  WarmOutcome outcome;
  try {
    const auto module = load(path);
    const Status shapes = module ? requireShapes(*module) : fail(module.error());
    if (!shapes) {
      outcome.diagnostic = shapes.error();
      return outcome;
    }
    const CompileOptions compile =
        compileOptions(options, module->recorded ? module->recorded->poison : machine::Poison::intMin);
    const auto cache = cpu::openCache(compile.cache, compile.cacheLimitBytes);
    for (const KernelPackage& kernel : module->program->kernels) {
      auto warmed = warm(kernel, {.poison = compile.contract.poison, .cache = cache.get()}, options.check);
      if (!warmed) {
        outcome.diagnostic = std::move(warmed.error());
        break;
      }
      outcome.kernels.push_back(std::move(*warmed));
    }
  } catch (const std::bad_alloc&) {
    outcome.diagnostic = outOfMemory("module");
  } catch (const std::exception& e) {
    outcome.diagnostic = {.code = "SM9010", .message = "internal error", .place = {}, .have = e.what()};
  }
  return outcome;
}

std::string toText(const WarmOutcome& outcome) {
  Json json{{"kernels", Json::array()}};
  for (const WarmedKernel& k : outcome.kernels)
    json["kernels"].push_back(
        Json::array({k.name, static_cast<int>(k.state), k.milliseconds, k.objectBytes, k.reason}));
  if (outcome.diagnostic) json["diagnostic"] = toJson(*outcome.diagnostic);
  return dump(json);
}

WarmOutcome fromChild(const ChildResult& result, const Options& options) {
  WarmOutcome outcome;
  const Json json = result.finished ? Json::parse(result.output, nullptr, false) : Json();
  if (!json.is_object()) {
    outcome.diagnostic = troubleOf(result, options, "module");
    return outcome;
  }
  for (const Json& k : json["kernels"]) outcome.kernels.push_back({k[0], Warmth(k[1].get<int>()), k[2], k[3], k[4]});
  if (json.contains("diagnostic")) outcome.diagnostic = diagnosticFromJson(json["diagnostic"]);
  return outcome;
}

}  // namespace

std::string_view name(Warmth state) {
  switch (state) {
    case Warmth::compiled:
      return "compiled";
    case Warmth::kept:
      return "was there";
    case Warmth::notKept:
      return "not kept";
    case Warmth::notNative:
      return "not native";
  }
  return "";
}

std::vector<WarmOutcome> warmCache(std::span<const std::string> paths, const ModuleLoader& load, const Options& options,
                                   const std::function<void(size_t)>& progress) {
  std::vector<WarmOutcome> outcomes(paths.size());
  size_t done = 0;
  runInChildren(
      static_cast<int64_t>(paths.size()), limitsOf(options),
      [&](int64_t i) { return toText(warmModule(paths[static_cast<size_t>(i)], load, options)); },
      [&](int64_t i, const ChildResult& result) {
        outcomes[static_cast<size_t>(i)] = fromChild(result, options);
        ++done;
      },
      [&] { progress(done); });
  return outcomes;
}

}  // namespace smalti::driver
