// smalti tune: candidates of a module's kernels, or of a library's kernel, ranked.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "base/Text.h"
#include "driver/case/ModuleOrCase.h"
#include "driver/cli/Verbs.h"
#include "driver/cli/time/TimeInputs.h"
#include "driver/cli/time/TuneText.h"
#include "driver/term/Progress.h"
#include "driver/time/ProgramTime.h"

namespace smalti::cli {
namespace {

struct TuneArguments {
  std::vector<std::string> what, operands, in;
  std::string kernel;
  int64_t most = 256;
  size_t rows = 10;
};

/// Everything that one run of the verb found.
struct Found {
  std::string text;
  Json modules = Json::array();
  std::vector<driver::TunedEntry> entries;
  int code = kOk;
};

void add(const Session& session, const TuneArguments& arguments, const std::string& title, const TunedKernel& kernel,
         Json& kernels, Found& found) {
  found.text += tuneText(session, title, kernel, arguments.rows);
  kernels.push_back(toJson(kernel));
  found.entries.insert(found.entries.end(), kernel.entries.begin(), kernel.entries.end());
  if (kernel.entries.empty()) found.code = std::max<int>(found.code, kRefused);
}

void refuse(const Session& session, const std::string& path, Json kernels, const Diagnostic& d, Found& found) {
  found.text += session.diagnosticText(d, "error", session.colorOut());
  found.modules.push_back({{"file", path}, {"error", driver::toJson(d)}, {"kernels", std::move(kernels)}});
  found.code = std::max(found.code, exitCodeFor(d));
}

std::string gridText(const KernelPackage& kernel) {
  std::vector<std::string> bounds;
  for (const int64_t b : kernel.signature.grid) bounds.push_back(b == kDynamicBound ? "dynamic" : std::to_string(b));
  return fmt::format("{}", fmt::join(bounds, ", "));
}

/// The kernels of a module, each with its blocks in other sizes.
Status tuneModule(const Session& session, const TuneArguments& arguments, const std::string& path,
                  const std::vector<tpu::Chip>& chips, Json& kernels, Found& found) {
  auto module = driver::loadModuleOrCase(path);
  if (!module) return fail(module.error());
  if (Status ready = driver::requireCalls(*module); !ready) return ready;
  const auto inputs = timeInputsOf(session, *module, {.in = arguments.in, .assume = {}});
  if (!inputs) return fail(inputs.error());
  for (const tpu::Chip& chip : chips) {
    const auto time = driver::timeOf(*module->program, chip, inputs->inputs, inputs->assume, inputs->timeLimitSeconds);
    if (!time) return fail(time.error());
    for (const driver::KernelCallTime& call : time->kernels) {
      if (!arguments.kernel.empty() && call.name != arguments.kernel) continue;
      const KernelPackage& kernel = module->program->kernels[static_cast<size_t>(call.kernel)];
      term::Progress progress;
      const auto ranking = driver::rankBlocks(
          kernel, chip, call.question, static_cast<size_t>(arguments.most),
          [&](size_t done) { progress.update(fmt::format("{} on {}: {} candidates…", call.name, chip.name, done)); });
      progress.clear();
      if (ranking.candidates.size() < 2)
        return fail({.code = "SM6913",
                     .message = fmt::format("kernel '{}' cannot have blocks of other sizes", call.name),
                     .place = placeOf(kernel.kernelFunction().getLoc()),
                     .need = "a grid of fixed size, whose blocks divide their arrays and are used as a whole",
                     .have = kernel.signature.grid.empty() ? "no grid" : fmt::format("grid ({})", gridText(kernel)),
                     .help = "make its block sizes candidates where it is written: pl::autotune"});
      add(session, arguments, fmt::format("{}, kernel '{}'", path, call.name), tunedKernel(kernel, chip, ranking),
          kernels, found);
    }
  }
  if (kernels.empty())
    return fail({.code = "SM1020",
                 .message = arguments.kernel.empty()
                                ? fmt::format("'{}' calls no kernel", path)
                                : fmt::format("'{}' calls no kernel '{}'", path, arguments.kernel.substr(0, 100)),
                 .place = {},
                 .need = arguments.kernel.empty() ? "a module that calls a kernel"
                                                  : "--kernel with the name of one, as smalti describe lists them"});
  return {};
}

/// Operands of the types: zeros, but for what the time depends on.
Result<std::vector<Operand>> operandsOf(const Tunable& kernel, const std::vector<std::string>& texts) {
  std::vector<ArrayType> types;
  for (const std::string& text : texts) {
    auto type = driver::parseArrayType(text);
    if (!type) return fail(type.error());
    types.push_back(std::move(*type));
  }
  if (types.size() != kernel.num_operands)
    return fail({.code = "SM1000",
                 .message = fmt::format("{} takes different operands", kernel.name),
                 .place = {},
                 .need = fmt::format("--operand {}: {}",
                                     kernel.num_operands == 1 ? "once" : fmt::format("{} times", kernel.num_operands),
                                     kernel.operands),
                 .have = counted(types.size(), "operand"),
                 .help = "--operand 'bf16[512,512]' for each of them"});
  std::vector<Array> arrays;
  for (const ArrayType& type : types) {
    auto array = Array::allocate(type);
    if (!array) return fail(array.error());
    std::memset(array->data(), 0, static_cast<size_t>(array->bytes()));
    arrays.push_back(std::move(*array));
  }
  if (kernel.fill) kernel.fill(arrays);
  return std::vector<Operand>(arrays.begin(), arrays.end());
}

Status tuneKernel(const Session& session, const TuneArguments& arguments, const Tunable& kernel,
                  const std::vector<std::string>& targets, Json& kernels, Found& found) {
  const auto operands = operandsOf(kernel, arguments.operands);
  if (!operands) return fail(operands.error());
  std::vector<ArrayType> types;
  for (const Operand& o : *operands) types.push_back(o.array().type());
  return attempt([&] {
    const Autotuned tuned = kernel.tuned(types);
    for (const std::string& target : targets) {
      term::Progress progress;
      const Ranking ranking = tuned.rank(*operands, target, [&](size_t done) {
        progress.update(fmt::format("{} on {}: {} of {}…", kernel.name, target, done, tuned.candidates().size()));
      });
      progress.clear();
      const std::string fileTarget =
          ranking.measured ? driver::tunedTarget() : driver::tunedTarget(unwrap(tpu::findChip(target)));
      std::vector<std::string> texts;
      for (const ArrayType& t : types) texts.push_back(t.str());
      add(session, arguments, fmt::format("{} of {}", kernel.name, fmt::join(texts, ", ")),
          tunedKernel(ranking, fileTarget, tuned.candidates()[0]), kernels, found);
    }
  });
}

const Tunable* findKernel(const Session& session, const std::string& name) {
  for (const Tunable& t : session.kernels)
    if (t.name == name) return &t;
  return nullptr;
}

Diagnostic unknown(const Session& session, const std::string& what) {
  std::vector<std::string> names;
  for (const Tunable& t : session.kernels) names.push_back(t.name);
  const auto near = nearest(what, names, 1);
  return {.code = "SM1001",
          .message = fmt::format("'{}' is neither a file nor a kernel of the library", what.substr(0, 200)),
          .place = {},
          .need = fmt::format("a module, a folder with case.json, or one of {}", fmt::join(names, ", ")),
          .help = near.empty() ? "" : fmt::format("did you mean '{}'?", near[0])};
}

/// Names and files of the chips, as they were given.
std::vector<std::string> targetsOf(const std::string& list, const std::vector<tpu::Chip>& chips) {
  std::vector<std::string> out;
  std::stringstream text(list);
  for (std::string name; std::getline(text, name, ',');) out.push_back(name);
  if (out.size() == chips.size() && list != "all") return out;
  out.clear();
  for (const tpu::Chip& chip : chips) out.push_back(chip.name);
  return out;
}

int tune(const Session& session, const TuneArguments& arguments) {
  const std::string& names = session.options.values.chip;
  const bool native = session.isGiven("target");
  if (native && session.options.values.target != "cpu")
    return session.refuse({.code = "SM1000",
                           .message = fmt::format("candidates are not tuned on '{}'", session.options.values.target),
                           .place = {},
                           .need = "--target cpu, or --chip with the chips that the model knows"});
  if (native == !names.empty())
    return session.refuse({.code = "SM1000",
                           .message = "candidates are tuned for chips or for this machine",
                           .place = {},
                           .need = "--chip with chips, or --target cpu",
                           .have = native ? "both" : "neither",
                           .help = "smalti tune matmul.mlir --chip v5e"});
  auto chips = native ? Result<std::vector<tpu::Chip>>(std::vector<tpu::Chip>{}) : tpu::findChips(names);
  if (!chips) return session.refuse(chips.error());
  // An unwritable file is refused before the search.
  const std::string& file = session.options.values.tuned;
  if (!file.empty())
    if (auto entries = driver::readTuned(file); !entries) return session.refuse(entries.error());
  const std::vector<std::string> targets = native ? std::vector<std::string>{"cpu"} : targetsOf(names, *chips);
  Found found;
  for (const std::string& what : arguments.what) {
    Json kernels = Json::array();
    Status done;
    if (std::filesystem::exists(what))
      done = native ? fail({.code = "SM6913",
                            .message = "the blocks of a module are changed for the model alone",
                            .place = {},
                            .need = "a library kernel with --target cpu, or --chip",
                            .have = what,
                            .help = "make its block sizes candidates where it is written: pl::autotune"})
                    : tuneModule(session, arguments, what, *chips, kernels, found);
    else if (const Tunable* kernel = findKernel(session, what))
      done = tuneKernel(session, arguments, *kernel, targets, kernels, found);
    else
      done = fail(unknown(session, what));
    if (done)
      found.modules.push_back({{"file", what}, {"error", nullptr}, {"kernels", std::move(kernels)}});
    else
      refuse(session, what, std::move(kernels), done.error(), found);
  }
  if (!file.empty() && !found.entries.empty()) {
    if (Status written = driver::addTuned(file, found.entries); !written) return session.refuse(written.error());
    found.text += fmt::format("written to {}: {}\n", file, counted(found.entries.size(), "entry"));
  }
  if (session.json())
    session.printJson({{"modules", std::move(found.modules)}});
  else
    session.print(found.text);
  return found.code;
}

}  // namespace

void declareTune(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<TuneArguments>();
  std::vector<std::string> names;
  for (const Tunable& t : session.kernels) names.push_back(fmt::format("{} ({})", t.name, t.operands));
  app.add_option("what", arguments->what,
                 fmt::format("modules, folders with case.json, or kernels of the library: {}", fmt::join(names, "; ")))
      ->required()
      ->type_name("PATH|KERNEL");
  app.add_option("--operand", arguments->operands, "the type of a library kernel's operand, in order: bf16[512,512]")
      ->type_name("TYPE");
  app.add_option("--in", arguments->in,
                 "an input that the time depends on: FILE.npy for the next one, NUMBER=FILE.npy for a specific one")
      ->type_name("FILE");
  app.add_option("--kernel", arguments->kernel, "only kernels of the module with this name")->type_name("NAME");
  app.add_option("--most", arguments->most, "maximum number of candidates tried for a module's kernel")
      ->type_name("N")
      ->check(CLI::Range(int64_t{1}, int64_t{100'000}))
      ->capture_default_str();
  app.add_option("--rows", arguments->rows, "number of candidates printed")->type_name("N")->capture_default_str();
  session.addOptions(app, {OptionGroup::output, OptionGroup::tpu, OptionGroup::tune});
  session.addOption(app, "target");
  session.addOption(app, "threads");
  session.addOption(app, "timeout-seconds");
  app.callback([&session, arguments] { session.action = [&session, arguments] { return tune(session, *arguments); }; });
}

}  // namespace smalti::cli
