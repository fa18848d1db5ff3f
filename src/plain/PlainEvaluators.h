// Plain array ops on one device: the op's name → the function that computes it with src/eval.
// Adding an op: its row in src/ir/program/PlainOps.cpp (name and types) and one row here (src/plain/*.cpp).
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "eval/Contract.h"
#include "eval/Numerics.h"
#include "eval/Tensor.h"
#include "ir/program/PlainOps.h"
#include "plain/ShareWork.h"

namespace smalti::plain {

/// One op to compute.
struct PlainCall {
  const Op& op;
  const Function& function;
  std::vector<Array>& operands;  ///< the evaluator may reuse the memory of those that are `unique()`
  std::span<const ArrayType> results;
  int64_t device = 0;
  Numerics numerics = Numerics::f32;
  /// Values of enclosing blocks that a region uses.
  std::function<const Array&(ValueId)> outer = {};
  const Program* program = nullptr;  ///< whose functions a region calls; null: its regions call none
  ShareWork share = {};              ///< empty: on the caller alone
  /// Of dot_general: for each operand that is given as it was before it was transposed, the permutation; empty: none.
  std::span<const std::vector<int64_t>> permutations = {};

  TypedOp typed() const { return {op, function}; }
};
using PlainResults = Result<std::vector<Array>>;
using PlainEvaluator = PlainResults (*)(PlainCall&);

struct EvaluatorRow {
  std::string_view op;
  PlainEvaluator evaluate;
};

/// nullptr: an op that the runner handles itself (calls, control flow, kernels).
PlainEvaluator findEvaluator(std::string_view op);

/// The kernel op that computes a unary or binary op of this dtype: "add" of f32 is "arith.addf". Empty: there is none.
std::string_view kernelOpName(std::string_view op, DType);
/// The kernel op of a comparison of this dtype. Empty: floats in total order, which are compared by `totalOrderKeys`.
std::string compareKernelName(const TypedOp&, DType);

// One table per family.
std::span<const EvaluatorRow> elementwiseEvaluators();
std::span<const EvaluatorRow> shapeEvaluators();
std::span<const EvaluatorRow> contractEvaluators();
std::span<const EvaluatorRow> indexedEvaluators();
std::span<const EvaluatorRow> sortEvaluators();
std::span<const EvaluatorRow> windowEvaluators();
std::span<const EvaluatorRow> convolutionEvaluators();
std::span<const EvaluatorRow> linearEvaluators();
std::span<const EvaluatorRow> complexEvaluators();
std::span<const EvaluatorRow> fourierEvaluators();
std::span<const EvaluatorRow> randomEvaluators();
std::span<const EvaluatorRow> factorEvaluators();
std::span<const EvaluatorRow> eighEvaluators();
std::span<const EvaluatorRow> specialFunctionEvaluators();

/// Runs a block of scalar ops on whole arrays of `shape` at once: every scalar stands for one element of each. So do
/// the functions that it calls; `verify` has checked that calls end.
PlainResults runLifted(const PlainCall& call, const Block& block, std::vector<Array> arguments, const Shape& shape);

// Shared pieces.
eval::Input in(const Array&);
eval::Output out(Array&);
/// An element of an integer array; u64 beyond i64 is the largest i64.
int64_t indexAt(const Array&, int64_t element);
/// A result of the call's type: the memory of an operand of that size without other users, otherwise new memory.
Result<Array> resultArray(PlainCall&, int result = 0, bool reuse = false);
/// The dimensions of an operand that a product keeps: neither batch nor contracting, ascending.
std::vector<int64_t> freeDims(size_t rank, std::span<const int64_t> batch, std::span<const int64_t> contracting);
/// How many passes of bf16 the TPU makes for the op's precision.
eval::DotNumerics dotNumerics(const PlainCall&);
/// The call's two operands multiplied: `multiply` is a product of real arrays plus an accumulator, false where their
/// dtypes have none. It is called four times where they are complex.
using Product = std::function<bool(eval::Input lhs, eval::Input rhs, eval::Input acc, eval::Output)>;
PlainResults product(PlainCall&, const Product& multiply);
/// The operands of a product whose first dimension is that of the result.
struct Divided {
  bool lhs = false, rhs = false;
};
/// `multiply` for parts of the result's first dimension, `piece` rows or a multiple, which threads share; each element
/// is the sum of `depth` products.
Product sharedRows(const ShareWork& share, Divided, int64_t depth, int64_t piece, const Product& multiply);
/// Ops of complex numbers, which src/eval does not have: element by element, and SM5002 for others.
PlainResults complexUnary(PlainCall&);
PlainResults complexBinary(PlainCall&);
PlainResults complexCompare(PlainCall&);
PlainResults complexConvert(PlainCall&);
/// The real or imaginary parts; of reals themselves, or zeros.
Result<Array> partOf(const Array&, bool imaginary);
Result<Array> complexOf(const Array& real, const Array& imaginary);
/// `product` of complex arrays of the result's type, by four of their parts.
PlainResults complexProduct(PlainCall&, const Product& multiply);
/// Bits of floats as integers in the same order: -NaN < -inf < … < -0 < +0 < … < +inf < +NaN.
Result<Array> totalOrderKeys(const Array& floats);
/// The numbers as another type: of complex ones as reals, the real parts.
Result<Array> converted(const Array&, DType to);
/// The same if one of the two types is complex.
Result<Array> complexConverted(const Array&, DType to);
Diagnostic noEvaluation(const PlainCall&, DType);
template <class... Arrays>
PlainResults several(Arrays... arrays) {
  std::vector<Array> results;
  (results.push_back(std::move(arrays)), ...);
  return results;
}
inline PlainResults one(Array array) { return several(std::move(array)); }
inline PlainResults oneOf(Result<Array> array) {
  if (!array) return fail(std::move(array.error()));
  return one(std::move(*array));
}

}  // namespace smalti::plain
