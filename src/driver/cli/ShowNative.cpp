#include "driver/cli/ShowNative.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cpu/check/Instrument.h"
#include "cpu/inspect/InnerLoop.h"
#include "cpu/inspect/Inspect.h"
#include "cpu/inspect/Mca.h"
#include "driver/cli/KernelChoice.h"
#include "driver/term/Style.h"

namespace smalti::cli {
namespace {

/// One kernel's code, and what was measured of it.
struct NativeView {
  cpu::Inspection code;
  std::optional<cpu::InnerLoop> loop;
  int spills = 0;
  std::optional<cpu::LoopCycles> cycles;
  std::string cyclesNote;                            ///< why there are none
  std::optional<std::vector<std::string>> shadowed;  ///< with --check: what has a shadow
};

Result<NativeView> view(const KernelPackage& kernel, const cpu::Processor& processor, bool check) {
  NativeView v;
  auto checked = check ? cpu::withChecks(kernel) : tl::unexpected(cpu::NotNative());
  if (check && !checked) {
    v.code.reason = checked.error();
    return v;
  }
  if (check) v.shadowed = checked->shadowed;
  auto code = cpu::inspectNative(check ? checked->package : kernel, {.processor = processor});
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

std::string cyclesText(const NativeView& v) {
  if (!v.cycles) return v.cyclesNote;
  std::string text = fmt::format("{:.1f} cycles a pass by llvm-mca", v.cycles->cycles);
  if (v.loop->multiplyAdds > 0)
    text += fmt::format("; its {} multiply-adds alone take {:.1f}: {:.2f} of their peak", v.loop->multiplyAdds,
                        v.cycles->multiplyAddBound, v.cycles->fraction());
  return text;
}

std::string shadowsText(const std::vector<std::string>& shadowed) {
  if (shadowed.empty()) return "all memory is proved to be written before it is read";
  return fmt::format("with shadows of {}", fmt::join(shadowed, ", "));
}

void print(const Session& session, const KernelPackage& kernel, const NativeView& v, const cpu::Processor& processor) {
  const bool color = session.colorOut();
  session.print(term::styled(term::Style::bold, "kernel " + kernel.name, color) + " for " + processor.name + "\n");
  if (!v.code.reason.empty()) {
    session.print(fmt::format("  no native code, it runs on the machine: {}\n\n", v.code.reason));
    return;
  }
  const cpu::NativeReport& report = v.code.report;
  session.print(
      fmt::format("  {} bytes of code, {} spills, {} bytes of values and packed operands; emitted in {:.1f} ms, "
                  "optimised in {:.1f} ms, generated in {:.1f} ms\n",
                  term::grouped(v.code.codeBytes), v.spills, term::grouped(report.arenaBytes), report.compile.emitMs,
                  report.compile.optimiseMs, report.compile.codegenMs));
  if (report.sharedAxes == 1) session.print("  threads share the first grid axis\n");
  if (report.sharedAxes > 1) session.print(fmt::format("  threads share the first {} grid axes\n", report.sharedAxes));
  if (!report.inOrder.empty()) session.print("  in order: " + report.inOrder + "\n");
  if (v.shadowed) session.print("  checked: " + shadowsText(*v.shadowed) + "\n");
  for (const std::string& line : report.matmuls) session.print("  product " + line + "\n");
  for (const std::string& line : report.interpreted) session.print("  not native yet: " + line + "\n");
  if (v.loop) {
    session.print(fmt::format("\n  inner loop, {} instructions, {} spills\n", v.loop->instructions, v.loop->spills));
    std::string text = v.loop->text;
    for (size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) text.insert(at, "    "), at += 4;
    session.print(text + "  " + cyclesText(v) + "\n");
  }
  session.print("\n");
}

Json toJson(const KernelPackage& kernel, const NativeView& v, const cpu::Processor& processor) {
  Json row{{"name", kernel.name}, {"processor", processor.name}};
  if (!v.code.reason.empty()) {
    row["not_native"] = v.code.reason;
    return row;
  }
  const cpu::NativeReport& report = v.code.report;
  row.update({{"code_bytes", v.code.codeBytes},
              {"spills", v.spills},
              {"arena_bytes", report.arenaBytes},
              {"shared_axes", report.sharedAxes},
              {"in_order", report.inOrder},
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

const std::string& textOf(const NativeView& v, const std::string& stage) {
  if (stage == "llvm") return v.code.llvm;
  return stage == "optimised" ? v.code.optimised : v.code.assembly;
}

}  // namespace

bool isNativeStage(const std::string& stage) { return stage == "llvm" || stage == "optimised" || stage == "assembly"; }

int showNative(const Session& session, const driver::LoadedModule& module, const NativeArguments& arguments) {
  if (Status status = driver::requireShapes(module); !status) return session.refuse(status.error());
  const auto processor = cpu::processorNamed(arguments.processor);
  if (!processor) return session.refuse(processor.error());
  const KernelPackage* only = nullptr;
  if (!arguments.kernel.empty()) {
    const auto chosen = chooseKernel(module, arguments.kernel);
    if (!chosen) return session.refuse(chosen.error());
    only = *chosen;
  }
  Json kernels = Json::array();
  for (size_t i = 0; i < module.numKernels(); ++i) {
    const KernelPackage& kernel = *module.kernel(i);
    if (only && only != &kernel) continue;
    const auto v = view(kernel, *processor, arguments.check);
    if (!v) return session.refuse(v.error());
    const bool text = isNativeStage(arguments.stage) && v->code.reason.empty();
    if (session.json()) {
      kernels.push_back(toJson(kernel, *v, *processor));
      if (text) kernels.back()["text"] = textOf(*v, arguments.stage);
    } else if (text) {
      session.print(textOf(*v, arguments.stage));
    } else {
      print(session, kernel, *v, *processor);
    }
  }
  if (session.json()) session.printJson({{"module", module.path}, {"kernels", kernels}});
  return kOk;
}

}  // namespace smalti::cli
