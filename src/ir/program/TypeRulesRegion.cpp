// Rules of ops with regions, and of dot_general.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/program/TypeRules.h"

namespace smalti::rules {
namespace {

std::vector<ArrayType> typesOf(const Function& function, const std::vector<ValueId>& values) {
  std::vector<ArrayType> types;
  for (const ValueId v : values) types.push_back(function.values[v]);
  return types;
}

std::string list(const std::vector<ArrayType>& types) {
  std::vector<std::string> names;
  for (const ArrayType& t : types) names.push_back(t.str());
  return fmt::format("({})", fmt::join(names, ", "));
}

/// Results are what the first branch returns.
void inferFromBranch(const TypedOp& op) {
  const Block& branch = op.op.regions[0];
  if (branch.ops.empty()) return;
  const auto returned = typesOf(op.function, branch.ops.back().operands);
  for (size_t i = 0; i < returned.size() && i < op.op.results.size(); ++i)
    op.infer(static_cast<int>(i), returned[i].shape);
}

}  // namespace

std::string blockTypes(const TypedOp& op, const Block& block, const std::vector<ArrayType>& arguments,
                       const std::vector<ArrayType>& returned, std::string_view what) {
  if (const auto have = typesOf(op.function, block.arguments); have != arguments)
    return fmt::format("the {} takes {}, but gets {}", what, list(have), list(arguments));
  if (block.ops.empty()) return fmt::format("the {} is empty", what);
  if (const auto have = typesOf(op.function, block.ops.back().operands); have != returned)
    return fmt::format("the {} returns {}, not {}", what, list(have), list(returned));
  return "";
}

std::string dotGeneral(const TypedOp& op) {
  const ArrayType &lhs = op.operand(0), &rhs = op.operand(1);
  const auto lb = op.integers("lhs_batching_dimensions"), rb = op.integers("rhs_batching_dimensions");
  const auto lc = op.integers("lhs_contracting_dimensions"), rc = op.integers("rhs_contracting_dimensions");
  if (lb.size() != rb.size() || lc.size() != rc.size())
    return fmt::format("has {} x {} batching and {} x {} contracting dimensions", lb.size(), rb.size(), lc.size(),
                       rc.size());
  std::vector<int64_t> left(lb.begin(), lb.end()), right(rb.begin(), rb.end());
  left.insert(left.end(), lc.begin(), lc.end());
  right.insert(right.end(), rc.begin(), rc.end());
  if (auto wrong = dimsIn(left, lhs.shape.size(), "left dimension"); !wrong.empty()) return wrong;
  if (auto wrong = dimsIn(right, rhs.shape.size(), "right dimension"); !wrong.empty()) return wrong;
  for (size_t i = 0; i < left.size(); ++i)
    if (lhs.shape[left[i]] != rhs.shape[right[i]])
      return fmt::format("dimension {} of {} does not fit dimension {} of {}", left[i], lhs.str(), right[i], rhs.str());
  Shape expected;
  for (const int64_t d : lb) expected.push_back(lhs.shape[d]);
  for (int64_t d = 0; d < static_cast<int64_t>(lhs.shape.size()); ++d)
    if (std::find(left.begin(), left.end(), d) == left.end()) expected.push_back(lhs.shape[d]);
  for (int64_t d = 0; d < static_cast<int64_t>(rhs.shape.size()); ++d)
    if (std::find(right.begin(), right.end(), d) == right.end()) expected.push_back(rhs.shape[d]);
  op.infer(0, expected);
  if (expected != op.result().shape)
    return fmt::format("gives shape [{}], but the result is {}", fmt::join(expected, ", "), op.result().str());
  return "";
}

std::string reduce(const TypedOp& op) {
  const int n = op.numResults();
  if (n == 0 || op.numOperands() != 2 * n) return fmt::format("has {} operands for {} results", op.numOperands(), n);
  const auto dims = op.integers("dimensions");
  const Shape& shape = op.operand(0).shape;
  if (auto wrong = dimsIn(dims, shape.size(), "dimension"); !wrong.empty()) return wrong;
  Shape expected;
  for (int64_t d = 0; d < static_cast<int64_t>(shape.size()); ++d)
    if (std::find(dims.begin(), dims.end(), d) == dims.end()) expected.push_back(shape[d]);
  std::vector<ArrayType> scalars;
  for (int i = 0; i < n; ++i) {
    const ArrayType &in = op.operand(i), &init = op.operand(n + i), &out = op.result(i);
    op.infer(i, expected);
    if (in.shape != shape) return fmt::format("reduces {} together with {}", op.operand(0).str(), in.str());
    if (!init.shape.empty() || init.dtype != in.dtype || out.dtype != in.dtype || out.shape != expected)
      return fmt::format("reduces {} from {} to {}", in.str(), init.str(), out.str());
    scalars.push_back({in.dtype, {}});
  }
  std::vector<ArrayType> arguments = scalars;
  arguments.insert(arguments.end(), scalars.begin(), scalars.end());
  return blockTypes(op, op.op.regions[0], arguments, scalars, "reducer");
}

std::string whileLoop(const TypedOp& op) {
  if (auto wrong = barrier(op); !wrong.empty()) return wrong;
  const auto carried = typesOf(op.function, op.op.operands);
  if (auto wrong = blockTypes(op, op.op.regions[0], carried, {{DType::pred, {}}}, "condition"); !wrong.empty())
    return wrong;
  return blockTypes(op, op.op.regions[1], carried, carried, "body");
}

std::string caseOf(const TypedOp& op) {
  if (op.operand(0) != ArrayType{DType::i32, {}}) return fmt::format("chooses by {}, not i32[]", op.operand(0).str());
  if (op.op.regions.empty()) return "has no branches";
  inferFromBranch(op);
  const auto results = typesOf(op.function, op.op.results);
  for (const Block& branch : op.op.regions)
    if (auto wrong = blockTypes(op, branch, {}, results, "branch"); !wrong.empty()) return wrong;
  return "";
}

std::string ifElse(const TypedOp& op) {
  if (op.operand(0) != ArrayType{DType::pred, {}}) return fmt::format("chooses by {}, not bool[]", op.operand(0).str());
  inferFromBranch(op);
  const auto results = typesOf(op.function, op.op.results);
  for (const Block& branch : op.op.regions)
    if (auto wrong = blockTypes(op, branch, {}, results, "branch"); !wrong.empty()) return wrong;
  return "";
}

}  // namespace smalti::rules
