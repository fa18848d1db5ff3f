// The devices that the function being run or traced is one of.
#pragma once

#include <span>
#include <vector>

#include "lang/trace/Trace.h"
#include "smalti/mesh.h"

namespace smalti::lang {

/// The mesh of the shard_map whose function runs on this thread; without axes outside.
const std::vector<MeshAxis>& meshAround();

/// The number of the device in that mesh, u32: outside kernels.
Array deviceNumber();

/// Sets the enclosing mesh until the end of the scope.
class MeshScope {
 public:
  explicit MeshScope(const std::vector<MeshAxis>& mesh);
  ~MeshScope();
  MeshScope(const MeshScope&) = delete;
  MeshScope& operator=(const MeshScope&) = delete;

 private:
  const std::vector<MeshAxis>* before_;
};

/// "{x: 2, y: 4}", "no mesh".
std::string meshText(std::span<const MeshAxis>);
/// The axis of that name; null: there is none.
const MeshAxis* findAxis(std::span<const MeshAxis>, std::string_view name);
/// How far apart two neighbours along an axis are in the numbers of devices.
int64_t strideOf(std::span<const MeshAxis>, const MeshAxis&);

}  // namespace smalti::lang
