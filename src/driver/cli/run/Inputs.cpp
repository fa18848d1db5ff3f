#include "driver/cli/run/Inputs.h"

#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/Text.h"
#include "driver/symbolic/Specialise.h"
#include "interop/npy/Npy.h"
#include "ir/GpuParams.h"

namespace smalti::cli {
namespace {

struct Given {
  Array array;
  std::string origin;
};

/// One --in: a file, a file with a type, or a type to be filled.
Result<Given> readGiven(const std::string& text, std::optional<DType> wanted, const Options& options, size_t index) {
  std::error_code error;
  std::string path = text;
  if (!std::filesystem::exists(path, error)) {
    if (path.ends_with(']')) {
      const auto type = driver::parseArrayType(path);
      if (!type) return fail(type.error());
      auto array = driver::filledArray(*type, options.fill, static_cast<uint64_t>(options.seed) + index);
      if (!array) return fail(array.error());
      return Given{std::move(*array), options.fill};
    }
    if (const size_t colon = path.rfind(':'); colon != std::string::npos)
      if (const auto dtype = interop::dtypeFromNumpyName(path.substr(colon + 1))) {
        wanted = dtype;
        path.resize(colon);
      }
  }
  auto array = interop::readNpy(path, wanted);
  if (!array) return fail(array.error());
  return Given{std::move(*array), std::filesystem::path(path).filename().string()};
}

Status takeGiven(Prepared& prepared, const InputArguments& arguments, const Options& options) {
  std::vector<ArrayType> types;
  if (!prepared.module.bare) {
    types = driver::argumentTypes(prepared.module.program ? prepared.program() : *prepared.module.symbolic);
    if (types.size() != arguments.in.size())
      return fail({.code = "SM1008",
                   .message = fmt::format("'{}' was given the wrong number of inputs", prepared.module.path),
                   .place = {},
                   .need = counted(types.size(), "input"),
                   .have = "--in " + counted(arguments.in.size(), "time"),
                   .help = "smalti describe lists them; without any --in they are generated"});
  }
  for (size_t i = 0; i < arguments.in.size(); ++i) {
    auto given = readGiven(arguments.in[i], types.empty() ? std::nullopt : std::optional(types[i].dtype), options, i);
    if (!given) return fail(given.error());
    if (!types.empty() && !driver::fits(given->array.type(), types[i]))
      return fail({.code = "SM1008",
                   .message = fmt::format("input {} ('{}') does not match the module's parameter", i, arguments.in[i]),
                   .place = {},
                   .need = types[i].str(),
                   .have = given->array.type().str()});
    prepared.inputs.push_back(std::move(given->array));
    prepared.origins.push_back(std::move(given->origin));
  }
  return {};
}

std::string typesText(const std::vector<ArrayType>& types) {
  std::vector<std::string> texts;
  for (const ArrayType& type : types) texts.push_back(type.str());
  return fmt::format("{}", fmt::join(texts, ", "));
}

Result<std::vector<ArrayType>> shapesGiven(const InputArguments& arguments) {
  std::vector<ArrayType> types;
  for (const std::string& text : arguments.outShape) {
    auto type = driver::parseArrayType(text);
    if (!type) return fail(type.error());
    types.push_back(std::move(*type));
  }
  return types;
}

Status takeShapes(Prepared& prepared, const InputArguments& arguments) {
  const auto results = shapesGiven(arguments);
  if (!results) return fail(results.error());
  std::vector<ArrayType> operands;
  for (const Array& input : prepared.inputs) operands.push_back(input.type());
  return driver::setShapes(prepared.module, operands, *results);
}

/// Checks that --out-shape agrees with the module's results, if they are known.
Status checkShapes(const Prepared& prepared, const InputArguments& arguments) {
  const auto results = shapesGiven(arguments);
  if (!results) return fail(results.error());
  const std::vector<ArrayType>& own = driver::resultTypes(prepared.program());
  if (results->empty() || *results == own) return {};
  return fail({.code = "SM1000",
               .message = fmt::format("'{}' already defines its results", prepared.module.path),
               .place = {},
               .need = typesText(own),
               .have = "--out-shape " + typesText(*results),
               .help = "leave --out-shape out: it is for bare kernels, which do not say how large arrays are"});
}

Result<Prepared> prepareInputs(const std::string& path, const InputArguments& arguments, const Options& options) {
  auto loaded = driver::loadModuleOrCase(path);
  if (!loaded) return fail(loaded.error());
  Prepared prepared{.module = std::move(*loaded), .inputs = {}, .origins = {}};
  const bool needsShapes = !prepared.module.program;
  if (needsShapes && !arguments.giveShapes(prepared.module))
    return fail(driver::requireShapes(prepared.module).error());
  if (!arguments.in.empty())
    if (Status status = takeGiven(prepared, arguments, options); !status) return fail(status.error());
  const bool bare = prepared.module.bare.has_value();
  if (needsShapes)
    if (Status status = takeShapes(prepared, arguments); !status) return fail(status.error());
  if (bare) return prepared;
  if (Status status = checkShapes(prepared, arguments); !status) return fail(status.error());
  const auto& recorded = prepared.module.recorded;
  if (recorded) prepared.poison = recorded->poison;
  if (!arguments.in.empty()) return prepared;
  const std::vector<ArrayType> types = driver::argumentTypes(prepared.program());
  auto inputs = driver::readInputs(recorded ? *recorded : driver::Case{}, types, options.fill,
                                   static_cast<uint64_t>(options.seed));
  if (!inputs) return fail(inputs.error());
  prepared.inputs = std::move(*inputs);
  for (size_t i = 0; i < types.size(); ++i) {
    const bool fromFile = recorded && i < recorded->arguments.size() && !recorded->arguments[i].file.empty();
    prepared.origins.push_back(fromFile ? std::filesystem::path(recorded->arguments[i].file).filename().string()
                                        : options.fill);
  }
  return prepared;
}

}  // namespace

void InputArguments::declare(CLI::App& app) {
  app.add_option("--in", in,
                 "an input, in order: x.npy, x.npy:bf16, or a type such as f32[8,128], filled as --fill says")
      ->type_name("ARRAY")
      ->expected(1)
      ->take_all();
  app.add_option("--out-shape", outShape, "type of each result of a bare kernel module, in order: f32[8,128]")
      ->type_name("TYPE")
      ->expected(1)
      ->take_all();
}

bool InputArguments::giveShapes(const driver::LoadedModule& module) const {
  return module.program || !(module.bare ? outShape : in).empty();
}

void InputArguments::declareGpuParams(CLI::App& app) {
  app.add_option("--gpu-params", gpuParams,
                 "with --target cuda and cuda-host: the pipeline of all kernels, instead of what they say themselves, "
                 "such as 'num_warps=8 num_stages=3 copies=threads turns=off' (docs/gpu.md)")
      ->type_name("PARAMS");
}

Status InputArguments::checkGpuParams(bool compilesForGpus, std::string_view need, std::string have) const {
  if (gpuParams.empty() || compilesForGpus) return {};
  return fail({.code = "SM1000",
               .message = "--gpu-params chooses the pipeline of code for GPUs, which is not made",
               .place = {},
               .need = std::string(need),
               .have = std::move(have),
               .help = "leave it out, or name a GPU"});
}

Result<Prepared> prepare(const std::string& path, const InputArguments& arguments, const Options& options) {
  auto prepared = prepareInputs(path, arguments, options);
  if (!prepared || arguments.gpuParams.empty()) return prepared;
  if (const auto params = readGpuParams(arguments.gpuParams); !params) return fail(params.error());
  for (KernelPackage& kernel : prepared->module.program->kernels)
    kernel.frontendAttributes[kGpuParams] = arguments.gpuParams;
  return prepared;
}

}  // namespace smalti::cli
