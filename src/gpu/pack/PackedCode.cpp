#include "gpu/pack/PackedCode.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/io/File.h"
#include "gpu/ptx/CachedPtx.h"
#include "gpu/ptx/Tools.h"

namespace smalti::gpu {
namespace {

bool hasNarrowFloats(const KernelPackage& package) {
  return std::ranges::any_of(package.operands,
                             [](const ArrayType& t) { return is_float(t.dtype) && bit_width(t.dtype) == 8; });
}

}  // namespace

Result<std::vector<PackedCode>> packCode(const KernelPackage& package, cpu::CompileCache* cache, eval::Poison poison,
                                         bool checkBlocks) {
  const auto ptxas = findTool("ptxas");
  std::vector<PackedCode> codes;
  for (const Architecture& a : architectures()) {
    if (a.name == "sm_90" || (a.name == "sm_89" && !hasNarrowFloats(package))) continue;
    auto code = cachedPtx(cache, package, a, poison, checkBlocks);
    if (!code) return fail(std::move(code.error()));
    PackedCode packed{.architecture = std::string(a.name), .kernel = std::move(*code), .cubin = {}};
    if (ptxas) {
      auto assembled = assemble(*ptxas, packed.kernel.ptx, a.name);
      if (!assembled) return fail(std::move(assembled.error()));
      packed.cubin = std::move(assembled->cubin);
    }
    codes.push_back(std::move(packed));
  }
  return codes;
}

Status writeCode(const std::vector<PackedCode>& codes, const std::string& folder) {
  for (const PackedCode& code : codes) {
    const std::string file = fmt::format("{}/kernel.{}", folder, code.architecture);
    if (Status ok = writeFile(file + ".ptx", {code.kernel.ptx}); !ok) return ok;
    if (!code.cubin) continue;
    if (Status ok = writeFile(file + ".cubin", {*code.cubin}); !ok) return ok;
  }
  return {};
}

}  // namespace smalti::gpu
