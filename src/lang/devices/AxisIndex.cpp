// The position of a device or program along named axes (A6, H7): of the grid or mesh in kernels, of the mesh elsewhere.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lang/devices/MeshAround.h"
#include "lang/lower/DialectLowering.h"
#include "lang/ops/OpRecord.h"
#include "lang/ops/Support.h"
#include "lang/trace/KernelOnly.h"
#include "lang/trace/SourceLocationScope.h"
#include "smalti/control.h"
#include "smalti/ops.h"

namespace smalti::lang {
namespace {

void lowerDeviceId(DialectLowering& l, const Op& op) {
  l.set(op.results[0], l.create1("tpu.device_id", {}, l.b.getI32Type()));
}

constexpr OpTable kDeviceOps{
    OpRecord{.name = "device_id", .types = i32Result, .lower = lowerDeviceId},
    OpRecord{.name = "partition_id", .noJvp = "it has no operands", .noBatch = "it has no operands"},
};
const OpFamily kDeviceFamily(kDeviceOps);

}  // namespace

Array deviceNumber() { return bind1(kDeviceOps["partition_id"], {}, {DType::u32, {}}); }

}  // namespace smalti::lang

namespace smalti {
namespace {

using lang::SourceLocationScope, lang::Trace;

Array constant(int64_t n, const Location& at) { return Operand(n, at).array().with_weak_type(false); }

/// The kernel being traced; null elsewhere.
Trace* kernel() {
  Trace* trace = Trace::current();
  return trace && trace->kind() == Trace::Kind::kernel ? trace : nullptr;
}

/// The grid's axis of that name; -1: it has none.
int gridAxis(const Trace* kernel, std::string_view name) {
  if (!kernel) return -1;
  const auto found = std::find(kernel->gridNames.begin(), kernel->gridNames.end(), name);
  return found == kernel->gridNames.end() || name.empty() ? -1 : static_cast<int>(found - kernel->gridNames.begin());
}

const MeshAxis& meshAxis(const Trace* kernel, const std::vector<MeshAxis>& mesh, std::string_view name) {
  if (const MeshAxis* axis = lang::findAxis(mesh, name)) return *axis;
  if (kernel && mesh.empty())
    lang::refuse({.code = "SM6107",
                  .message = fmt::format("the grid has no axis named '{}'", name),
                  .place = {},
                  .need = kernel->gridNames.empty() ? "a named grid"
                                                    : fmt::format("one of its {} axes", kernel->gridNames.size()),
                  .have = std::string(name),
                  .help = R"(name the axes: .grid = {{"i", 4}, {"j", 2}})"});
  lang::refuse({.code = "SM6232",
                .message = fmt::format("unbound axis name: {}", name),
                .place = {},
                .need = mesh.empty() ? "a shard_map around, whose mesh has the axis" : "an axis of the mesh around",
                .have = lang::meshText(mesh),
                .help = "shard_map(f, mesh, in_specs, out_specs) runs f on each device of a mesh"});
}

/// This device's index along the axis.
Array deviceAlong(const Trace* kernel, const std::vector<MeshAxis>& mesh, const MeshAxis& axis, const Location& at) {
  const int64_t stride = lang::strideOf(mesh, axis);
  if (!kernel)
    return lang::convertTo(rem(div(lang::deviceNumber(), Operand(stride, at)), Operand(axis.size, at)), DType::i32);
  if (axis.size == 1) return constant(0, at);
  const ArrayType type{DType::i32, {}};
  const Operand device(Trace::current()->record(lang::kDeviceOps["device_id"], {}, {&type, 1})[0], at);
  return rem(div(device, constant(stride, at)), constant(axis.size, at));
}

struct Along {
  Array index, size;
};

Along along(std::string_view name, const Location& at, bool wantsIndex) {
  const Trace* inKernel = kernel();
  if (const int axis = gridAxis(inKernel, name); axis >= 0)
    return wantsIndex ? Along{program_id(axis, at), {}} : Along{{}, num_programs(axis, at)};
  const std::vector<MeshAxis> mesh = inKernel ? inKernel->mesh : lang::meshAround();
  const MeshAxis& axis = meshAxis(inKernel, mesh, name);
  return {wantsIndex ? deviceAlong(inKernel, mesh, axis, at) : Array(), constant(axis.size, at)};
}

}  // namespace

Array axis_index(const AxisNames& axis_name, Location at) {
  SourceLocationScope place(at);
  const auto& names = axis_name.names();
  if (names.empty()) return constant(0, at);
  Array index = along(names[0], at, true).index;
  for (size_t i = 1; i < names.size(); ++i)
    index = add(multiply(index, along(names[i], at, false).size), along(names[i], at, true).index);
  return index;
}

Array axis_size(const AxisNames& axis_name, Location at) {
  SourceLocationScope place(at);
  Array size = constant(1, at);
  for (const std::string& name : axis_name)
    size = axis_name.size() == 1 ? along(name, at, false).size : multiply(size, along(name, at, false).size);
  return size;
}

}  // namespace smalti
