#include "driver/cli/check/CheckLegality.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "driver/case/ModuleOrCase.h"
#include "driver/compile/AssumeShapes.h"
#include "driver/term/Style.h"
#include "sim/SlowLoops.h"
#include "tpu/Warnings.h"

namespace smalti::cli {
namespace {

void judgeKernel(const KernelPackage& kernel, const tpu::Chip& chip, tpu::Verdict& worst, bool first) {
  tpu::Verdict verdict = tpu::judge(kernel, chip);
  const bool replaces = worst.accepted() && (!verdict.accepted() || verdict.vmemBytes > worst.vmemBytes);
  if (first || replaces) worst = std::move(verdict);
}

}  // namespace

std::vector<Diagnostic> warningsOf(const KernelPackage& kernel, const tpu::Chip& chip) {
  std::vector<Diagnostic> all = tpu::warningsOf(kernel, chip, tpu::vmemOf(kernel, chip));
  for (Diagnostic& d : sim::slowLoops(kernel, chip)) all.push_back(std::move(d));
  return all;
}

bool LegalityOfModule::accepted() const {
  return !error && std::all_of(chips.begin(), chips.end(), [](const OnChip& c) { return c.verdict.accepted(); });
}

int LegalityOfModule::exitCode() const {
  if (error) return exitCodeFor(*error);
  return accepted() ? kOk : kRefused;
}

LegalityOfModule judgeModule(const driver::LoadedModule& module, const std::vector<tpu::Chip>& chips) {
  LegalityOfModule out{.path = module.path, .error = {}, .chips = {}};
  for (const tpu::Chip& chip : chips) {
    LegalityOfModule::OnChip on{chip.name, {}, {}};
    for (size_t i = 0; i < module.numKernels(); ++i) {
      const KernelPackage& kernel = *module.kernel(i);
      judgeKernel(kernel, chip, on.verdict, i == 0);
      for (Diagnostic& d : warningsOf(kernel, chip)) on.warnings.push_back(std::move(d));
    }
    out.chips.push_back(std::move(on));
  }
  return out;
}

LegalityOfModule judgeFile(const std::string& path, const std::vector<tpu::Chip>& chips) {
  auto module = driver::loadModuleOrCase(path);
  Status ready = module ? driver::assumeShapes(*module) : Status();
  LegalityOfModule out{.path = path, .error = {}, .chips = {}};
  if (!module)
    out.error = module.error();
  else if (!ready)
    out.error = ready.error();
  else
    out.chips = judgeModule(*module, chips).chips;
  return out;
}

std::vector<LegalityOfModule> judgeFiles(const std::vector<std::string>& paths, const std::vector<tpu::Chip>& chips,
                                         int64_t jobs) {
  std::vector<LegalityOfModule> out(paths.size());
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i = next++; i < paths.size(); i = next++) out[i] = judgeFile(paths[i], chips);
  };
  const size_t wanted = jobs > 0 ? static_cast<size_t>(jobs) : std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::jthread> threads;
  for (size_t i = 1; i < std::min(wanted, paths.size()); ++i) threads.emplace_back(work);
  work();
  threads.clear();
  return out;
}

Result<std::vector<tpu::Chip>> chipsGiven(const Session& session) {
  const std::string& names = session.options.values.chip;
  return names.empty() ? Result<std::vector<tpu::Chip>>() : tpu::findChips(names);
}

Json toJson(const LegalityOfModule& m) {
  Json chips = Json::object();
  for (const auto& [chip, v, warnings] : m.chips) {
    const tpu::Reason* reason = v.reason();
    chips[chip] = {{"accepted", v.accepted()},
                   {"fits", tpu::name(v.fits)},
                   {"code", reason ? Json(reason->code) : Json(nullptr)},
                   {"reason", reason ? Json(reason->id) : Json(nullptr)},
                   {"vmem_bytes", v.vmemBytes},
                   {"xla_vmem_operands", nullptr},  // XLA decides that outside the kernel
                   {"warnings", Json::array()}};
    for (const Diagnostic& d : warnings) chips[chip]["warnings"].push_back(driver::toJson(d));
  }
  return {{"file", m.path}, {"error", m.error ? driver::toJson(*m.error) : Json(nullptr)}, {"chips", std::move(chips)}};
}

std::string legalityCell(const LegalityOfModule& m) {
  if (m.error) return m.error->code;
  std::vector<std::string> refusing, codes;
  for (const auto& [chip, v, warnings] : m.chips) {
    if (v.accepted()) continue;
    refusing.push_back(chip);
    if (std::string code(v.reason()->code); std::find(codes.begin(), codes.end(), code) == codes.end())
      codes.push_back(std::move(code));
  }
  if (refusing.empty()) return "accepted";
  return fmt::format("refused by {} ({})", fmt::join(refusing, ", "), fmt::join(codes, ", "));
}

std::string legalityText(const Session& session, const LegalityOfModule& m) {
  const bool color = session.colorOut();
  if (m.error)
    return fmt::format("{}: {}\n{}", m.path, "cannot be read", session.diagnosticText(*m.error, "error", color));
  std::string text;
  for (const auto& [chip, v, warnings] : m.chips) {
    const std::string verdict = v.accepted() ? term::styled(term::Style::green, "accepted", color)
                                             : term::styled(term::Style::red, "refused", color);
    text += fmt::format("{}: {} by the compiler of {}, {:.2f} MiB of VMEM{}\n", m.path, verdict, chip,
                        static_cast<double>(v.vmemBytes) / (1 << 20),
                        v.fits == tpu::Fits::uncertain ? ", which may exceed the limit" : "");
  }
  // A message shared by several chips is printed once.
  std::vector<std::string> said;
  const auto say = [&](const Diagnostic& d, const char* kind) {
    const std::string key = d.code + d.message + d.place.str() + d.have;
    if (std::find(said.begin(), said.end(), key) != said.end()) return;
    said.push_back(key);
    text += session.diagnosticText(d, kind, color);
  };
  for (const auto& on : m.chips)
    for (const tpu::Refusal& r : on.verdict.refusals) say(r.diagnostic, "error");
  for (const auto& on : m.chips)
    for (const Diagnostic& d : on.warnings) say(d, "warning");
  return text;
}

}  // namespace smalti::cli
