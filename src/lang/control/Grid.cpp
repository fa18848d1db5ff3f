// The position of a program in the grid (A5); axes by name: devices/AxisIndex.cpp.
#include <fmt/format.h>

#include "lang/lower/DialectLowering.h"
#include "lang/ops/OpRecord.h"
#include "lang/trace/KernelOnly.h"
#include "lang/trace/SourceLocationScope.h"
#include "smalti/control.h"
#include "smalti/ops.h"

namespace smalti::lang {
namespace {

void lowerProgramId(DialectLowering& l, const Op& op) {
  l.set(op.results[0], l.gridIndices[std::get<int64_t>(*op.find("axis"))]);
}

void lowerNumPrograms(DialectLowering& l, const Op& op) {
  l.set(op.results[0],
        l.create1("tpu.iteration_bound", {}, l.b.getI32Type(),
                  {l.b.getNamedAttr(
                      "dim", l.b.getI32IntegerAttr(static_cast<int32_t>(std::get<int64_t>(*op.find("axis")))))}));
}

constexpr OpTable kGridOps{
    OpRecord{.name = "num_programs", .types = i32Result, .lower = lowerNumPrograms},
    OpRecord{.name = "program_id", .types = i32Result, .lower = lowerProgramId},
};
const OpFamily kGridFamily(kGridOps);

}  // namespace
}  // namespace smalti::lang

namespace smalti {
namespace {

using lang::SourceLocationScope, lang::Trace;

Trace& checkedAxis(std::string_view op, int axis) {
  Trace& trace = lang::kernelTrace(op);
  const auto rank = static_cast<int>(trace.grid.size());
  if (axis < 0 || axis >= rank)
    lang::refuse({.code = "SM6107",
                  .message = rank == 0
                                 ? fmt::format("program id: {} was passed, but user did not provide a grid", axis)
                                 : fmt::format("user passed in program id with axis: {}, but grid only has length: {}",
                                               axis, rank),
                  .place = {},
                  .need = rank == 0 ? "a grid" : fmt::format("an axis from 0 to {}", rank - 1),
                  .have = fmt::format("axis {}", axis),
                  .help = rank == 0 ? "give the pallas_call a grid" : "the grid's axes count from 0"});
  return trace;
}

}  // namespace

Array program_id(int axis, Location at) {
  SourceLocationScope place(at);
  const ArrayType type{DType::i32, {}};
  Trace& trace = checkedAxis("program_id", axis);
  if (!trace.gridIndices.empty()) return trace.gridIndices[axis];
  return trace.record(lang::kGridOps["program_id"], {}, {&type, 1}, {{"axis", int64_t{axis}}})[0];
}

Array num_programs(int axis, Location at) {
  SourceLocationScope place(at);
  Trace& trace = checkedAxis("num_programs", axis);
  if (!trace.gridSizes.empty()) return trace.gridSizes[axis];
  if (trace.grid[axis] != INT64_MIN) return Operand(trace.grid[axis], at).array().with_weak_type(false);
  const ArrayType type{DType::i32, {}};
  return trace.record(lang::kGridOps["num_programs"], {}, {&type, 1}, {{"axis", int64_t{axis}}})[0];
}

}  // namespace smalti
