#include "lang/fuse/DotKernel.h"

#include <algorithm>

#include "lang/cost/Cost.h"
#include "lang/fuse/FusedKernel.h"
#include "lang/ops/Support.h"
#include "lang/trace/SourceLocationScope.h"
#include "smalti/ops.h"

namespace smalti::lang {
namespace {

/// One operand: batch, free and contracted axes, each together as one.
struct Side {
  int64_t batch = 1, free = 1, contracted = 1;
  bool contractsLast = true, fits = false;

  Side(const Shape& shape, const std::vector<int64_t>& batchAxes, const std::vector<int64_t>& contractedAxes) {
    const auto rank = static_cast<int64_t>(shape.size()), first = static_cast<int64_t>(batchAxes.size());
    if (contractedAxes.size() != 1 || rank - first < 2) return;
    for (int64_t i = 0; i < first; ++i) {
      if (batchAxes[i] != i) return;
      batch *= shape[i];
    }
    const int64_t axis = contractedAxes[0];
    if (axis != first && axis != rank - 1) return;
    contractsLast = axis == rank - 1;
    contracted = shape[axis];
    for (int64_t i = first; i < rank; ++i)
      if (i != axis) free *= shape[i];
    fits = true;
  }
  Shape shape() const { return contractsLast ? Shape{batch, free, contracted} : Shape{batch, contracted, free}; }
};

constexpr int64_t kMinFlops = 32768, kMaxContracted = 4096, kRows = 256, kColumns = 512;

TracedOperand operandOf(const char* name, const ArrayType& type, const std::vector<int64_t>& block,
                        const TracedKernel& k, const std::vector<int>& axes) {
  TracedOperand o;
  o.name = name;
  o.array = type;
  o.block = {squeezed, block[0], block[1]};
  Trace map("the index map of a product");
  map.grid = k.grid;
  std::vector<Array> grid, indices;
  for (int i = 0; i < 3; ++i) grid.push_back(map.addArgument({DType::i32, {}}));
  for (const int axis : axes) indices.push_back(axis < 0 ? full({}, 0, DType::i32) : grid[axis]);
  o.indexMap = map.finish(std::move(indices));
  return o;
}

/// The precision of both operands; nothing if products in kernels do not have it.
std::optional<Precision> precisionOf(const Op& op) {
  if (op.find("algorithm")) return std::nullopt;
  const Attribute* config = op.find("precision_config");
  if (!config) return Precision::standard;
  const auto& names = std::get<std::vector<std::string>>(*config);
  const bool isOne = std::all_of(names.begin(), names.end(), [&](const std::string& n) { return n == names[0]; });
  if (!isOne) return std::nullopt;
  if (names.empty() || names[0] == "DEFAULT") return Precision::standard;
  return names[0] == "HIGHEST" ? Precision::highest : Precision::high;
}

}  // namespace

DotKernel dotKernel(const Op& op, const std::vector<ArrayType>& types) {
  if (op.name != "dot_general") return {};
  const auto axes = [&](const char* name) -> const auto& { return std::get<std::vector<int64_t>>(*op.find(name)); };
  const ArrayType &x = types[op.operands[0]], &y = types[op.operands[1]], &z = types[op.results[0]];
  const Side l(x.shape, axes("lhs_batching_dimensions"), axes("lhs_contracting_dimensions")),
      r(y.shape, axes("rhs_batching_dimensions"), axes("rhs_contracting_dimensions"));
  const bool isFloat = x.dtype == y.dtype && (x.dtype == DType::f32 || x.dtype == DType::bf16) &&
                       (z.dtype == DType::f32 || z.dtype == x.dtype);
  const std::optional<Precision> precision = precisionOf(op);
  if (!l.fits || !r.fits || !isFloat || !precision || l.contracted > kMaxContracted || l.contracted == 0 ||
      l.batch * l.free * r.free * l.contracted < kMinFlops)
    return {};
  const int64_t rows = std::min(l.free, kRows), columns = std::min(r.free, kColumns);
  TracedKernel k;
  k.name = "product";
  k.place = op.place;
  k.grid = {l.batch, (l.free + rows - 1) / rows, (r.free + columns - 1) / columns};
  k.semantics.assign(3, DimensionSemantics::parallel);
  k.numInputs = 2;
  const Shape result{l.batch, l.free, r.free};
  const std::vector<int64_t> lhs = l.contractsLast ? std::vector{rows, l.contracted} : std::vector{l.contracted, rows},
                             rhs = r.contractsLast ? std::vector{columns, r.contracted}
                                                   : std::vector{r.contracted, columns};
  k.operands = {operandOf("lhs", {x.dtype, l.shape()}, lhs, k, {0, l.contractsLast ? 1 : -1, l.contractsLast ? -1 : 1}),
                operandOf("rhs", {y.dtype, r.shape()}, rhs, k, {0, r.contractsLast ? 2 : -1, r.contractsLast ? -1 : 2}),
                operandOf("result", {z.dtype, result}, {rows, columns}, k, {0, 1, 2})};
  std::shared_ptr<const CalledKernel> made = kernelOf(std::move(k), [&](std::span<const Ref> refs) {
    const RecordedLocationScope place(op.place);
    const Array a = refs[0][{Index(_)}], b = refs[1][{Index(_)}];
    const Array product = dot_general(a, b, {{l.contractsLast ? 1 : 0}, {r.contractsLast ? 1 : 0}},
                                      {.preferred_element_type = DType::f32, .precision = *precision});
    refs[2][{Index(_)}] = astype(product, z.dtype);
  });
  return {std::move(made), l.shape(), r.shape(), result};
}

}  // namespace smalti::lang
