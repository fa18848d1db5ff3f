// Products on a processor with tiles (AMX).
#pragma once

#include "cpu/plan/product/TileLayout.h"

namespace llvm {
class Module;
}

namespace smalti::cpu {

class Ir;

/// Emits the body of emitGemm()'s function.
void emitTileNest(llvm::Module&, const TileLayout&, Ir&);

}  // namespace smalti::cpu
