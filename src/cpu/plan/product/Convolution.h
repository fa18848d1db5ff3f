// Convolutions as products: windows are copied to the rows of a matrix, one for each position of the result, and
// multiplied with the weights.
#pragma once

#include <optional>

#include "cpu/plan/product/GemmShape.h"
#include "ir/TpuOpsMxu.h"
#include "smalti/array.h"

namespace smalti::cpu {

/// The product that a tpu.conv is computed as, for each of its groups.
struct NativeConvolution {
  GemmShape shape;
  int64_t leadingOfB = 0;  ///< elements from a row of B to the next
};
/// nullopt: src/eval computes the op.
std::optional<NativeConvolution> nativeConvolution(mlir::Operation&);

/// Integers that are the low bytes of an i32.
bool isTruncatedInteger(DType);

/// The dimensions of a tpu.conv, in the order of its product.
class ConvDimensions {
 public:
  explicit ConvDimensions(tpu::ConvOp);

  /// nullopt: src/eval computes the op.
  std::optional<NativeConvolution> product() const;

 protected:
  /// [batch, positions…].
  Shape positions() const { return {outShape_.begin(), outShape_.end() - 1}; }
  /// [batch, positions…, window…, features].
  Shape windows() const {
    Shape all = positions();
    all.insert(all.end(), window_.begin(), window_.end());
    all.push_back(inputs_);
    return all;
  }

  mutable tpu::ConvOp op_;                ///< MLIR's accessors are not const
  Shape lhsOrder_, rhsOrder_, outOrder_;  ///< [batch, space…, features], [window…, inputs, outputs]
  Shape lhsShape_, rhsShape_, outShape_;  ///< in these orders
  Shape window_;
  size_t spatial_ = 0;
  int64_t inputs_ = 0, outputs_ = 0, featureGroups_ = 1, batchGroups_ = 1;
};

}  // namespace smalti::cpu
