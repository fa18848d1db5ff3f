#include "tpu/MaxBlocks.h"

#include <algorithm>
#include <numeric>
#include <span>

#include <fmt/format.h>

#include "base/Arithmetic.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "ir/KernelArguments.h"
#include "tpu/Tiling.h"

namespace smalti::tpu {
namespace {

/// A dimension of a part of the map that follows the axis.
struct Follower {
  size_t part, dimension;
};

/// The dimensions of a window whose block number is the axis's index itself.
std::vector<size_t> followingDimensions(const KernelPackage& p, const Window& w, size_t axis) {
  mlir::ModuleOp module = *p.module;
  auto map = module.lookupSymbol<mlir::func::FuncOp>(w.transform);
  std::vector<size_t> found;
  if (!map || map.empty() || w.elementIndexed) return found;
  mlir::Operation* end = map.getBody().front().getTerminator();
  for (unsigned d = 0; d < end->getNumOperands(); ++d)
    if (end->getOperand(d) == map.getArgument(static_cast<unsigned>(axis))) found.push_back(d);
  return found;
}

const Window* windowOf(const KernelPackage& p, const std::string& role) {
  const KernelArguments arguments(p);
  for (size_t b = 0; b < arguments.numBlocks(); ++b) {
    const auto found = arguments.roleOf(arguments.block(b));
    if (found && found->str() == role && p.signature.windows[b]) return &*p.signature.windows[b];
  }
  return nullptr;
}

const ArrayType& arrayOf(const KernelPackage& p, const std::string& role) {
  const KernelArguments arguments(p);
  size_t b = 0;
  while (arguments.roleOf(arguments.block(b))->str() != role) ++b;
  return arguments.arrayOf(b);
}

class Room {
 public:
  Room(const KernelPackage& p, const Chip& chip, const VmemMap& map) : p_(p), chip_(chip), map_(map) {}

  std::optional<MaxBlocks> along(size_t axis) {
    MaxBlocks room{.axis = axis};
    followers_.clear();
    for (size_t i = 0; i < map_.parts.size(); ++i)
      if (map_.parts[i].kind == VmemPart::window && !addWindow(i, axis, room)) return std::nullopt;
    if (followers_.empty() || room.block <= 1) return std::nullopt;
    for (size_t i = 0; i < map_.parts.size(); ++i)
      if (map_.parts[i].kind == VmemPart::scratch) addScratch(i, room);
    for (int64_t size = room.step; size <= room.extent; size += room.step)
      if (bytesWith(room, size) <= map_.limitBytes) {
        room.largest = size;
        if (room.extent % size == 0) room.dividing = size;
      }
    if (room.block == room.extent && bytesWith(room, room.extent) <= map_.limitBytes)
      room.largest = room.dividing = room.extent;
    return room;
  }

 private:
  bool addWindow(size_t i, size_t axis, MaxBlocks& room) {
    const VmemPart& part = map_.parts[i];
    const Window* window = windowOf(p_, part.what);
    if (!window) return true;
    for (size_t d : followingDimensions(p_, *window, axis)) {
      const int64_t block = window->bounds[d], extent = arrayOf(p_, part.what).shape[d];
      if (room.block != 0 && (block != room.block || extent != room.extent)) return false;
      room.block = block, room.extent = extent;
      // Squeezed dimensions are not in the ref, whose shape is the block's otherwise.
      const size_t rank = part.array.shape.size(), squeezed = window->bounds.size() - rank;
      if (d < squeezed || part.array.shape[d - squeezed] != block) return false;
      const size_t at = d - squeezed;
      const int64_t tile = at + 1 == rank ? kLanes : at + 2 == rank ? tileRows(chip_, part.array.dtype, 64) : 1;
      room.step = room.step == 0 ? tile : std::lcm(room.step, tile);
      followers_.push_back({i, at});
      room.follow.push_back(fmt::format("{} dimension {}", part.what, at));
    }
    return true;
  }

  /// Scratch of a window's shape moves with that window, outputs first; other scratch with its dimension of that size.
  void addScratch(size_t i, MaxBlocks& room) {
    const Shape& shape = map_.parts[i].array.shape;
    const auto follow = [&](size_t d) {
      followers_.push_back({i, d});
      room.follow.push_back(fmt::format("{} dimension {}", map_.parts[i].what, d));
    };
    for (size_t w = map_.parts.size(); w-- > 0;) {
      const Shape& window = map_.parts[w].array.shape;
      const size_t more = window.size() - std::min(window.size(), shape.size());
      if (map_.parts[w].kind != VmemPart::window || !std::ranges::equal(shape, std::span(window).subspan(more)))
        continue;
      const size_t before = followers_.size();
      for (size_t f = 0; f < before; ++f)
        if (followers_[f].part == w && followers_[f].dimension >= more) follow(followers_[f].dimension - more);
      return;
    }
    if (const auto at = std::find(shape.begin(), shape.end(), room.block); at != shape.end())
      follow(static_cast<size_t>(at - shape.begin()));
  }

  int64_t bytesWith(const MaxBlocks& room, int64_t size) const {
    int64_t sum = 0;
    for (size_t i = 0; i < map_.parts.size(); ++i) {
      ArrayType array = map_.parts[i].array;
      for (const Follower& f : followers_)
        if (f.part == i) array.shape[f.dimension] = size;
      sum += allottedBytes(map_.parts[i].buffers * paddedBytes(chip_, array));
    }
    // The dimension may be of rows or of lanes there: of the latter, a register has all or none.
    const int64_t lanes = roundUp(size, kLanes);
    const double scale =
        static_cast<double>(size > room.block ? size : std::min(lanes, room.block)) / static_cast<double>(room.block);
    return sum + static_cast<int64_t>(scale * static_cast<double>(map_.temporaries.likely));
  }

  const KernelPackage& p_;
  const Chip& chip_;
  const VmemMap& map_;
  std::vector<Follower> followers_;
};

}  // namespace

std::vector<MaxBlocks> bytesOf(const KernelPackage& p, const Chip& chip, const VmemMap& map) {
  std::vector<MaxBlocks> out;
  Room room(p, chip, map);
  for (size_t axis = 0; axis < p.signature.grid.size(); ++axis)
    if (auto one = room.along(axis)) out.push_back(std::move(*one));
  return out;
}

}  // namespace smalti::tpu
