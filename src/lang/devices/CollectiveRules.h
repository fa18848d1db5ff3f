// Collectives under transformations. Each device has a function of its own: the cotangent of a sum that all devices
// have is summed over them again, as in JAX with check_vma=False.
#pragma once

#include "lang/transform/ControlFlow.h"

namespace smalti::lang {

// The rules of ops with a region that combines two elements.
extern const ControlRules kAllReduceRules, kReduceScatterRules;

std::vector<MaybeZero> transposeAllGather(const OpCall&, const Mask&, std::span<const MaybeZero>);
std::vector<MaybeZero> transposeAllToAll(const OpCall&, const Mask&, std::span<const MaybeZero>);
std::vector<MaybeZero> transposePermute(const OpCall&, const Mask&, std::span<const MaybeZero>);
std::vector<MaybeZero> transposeBroadcastFrom(const OpCall&, const Mask&, std::span<const MaybeZero>);
/// The examples come along as one more axis; attributes that number axes count it.
std::vector<Array> batchCollective(const OpCall&, const Mask&, int64_t size);

}  // namespace smalti::lang
