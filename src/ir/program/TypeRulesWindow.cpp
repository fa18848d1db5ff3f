// Rules of reduce_window, select_and_scatter, sort, top_k and ApproxTopK.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/program/TypeRules.h"

namespace smalti::rules {
namespace {

// Larger windows, strides and paddings are not array's; products of two stay within 64 bits.
constexpr int64_t kMaxAlongDim = int64_t{1} << 31;

/// The attribute's entry for a dimension, 1 when it is absent.
int64_t entry(std::span<const int64_t> values, size_t d) { return values.empty() ? 1 : values[d]; }

/// The number of windows along dimension `d` of `size` elements; -1: the attributes are invalid.
int64_t numWindows(const TypedOp& op, size_t d, int64_t size) {
  const int64_t window = entry(op.integers("window_dimensions"), d), stride = entry(op.integers("window_strides"), d);
  const int64_t baseDilation = entry(op.integers("base_dilations"), d);
  const int64_t windowDilation = entry(op.integers("window_dilations"), d);
  const auto padding = op.integers("padding");
  const int64_t low = padding.empty() ? 0 : padding[2 * d], high = padding.empty() ? 0 : padding[2 * d + 1];
  for (const int64_t v : {window, stride, baseDilation, windowDilation})
    if (v < 1 || v > kMaxAlongDim) return -1;
  if (std::max({low, high, size}) > kMaxAlongDim || std::min(low, high) < -kMaxAlongDim) return -1;
  const int64_t padded = (size == 0 ? 0 : (size - 1) * baseDilation + 1) + low + high;
  const int64_t reach = (window - 1) * windowDilation + 1;
  return padded < reach ? 0 : (padded - reach) / stride + 1;
}

/// Checks the windows over operand 0, and counts them along each dimension.
std::string windows(const TypedOp& op, Shape& counts) {
  const Shape& shape = op.operand(0).shape;
  for (const std::string_view dims : {"window_dimensions", "window_strides", "base_dilations", "window_dilations"})
    if (const size_t have = op.integers(dims).size(); have != shape.size() && have != 0)
      return fmt::format("{} has {} entries for {}", dims, have, op.operand(0).str());
  if (const size_t have = op.integers("padding").size(); have != 0 && have != 2 * shape.size())
    return fmt::format("padding has {} entries for {}", have, op.operand(0).str());
  for (size_t d = 0; d < shape.size(); ++d) {
    counts.push_back(numWindows(op, d, shape[d]));
    if (counts[d] < 0) return fmt::format("has impossible windows along dimension {} of {}", d, op.operand(0).str());
  }
  return "";
}

}  // namespace

std::string reduceWindow(const TypedOp& op) {
  const int n = op.numResults();
  if (n == 0 || op.numOperands() != 2 * n) return fmt::format("has {} operands for {} results", op.numOperands(), n);
  const Shape& shape = op.operand(0).shape;
  if (const size_t have = op.integers("window_dimensions").size(); have != shape.size())
    return fmt::format("window_dimensions has {} entries for {}", have, op.operand(0).str());
  Shape expected;
  if (auto wrong = windows(op, expected); !wrong.empty()) return wrong;
  std::vector<ArrayType> scalars;
  for (int i = 0; i < n; ++i) {
    const ArrayType &in = op.operand(i), &init = op.operand(n + i), &out = op.result(i);
    op.infer(i, expected);
    if (in.shape != shape) return fmt::format("reduces {} together with {}", op.operand(0).str(), in.str());
    if (init != ArrayType{in.dtype, {}} || out != ArrayType{in.dtype, expected})
      return fmt::format("reduces {} from {} to {} instead of [{}]", in.str(), init.str(), out.str(),
                         fmt::join(expected, ", "));
    scalars.push_back(init);
  }
  std::vector<ArrayType> arguments = scalars;
  arguments.insert(arguments.end(), scalars.begin(), scalars.end());
  return blockTypes(op, op.op.regions[0], arguments, scalars, "reducer");
}

std::string selectAndScatter(const TypedOp& op) {
  const ArrayType &in = op.operand(0), &source = op.operand(1), &init = op.operand(2);
  Shape counts;
  if (auto wrong = windows(op, counts); !wrong.empty()) return wrong;
  const ArrayType scalar{in.dtype, {}};
  if (source != ArrayType{in.dtype, counts})
    return fmt::format("scatters {} to one element of each of the [{}] windows of {}", source.str(),
                       fmt::join(counts, ", "), in.str());
  op.infer(0, in.shape);
  if (init != scalar || op.result() != in)
    return fmt::format("turns {} from {} into {}", in.str(), init.str(), op.result().str());
  if (auto wrong = blockTypes(op, op.op.regions[0], {scalar, scalar}, {{DType::pred, {}}}, "selection"); !wrong.empty())
    return wrong;
  return blockTypes(op, op.op.regions[1], {scalar, scalar}, {scalar}, "update");
}

std::string sort(const TypedOp& op) {
  const int n = op.numResults();
  if (n == 0 || op.numOperands() != n) return fmt::format("has {} operands for {} results", op.numOperands(), n);
  const auto rank = static_cast<int64_t>(op.operand(0).shape.size());
  if (const int64_t dim = op.integer("dimension", -1); dim < -rank || dim >= rank)
    return fmt::format("sorts along dimension {} of {}", dim, op.operand(0).str());
  std::vector<ArrayType> arguments;
  for (int i = 0; i < n; ++i) {
    const ArrayType& in = op.operand(i);
    if (in.shape != op.operand(0).shape) return fmt::format("sorts {} together with {}", op.operand(0).str(), in.str());
    op.infer(i, in.shape);
    if (op.result(i) != in) return fmt::format("turns {} into {}", in.str(), op.result(i).str());
    arguments.insert(arguments.end(), 2, {in.dtype, {}});
  }
  return blockTypes(op, op.op.regions[0], arguments, {{DType::pred, {}}}, "comparison");
}

std::string topK(const TypedOp& op) {
  const ArrayType& in = op.operand(0);
  const int64_t k = op.integer("k");
  if (is_complex(in.dtype)) return fmt::format("takes ordered numbers, not {}", name(in.dtype));
  if (in.shape.empty() || k < 0 || k > in.shape.back()) return fmt::format("takes {} of {}", k, in.str());
  Shape shape = in.shape;
  shape.back() = k;
  op.infer(0, shape);
  op.infer(1, shape);
  if (op.result(0) != ArrayType{in.dtype, shape} || op.result(1) != ArrayType{DType::i32, shape})
    return fmt::format("takes {} of {} as {} and {}", k, in.str(), op.result(0).str(), op.result(1).str());
  return "";
}

/// Operands: the arrays, and for each the value of candidates that there are not.
std::string approxTopK(const TypedOp& op) {
  const int n = op.numResults();
  if (n == 0 || op.numOperands() != 2 * n) return fmt::format("has {} operands for {} results", op.numOperands(), n);
  const int64_t k = op.integer("top_k"), dim = op.integer("reduction_dim");
  Shape shape = op.operand(0).shape;
  if (dim < 0 || dim >= static_cast<int64_t>(shape.size()) || k < 0 || k > shape[static_cast<size_t>(dim)])
    return fmt::format("takes {} along dimension {} of {}", k, dim, op.operand(0).str());
  if (!op.boolean("aggregate_to_topk"))
    return "has aggregate_to_topk = false: how many candidates there are depends on the TPU";
  shape[static_cast<size_t>(dim)] = k;
  std::vector<ArrayType> arguments;
  for (int i = 0; i < n; ++i) {
    const ArrayType &in = op.operand(i), &init = op.operand(n + i);
    op.infer(i, shape);
    if (in.shape != op.operand(0).shape) return fmt::format("sorts {} together with {}", op.operand(0).str(), in.str());
    if (init != ArrayType{in.dtype, {}} || op.result(i) != ArrayType{in.dtype, shape})
      return fmt::format("takes {} of {} as {}, and {} for others", k, in.str(), op.result(i).str(), init.str());
    arguments.insert(arguments.end(), 2, {in.dtype, {}});
  }
  return blockTypes(op, op.op.regions[0], arguments, {{DType::pred, {}}}, "comparison");
}

}  // namespace smalti::rules
