// Functions with custom rules: custom_vjp, custom_jvp.
#pragma once

#include <span>
#include <vector>

#include "lang/transform/Linearize.h"

namespace smalti::lang {

/// The callee of an op "custom_function". Without a transformation, it is its function.
class CustomFunction {
 public:
  virtual ~CustomFunction() = default;
  virtual std::vector<Array> run(std::span<const Array> operands) const = 0;
  virtual Differentiated jvp(const OpCall&, std::span<const MaybeZero> tangents) const = 0;
  /// Under a Linearizer, which is in force: some operands are linear values.
  virtual std::vector<Array> linearize(Linearizer&, const OpCall&, const Mask& isLinear) const = 0;
  /// All results batched along axis 0.
  virtual std::vector<Array> batch(const OpCall&, const Mask& isBatched, int64_t size) const = 0;
};

/// Lowers the op in a kernel to the ops of the function.
void lowerCustomFunction(DialectLowering&, const Op&);

/// The op, under the tracer in force.
std::vector<Array> bindCustom(std::shared_ptr<const CustomFunction>, std::span<const Array> operands,
                              std::span<const ArrayType> results);

/// Residuals after the results.
using Forward = std::function<std::pair<std::vector<Array>, std::vector<Array>>(std::span<const Array> operands)>;
/// A cotangent per operand, from residuals and cotangents.
using Backward =
    std::function<std::vector<MaybeZero>(std::span<const Array> residuals, std::span<const Array> cotangents)>;
std::vector<Array> callCustomVjp(Functional, Forward, Backward, std::span<const Array> operands, const Location& at);

/// Results and tangents, from operands and tangents.
using Tangential = std::function<std::pair<std::vector<Array>, std::vector<Array>>(std::span<const Array> operands,
                                                                                   std::span<const Array> tangents)>;
std::vector<Array> callCustomJvp(Functional, Tangential, std::span<const Array> operands, const Location& at);

/// A function of one array with a derivative of its own: the tangent of the result, from that of the operand, the
/// operand and the result.
Array withSlope(const Operand&, Array (*f)(const Array&), Array (*slope)(const Array&, const Array&, const Array&));

}  // namespace smalti::lang
