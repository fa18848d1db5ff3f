#include "driver/Module.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "base/Text.h"
#include "base/io/File.h"
#include "driver/symbolic/Specialise.h"
#include "interop/Interop.h"
#include "interop/npy/Npy.h"
#include "ir/facts/SymbolicDims.h"
#include "ir/program/PlainOps.h"

namespace smalti::driver {
namespace {

constexpr std::string_view kBytecodeMagic = "ML\xefR";

tl::unexpected<Diagnostic> notAModule(const std::string& name, std::string have, std::string help) {
  return fail({.code = "SM1013",
               .message = fmt::format("'{}' is not a module", name),
               .place = {},
               .need = "StableHLO text, Mosaic text, stable_mosaic bytecode",
               .have = std::move(have),
               .help = std::move(help)});
}

/// What JAX's assertions say of main's arguments: "args[0].shape = (b, 128), …"; empty: nothing.
std::string dimensionNames(const Program& program) {
  constexpr std::string_view kBegin = "polymorphic shapes specifications: ", kEnd = ". Obtained";
  for (const Op& op : program.functions[static_cast<size_t>(program.main)].ops) {
    const Attribute* message = op.name == "shape_assertion" ? op.find("error_message") : nullptr;
    const auto* text = message ? std::get_if<std::string>(message) : nullptr;
    const size_t begin = text ? text->find(kBegin) : std::string::npos;
    if (begin == std::string::npos) continue;
    const size_t from = begin + kBegin.size();
    std::string names = text->substr(from, text->find(kEnd, from) - from);
    for (size_t at = names.find(",args"); at != std::string::npos; at = names.find(",args", at))
      names.insert(at + 1, " ");
    return names;
  }
  return "";
}

/// StableHLO text names its dialect or JAX's attributes somewhere; kernel modules never do.
bool looksLikeStableHlo(std::string_view text) {
  if (text.find(kDimPrefix) != std::string_view::npos) return false;  // which holds StableHLO
  for (std::string_view word : {"stablehlo.", "mhlo.", "sdy."})
    if (text.find(word) != std::string_view::npos) return true;
  return text.find("tpu.") == std::string_view::npos && text.find("@main") != std::string_view::npos;
}

}  // namespace

std::string_view name(ModuleKind kind) {
  switch (kind) {
    case ModuleKind::stableHlo:
      return "StableHLO text";
    case ModuleKind::portableArtifact:
      return "StableHLO portable artifact";
    case ModuleKind::mosaicText:
      return "Mosaic text";
    case ModuleKind::bytecode:
      return "stable_mosaic bytecode";
  }
  return "";
}

const KernelPackage* LoadedModule::kernel(size_t index) const {
  if (bare) return index == 0 ? &*bare : nullptr;
  const Program& calls = program ? *program : *symbolic;
  return index < calls.kernels.size() ? &calls.kernels[index] : nullptr;
}

Result<LoadedModule> parseModule(std::string_view content, const std::string& name) {
  LoadedModule loaded;
  loaded.path = name;
  const auto holds = [&](Result<Program> program) -> Result<LoadedModule> {
    if (!program) return fail(std::move(program.error()));
    if (!hasSymbolicShapes(*program)) {
      loaded.program = std::move(*program);
      return std::move(loaded);
    }
    loaded.symbolic = std::move(*program);
    // Shapes may be computed from arguments of known shapes.
    const auto types = argumentTypes(*loaded.symbolic);
    if (std::ranges::none_of(types, hasUnknownDims))
      if (Status status = setShapes(loaded, types, {}); !status) return fail(std::move(status.error()));
    return std::move(loaded);
  };
  if (interop::isPortableArtifact(content)) {
    loaded.kind = ModuleKind::portableArtifact;
    return holds(interop::importPortableArtifact(content, name, interop::Shapes::symbolic));
  }
  if (content.starts_with(kBytecodeMagic)) {
    loaded.kind = ModuleKind::bytecode;
  } else if (content.starts_with("\x93NUMPY")) {
    return notAModule(name, "a .npy array", "give arrays by --in");
  } else if (content.find("module") == std::string_view::npos && content.find("func.") == std::string_view::npos) {
    return notAModule(name,
                      content.empty() ? "an empty file" : fmt::format("{} bytes without a module", content.size()), "");
  } else if (looksLikeStableHlo(content)) {
    return holds(interop::importStableHlo(content, name, interop::Shapes::symbolic));
  } else {
    loaded.kind = ModuleKind::mosaicText;
  }
  auto kernel = interop::importKernel(content, name);
  if (!kernel) return fail(kernel.error());
  loaded.bare = std::move(*kernel);
  return loaded;
}

Result<LoadedModule> loadModule(const std::string& path) {
  const auto content = readFile(path);
  if (!content) return fail(content.error());
  return parseModule(*content, path);
}

Status setShapes(LoadedModule& loaded, std::span<const ArrayType> operands, std::span<const ArrayType> results) {
  if (loaded.symbolic) {
    auto program = specialise(*loaded.symbolic, operands);
    if (!program) return fail(std::move(program.error()));
    loaded.program = std::move(*program);
    loaded.symbolic.reset();
  }
  if (!loaded.bare) return {};
  loaded.bare->operands.assign(operands.begin(), operands.end());
  loaded.bare->results.assign(results.begin(), results.end());
  if (Status status = finish(*loaded.bare); !status) return status;
  loaded.program = wrap(std::move(*loaded.bare));
  loaded.bare.reset();
  return {};
}

Status requireShapes(const LoadedModule& loaded) {
  if (loaded.program) return {};
  if (loaded.symbolic) {
    std::vector<std::string> types;
    for (const ArrayType& type : argumentTypes(*loaded.symbolic)) types.push_back(type.str());
    const std::string names = dimensionNames(*loaded.symbolic);
    return fail(
        {.code = "SM1021",
         .message = fmt::format("'{}' has symbolic shapes: its arguments say how large arrays are", loaded.path),
         .place = {},
         .need = "the types of its arguments (--in; with_arguments in C++ and Python)",
         .have = fmt::format("({}){}{}", fmt::join(types, ", "), names.empty() ? "" : ", where ", printable(names)),
         .help = "for example: --in x.npy --in 'f32[256,128]'"});
  }
  return fail({.code = "SM1012",
               .message = fmt::format("'{}' is a bare kernel: it does not say how large the arrays are", loaded.path),
               .place = {},
               .need = "the operands (--in) and the results (--out-shape)",
               .have = "blocks only",
               .help = "for example: --in x.npy --in 'f32[256,128]' --out-shape 'f32[256,128]'"});
}

Status requireCalls(const LoadedModule& loaded) {
  Status status = requireShapes(loaded);
  if (status) return status;
  Diagnostic d = std::move(status.error());
  if (loaded.symbolic) {
    d.need = "a module whose arrays have known shapes";
    d.help = "smalti export MODULE --format stablehlo --in TYPE … writes such a module";
    return fail(std::move(d));
  }
  d.need = "a module with the calls of its kernels (StableHLO), or a folder with case.json";
  d.help = "jax.export.export(jax.jit(f), platforms=['tpu']) and smalti.jax.export write such modules";
  return fail(std::move(d));
}

std::vector<ArrayType> argumentTypes(const Program& program) {
  const Function& main = program.functions[static_cast<size_t>(program.main)];
  std::vector<ArrayType> types;
  for (ValueId v : main.arguments) types.push_back(main.values[static_cast<size_t>(v)]);
  return types;
}

const std::vector<ArrayType>& resultTypes(const Program& program) {
  return program.functions[static_cast<size_t>(program.main)].resultTypes;
}

Result<ArrayType> parseArrayType(std::string_view text) {
  const auto bad = [&] {
    return fail({.code = "SM1014",
                 .message = fmt::format("'{}' is not an array type", text.substr(0, 100)),
                 .place = {},
                 .need = "an element type and dimensions: f32[8,128], bf16[64,64], i32[]"});
  };
  const size_t open = text.find('[');
  if (open == std::string_view::npos || !text.ends_with(']')) return bad();
  const auto dtype = interop::dtypeFromNumpyName(text.substr(0, open));
  if (!dtype || is_semaphore(*dtype) || *dtype == DType::index) return bad();
  ArrayType type{*dtype, {}};
  std::string_view dims = text.substr(open + 1, text.size() - open - 2);
  int64_t bytes = storage_bytes(*dtype);
  while (!dims.empty()) {
    int64_t dim = 0;
    const auto [end, error] = std::from_chars(dims.data(), dims.data() + dims.size(), dim);
    if (error != std::errc() || dim < 0 || __builtin_mul_overflow(bytes, dim, &bytes)) return bad();
    dims.remove_prefix(static_cast<size_t>(end - dims.data()));
    type.shape.push_back(dim);
    while (!dims.empty() && dims.front() == ' ') dims.remove_prefix(1);
    if (dims.empty()) break;
    if (dims.front() != ',' && dims.front() != 'x') return bad();
    dims.remove_prefix(1);
    while (!dims.empty() && dims.front() == ' ') dims.remove_prefix(1);
    if (dims.empty()) return bad();
  }
  return type;
}

}  // namespace smalti::driver
