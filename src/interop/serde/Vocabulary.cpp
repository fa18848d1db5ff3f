#include "interop/serde/Vocabulary.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "interop/serde/OpFormHelpers.h"
#include "ir/Tpu.h"

namespace smalti::interop {
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
  return name.starts_with("arith.") || name.starts_with("math.") || name.starts_with("tpu.") ||
         std::ranges::find(kStructuralOps, name) != kStructuralOps.end();
}

Diagnostic refuseOp(const OpForm& op) {
  if (op.name.starts_with("tpu."))
    if (auto kind = tpu::refusedOpKind(std::string_view(op.name).substr(4)))
      return {.code = "SM3101", .message = fmt::format("'{}' is {}", op.name, *kind), .place = placeOfForm(op)};
  Diagnostic d{.code = "SM2107",
               .message = fmt::format("a kernel cannot hold the op '{}'", op.name.substr(0, 100)),
               .place = placeOfForm(op)};
  d.need = "the ops that Pallas lowers TensorCore kernels to";
  return d;
}

}  // namespace smalti::interop
