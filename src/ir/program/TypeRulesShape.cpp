#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/program/TypeRules.h"

namespace smalti::rules {
namespace {

std::string sameDtype(const ArrayType& a, const ArrayType& b) {
  if (a.dtype == b.dtype) return "";
  return fmt::format("turns {} into {}", name(a.dtype), name(b.dtype));
}

std::string resultShape(const TypedOp& op, const Shape& expected) {
  op.infer(0, expected);
  if (op.result().shape == expected) return "";
  return fmt::format("gives shape [{}], but the result is {}", fmt::join(expected, ", "), op.result().str());
}

std::string oneEach(std::span<const int64_t> values, size_t rank, std::string_view what) {
  if (values.size() == rank) return "";
  return fmt::format("{} has {} entries for {} dimensions", what, values.size(), rank);
}

/// Index operands of dynamic_slice and dynamic_update_slice.
std::string startIndices(const TypedOp& op, int first, size_t rank) {
  if (op.numOperands() - first != static_cast<int>(rank))
    return fmt::format("has {} start indices for {} dimensions", op.numOperands() - first, rank);
  for (int i = first; i < op.numOperands(); ++i)
    if (!is_integer(op.operand(i).dtype) || !op.operand(i).shape.empty() ||
        op.operand(i).dtype != op.operand(first).dtype)
      return fmt::format("start index {} is {}, not an integer scalar like the others", i - first, op.operand(i).str());
  return "";
}

}  // namespace

std::string constant(const TypedOp& op) {
  const Attribute* value = op.op.find("value");
  const Array* array = value ? std::get_if<Array>(value) : nullptr;
  if (!array || !array->data()) return "has no value";
  if (array->dtype() != op.result().dtype || (!array->shape().empty() && array->shape() != op.result().shape))
    return fmt::format("the value is {}, the result {}", array->type().str(), op.result().str());
  return "";
}

/// Any array will do.
std::string allocateBuffer(const TypedOp&) { return ""; }

std::string iota(const TypedOp& op) {
  const int64_t dim = op.integer("iota_dimension");
  if (dim < 0 || dim >= static_cast<int64_t>(op.result().shape.size()))
    return fmt::format("counts along dimension {} of {}", dim, op.result().str());
  return op.result().dtype == DType::pred ? "counts in bool" : "";
}

std::string reshape(const TypedOp& op) {
  if (op.operand(0).elements() != op.result().elements())
    return fmt::format("{} has {} elements, {} has {}", op.operand(0).str(), op.operand(0).elements(),
                       op.result().str(), op.result().elements());
  return sameDtype(op.operand(0), op.result());
}

std::string broadcastInDim(const TypedOp& op) {
  const ArrayType &from = op.operand(0), &to = op.result();
  const auto dims = op.integers("broadcast_dimensions");
  if (auto wrong = oneEach(dims, from.shape.size(), "broadcast_dimensions"); !wrong.empty()) return wrong;
  if (auto wrong = dimsIn(dims, to.shape.size(), "broadcast dimension"); !wrong.empty()) return wrong;
  for (size_t i = 0; i < dims.size(); ++i)
    if (from.shape[i] != 1 && from.shape[i] != to.shape[dims[i]])
      return fmt::format("dimension {} of {} has size {}, dimension {} of {} has {}", i, from.str(), from.shape[i],
                         dims[i], to.str(), to.shape[dims[i]]);
  return sameDtype(from, to);
}

std::string transpose(const TypedOp& op) {
  const ArrayType& from = op.operand(0);
  const auto permutation = op.integers("permutation");
  if (auto wrong = oneEach(permutation, from.shape.size(), "permutation"); !wrong.empty()) return wrong;
  if (auto wrong = dimsIn(permutation, from.shape.size(), "permutation entry"); !wrong.empty()) return wrong;
  Shape expected;
  for (const int64_t d : permutation) expected.push_back(from.shape[d]);
  if (auto wrong = resultShape(op, expected); !wrong.empty()) return wrong;
  return sameDtype(from, op.result());
}

std::string slice(const TypedOp& op) {
  const Shape& shape = op.operand(0).shape;
  const auto starts = op.integers("start_indices"), limits = op.integers("limit_indices"),
             strides = op.integers("strides");
  for (const auto list : {starts, limits, strides})
    if (auto wrong = oneEach(list, shape.size(), "a list of bounds"); !wrong.empty()) return wrong;
  Shape expected;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (starts[d] < 0 || starts[d] > limits[d] || limits[d] > shape[d] || strides[d] < 1)
      return fmt::format("takes [{}:{}:{}] of dimension {} of {}", starts[d], limits[d], strides[d], d,
                         op.operand(0).str());
    expected.push_back((limits[d] - starts[d]) / strides[d] + ((limits[d] - starts[d]) % strides[d] != 0));
  }
  if (auto wrong = resultShape(op, expected); !wrong.empty()) return wrong;
  return sameDtype(op.operand(0), op.result());
}

