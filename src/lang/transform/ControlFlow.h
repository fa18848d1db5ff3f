// How ops with regions are transformed: rules of their own, on their first-order form.
#pragma once

#include "lang/transform/Closed.h"
#include "lang/transform/Linearize.h"

namespace smalti::lang {

struct ControlRules {
  /// The inputs are the primals; a tangent per input.
  Differentiated (*jvp)(const ClosedCall&, std::span<const MaybeZero> tangents);
  /// Some inputs are linear values of the tracer, which is not in force here: what is known is computed, the rest is
  /// noted with its transposition.
  std::vector<Array> (*linearize)(Linearizer&, const ClosedCall&, const Mask& isLinear);
  struct Batched {
    std::vector<Array> results;
    Mask isBatched;  ///< along axis 0
  };
  Batched (*batch)(const ClosedCall&, const Mask& isBatched, int64_t size);
};

extern const ControlRules kIfRules, kForRules, kWhileRules, kScanRules, kCheckpointRules;

}  // namespace smalti::lang
