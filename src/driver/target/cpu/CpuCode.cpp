// A summary of native code: statistics, and its inner loop.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cpu/CompileSteps.h"
#include "cpu/check/Instrument.h"
#include "cpu/inspect/InnerLoop.h"
#include "cpu/inspect/Inspect.h"
#include "cpu/inspect/Mca.h"
#include "driver/target/Code.h"
#include "driver/target/TpuNumerics.h"
#include "driver/target/cpu/Cpu.h"
#include "driver/target/cpu/PlanView.h"
#include "driver/term/Style.h"

namespace smalti::driver {
namespace {

/// One kernel's code and its measurements.
struct Measured {
  cpu::Inspection code;
  std::optional<cpu::InnerLoop> loop;
  int spills = 0;
  std::optional<cpu::LoopCycles> cycles;
  std::string cyclesNote;                            ///< why there are none
  std::optional<std::vector<std::string>> shadowed;  ///< with --check: what has a shadow
  std::vector<std::string> rewrites{};               ///< with --check: of the kernel before the checks were added
};

cpu::NativeOptions optionsFor(const KernelPackage& kernel, const cpu::Processor& processor, bool check) {
  return {.processor = processor, .devices = !check && cpu::namesDevices(kernel)};
}

Result<Measured> measure(const KernelPackage& kernel, const cpu::Processor& processor, bool check) {
  Measured v;
  auto checked = check ? cpu::withChecks(kernel) : tl::unexpected(cpu::Unsupported());
  if (check && !checked) {
    v.code.reason = checked.error().text();
    return v;
  }
  if (check) {
    v.shadowed = checked->shadowed;
    v.rewrites = checked->rewrites;
  }
  auto code = cpu::inspectNative(check ? checked->package : kernel, optionsFor(kernel, processor, check));
  if (!code) return fail(std::move(code.error()));
  v.code = std::move(*code);
  if (!v.code.reason.empty()) return v;
  v.loop = cpu::findInnerLoop(v.code.assembly);
  v.spills = cpu::countSpills(v.code.assembly);
  if (!v.loop) return v;
  const auto mca = cpu::findMca();
  if (!mca) {
    v.cyclesNote = "llvm-mca is not installed: no cycles of the inner loop";
    return v;
  }
  auto cycles = cpu::loopCycles(*mca, v.loop->text, processor);
  if (cycles)
    v.cycles = *cycles;
  else
    v.cyclesNote = cycles.error().message + ": " + cycles.error().have;
  return v;
}

std::string cyclesText(const Measured& v) {
  if (!v.cycles) return v.cyclesNote;
  std::string text = fmt::format("{:.1f} cycles per iteration according to llvm-mca", v.cycles->cycles);
  if (v.loop->multiplyAdds > 0)
    text += fmt::format("; its {} multiply-adds alone take {:.1f}: {:.2f} of their peak", v.loop->multiplyAdds,
                        v.cycles->multiplyAddBound, v.cycles->fraction());
  return text;
}

std::string shadowsText(const std::vector<std::string>& shadowed) {
  if (shadowed.empty()) return "all memory is proved to be written before it is read";
  return fmt::format("with shadows of {}", fmt::join(shadowed, ", "));
}

std::string summaryText(const Measured& v) {
  const cpu::NativeReport& report = v.code.report;
  std::string text = fmt::format(
      "  {} bytes of code, {} spills, {} bytes of values and packed operands; emitted in {:.1f} ms, "
      "optimised in {:.1f} ms, generated in {:.1f} ms\n",
      term::grouped(v.code.codeBytes), v.spills, term::grouped(report.arenaBytes), report.compile.emitMs,
      report.compile.optimiseMs, report.compile.codegenMs);
  if (report.sharedAxes == 1) text += "  threads share the first grid axis\n";
  if (report.sharedAxes > 1) text += fmt::format("  threads share the first {} grid axes\n", report.sharedAxes);
  if (!report.sequentialReason.empty()) text += "  in order: " + report.sequentialReason + "\n";
  if (v.shadowed) text += "  checked: " + shadowsText(*v.shadowed) + "\n";
  for (const std::string& line : report.matmuls) text += "  product " + line + "\n";
  for (const std::string& line : report.interpreted) text += "  not native yet: " + line + "\n";
  if (!v.loop) return text;
  text += fmt::format("\n  inner loop, {} instructions, {} spills\n", v.loop->instructions, v.loop->spills);
  std::string loop = v.loop->text;
  for (size_t at = 0; at < loop.size(); at = loop.find('\n', at) + 1) loop.insert(at, "    "), at += 4;
  return text + loop + "  " + cyclesText(v) + "\n";
}

Json figuresOf(const Measured& v) {
  const cpu::NativeReport& report = v.code.report;
  Json row;
  row.update({{"code_bytes", v.code.codeBytes},
              {"spills", v.spills},
              {"arena_bytes", report.arenaBytes},
              {"shared_axes", report.sharedAxes},
              {"in_order", report.sequentialReason},
              {"products", report.matmuls},
              {"interpreted", report.interpreted},
              {"ms",
               {{"emit", report.compile.emitMs},
                {"optimise", report.compile.optimiseMs},
                {"generate", report.compile.codegenMs}}}});
  if (v.shadowed) row["shadows"] = *v.shadowed;
  if (!v.loop) return row;
  Json loop{{"text", v.loop->text},
            {"instructions", v.loop->instructions},
            {"multiply_adds", v.loop->multiplyAdds},
            {"spills", v.loop->spills}};
  if (v.cycles) {
    loop["cycles"] = v.cycles->cycles;
    loop["fraction_of_peak"] = v.cycles->fraction();
  }
  row["inner_loop"] = std::move(loop);
  return row;
}

/// `rewrites`: of the kernel before its plan was made.
void addPlan(CodeView& view, const std::string& kernel, cpu::KernelPlan plan,
             const std::vector<std::string>& rewrites) {
  plan.rewrites.insert(plan.rewrites.begin(), rewrites.begin(), rewrites.end());
  view.figures["plan"] = planJson(plan);
  view.stages["plan"] = fmt::format("kernel {} for {}\n{}\n", kernel, view.processor, planText(plan));
}

/// The plan alone: no code is emitted.
CodeView planOf(const KernelPackage& kernel, const cpu::Processor& processor, bool check) {
  CodeView view{.processor = processor.name, .notNative = {}, .text = {}, .figures = {}, .stages = {}};
  if (const auto why = cpu::unsuitableProcessor(processor)) {
    view.notNative = why->message;
    return view;
  }
  auto checked = check ? cpu::withChecks(kernel) : tl::unexpected(cpu::Unsupported());
  if (check && !checked) {
    view.notNative = checked.error().text();
    return view;
  }
  const auto planned = cpu::planNative(check ? checked->package : kernel, optionsFor(kernel, processor, check));
  if (planned)
    addPlan(view, kernel.name, planned->plan, check ? checked->rewrites : std::vector<std::string>());
  else
    view.notNative = planned.error().text();
  return view;
}

}  // namespace

Result<CodeView> inspectCpuCode(const KernelPackage& package, const CodeRequest& request) {
  const auto processor = cpu::processorNamed(request.processor);
  if (!processor) return fail(processor.error());
  const auto kernel = withNumerics(package, request.numerics);
  if (!kernel)
    return CodeView{
        .processor = processor->name, .notNative = kOnlyMachineRounds, .text = {}, .figures = {}, .stages = {}};
  if (request.stage == "plan") return planOf(*kernel, *processor, request.check);
  auto measured = measure(*kernel, *processor, request.check);
  if (!measured) return fail(std::move(measured.error()));
  CodeView view{
      .processor = processor->name, .notNative = measured->code.reason, .text = {}, .figures = {}, .stages = {}};
  if (!view.notNative.empty()) return view;
  view.text = summaryText(*measured);
  view.figures = figuresOf(*measured);
  if (measured->code.report.plan) addPlan(view, kernel->name, *measured->code.report.plan, measured->rewrites);
  view.stages.merge(decltype(view.stages){{"llvm", std::move(measured->code.llvm)},
                                          {"optimised", std::move(measured->code.optimised)},
                                          {"assembly", std::move(measured->code.assembly)}});
  return view;
}

}  // namespace smalti::driver
