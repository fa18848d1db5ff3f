#include "driver/Module.h"

#include <charconv>

#include <fmt/format.h>

#include "base/io/File.h"
#include "interop/Interop.h"
#include "interop/npy/Npy.h"

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

/// StableHLO text names its dialect or JAX's attributes somewhere; kernel modules never do.
bool looksLikeStableHlo(std::string_view text) {
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
  return program && index < program->kernels.size() ? &program->kernels[index] : nullptr;
}

Result<LoadedModule> parseModule(std::string_view content, const std::string& name) {
  LoadedModule loaded;
  loaded.path = name;
  const auto holds = [&](Result<Program> program) -> Result<LoadedModule> {
    if (!program) return fail(std::move(program.error()));
    loaded.program = std::move(*program);
    return std::move(loaded);
  };
  if (interop::isPortableArtifact(content)) {
    loaded.kind = ModuleKind::portableArtifact;
    return holds(interop::importPortableArtifact(content, name));
  }
  if (content.starts_with(kBytecodeMagic)) {
    loaded.kind = ModuleKind::bytecode;
  } else if (content.starts_with("\x93NUMPY")) {
    return notAModule(name, "a .npy array", "give arrays by --in");
  } else if (content.find("module") == std::string_view::npos && content.find("func.") == std::string_view::npos) {
    return notAModule(name,
                      content.empty() ? "an empty file" : fmt::format("{} bytes without a module", content.size()), "");
  } else if (looksLikeStableHlo(content)) {
    return holds(interop::importStableHlo(content, name));
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
