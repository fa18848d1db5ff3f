// smalti export: a module in another form.
#include <unistd.h>

#include <optional>

#include <fmt/format.h>

#include "mlir/IR/BuiltinOps.h"

#include "base/io/File.h"
#include "driver/WriteDeviceCode.h"
#include "driver/WriteObject.h"
#include "driver/cli/Verbs.h"
#include "driver/cli/run/Inputs.h"
#include "driver/cli/show/KernelChoice.h"
#include "driver/term/Progress.h"
#include "interop/Base64.h"
#include "interop/Interop.h"
#include "tpu/Legality.h"

namespace smalti::cli {
namespace {

struct ExportArguments {
  std::string path, format = "text", kernel, outFile = "-";
  int version = interop::kDefaultVersion;
  std::string processor = "host", gpu = "sm_80", symbol;
  InputArguments inputs;
};

/// The module, with the arrays of a bare kernel and parameters for GPUs if they are given.
Result<driver::ModuleOrCase> load(const ExportArguments& arguments, const Options& options) {
  auto module = driver::loadModuleOrCase(arguments.path);
  if (!module) return fail(module.error());
  if (arguments.inputs.gpuParams.empty() && (module->program || !arguments.inputs.giveShapes(*module))) return module;
  auto ready = prepare(arguments.path, arguments.inputs, options);
  if (!ready) return fail(ready.error());
  return std::move(ready->module);
}

/// Machine code, for a processor or a GPU, and the C header next to it.
int exportCode(const Session& session, const ExportArguments& arguments) {
  const auto module = load(arguments, session.options.values);
  if (!module) return session.refuse(module.error());
  if (Status status = driver::requireShapes(*module); !status) return session.refuse(status.error());
  const auto kernel = chooseKernel(*module, arguments.kernel);
  if (!kernel) return session.refuse(kernel.error());
  const auto print = [&](const auto& written, const char* processorKey, const std::string& processor) {
    if (session.json())
      session.printJson({{"file", arguments.outFile},
                         {"format", arguments.format},
                         {"bytes", written.bytes},
                         {"header", written.header},
                         {"function", written.symbol},
                         {processorKey, processor}});
    return kOk;
  };
  std::optional<term::Ticker> ticker("compiling " + (*kernel)->name);
  if (arguments.format != "object") {
    const auto written = driver::writeDeviceCode(**kernel, arguments.outFile, arguments.format == "cubin",
                                                 arguments.gpu, arguments.symbol);
    ticker.reset();
    return written ? print(*written, "gpu", written->gpu) : session.refuse(written.error());
  }
  const auto written = driver::writeObject(
      **kernel, arguments.outFile,
      {.processor = arguments.processor, .symbol = arguments.symbol, .step_limit = session.options.values.stepLimit});
  ticker.reset();
  return written ? print(*written, "processor", written->processor) : session.refuse(written.error());
}

/// `chip`: TPUs whose compilers must accept the kernels; empty: only Pallas' own restrictions apply.
Result<std::string> exported(const driver::LoadedModule& module, const ExportArguments& arguments,
                             const std::string& chip) {
  if (arguments.format == "stablehlo") {
    if (Status status = driver::requireShapes(module); !status) return fail(status.error());
    for (const KernelPackage& kernel : module.program->kernels)
      if (Status legal = tpu::checkLegal(kernel, chip); !legal) return fail(legal.error());
    return interop::exportStableHlo(*module.program, arguments.version);
  }
  const auto kernel = chooseKernel(module, arguments.kernel);
  if (!kernel) return fail(kernel.error());
  if (arguments.format == "bytecode" || !chip.empty())
    if (Status legal = tpu::checkLegal(**kernel, chip); !legal) return fail(legal.error());
  if (arguments.format == "bytecode") return interop::writeBytecode((*kernel)->module.get(), arguments.version);
  return interop::exportMosaicText(**kernel, arguments.format == "generic");
}

int exportModule(const Session& session, const ExportArguments& arguments) {
  if (Status ok = arguments.inputs.checkGpuParams(arguments.format == "ptx" || arguments.format == "cubin",
                                                  "--format ptx or cubin", "--format " + arguments.format);
      !ok)
    return session.refuse(ok.error());
  if (arguments.format == "object" || arguments.format == "ptx" || arguments.format == "cubin")
    return exportCode(session, arguments);
  const auto module = load(arguments, session.options.values);
  if (!module) return session.refuse(module.error());
  const auto text = exported(*module, arguments, session.options.values.chip);
  if (!text) return session.refuse(text.error());
  const bool toFile = arguments.outFile != "-", isBytecode = arguments.format == "bytecode";
  if (toFile)
    if (Status status = writeFile(arguments.outFile, {*text}); !status) return session.refuse(status.error());
  if (session.json()) {
    Json json{{"file", toFile ? Json(arguments.outFile) : Json(nullptr)},
              {"format", arguments.format},
              {"bytes", text->size()}};
    if (!toFile) json[isBytecode ? "base64" : "text"] = isBytecode ? interop::encodeBase64(*text) : *text;
    session.printJson(json);
  } else if (!toFile) {
    if (isBytecode && ::isatty(STDOUT_FILENO))
      return session.refuse({.code = "SM1000",
                             .message = "refusing to write binary output to a terminal",
                             .place = {},
                             .help = "name a file: -o kernel.mosaic.bc"});
    session.print(*text);
  }
  return kOk;
}

}  // namespace

void declareExport(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<ExportArguments>();
  app.add_option("module", arguments->path, "a module, or a folder with case.json")->required()->type_name("PATH");
  app.add_option(
         "--format", arguments->format,
         "text and generic are Mosaic text, bytecode is stable_mosaic, stablehlo is the whole program, object is "
         "machine code with a C header next to it, ptx and cubin are code for NVIDIA GPUs with one")
      ->check(CLI::IsMember({"stablehlo", "text", "generic", "bytecode", "object", "ptx", "cubin"}))
      ->type_name("stablehlo|text|generic|bytecode|object|ptx|cubin")
      ->capture_default_str();
  app.add_option("--version", arguments->version, "version of the bytecode")
      ->check(CLI::Range(interop::kOldestWritableVersion, interop::kNewestReadableVersion))
      ->type_name(fmt::format("{}..{}", interop::kOldestWritableVersion, interop::kNewestReadableVersion))
      ->capture_default_str();
  app.add_option("--kernel", arguments->kernel, "name or number of the kernel if there are several")
      ->type_name("KERNEL");
  app.add_option("-o,--output", arguments->outFile, "the file to write the module to; - is standard output")
      ->type_name("FILE");
  app.add_option("--target-cpu", arguments->processor,
                 "processor of an object: its LLVM name, or TRIPLE/NAME; host is this one")
      ->type_name("NAME")
      ->capture_default_str();
  app.add_option("--target-gpu", arguments->gpu,
                 "of ptx and cubin: an architecture or a device; PTX for sm_80 also runs on newer ones")
      ->type_name("GPU")
      ->capture_default_str();
  app.add_option("--symbol", arguments->symbol,
                 "name of the C function of an object, by default that of the file; of ptx and cubin: prefix of the "
                 "names in the header")
      ->type_name("NAME");
  arguments->inputs.declare(app);
  arguments->inputs.declareGpuParams(app);
  session.addOption(app, "step-limit");
  session.addOptions(app, {OptionGroup::tpu, OptionGroup::output}, {"output"});
  app.callback(
      [&session, arguments] { session.action = [&session, arguments] { return exportModule(session, *arguments); }; });
}

}  // namespace smalti::cli