std::string dynamicSlice(const TypedOp& op) {
  if (op.numOperands() < 1) return "has no operand";
  const Shape& shape = op.operand(0).shape;
  const auto sizes = op.integers("slice_sizes");
  if (auto wrong = oneEach(sizes, shape.size(), "slice_sizes"); !wrong.empty()) return wrong;
  for (size_t d = 0; d < shape.size(); ++d)
    if (sizes[d] < 0 || sizes[d] > shape[d])
      return fmt::format("takes {} elements of dimension {} of {}", sizes[d], d, op.operand(0).str());
  if (auto wrong = startIndices(op, 1, shape.size()); !wrong.empty()) return wrong;
  if (auto wrong = resultShape(op, {sizes.begin(), sizes.end()}); !wrong.empty()) return wrong;
  return sameDtype(op.operand(0), op.result());
}

std::string dynamicUpdateSlice(const TypedOp& op) {
  if (op.numOperands() < 2) return "has no update";
  const ArrayType &into = op.operand(0), &update = op.operand(1);
  op.infer(0, into.shape);
  if (into != op.result()) return fmt::format("changes {} into {}", into.str(), op.result().str());
  if (update.shape.size() != into.shape.size()) return fmt::format("writes {} into {}", update.str(), into.str());
  for (size_t d = 0; d < into.shape.size(); ++d)
    if (update.shape[d] > into.shape[d]) return fmt::format("writes {} into {}", update.str(), into.str());
  if (auto wrong = startIndices(op, 2, into.shape.size()); !wrong.empty()) return wrong;
  return sameDtype(update, into);
}

std::string concatenate(const TypedOp& op) {
  if (op.numOperands() == 0) return "has no operands";
  const int64_t dim = op.integer("dimension");
  Shape expected = op.operand(0).shape;
  if (dim < 0 || dim >= static_cast<int64_t>(expected.size()))
    return fmt::format("joins along dimension {} of {}", dim, op.operand(0).str());
  for (int i = 0; i < op.numOperands(); ++i) {
    const ArrayType& t = op.operand(i);
    if (auto wrong = sameDtype(t, op.result()); !wrong.empty()) return wrong;
    Shape like = t.shape;
    if (like.size() == expected.size()) like[dim] = expected[dim];
    if (like != expected)
      return fmt::format("operand {} is {}, which does not fit {} along dimension {}", i, t.str(), op.operand(0).str(),
                         dim);
    if (i > 0) expected[dim] += t.shape[dim];
  }
  return resultShape(op, expected);
}

std::string pad(const TypedOp& op) {
  const Shape& shape = op.operand(0).shape;
  const auto low = op.integers("edge_padding_low"), high = op.integers("edge_padding_high"),
             interior = op.integers("interior_padding");
  for (const auto list : {low, high, interior})
    if (auto wrong = oneEach(list, shape.size(), "a list of paddings"); !wrong.empty()) return wrong;
  if (!op.operand(1).shape.empty()) return fmt::format("pads with {}, not a scalar", op.operand(1).str());
  Shape expected;
  for (size_t d = 0; d < shape.size(); ++d) {
    __int128 size = shape[d];
    if (interior[d] < 0) return fmt::format("has negative interior padding {}", interior[d]);
    if (size > 0) size += static_cast<__int128>(interior[d]) * (size - 1);
    size += static_cast<__int128>(low[d]) + high[d];
    if (size < 0 || size > INT64_MAX) return fmt::format("dimension {} gets no size", d);
    expected.push_back(static_cast<int64_t>(size));
  }
  if (auto wrong = resultShape(op, expected); !wrong.empty()) return wrong;
  if (auto wrong = sameDtype(op.operand(1), op.result()); !wrong.empty()) return wrong;
  return sameDtype(op.operand(0), op.result());
}

std::string reverse(const TypedOp& op) {
  op.infer(0, op.operand(0).shape);
  if (auto wrong = dimsIn(op.integers("dimensions"), op.result().shape.size(), "dimension"); !wrong.empty())
    return wrong;
  return sameType(op);
}

std::string deviceId(const TypedOp& op) {
  if (op.result() == ArrayType{DType::u32, {}}) return "";
  return fmt::format("the result is {}, not u32[]", op.result().str());
}

}  // namespace smalti::rules
