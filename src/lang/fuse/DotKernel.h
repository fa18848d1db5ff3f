// A product of matrices between kernels, as a kernel.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "lang/call/CalledKernel.h"
#include "smalti/ops/dot.h"

namespace smalti::lang {

/// A dot_general whose operands, in memory order, are a batch of matrices each.
struct DotForm {
  /// Batch, free and contracted axes, each together as one.
  struct Side {
    int64_t batch = 1, free = 1, contracted = 1;
    bool contractsLast = true;
    Shape shape() const;
  };
  Side lhs, rhs;
  DType operands, result;
  Precision precision = Precision::standard;
  SourcePlace place;

  int64_t multiplyAdds() const { return lhs.batch * lhs.free * rhs.free * lhs.contracted; }
  Shape resultShape() const { return {lhs.batch, lhs.free, rhs.free}; }
};
/// nullopt for other ops, and for operands of several dtypes, or whose products kernels do not have. `permutations`: of
/// operands that are given as they were before they were transposed (StepOps::permutations); empty: of none.
std::optional<DotForm> dotForm(const Op&, const std::vector<ArrayType>& types,
                               std::span<const std::vector<int64_t>> permutations = {});
/// A kernel of two operands of the sides' shapes.
std::shared_ptr<const CalledKernel> dotKernel(const DotForm&);

}  // namespace smalti::lang
