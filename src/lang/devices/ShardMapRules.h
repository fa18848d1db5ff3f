// shard_map under transformations: a shard_map of the transformed function.
#pragma once

#include "lang/transform/ControlFlow.h"

namespace smalti::lang {

extern const ControlRules kShardMapRules;

}  // namespace smalti::lang
