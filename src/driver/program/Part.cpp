#include "driver/program/Part.h"

#include "eval/Shape.h"

namespace smalti::driver {

Part partAt(const Shape& global, const Sharding& sharding, const DeviceMesh& mesh, const Coordinates& at) {
  Part part{Shape(global.size(), 0), global};
  for (size_t d = 0; d < global.size() && d < sharding.dims.size(); ++d) {
    int64_t parts = 1, index = 0;
    for (const std::string& axis : sharding.dims[d]) {
      const auto found = at.find(axis);
      if (found == at.end()) continue;
      const int64_t size = numParts(mesh, {axis});
      index = index * size + found->second;
      parts *= size;
    }
    part.shape[d] = global[d] / parts;
    part.starts[d] = index * part.shape[d];
  }
  return part;
}

Result<Array> partOf(const Array& global, const Sharding& sharding, const DeviceMesh& mesh, const Coordinates& at) {
  const Part part = partAt(global.shape(), sharding, mesh, at);
  if (part.shape == global.shape()) return global;
  auto local = Array::allocate({global.dtype(), part.shape});
  if (local && local->elements() > 0)
    eval::slice({global.data(), global.dtype(), global.shape()}, part.starts,
                std::vector<int64_t>(part.shape.size(), 1), {local->data(), local->dtype(), local->shape()});
  return local;
}

}  // namespace smalti::driver
