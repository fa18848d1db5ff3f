// Rules of gather and scatter: one set of dimension numbers under two names.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/program/TypeRules.h"

namespace smalti::rules {
namespace {

using Dims = std::span<const int64_t>;

/// gather's names; scatter's stand for the same.
struct Numbers {
  Dims windowDims, dropped, operandBatching, indicesBatching, map;
  int64_t indexVectorDim;
};

bool contains(Dims dims, int64_t d) { return std::find(dims.begin(), dims.end(), d) != dims.end(); }

std::vector<int64_t> both(Dims a, Dims b) {
  std::vector<int64_t> all(a.begin(), a.end());
  all.insert(all.end(), b.begin(), b.end());
  return all;
}

/// Checks the window and batch dimensions of the operand; the rest of `batched` (result or updates) must fit them.
std::string checkNumbers(const Numbers& n, const ArrayType& operand, const ArrayType& indices,
                         const ArrayType& batched) {
  const size_t rank = operand.shape.size();
  if (!is_integer(indices.dtype)) return fmt::format("takes positions from {}, not integers", indices.str());
  if (n.indexVectorDim < 0 || n.indexVectorDim > static_cast<int64_t>(indices.shape.size()))
    return fmt::format("index_vector_dim is {} for {}", n.indexVectorDim, indices.str());
  for (const auto& [dims, size, what] :
       {std::tuple{both(n.dropped, n.operandBatching), rank, "dimension without window"},
        {both(n.map, n.operandBatching), rank, "dimension with a position"},
        {both(n.indicesBatching, {}), indices.shape.size(), "batching dimension of the indices"},
        {both(n.windowDims, {}), batched.shape.size(), "window dimension"}})
    if (auto wrong = dimsIn(dims, size, what); !wrong.empty()) return wrong;
  if (!std::is_sorted(n.windowDims.begin(), n.windowDims.end())) return "has window dimensions out of order";
  if (n.windowDims.size() != rank - n.dropped.size() - n.operandBatching.size())
    return fmt::format("has {} window dimensions for {} with {} dropped", n.windowDims.size(), operand.str(),
                       n.dropped.size() + n.operandBatching.size());
  const bool isVector = n.indexVectorDim < static_cast<int64_t>(indices.shape.size());
  if (static_cast<int64_t>(n.map.size()) != (isVector ? indices.shape[n.indexVectorDim] : 1))
    return fmt::format("has positions in {} dimensions, but index vectors of {}", n.map.size(),
                       isVector ? indices.shape[n.indexVectorDim] : 1);
  if (n.operandBatching.size() != n.indicesBatching.size()) return "has other batching dimensions than its indices";
  for (size_t i = 0; i < n.operandBatching.size(); ++i)
    if (n.indicesBatching[i] == n.indexVectorDim ||
        operand.shape[n.operandBatching[i]] != indices.shape[n.indicesBatching[i]])
      return fmt::format("batches dimension {} of {} with dimension {} of {}", n.operandBatching[i], operand.str(),
                         n.indicesBatching[i], indices.str());
  Shape batch, have;
  for (int64_t d = 0; d < static_cast<int64_t>(indices.shape.size()); ++d)
    if (d != n.indexVectorDim) batch.push_back(indices.shape[d]);
  for (int64_t d = 0; d < static_cast<int64_t>(batched.shape.size()); ++d)
    if (!contains(n.windowDims, d)) have.push_back(batched.shape[d]);
  if (batch != have)
    return fmt::format("has windows at [{}] positions, but {} holds [{}]", fmt::join(batch, ", "), batched.str(),
                       fmt::join(have, ", "));
  return "";
}

/// The result: the positions, and among them the dimensions of a window.
void inferGathered(const TypedOp& op, const Numbers& n) {
  const Shape& indices = op.operand(1).shape;
  const Dims sizes = op.integers("slice_sizes");
  Shape positions, window, shape(op.result().shape.size(), kUnknownDim);
  for (int64_t d = 0; d < static_cast<int64_t>(indices.size()); ++d)
    if (d != n.indexVectorDim) positions.push_back(indices[d]);
  for (int64_t d = 0; d < static_cast<int64_t>(sizes.size()); ++d)
    if (!contains(n.dropped, d) && !contains(n.operandBatching, d)) window.push_back(sizes[d]);
  if (positions.size() + window.size() != shape.size()) return;
  size_t nextPosition = 0, nextWindow = 0;
  for (int64_t d = 0; d < static_cast<int64_t>(shape.size()); ++d)
    if (contains(n.windowDims, d) && nextWindow < window.size())
      shape[d] = window[nextWindow++];
    else if (nextPosition < positions.size())
      shape[d] = positions[nextPosition++];
  op.infer(0, shape);
}

}  // namespace

std::string gather(const TypedOp& op) {
  const ArrayType &operand = op.operand(0), &result = op.result();
  const Numbers numbers{op.integers("offset_dims"),           op.integers("collapsed_slice_dims"),
                        op.integers("operand_batching_dims"), op.integers("start_indices_batching_dims"),
                        op.integers("start_index_map"),       op.integer("index_vector_dim")};
  inferGathered(op, numbers);
  if (auto wrong = checkNumbers(numbers, operand, op.operand(1), result); !wrong.empty()) return wrong;
  if (operand.dtype != result.dtype) return fmt::format("turns {} into {}", name(operand.dtype), name(result.dtype));
  const Dims sizes = op.integers("slice_sizes");
  if (sizes.size() != operand.shape.size())
    return fmt::format("slice_sizes has {} entries for {}", sizes.size(), operand.str());
  size_t next = 0;
  for (int64_t d = 0; d < static_cast<int64_t>(sizes.size()); ++d) {
    const bool dropped = contains(numbers.dropped, d) || contains(numbers.operandBatching, d);
    const int64_t most = dropped ? std::min<int64_t>(1, operand.shape[d]) : operand.shape[d];
    if (sizes[d] < 0 || sizes[d] > most)
      return fmt::format("takes {} elements along dimension {} of {}", sizes[d], d, operand.str());
    if (!dropped && result.shape[numbers.windowDims[next++]] != sizes[d])
      return fmt::format("takes [{}] elements at a time, but the result is {}", fmt::join(sizes, ", "), result.str());
  }
  return "";
}

std::string scatter(const TypedOp& op) {
  const int n = op.numResults();
  if (n == 0 || op.numOperands() != 2 * n + 1)
    return fmt::format("has {} operands for {} results", op.numOperands(), n);
  const ArrayType& operand = op.operand(0);
  const ArrayType& updates = op.operand(n + 1);
  const Numbers numbers{op.integers("update_window_dims"),           op.integers("inserted_window_dims"),
                        op.integers("input_batching_dims"),          op.integers("scatter_indices_batching_dims"),
                        op.integers("scatter_dims_to_operand_dims"), op.integer("index_vector_dim")};
  if (auto wrong = checkNumbers(numbers, operand, op.operand(n), updates); !wrong.empty()) return wrong;
  size_t next = 0;
  for (int64_t d = 0; d < static_cast<int64_t>(operand.shape.size()); ++d)
    if (!contains(numbers.dropped, d) && !contains(numbers.operandBatching, d) &&
        updates.shape[numbers.windowDims[next++]] > operand.shape[d])
      return fmt::format("has windows of {} that are larger than {}", updates.str(), operand.str());
  std::vector<ArrayType> scalars;
  for (int i = 0; i < n; ++i) {
    const ArrayType &in = op.operand(i), &update = op.operand(n + 1 + i);
    op.infer(i, in.shape);
    if (in.shape != operand.shape || update.shape != updates.shape || update.dtype != in.dtype || op.result(i) != in)
      return fmt::format("updates {} by {} to {}", in.str(), update.str(), op.result(i).str());
    scalars.push_back({in.dtype, {}});
  }
  std::vector<ArrayType> arguments = scalars;
  arguments.insert(arguments.end(), scalars.begin(), scalars.end());
  return blockTypes(op, op.op.regions[0], arguments, scalars, "update");
}

}  // namespace smalti::rules
