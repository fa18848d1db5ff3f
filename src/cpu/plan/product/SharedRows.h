// How the threads of a call share the rows of one product inside a grid step.
#pragma once

#include <optional>

#include "base/Arithmetic.h"
#include "cpu/plan/product/GemmPlan.h"

namespace smalti::cpu {

/// Parts of a product's rows: `count` of `rows` rows each, the last of which may have fewer. Every element is computed
/// from the same blocks of k as in the whole product, so that its bits do not depend on the number of threads.
struct SharedRows {
  int64_t rows = 0, count = 0;
  GemmPlan part{};
  std::optional<GemmPlan> lastPart{};  ///< if it has fewer rows

  int64_t bytesPerPart() const { return roundUp(part.packedBytes, kLineBytes); }  ///< of workspace
};

/// nullopt: the product is too small, or parts would be computed otherwise.
std::optional<SharedRows> shareRows(const GemmPlan& whole, const Processor&, int cores);

}  // namespace smalti::cpu
