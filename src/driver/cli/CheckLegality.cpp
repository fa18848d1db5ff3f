#include "driver/cli/CheckLegality.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include <fmt/format.h>

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "driver/case/ModuleOrCase.h"
#include "driver/term/Style.h"
#include "ir/Types.h"
#include "ir/package/Checks.h"

namespace smalti::cli {
namespace {

void judgeKernel(const KernelPackage& kernel, const tpu::Chip& chip, tpu::Verdict& worst, bool first) {
  tpu::Verdict verdict = tpu::judge(kernel, chip);
  const bool replaces = worst.accepted() && (!verdict.accepted() || verdict.vmemBytes > worst.vmemBytes);
  if (first || replaces) worst = std::move(verdict);
}

}  // namespace

Status assumeShapes(driver::LoadedModule& module) {
  if (module.program) return {};
  mlir::func::FuncOp f = module.bare->kernelFunction();
  if (!f) return {};
  package::Violations violations(module.bare->name, placeOf(f.getLoc()));
  const KernelSignature signature = package::readSignature(f, violations);
  std::vector<ArrayType> operands(static_cast<size_t>(signature.numDynamicBounds()), ArrayType{DType::i32, {}});
  const size_t refs = f.getNumArguments() - std::min<size_t>(f.getNumArguments(), signature.numScratch);
  for (size_t i = signature.grid.size(); i < refs; ++i) {
    auto array = arrayTypeOf(f.getArgument(static_cast<unsigned>(i)).getType()).value_or(ArrayType{DType::i32, {}});
    const size_t window = i - signature.grid.size() - static_cast<size_t>(signature.numScalarPrefetch);
    if (window < signature.windows.size() && signature.windows[window]) array.shape = signature.windows[window]->bounds;
    operands.push_back(std::move(array));
  }
  if (operands.empty()) return {};
  // Which of them are results is not said either; it does not matter here.
  const std::vector<ArrayType> results{operands.back()};
  operands.pop_back();
  return driver::setShapes(module, operands, results);
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
    LegalityOfModule::OnChip on{chip.name, {}};
    for (size_t i = 0; i < module.numKernels(); ++i) judgeKernel(*module.kernel(i), chip, on.verdict, i == 0);
    out.chips.push_back(std::move(on));
  }
  return out;
}

LegalityOfModule judgeFile(const std::string& path, const std::vector<tpu::Chip>& chips) {
  auto module = driver::loadModuleOrCase(path);
  Status ready = module ? assumeShapes(*module) : Status();
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

Json toJson(const LegalityOfModule& m) {
  Json chips = Json::object();
  for (const auto& [chip, v] : m.chips) {
    const tpu::Reason* reason = v.reason();
    chips[chip] = {{"accepted", v.accepted()},
                   {"fits", tpu::name(v.fits)},
                   {"code", reason ? Json(reason->code) : Json(nullptr)},
                   {"reason", reason ? Json(reason->id) : Json(nullptr)},
                   {"vmem_bytes", v.vmemBytes},
                   {"xla_vmem_operands", nullptr}};  // XLA decides that outside the kernel
  }
  return {{"file", m.path}, {"error", m.error ? driver::toJson(*m.error) : Json(nullptr)}, {"chips", std::move(chips)}};
}

std::string legalityText(const Session& session, const LegalityOfModule& m) {
  const bool color = session.colorOut();
  if (m.error)
    return fmt::format("{}: {}\n{}", m.path, "cannot be read", session.diagnosticText(*m.error, "error", color));
  std::string text;
  for (const auto& [chip, v] : m.chips) {
    const std::string verdict = v.accepted() ? term::styled(term::Style::green, "accepted", color)
                                             : term::styled(term::Style::red, "refused", color);
    text += fmt::format("{}: {} by the compiler of {}, {:.2f} MiB of VMEM{}\n", m.path, verdict, chip,
                        static_cast<double>(v.vmemBytes) / (1 << 20),
                        v.fits == tpu::Fits::uncertain ? ", which may be too much" : "");
  }
  // What several chips say is said once.
  std::vector<std::string> said;
  for (const auto& [chip, v] : m.chips) {
    for (const tpu::Refusal& r : v.refusals) {
      const std::string key = r.diagnostic.code + r.diagnostic.message + r.diagnostic.place.str() + r.diagnostic.have;
      if (std::find(said.begin(), said.end(), key) != said.end()) continue;
      said.push_back(key);
      text += session.diagnosticText(r.diagnostic, "error", color);
    }
  }
  return text;
}

}  // namespace smalti::cli
