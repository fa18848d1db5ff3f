#include "gpu/emit/Points.h"

namespace smalti::gpu {
namespace {

Reg divideUp(Builder& b, Reg x, Reg by) { return b.CreateUDiv(b.CreateAdd(x, b.CreateSub(by, b.getInt64(1))), by); }

}  // namespace

std::vector<Reg> indicesOfPoint(Builder& b, const PointOrder& order, std::span<const Reg> bounds, Reg point) {
  std::vector<Reg> at(order.axes.size());
  size_t done = 0;
  if (order.group > 0) {
    const size_t fast = order.axes[0], slow = order.axes[1];
    Reg plane = b.CreateMul(bounds[fast], bounds[slow]);
    Reg inPlane = b.CreateURem(point, plane);
    point = b.CreateUDiv(point, plane);
    // Groups of about the same size, so that the last one is not a line.
    Reg groups = divideUp(b, bounds[fast], b.getInt64(static_cast<uint64_t>(order.group)));
    Reg size = divideUp(b, bounds[fast], groups);
    Reg perGroup = b.CreateMul(size, bounds[slow]);
    Reg group = b.CreateUDiv(inPlane, perGroup), inGroup = b.CreateURem(inPlane, perGroup);
    // Two divisions by constants, if the bounds are constants, are faster than one by either.
    Reg before = b.CreateSub(groups, b.getInt64(1));
    Reg isLast = b.CreateICmpEQ(group, before), left = b.CreateSub(bounds[fast], b.CreateMul(before, size));
    at[fast] = b.CreateAdd(b.CreateMul(group, size),
                           b.CreateSelect(isLast, b.CreateURem(inGroup, left), b.CreateURem(inGroup, size)));
    at[slow] = b.CreateSelect(isLast, b.CreateUDiv(inGroup, left), b.CreateUDiv(inGroup, size));
    done = 2;
  }
  for (const size_t a : std::span(order.axes).subspan(done)) {
    at[a] = b.CreateURem(point, bounds[a]);
    point = b.CreateUDiv(point, bounds[a]);
  }
  if (order.largestFirst) {
    const size_t last = order.axes.back();
    at[last] = b.CreateSub(b.CreateSub(bounds[last], b.getInt64(1)), at[last]);
  }
  return at;
}

}  // namespace smalti::gpu
