#include "smalti/mesh.h"
#include "base/Lasting.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lang/devices/MeshAround.h"
#include "lang/trace/SourceLocationScope.h"

namespace smalti::lang {
namespace {

constinit thread_local const std::vector<MeshAxis>* tMesh = nullptr;

}  // namespace

const std::vector<MeshAxis>& meshAround() {
  static constinit Lasting<const std::vector<MeshAxis>> kNone;
  return tMesh ? *tMesh : kNone.get();
}
MeshScope::MeshScope(const std::vector<MeshAxis>& mesh) : before_(std::exchange(tMesh, &mesh)) {}
MeshScope::~MeshScope() { tMesh = before_; }

std::string meshText(std::span<const MeshAxis> mesh) {
  if (mesh.empty()) return "no mesh";
  std::vector<std::string> axes;
  for (const MeshAxis& a : mesh) axes.push_back(fmt::format("{}: {}", a.name, a.size));
  return fmt::format("{{{}}}", fmt::join(axes, ", "));
}

const MeshAxis* findAxis(std::span<const MeshAxis> mesh, std::string_view name) {
  const auto found = std::find_if(mesh.begin(), mesh.end(), [&](const MeshAxis& a) { return a.name == name; });
  return found == mesh.end() ? nullptr : &*found;
}

int64_t strideOf(std::span<const MeshAxis> mesh, const MeshAxis& axis) {
  int64_t stride = 1;
  for (const MeshAxis* a = &mesh.back(); a != &axis; --a) stride *= a->size;
  return stride;
}

}  // namespace smalti::lang

namespace smalti {

Mesh::Mesh(std::vector<MeshAxis> axes, std::source_location at) : axes_(std::move(axes)) {
  std::string wrong;
  int64_t devices = 1;
  for (const MeshAxis& axis : axes_) {
    if (!wrong.empty()) break;
    if (axis.name.empty())
      wrong = "a mesh axis has no name";
    else if (axis.size < 1)
      wrong = fmt::format("mesh axis '{}' has {} devices", axis.name, axis.size);
    else if (lang::findAxis(axes_, axis.name) != &axis)
      wrong = fmt::format("two mesh axes are named '{}'", axis.name);
    else if (axis.size > most_devices / devices)
      wrong = "a mesh has more devices than can be simulated";
    else
      devices *= axis.size;
  }
  if (axes_.empty()) wrong = "a mesh has no axes";
  if (wrong.empty()) return;
  lang::SourceLocationScope place(at);
  lang::refuse(
      {.code = "SM6230",
       .message = std::move(wrong),
       .place = {},
       .need = fmt::format("one axis or more, each with a name of its own and one device or more, {} devices at "
                           "most in all",
                           most_devices),
       .have = axes_.empty() ? "none" : fmt::format("a mesh of {}", lang::meshText(axes_)),
       .help = R"(write it as pl::Mesh({{"x", 2}, {"y", 4}}))"});
}

int64_t Mesh::size() const {
  int64_t devices = 1;
  for (const MeshAxis& axis : axes_) devices *= axis.size;
  return devices;
}

std::string PartitionSpec::str() const {
  std::vector<std::string> parts;
  for (const Entry& entry : entries_) {
    if (entry.size() == 0)
      parts.emplace_back("None");
    else if (entry.size() == 1)
      parts.push_back(fmt::format("'{}'", entry.names()[0]));
    else
      parts.push_back(fmt::format("('{}')", fmt::join(entry.names(), "', '")));
  }
  return fmt::format("P({})", fmt::join(parts, ", "));
}

}  // namespace smalti
