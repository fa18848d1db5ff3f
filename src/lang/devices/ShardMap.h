// shard_map as an op of a traced program: "manual_computation", with its mesh in attributes of its own, which
// `placeMeshes` makes the Program's.
#pragma once

#include "ir/program/Program.h"

namespace smalti::lang {

/// Moves the meshes of all shard_maps that main reaches to the Program; values that their bodies capture become
/// arguments, since the op is isolated from above.
void placeMeshes(Program&);

}  // namespace smalti::lang
