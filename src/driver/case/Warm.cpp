#include "driver/case/Warm.h"

#include <chrono>
#include <new>

#include "cpu/cache/CompileCache.h"
#include "driver/Json.h"
#include "driver/RunSettings.h"
#include "driver/case/ChildFailure.h"
#include "driver/target/Target.h"

namespace smalti::driver {
namespace {

Result<WarmedKernel> warm(const KernelPackage& package, const KernelCompiler& compile, const CompileOptions& options,
                          const cpu::CompileCache& cache) {
  const auto begin = std::chrono::steady_clock::now();
  const auto kernel = compile(package, options);
  if (!kernel) return fail(kernel.error());
  const CodeReport code = *(*kernel)->code();
  WarmedKernel warmed{package.name, options.target, CacheWarmStatus::notNative, 0, code.objectBytes, code.notNative};
  if (!code.notNative.empty()) return warmed;
  warmed.milliseconds = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  warmed.state = CacheWarmStatus::kept;
  if (code.fromCache) return warmed;
  if (Status error = cache.firstError(); !error) return fail(std::move(error.error()));
  warmed.state = CacheWarmStatus::notKept;
  warmed.reason = code.notCacheable;
  if (!code.notCacheable.empty()) return warmed;
  const auto again = compile(package, options);
  if (again && (*again)->code()->fromCache)
    warmed.state = CacheWarmStatus::compiled;
  else
    warmed.reason = "it is too large for --cache-limit-mib";
  return warmed;
}

/// The targets whose code is cached; the code of a target with an argument would depend on it.
std::vector<const Target*> warmTargets() {
  std::vector<const Target*> kept = targets();
  std::erase_if(kept, [](const Target* t) { return !t->aheadOfTime || !t->argument.empty() || !t->available(""); });
  return kept;
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
    CompileOptions compile =
        compileOptions(options, module->recorded ? module->recorded->poison : machine::Poison::intMin);
    const auto cache = cpu::openCache(compile.cache, compile.cacheLimitBytes);
    for (const Target* target : warmTargets()) {
      compile.target = target->name;
      const auto compiler = openTarget(target->name);
      if (!compiler) {
        outcome.diagnostic = compiler.error();
        return outcome;
      }
      for (const KernelPackage& kernel : module->program->kernels) {
        auto warmed = warm(kernel, *compiler, compile, *cache);
        if (!warmed) {
          outcome.diagnostic = std::move(warmed.error());
          return outcome;
        }
        outcome.kernels.push_back(std::move(*warmed));
      }
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
        Json::array({k.name, k.target, static_cast<int>(k.state), k.milliseconds, k.objectBytes, k.reason}));
  if (outcome.diagnostic) json["diagnostic"] = toJson(*outcome.diagnostic);
  return dump(json);
}

WarmOutcome fromChild(const ChildResult& result, const Options& options) {
  WarmOutcome outcome;
  const Json json = result.finished ? Json::parse(result.output, nullptr, false) : Json();
  if (!json.is_object()) {
    outcome.diagnostic = failureOf(result, options, "module");
    return outcome;
  }
  for (const Json& k : json["kernels"])
    outcome.kernels.push_back({k[0], k[1], CacheWarmStatus(k[2].get<int>()), k[3], k[4], k[5]});
  if (json.contains("diagnostic")) outcome.diagnostic = diagnosticFromJson(json["diagnostic"]);
  return outcome;
}

}  // namespace

std::string_view name(CacheWarmStatus state) {
  switch (state) {
    case CacheWarmStatus::compiled:
      return "compiled";
    case CacheWarmStatus::kept:
      return "was there";
    case CacheWarmStatus::notKept:
      return "not kept";
    case CacheWarmStatus::notNative:
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
