// Where in the grid a program is (A5, A6).
#include <algorithm>

#include <fmt/format.h>

#include "lang/lower/Lowering.h"
#include "lang/ops/OpRecord.h"
#include "lang/trace/KernelOnly.h"
#include "lang/trace/Place.h"
#include "smalti/control.h"
#include "smalti/ops.h"

namespace smalti::lang {
namespace {

void lowerProgramId(Lowering& l, const Op& op) {
  l.set(op.results[0], l.gridIndices[std::get<int64_t>(*op.find("axis"))]);
}

void lowerNumPrograms(Lowering& l, const Op& op) {
  l.set(op.results[0],
        l.create1("tpu.iteration_bound", {}, l.b.getI32Type(),
                  {l.b.getNamedAttr(
                      "dim", l.b.getI32IntegerAttr(static_cast<int32_t>(std::get<int64_t>(*op.find("axis")))))}));
}

void lowerDeviceId(Lowering& l, const Op& op) {
  l.set(op.results[0], l.create1("tpu.device_id", {}, l.b.getI32Type()));
}

constexpr OpTable kGridOps{
    OpRecord{.name = "device_id", .types = givesI32, .lower = lowerDeviceId},
    OpRecord{.name = "num_programs", .types = givesI32, .lower = lowerNumPrograms},
    OpRecord{.name = "program_id", .types = givesI32, .lower = lowerProgramId},
};
const OpFamily kGridFamily(kGridOps);

}  // namespace
}  // namespace smalti::lang

namespace smalti {
namespace {

using lang::AtPlace, lang::Trace;

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

int axisOf(std::string_view op, std::string_view name) {
  const auto& names = lang::kernelTrace(op).gridNames;
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end() || name.empty())
    lang::refuse({.code = "SM6107",
                  .message = fmt::format("the grid has no axis named '{}'", name),
                  .place = {},
                  .need = names.empty() ? "a named grid" : fmt::format("one of its {} axes", names.size()),
                  .have = std::string(name),
                  .help = R"(name the axes: .grid = {{"i", 4}, {"j", 2}})"});
  return static_cast<int>(found - names.begin());
}

/// The axis of the call's mesh, unless the grid has one of the name; nullptr: there is none.
const MeshAxis* meshAxis(std::string_view name) {
  const Trace* trace = Trace::current();
  if (!trace || std::find(trace->gridNames.begin(), trace->gridNames.end(), name) != trace->gridNames.end())
    return nullptr;
  for (const MeshAxis& axis : trace->mesh)
    if (axis.name == name) return &axis;
  return nullptr;
}

Array constant(int64_t n, const Location& at) { return Operand(n, at).array().with_weak_type(false); }

/// Which of the devices along the axis this one is.
Array deviceAlong(const MeshAxis& axis, const Location& at) {
  if (axis.size == 1) return constant(0, at);
  Trace& trace = *Trace::current();
  int64_t stride = 1;
  for (const MeshAxis* a = &trace.mesh.back(); a != &axis; --a) stride *= a->size;
  const ArrayType type{DType::i32, {}};
  const Operand device(trace.record(lang::kGridOps["device_id"], {}, {&type, 1})[0], at);
  return rem(div(device, constant(stride, at)), constant(axis.size, at));
}

}  // namespace

Array program_id(int axis, Location at) {
  AtPlace place(at);
  const ArrayType type{DType::i32, {}};
  Trace& trace = checkedAxis("program_id", axis);
  if (!trace.gridIndices.empty()) return trace.gridIndices[axis];
  return trace.record(lang::kGridOps["program_id"], {}, {&type, 1}, {{"axis", int64_t{axis}}})[0];
}

Array num_programs(int axis, Location at) {
  AtPlace place(at);
  Trace& trace = checkedAxis("num_programs", axis);
  if (!trace.gridSizes.empty()) return trace.gridSizes[axis];
  if (trace.grid[axis] != INT64_MIN) return Operand(trace.grid[axis], at).array().with_weak_type(false);
  const ArrayType type{DType::i32, {}};
  return trace.record(lang::kGridOps["num_programs"], {}, {&type, 1}, {{"axis", int64_t{axis}}})[0];
}

Array axis_index(std::string_view name, Location at) {
  AtPlace place(at);
  if (const MeshAxis* axis = meshAxis(name)) return deviceAlong(*axis, at);
  return program_id(axisOf("axis_index", name), at);
}
Array axis_size(std::string_view name, Location at) {
  AtPlace place(at);
  if (const MeshAxis* axis = meshAxis(name)) return constant(axis->size, at);
  return num_programs(axisOf("axis_size", name), at);
}

}  // namespace smalti
