// smalti show: the IR, the windows, and which block is fetched and written back when.
#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "driver/RunSettings.h"
#include "driver/cli/Verbs.h"
#include "driver/cli/run/Inputs.h"
#include "driver/cli/show/KernelChoice.h"
#include "driver/cli/show/KernelView.h"
#include "driver/cli/show/ProgramText.h"
#include "driver/cli/show/ShowCode.h"
#include "driver/cli/show/Timeline.h"
#include "driver/cli/show/VmemView.h"
#include "driver/compile/AssumeShapes.h"
#include "driver/target/cuda/Cuda.h"
#include "driver/target/interpret/Interpret.h"
#include "driver/term/Progress.h"
#include "driver/term/Style.h"
#include "interop/Interop.h"

namespace smalti::cli {
namespace {

struct ShowArguments {
  std::string path, stage = "all", kernel;
  std::optional<std::string> processor;
  int64_t steps = 8;
  InputArguments inputs;
  bool wants(std::string_view part) const { return stage == part || (stage == "all" && part != "generic"); }
};

/// The timeline's operands: inputs then outputs, as the kernel's view names them.
std::vector<std::string> windowedOperands(const KernelView& view) {
  std::vector<std::string> names;
  for (const OperandView& o : view.operands)
    if (o.role.starts_with("input") || o.role.starts_with("output")) names.push_back(o.role);
  return names;
}

term::Table timelineTable(const Timeline::Kernel& kernel, const std::vector<std::string>& names) {
  const bool cores = std::any_of(kernel.steps.begin(), kernel.steps.end(), [](const auto& s) { return s.core != 0; });
  std::vector<term::Table::Column> columns{{"step", term::Align::right}, {"grid"}};
  if (cores) columns.push_back({"core", term::Align::right});
  for (const std::string& name : names) columns.push_back({name});
  term::Table table(columns);
  const auto addRow = [&](const TimelineStep& step, std::string number, std::string grid) {
    std::vector<std::string> row{std::move(number), std::move(grid)};
    if (cores) row.push_back(std::to_string(step.core));
    for (int operand = 0; operand < static_cast<int>(names.size()); ++operand) {
      const auto fetched = step.fetched.find(operand), written = step.writtenBack.find(operand);
      std::vector<std::string> events;
      if (written != step.writtenBack.end()) events.push_back("write " + written->second);
      if (fetched != step.fetched.end()) events.push_back("fetch " + fetched->second);
      row.push_back(events.empty() ? "·" : fmt::format("{}", fmt::join(events, ", ")));
    }
    table.add(std::move(row));
  };
  for (size_t i = 0; i < kernel.steps.size(); ++i)
    addRow(kernel.steps[i], std::to_string(i), fmt::format("({})", fmt::join(kernel.steps[i].gridStep, ", ")));
  if (kernel.moreSteps > 0) table.add({"…", fmt::format("{} more", term::grouped(kernel.moreSteps))});
  if (!kernel.afterTheEnd.writtenBack.empty()) addRow(kernel.afterTheEnd, "end", "");
  return table;
}

Json timelineJson(const Timeline::Kernel& kernel, const std::vector<std::string>& names) {
  Json rows = Json::array();
  const auto addRow = [&](const TimelineStep& step) {
    Json fetched = Json::object(), written = Json::object();
    for (const auto& [operand, block] : step.fetched)
      if (operand < static_cast<int>(names.size())) fetched[names[static_cast<size_t>(operand)]] = block;
    for (const auto& [operand, block] : step.writtenBack)
      if (operand < static_cast<int>(names.size())) written[names[static_cast<size_t>(operand)]] = block;
    rows.push_back({{"grid", step.gridStep}, {"core", step.core}, {"fetched", fetched}, {"written_back", written}});
  };
  for (const TimelineStep& step : kernel.steps) addRow(step);
  if (!kernel.afterTheEnd.writtenBack.empty()) addRow(kernel.afterTheEnd);
  return rows;
}

void printWindows(const Session& session, const KernelView& view) {
  const bool color = session.colorOut();
  session.print(
      term::styled(term::Style::bold, "kernel " + view.name, color) +
      (view.grid.empty() ? ", no grid: whole arrays\n" : fmt::format(", grid {} ({})\n", view.grid, view.semantics)));
  session.print(operandTable(view).str(color, 2) + "\n");
}

void printTimeline(const Session& session, const Timeline::Kernel& kernel, const KernelView& view) {
  const bool hasGrid = !view.grid.empty();
  if (!hasGrid || kernel.steps.empty()) return;
  session.print(timelineTable(kernel, windowedOperands(view)).str(session.colorOut(), 2));
  session.print("\n");
}

/// The memories of chips, nothing run.
int showVmem(const Session& session, const std::string& path, const std::string& chosen) {
  const std::string& names = session.options.values.chip;
  const auto chips = tpu::findChips(names.empty() ? "all" : names);
  if (!chips) return session.refuse(chips.error());
  auto module = driver::loadModuleOrCase(path);
  if (!module) return session.refuse(module.error());
  if (Status ready = driver::assumeShapes(*module); !ready) return session.refuse(ready.error());
  if (!chosen.empty())
    if (const auto kernel = chooseKernel(*module, chosen); !kernel) return session.refuse(kernel.error());
  Json out = Json::object();
  for (const tpu::Chip& chip : *chips) {
    Json kernels = Json::array();
    for (size_t i = 0; i < module->numKernels(); ++i) {
      const KernelPackage& kernel = *module->kernel(i);
      if (!chosen.empty() && chosen != kernel.name && chosen != std::to_string(i)) continue;
      if (session.json())
        kernels.push_back(vmemJson(kernel, chip));
      else
        session.print(vmemText(session, kernel, chip) + "\n");
    }
    out[chip.name] = std::move(kernels);
  }
  if (session.json()) session.printJson({{"module", module->path}, {"chips", std::move(out)}});
  return kOk;
}

/// The argument after the colon, if the target that is shown is the chosen one.
std::string argumentOf(const driver::Target& shown, const std::string& chosen) {
  const size_t colon = chosen.find(':');
  return driver::findTarget(chosen) == &shown && colon != chosen.npos ? chosen.substr(colon + 1) : std::string();
}

int show(const Session& session, const ShowArguments& arguments) {
  const driver::Target* ofCode = targetOfStage(arguments.stage, session.options.values.target);
  if (arguments.processor && !ofCode)
    return session.refuse(
        {.code = "SM1000",
         .message = "--target-cpu names the processor of native code, which is not shown",
         .place = {},
         .need = fmt::format("--target cpu with --stage all, or --stage {}", fmt::join(codeStages(), "|")),
         .have = fmt::format("--target {} with --stage {}", session.options.values.target, arguments.stage),
         .help = "leave it out, or show native code: --target cpu"});
  if (Status ok = arguments.inputs.checkGpuParams(
          ofCode == &driver::cudaTarget(), "--target cuda, or --stage ptx or sass",
          fmt::format("--target {} with --stage {}", session.options.values.target, arguments.stage));
      !ok)
    return session.refuse(ok.error());
  if (arguments.stage == "vmem") return showVmem(session, arguments.path, arguments.kernel);
  auto loaded = driver::loadModuleOrCase(arguments.path);
  if (!loaded) return session.refuse(loaded.error());
  const bool canRun = arguments.inputs.giveShapes(*loaded);
  std::optional<Prepared> prepared;
  if (canRun) {
    auto ready = prepare(arguments.path, arguments.inputs, session.options.values);
    if (!ready) return session.refuse(ready.error());
    prepared = std::move(*ready);
  }
  const driver::LoadedModule& module = prepared ? prepared->module : *loaded;
  if (module.numKernels() == 0 && !session.json() && (ofCode || !arguments.wants("program")))
    session.note("note: the module has no kernels; --stage program shows its ops\n");
  if (ofCode)
    return showCode(session, *ofCode, module,
                    {.stage = arguments.stage,
                     .kernel = arguments.kernel,
                     .request = {.processor = arguments.processor.value_or("host"),
                                 .check = session.options.values.check,
                                 .numerics = driver::compileOptions(session.options.values).contract.numerics,
                                 .argument = argumentOf(*ofCode, session.options.values.target),
                                 .stage = arguments.stage}});
  if (!arguments.kernel.empty())
    if (const auto chosen = chooseKernel(module, arguments.kernel); !chosen) return session.refuse(chosen.error());

  Timeline timeline(static_cast<size_t>(arguments.steps));
  std::optional<Diagnostic> stopped;
  if (prepared && (arguments.wants("windows") || arguments.wants("timeline"))) {
    auto settings = driver::runSettings(session.options.values, prepared->poison);
    settings.execute.observers.push_back(&timeline);
    settings.execute.timeLimitSeconds = static_cast<double>(session.options.values.caseSeconds());
    settings.compile.target = driver::interpretTarget().name;  // only the machine can be watched; no plugin starts here
    term::Ticker ticker("running " + prepared->program().name);
    const auto outcome = driver::runProgram(prepared->program(), prepared->inputs, settings);
    if (!outcome) stopped = outcome.error();
  }

  Json kernels = Json::array();
  if (!session.json() && arguments.wants("program") && module.program)
    session.print(programText(*module.program) + "\n");
  for (size_t i = 0; i < module.numKernels(); ++i) {
    const KernelPackage& kernel = *module.kernel(i);
    if (!arguments.kernel.empty() && arguments.kernel != kernel.name && arguments.kernel != std::to_string(i)) continue;
    const KernelView view = viewKernel(kernel);
    const bool generic = arguments.stage == "generic";
    const std::string text =
        arguments.wants("kernel") || generic ? interop::exportMosaicText(kernel, generic) : std::string();
    // Calls inside of functions that are called twice run twice: only a program of one call each has a fixed order.
    const Timeline::Kernel* steps = i < timeline.kernels().size() && timeline.kernels().size() <= module.numKernels()
                                        ? &timeline.kernels()[i]
                                        : nullptr;
    if (session.json()) {
      Json row = toJson(view);
      if (!text.empty()) row["text"] = text;
      row["steps"] = steps ? timelineJson(*steps, windowedOperands(view)) : Json::array();
      kernels.push_back(std::move(row));
      continue;
    }
    if (!text.empty()) session.print(text + (text.ends_with('\n') ? "\n" : "\n\n"));
    if (arguments.wants("windows") || arguments.wants("timeline")) printWindows(session, view);
    if (steps && (arguments.wants("windows") || arguments.wants("timeline"))) printTimeline(session, *steps, view);
  }
  if (!session.json()) return stopped ? session.refuse(*stopped) : kOk;
  Json json{{"module", module.path}, {"kernels", kernels}};
  if (arguments.wants("program") && module.program) json["program"] = programText(*module.program);
  json["error"] = stopped ? driver::toJson(*stopped) : Json(nullptr);
  session.printJson(json);
  return stopped ? exitCodeFor(*stopped) : kOk;
}

}  // namespace

void declareShow(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<ShowArguments>();
  app.add_option("module", arguments->path, "a module, or a folder with case.json")->required()->type_name("PATH");
  std::vector<std::string> stages{"all", "program", "kernel", "generic", "windows", "vmem"};
  const std::vector<std::string> ofCode = codeStages();
  stages.insert(stages.end(), ofCode.begin(), ofCode.end());
  app.add_option(
         "--stage", arguments->stage,
         fmt::format("program: calls and plain array ops; kernel, generic: the kernel's IR; windows: blocks and "
                     "when they are fetched and written back; vmem: use of the memories of the TPUs named by --chip "
                     "(all by default); {}: stages of native code. With --target cpu, all describes "
                     "the code: tiles, size, times, the inner loop",
                     fmt::join(ofCode, ", ")))
      ->check(CLI::IsMember(stages))
      ->type_name(fmt::format("{}", fmt::join(stages, "|")))
      ->capture_default_str();
  app.add_option("--steps", arguments->steps, "grid steps to show")
      ->check(CLI::Range(0, 1'000'000))
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--kernel", arguments->kernel, "name or number of one kernel")->type_name("KERNEL");
  app.add_option("--target-cpu", arguments->processor,
                 "the processor of native code: its LLVM name, or TRIPLE/NAME; host, the default, is this one")
      ->type_name("NAME");
  arguments->inputs.declare(app);
  arguments->inputs.declareGpuParams(app);
  session.addOptions(app,
                     {OptionGroup::run, OptionGroup::check, OptionGroup::tpu, OptionGroup::cache, OptionGroup::output});
  session.addOption(app, "timeout-seconds");
  app.callback([&session, arguments] { session.action = [&session, arguments] { return show(session, *arguments); }; });
}

}  // namespace smalti::cli
