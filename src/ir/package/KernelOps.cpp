#include "ir/KernelOps.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "ir/Tpu.h"

namespace smalti {
namespace {

constexpr std::array<std::string_view, 20> kStructuralOps = {
    "builtin.module",    "cf.assert",
    "func.func",         "func.return",
    "memref.alloca",     "memref.load",
    "memref.store",      "scf.condition",
    "scf.for",           "scf.if",
    "scf.while",         "scf.yield",
    "vector.bitcast",    "vector.broadcast",
    "vector.extract",    "vector.extract_strided_slice",
    "vector.load",       "vector.multi_reduction",
    "vector.shape_cast", "vector.store",
};

}  // namespace

bool isKernelOp(std::string_view name) {
  if (name.starts_with("tpu.")) return !tpu::refusedOpKind(name.substr(4));
  return name.starts_with("arith.") || name.starts_with("math.") ||
         std::ranges::find(kStructuralOps, name) != kStructuralOps.end();
}

Diagnostic refuseOp(std::string_view name, SourcePlace place) {
  auto kind = name.starts_with("tpu.") ? tpu::refusedOpKind(name.substr(4)) : std::nullopt;
  if (kind) return {.code = "SM3101", .message = fmt::format("'{}' is {}", name, *kind), .place = std::move(place)};
  return {.code = "SM3103",
          .message = fmt::format("a kernel cannot contain the op '{}'", name.substr(0, 100)),
          .place = std::move(place),
          .need = "the ops that Pallas lowers TensorCore kernels to"};
}

}  // namespace smalti
