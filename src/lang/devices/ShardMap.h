// shard_map as an op of a traced program: "manual_computation", with its mesh in attributes of its own, which
// `placeMeshes` makes the Program's.
#pragma once

#include "ir/Program.h"

namespace smalti::lang {

/// The meshes of all shard_maps that main reaches, as the Program's; values that their bodies use from outside become
/// arguments, since the op is isolated from above.
void placeMeshes(Program&);

}  // namespace smalti::lang
