// sdy.manual_computation: each device runs the body on its part of the global arrays.
#include <algorithm>
#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/RowMajor.h"
#include "driver/program/Part.h"
#include "driver/program/ProgramRunner.h"
#include "eval/Shape.h"
#include "ir/Exchange.h"

namespace smalti::driver {
namespace {

int64_t offsetOf(const Shape& starts, const std::vector<int64_t>& strides) {
  int64_t offset = 0;
  for (size_t d = 0; d < starts.size(); ++d) offset += starts[d] * strides[d];
  return offset;
}

/// A device as people read it: "(x=0, y=1)".
std::string coordinatesStr(const Coordinates& at) {
  std::vector<std::string> parts;
  for (const auto& [axis, value] : at) parts.push_back(fmt::format("{}={}", axis, value));
  return fmt::format("({})", fmt::join(parts, ", "));
}

bool sameBytes(const Array& a, const Array& b) {
  return a.bytes() == 0 || std::memcmp(a.data(), b.data(), static_cast<size_t>(a.bytes())) == 0;
}

Diagnostic copiesDiffer(const Op& op, size_t result, const Coordinates& one, const Coordinates& other) {
  return {.code = "SM5003",
          .message = fmt::format("result {} of a shard_map must be equal on devices that hold the same part of it, but "
                                 "is not",
                                 result),
          .place = op.place,
          .have = fmt::format("different elements on devices {} and {}", coordinatesStr(one), coordinatesStr(other)),
          .help = "name in out_specs every mesh axis over which the result differs"};
}

}  // namespace

Status ProgramRunner::runManual(const Function& f, const Op& op, Lanes lanes) {
  const auto& inShardings = std::get<std::vector<Sharding>>(*op.find("in_shardings"));
  const auto& outShardings = std::get<std::vector<Sharding>>(*op.find("out_shardings"));
  const auto& manualAxes = std::get<std::vector<std::string>>(*op.find("manual_axes"));
  const DeviceMesh& mesh = meshOf(program_, op);

  // Each device of the enclosing computation becomes one for every position over the new axes, in the mesh's order.
  std::vector<Lane> inner;
  std::vector<size_t> outerOf;
  for (size_t l = 0; l < lanes.size(); ++l) {
    std::vector<Coordinates> positions{lanes[l]->coordinates};
    for (const auto& axis : mesh.axes) {
      if (std::find(manualAxes.begin(), manualAxes.end(), axis.name) == manualAxes.end()) continue;
      std::vector<Coordinates> finer;
      for (const Coordinates& p : positions)
        for (int64_t i = 0; i < axis.size; ++i) (finer.emplace_back(p))[axis.name] = i;
      positions = std::move(finer);
    }
    for (Coordinates& p : positions) {
      Lane lane;
      for (const auto& axis : mesh.axes)
        lane.device = lane.device * axis.size + (p.contains(axis.name) ? p[axis.name] : 0);
      lane.coordinates = std::move(p);
      lane.values = lanes[l]->values;  // the body may use values from outside; they share memory
      inner.push_back(std::move(lane));
      outerOf.push_back(l);
    }
  }
  std::vector<size_t> order(inner.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return inner[a].device < inner[b].device; });

  const auto share = shareOfMesh(mesh, op, lanes);
  if (!share) return fail(share.error());
  std::vector<Lane*> pointers;
  std::vector<std::vector<Array>> arguments;
  for (const size_t i : order) {
    if (!share->holds(inner[i].device)) continue;
    pointers.push_back(&inner[i]);
    auto& list = arguments.emplace_back();
    for (size_t k = 0; k < op.operands.size(); ++k) {
      auto part = partOf(lanes[outerOf[i]]->values[op.operands[k]], inShardings[k], mesh, inner[i].coordinates);
      if (!part) return fail(std::move(part.error()));
      list.push_back(std::move(*part));
    }
  }
  const size_t outerLanes = std::exchange(allLanes_, static_cast<size_t>(mesh.numDevices()));
  const DeviceShare outerShare = std::exchange(share_, *share);
  auto results = runBlock(f, op.regions[0], pointers, std::move(arguments));
  if (!results) return fail(std::move(results.error()));

  // By device: what it returns, and of which part of each result.
  std::vector<std::vector<Array>> returned(order.size());
  std::vector<std::vector<ReturnedPart>> parts(order.size());
  std::map<std::tuple<size_t, size_t, Shape>, size_t> first;  // result, enclosing device, part's start → first device
  bool copies = false;
  for (size_t p = 0, here = 0; p < order.size(); ++p) {
    const Lane& lane = inner[order[p]];
    if (share->holds(lane.device)) returned[p] = std::move((*results)[here++]);
    for (size_t r = 0; r < op.results.size(); ++r) {
      const ArrayType& type = f.values[op.results[r]];
      Part part = partAt(type.shape, outShardings[r], mesh, lane.coordinates);
      const bool isFirst = first.emplace(std::tuple(r, outerOf[order[p]], part.starts), p).second;
      copies |= !isFirst;
      parts[p].push_back({{type.dtype, std::move(part.shape)}, std::move(part.starts), isFirst});
    }
  }
  if (shared_)
    if (Status ok = gatherReturned(op, parts, returned); !ok) return ok;
  allLanes_ = outerLanes;
  share_ = outerShare;

  for (size_t r = 0; r < op.results.size(); ++r) {
    const ArrayType& type = f.values[op.results[r]];
    const int bytes = storage_bytes(type.dtype);
    const auto strides = rowMajorStrides(type.shape);
    for (Lane* lane : lanes) {
      auto global = Array::allocate(type);
      if (!global) return fail(std::move(global.error()));
      lane->values[op.results[r]] = std::move(*global);
    }
    for (size_t p = 0; p < order.size(); ++p) {
      const size_t l = outerOf[order[p]];
      const ReturnedPart& part = parts[p][r];
      if (!part.first) {
        const size_t other = first.at({r, l, part.starts});
        if (share->holds(inner[order[p]].device) && !sameBytes(returned[p][r], returned[other][r]))
          return fail(copiesDiffer(op, r, inner[order[other]].coordinates, inner[order[p]].coordinates));
      } else if (const Array& local = returned[p][r]; local.elements() > 0) {
        eval::copyStrided(local.data(), rowMajorStrides(local.shape()),
                          lanes[l]->values[op.results[r]].data() + offsetOf(part.starts, strides) * bytes, strides,
                          local.shape(), bytes);
      }
    }
  }
  // A process whose devices returned other copies gives up, and the others learn it here.
  if (copies && shared_)
    if (auto agreed =
            shared_->exchange(std::vector<Bytes>(static_cast<size_t>(shared_->group().processes.count())), op);
        !agreed)
      return fail(std::move(agreed.error()));
  return {};
}

}  // namespace smalti::driver
