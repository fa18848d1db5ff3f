// The indices of a point of the shared grid axes.
#pragma once

#include <span>
#include <vector>

#include "gpu/device/Primitives.h"
#include "gpu/plan/PointOrder.h"

namespace smalti::gpu {

/// The indices, by axis, of the point with this number (i64). `bounds`: sizes of the grid axes.
std::vector<Reg> indicesOfPoint(Builder&, const PointOrder&, std::span<const Reg> bounds, Reg point);

}  // namespace smalti::gpu
