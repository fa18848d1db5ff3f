#include <fmt/format.h>

#include "interop/serde/OpFormHelpers.h"
#include "interop/serde/Serde.h"

namespace smalti::interop {
namespace {

tl::unexpected<Diagnostic> lacks(const OpForm& op, int version, int since, std::string what) {
  Diagnostic d{.code = "SM2111",
               .message = fmt::format("'{}' {}, which stable_mosaic version {} cannot express", op.name, what, version),
               .place = placeOfForm(op)};
  d.need = fmt::format("version {} or later", since);
  d.have = fmt::format("version {}", version);
  d.help = fmt::format("export with --version {}", since);
  return fail(std::move(d));
}

// The last segment, subcore_id, came with 14.
Status dropSubcore(OpForm& op, int version, size_t segmentsSince14) {
  auto segments = segmentsOf(op);
  if (!segments || segments->size() != segmentsSince14) return {};
  if (segments->back() != 0) return lacks(op, version, 14, "names a subcore");
  segments->pop_back();
  setSegments(op, *segments);
  return {};
}

Status dropTransposeHint(OpForm& op, int version) {
  auto hint = mlir::dyn_cast_or_null<mlir::BoolAttr>(op.attributes.get("transpose_lhs_hint"));
  if (hint && hint.getValue()) return lacks(op, version, 13, "has transpose_lhs_hint set");
  op.attributes.erase("transpose_lhs_hint");
  return {};
}

}  // namespace

Status downgradeOp(OpForm& op, int version) {
  if (version < 14 && (op.name == "tpu.enqueue_dma" || op.name == "tpu.wait_dma")) return dropSubcore(op, version, 7);
  if (version < 14 && op.name == "tpu.sem_signal") return dropSubcore(op, version, 5);
  if (version < 13 && op.name == "tpu.matmul") return dropTransposeHint(op, version);
  return {};
}

}  // namespace smalti::interop
