// A portable artifact as StableHLO text in generic form, which is what the importer of text reads.
//
// A portable artifact is what `stablehlo.serialize_portable_artifact` and `jax.export` write: MLIR bytecode of VHLO, a
// copy of StableHLO whose ops, types and attributes have versions and encodings that never change. Each op has the name
// and attributes of StableHLO's but for a few, which are respelled here.
#pragma once

#include <string>

#include "interop/bytecode/Model.h"

namespace smalti::interop::vhlo {

/// On failure `state` holds the diagnostic. Codes SM2101, SM2105 to SM2107.
std::string artifactText(const bytecode::BodyModel&, bytecode::ReadState& state);

}  // namespace smalti::interop::vhlo
