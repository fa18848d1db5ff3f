#include "driver/program/Part.h"

#include "base/ArrayPiece.h"
#include "base/RowMajor.h"
#include "eval/Shape.h"

namespace smalti::driver {

Part partAt(const Shape& global, const Sharding& sharding, const DeviceMesh& mesh, const Coordinates& at) {
  Part part{Shape(global.size(), 0), global, {}};
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
  // Before the first dimension that is split there is one index only.
  size_t split = 0;
  while (split < global.size() && part.shape[split] == 1) ++split;
  bool whole = true;
  for (size_t d = split + 1; d < global.size(); ++d) whole &= part.shape[d] == global[d];
  if (whole) {
    part.first = 0;
    const Shape strides = rowMajorStrides(global);
    for (size_t d = 0; d < global.size(); ++d) *part.first += part.starts[d] * strides[d];
  }
  return part;
}

Result<Array> partOf(const Array& global, const Part& part) {
  if (part.shape == global.shape()) return global;
  if (part.first) return pieceOf(global, {global.dtype(), part.shape}, *part.first);
  auto local = Array::allocate({global.dtype(), part.shape});
  if (local && local->elements() > 0)
    eval::slice({global.data(), global.dtype(), global.shape()}, part.starts,
                std::vector<int64_t>(part.shape.size(), 1), {local->data(), local->dtype(), local->shape()});
  return local;
}

}  // namespace smalti::driver
