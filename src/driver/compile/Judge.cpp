#include "driver/compile/Judge.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "base/Lasting.h"
#include "base/io/File.h"
#include "driver/case/ChildFailure.h"
#include "driver/case/Children.h"
#include "driver/case/RunInChild.h"
#include "driver/term/Style.h"
#include "pjrt/CompileOptions.h"
#include "pjrt/Refusals.h"
#include "pjrt/TpuCompiler.h"
#include "tpu/chip/Chip.h"

namespace smalti::driver {
namespace {

/// Compilations in one process: starting the compiler costs as much as 10 small ones, and its memory grows by 4 MB
/// each.
constexpr int64_t kPiecesEach = 50;

struct Piece {
  size_t module, chip;
};

CompilerVerdict unusable(Diagnostic d) {
  CompilerVerdict v;
  v.error = std::move(d);
  return v;
}

/// Compilers by chip and number of devices, as long as the (child) process lives.
Result<const pjrt::TpuCompiler*> compilerFor(const std::string& pluginFile, std::string_view chip, int64_t devices) {
  static constinit Lasting<std::map<std::pair<std::string, int64_t>, pjrt::TpuCompiler>> kept;
  auto& compilers = kept.get();
  const std::pair key(std::string(chip), devices);
  if (const auto known = compilers.find(key); known != compilers.end()) return &known->second;
  pjrt::setCompileOnlyEnvironment();
  const auto plugin = pjrt::Plugin::load(pluginFile);
  if (!plugin) return fail(plugin.error());
  const auto described = tpu::findChip(chip);
  if (!described) return fail(described.error());
  const tpu::Chip::Names& names = described->names;
  auto compiler = pjrt::TpuCompiler::create(
      *plugin, {described->name, names.topology, described->ici.torusDimensions, names.topologyConfig}, devices);
  if (!compiler) return fail(compiler.error());
  return &compilers.emplace(key, std::move(*compiler)).first->second;
}

CompilerVerdict judgeHere(const JudgeRequest& request, const Piece& piece) {
  const std::string& module = request.modules[piece.module].stableHlo;
  const std::string& chip = request.chips[piece.chip];
  const pjrt::CompileOptions options = pjrt::optionsOf(module);
  const auto compiler = compilerFor(request.plugin, chip, options.replicas * options.partitions);
  if (!compiler) return unusable(compiler.error());
  const std::string file = request.executableFile ? request.executableFile(piece.module, piece.chip) : "";
  const auto begin = std::chrono::steady_clock::now();
  const auto compiled = (*compiler)->compile(module, !file.empty());
  CompilerVerdict v;
  v.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  v.pluginVersion = (*compiler)->platformVersion();
  if (!compiled && pjrt::isIncompatibleVersion(compiled.error()))
    return unusable(pjrt::refusedBy((*compiler)->plugin(), compiled.error(), "take the program"));
  if (!compiled) {
    pjrt::Refusal refusal = pjrt::classify(compiled.error(), chip, module);
    v.reason = std::move(refusal.reason);
    v.fits = refusal.memory ? "no" : "uncertain";
    v.diagnostic = std::move(refusal.diagnostic);
    return v;
  }
  v.accepted = true;
  v.fits = "yes";
  v.codeBytes = compiled->codeBytes;
  for (const pjrt::KernelUse& kernel : compiled->kernels) {
    v.vmemBytes = std::max(v.vmemBytes, kernel.vmemBytes);
    v.xlaVmemOperands += kernel.xlaVmemOperands;
  }
  if (file.empty()) return v;
  if (Status written = writeFile(file, {compiled->executable}); !written) return unusable(written.error());
  v.executable = file;
  return v;
}

std::string judgeGuarded(const JudgeRequest& request, const Piece& piece) {
  try {
    return dump(toJson(judgeHere(request, piece)));
  } catch (const std::bad_alloc&) {
    return dump(toJson(unusable(outOfMemory("module"))));
  } catch (const std::exception& e) {
    return dump(toJson(unusable({.code = "SM9010", .message = "internal error", .place = {}, .have = e.what()})));
  }
}

CompilerVerdict crashed(const ChildResult& result, const std::string& chip, const Options& options) {
  CompilerVerdict v;
  if (result.timedOut) {
    v.reason = "timeout";
    v.diagnostic = {.code = "SM6807",
                    .message = fmt::format("the compiler for {} did not finish in time", chip),
                    .place = {},
                    .need = fmt::format("at most {} s", options.caseSeconds()),
                    .help = "raise --timeout-seconds, or use a smaller module"};
    return v;
  }
  v.reason = "crash";
  v.diagnostic = {.code = "SM6805",
                  .message = fmt::format("the compiler for {} crashed on this module", chip),
                  .place = {},
                  .have = endOf(result),
                  .help = "the plugin crashed: reduce the kernel to find the op"};
  return v;
}

CompilerVerdict fromChild(const ChildResult& result, const std::string& chip, const Options& options) {
  const Json json = result.finished ? Json::parse(result.output, nullptr, /*allow_exceptions=*/false) : Json();
  try {
    if (json.is_object()) return verdictFromJson(json);
  } catch (const Json::exception&) {
  }
  return crashed(result, chip, options);
}

bool isOfPlugin(const Diagnostic& d) { return d.code == "SM6802" || d.code == "SM6803"; }

}  // namespace

const Diagnostic* pluginError(const Verdicts& verdicts) {
  for (const auto& row : verdicts)
    for (const CompilerVerdict& v : row)
      if (v.error && isOfPlugin(*v.error)) return &*v.error;
  return nullptr;
}

std::string compilerVersion(const Verdicts& verdicts) {
  for (const auto& row : verdicts)
    for (const CompilerVerdict& v : row)
      if (const size_t built = v.pluginVersion.find("Built on "); built != std::string::npos)
        return v.pluginVersion.substr(built + 9, v.pluginVersion.find(" (", built) - built - 9);
  return "";
}

Verdicts judge(const JudgeRequest& request, const Options& options, const std::function<void(size_t)>& progress) {
  const size_t numChips = request.chips.size();
  Verdicts verdicts(request.modules.size(), std::vector<CompilerVerdict>(numChips));
  std::vector<Piece> pieces;
  for (size_t m = 0; m < request.modules.size(); ++m)
    for (size_t c = 0; c < numChips; ++c) pieces.push_back({m, c});

  bool stop = false;
  std::optional<Diagnostic> pluginError;
  size_t numDone = 0;
  ChildLimits limits = limitsOf(options);
  limits.piecesEach = kPiecesEach;
  limits.errorBytes = kPluginErrorBytes;
  limits.stop = &stop;
  const auto run = [&](const std::vector<Piece>& todo) {
    std::vector<Piece> crashes;
    std::vector<bool> judged(todo.size(), false);
    runInChildren(
        static_cast<int64_t>(todo.size()), limits,
        [&](int64_t i) { return judgeGuarded(request, todo[static_cast<size_t>(i)]); },
        [&](int64_t i, const ChildResult& result) {
          const Piece& piece = todo[static_cast<size_t>(i)];
          CompilerVerdict& v = verdicts[piece.module][piece.chip];
          v = fromChild(result, request.chips[piece.chip], options);
          judged[static_cast<size_t>(i)] = true;
          if (v.reason == "crash") crashes.push_back(piece);
          if (v.error && isOfPlugin(*v.error)) stop = true, pluginError = v.error;
          ++numDone;
        },
        [&] { progress(std::min(numDone, pieces.size())); });
    for (size_t i = 0; i < todo.size(); ++i)
      if (!judged[i]) verdicts[todo[i].module][todo[i].chip] = unusable(*pluginError);
    return crashes;
  };
  const std::vector<Piece> crashes = run(pieces);
  // Earlier modules of a process may have caused its crash: a crash only counts in a process that compiled nothing
  // else.
  limits.piecesEach = 1;
  if (!crashes.empty() && pieces.size() > 1 && !stop) run(crashes);
  return verdicts;
}

}  // namespace smalti::driver
