// The plan of a matrix product over packed panels.
#pragma once

#include <variant>

#include "cpu/ops/SkinnyProducts.h"
#include "cpu/plan/product/Layout.h"
#include "cpu/plan/product/TileLayout.h"

namespace smalti::cpu {

struct GemmPlan {
  std::variant<Layout, TileLayout> layout{};                ///< TileLayout: it uses the processor's tile registers
  int tileRows = 0, tileColumns = 0;                        ///< of C, in registers
  int64_t blockRows = 0, blockColumns = 0, blockDepth = 0;  ///< of the loops around it
  int64_t packedBytes = 0;                                  ///< workspace
  int64_t packedCacheBytes = 0;                             ///< of packed B, with `cachesPackedB`
  bool packsA = false, packsB = false, usesDot = false;
  bool mayUseUnpackedB = false;  ///< packsRowsOfB(): rows of B may be used without packing

  bool usesTiles() const { return std::holds_alternative<TileLayout>(layout); }
  const GemmShape& shape() const;
};
GemmPlan planGemm(const GemmShape&, const Processor&);

/// Whether floats of these dtypes are multiplied as f32, for any number of rows.
bool multipliesAsF32(DType a, DType b, const Processor&);

}  // namespace smalti::cpu
