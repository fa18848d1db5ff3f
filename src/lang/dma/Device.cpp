#include "lang/dma/Device.h"

#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lang/devices/MeshAround.h"
#include "lang/ops/Support.h"
#include "lang/refs/Indexer.h"
#include "lang/trace/SourceLocationScope.h"
#include "smalti/control.h"
#include "smalti/ops.h"

namespace smalti::lang {
namespace {

[[noreturn]] void refuseId(std::string message, const std::vector<MeshAxis>& mesh) {
  std::vector<std::string> axes;
  for (const MeshAxis& a : mesh) axes.push_back(fmt::format("{}: {}", a.name, a.size));
  refuse({.code = "SM6508",
          .message = std::move(message),
          .place = {},
          .need = mesh.empty() ? "one integer, the number of the device" : "one index per axis of the mesh",
          .have = mesh.empty() ? "a call without a mesh" : fmt::format("a mesh of {{{}}}", fmt::join(axes, ", ")),
          .help = mesh.empty() ? R"(tell the call what devices there are: .mesh = {{"x", 2}, {"y", 4}})"
                               : "axes that a dict leaves out are this device's own"});
}

/// An index among `limit` devices along some axes, where it is known in range; 0: any number.
Array checkedIndex(const Operand& id, int64_t limit, std::string_view axes, const std::vector<MeshAxis>& mesh) {
  if (id.rank() != 0 || !is_integer(id.dtype())) refuseId("a device_id is not an integer scalar", mesh);
  const auto known = concreteInteger(id.array());
  if (limit > 0 && known && (*known < 0 || *known >= limit))
    refuseId(fmt::format("device_id {} is outside the {} devices of mesh axis '{}'", *known, limit, axes), mesh);
  return convertTo(id.array(), DType::i32);
}

Array constant(int64_t n) { return Operand(n).array().with_weak_type(false); }

/// The entries of a dict: an index for each axis that it names. The index of several axes is split, the last axis
/// fastest.
std::map<std::string, Array> namedIndices(const DeviceId& id, const std::vector<MeshAxis>& mesh) {
  std::map<std::string, Array> named;
  std::vector<std::string> unknown;
  for (const auto& [names, index] : id.byAxis) {
    std::vector<const MeshAxis*> axes;
    int64_t devices = 1;
    for (const std::string& name : names) {
      axes.push_back(findAxis(mesh, name));
      if (!axes.back()) unknown.push_back(name);
      if (!named.emplace(name, Array()).second) refuseId(fmt::format("device_id names axis '{}' twice", name), mesh);
      devices *= axes.back() ? axes.back()->size : 1;
    }
    if (!unknown.empty()) continue;
    Array left = checkedIndex(index, devices, fmt::format("{}", fmt::join(names.names(), "', '")), mesh);
    for (size_t i = axes.size(); i-- > 0;) {
      const auto known = concreteInteger(left);
      const int64_t size = axes[i]->size;
      named[axes[i]->name] = i == 0 ? left : known ? constant(*known % size) : rem(left, constant(size));
      if (i > 0) left = known ? constant(*known / size) : div(left, constant(size));
    }
  }
  if (!unknown.empty()) refuseId(fmt::format("Unrecognized axes in device_id: {}", fmt::join(unknown, ", ")), mesh);
  return named;
}

/// One index per axis of the mesh; axes that are not named are this device's own.
std::vector<Array> indicesOf(const DeviceId& id, const std::vector<MeshAxis>& mesh) {
  std::vector<Array> indices;
  if (id.byAxis.empty()) {
    if (id.indices.size() != mesh.size())
      refuseId(fmt::format("Number of device ids must match the number of mesh axes, but got {} ids for a {}D mesh",
                           id.indices.size(), mesh.size()),
               mesh);
    for (size_t i = 0; i < mesh.size(); ++i)
      indices.push_back(checkedIndex(id.indices[i], mesh[i].size, mesh[i].name, mesh));
    return indices;
  }
  const std::map<std::string, Array> named = namedIndices(id, mesh);
  for (const MeshAxis& axis : mesh) {
    const auto found = named.find(axis.name);
    indices.push_back(found == named.end() ? axis_index(axis.name) : found->second);
  }
  return indices;
}

}  // namespace

Array logicalId(const DeviceId& id, DeviceIdType type) {
  const std::vector<MeshAxis> mesh = Trace::current()->mesh;
  const bool logical = type == DeviceIdType::logical;
  if (logical && !id.byAxis.empty()) refuseId("`device_id_type` must be MESH if `device_id` is a dict", mesh);
  if (logical && id.indices.size() != 1) refuseId("a logical device_id is one number", mesh);
  if (logical || (mesh.empty() && id.byAxis.empty() && id.indices.size() == 1))
    return checkedIndex(id.indices[0], 0, "", mesh);
  const std::vector<Array> indices = indicesOf(id, mesh);
  Array number = Operand(0).array().with_weak_type(false);
  int64_t stride = 1;
  for (size_t i = mesh.size(); i-- > 0; stride *= mesh[i].size) {
    const auto known = concreteInteger(indices[i]), sum = concreteInteger(number);
    if (known && sum)
      number = Operand(*sum + *known * stride).array().with_weak_type(false);
    else
      number = add(number, multiply(indices[i], static_cast<int32_t>(stride)));
  }
  return number;
}

}  // namespace smalti::lang
