#include "lang/fuse/DotKernel.h"

#include <algorithm>

#include "ir/program/MatrixOrder.h"
#include "lang/cost/Cost.h"
#include "lang/fuse/FusedKernel.h"
#include "lang/ops/Support.h"
#include "lang/trace/SourceLocationScope.h"
#include "plain/PlainEvaluators.h"
#include "smalti/ops.h"

namespace smalti::lang {
namespace {

/// nullopt: the axes of each kind are not neighbours, in the order of the result.
std::optional<DotForm::Side> sideOf(const Shape& shape, const std::vector<int64_t>& batchAxes,
                                    const std::vector<int64_t>& contractedAxes,
                                    const std::vector<int64_t>& permutation) {
  const auto freeAxes = plain::freeDims(shape.size(), batchAxes, contractedAxes);
  const auto last = smalti::contractsLast(axesAsGiven(batchAxes, permutation), axesAsGiven(contractedAxes, permutation),
                                          axesAsGiven(freeAxes, permutation));
  if (contractedAxes.empty() || !last) return std::nullopt;
  const auto size = [&](const std::vector<int64_t>& axes) {
    int64_t product = 1;
    for (const int64_t axis : axes) product *= shape[static_cast<size_t>(axis)];
    return product;
  };
  return DotForm::Side{size(batchAxes), size(freeAxes), size(contractedAxes), *last};
}

constexpr int64_t kRows = 256, kColumns = 512;

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

Shape DotForm::Side::shape() const {
  return contractsLast ? Shape{batch, free, contracted} : Shape{batch, contracted, free};
}

std::optional<DotForm> dotForm(const Op& op, const std::vector<ArrayType>& types,
                               std::span<const std::vector<int64_t>> permutations) {
  if (op.name != "dot_general") return std::nullopt;
  const auto axes = [&](const char* name) {
    const Attribute* given = op.find(name);
    return given ? std::get<std::vector<int64_t>>(*given) : std::vector<int64_t>();
  };
  const auto side = [&](size_t operand, const char* batch, const char* contracted) {
    return sideOf(types[op.operands[operand]].shape, axes(batch), axes(contracted),
                  permutations.empty() ? std::vector<int64_t>() : permutations[operand]);
  };
  const auto lhs = side(0, "lhs_batching_dimensions", "lhs_contracting_dimensions"),
             rhs = side(1, "rhs_batching_dimensions", "rhs_contracting_dimensions");
  const std::optional<Precision> precision = precisionOf(op);
  const DType x = types[op.operands[0]].dtype, y = types[op.operands[1]].dtype, z = types[op.results[0]].dtype;
  const bool isFloat = (x == DType::f32 || x == DType::bf16) && (z == DType::f32 || z == x);
  const bool isInteger = x == DType::i8 && z == DType::i32;
  if (!lhs || !rhs || !precision || x != y || !(isFloat || isInteger)) return std::nullopt;
  return DotForm{.lhs = *lhs, .rhs = *rhs, .operands = x, .result = z, .precision = *precision, .place = op.place};
}

std::shared_ptr<const CalledKernel> dotKernel(const DotForm& form) {
  const DotForm::Side &l = form.lhs, &r = form.rhs;
  const int64_t rows = std::min(l.free, kRows), columns = std::min(r.free, kColumns);
  TracedKernel k;
  k.name = "product";
  k.place = form.place;
  k.grid = {l.batch, (l.free + rows - 1) / rows, (r.free + columns - 1) / columns};
  k.semantics.assign(3, DimensionSemantics::parallel);
  k.numInputs = 2;
  const std::vector<int64_t> lhs = l.contractsLast ? std::vector{rows, l.contracted} : std::vector{l.contracted, rows},
                             rhs = r.contractsLast ? std::vector{columns, r.contracted}
                                                   : std::vector{r.contracted, columns};
  k.operands = {
      operandOf("lhs", {form.operands, l.shape()}, lhs, k, {0, l.contractsLast ? 1 : -1, l.contractsLast ? -1 : 1}),
      operandOf("rhs", {form.operands, r.shape()}, rhs, k, {0, r.contractsLast ? 2 : -1, r.contractsLast ? -1 : 2}),
      operandOf("result", {form.result, form.resultShape()}, {rows, columns}, k, {0, 1, 2})};
  return kernelOf(std::move(k), [&](std::span<const Ref> refs) {
    const RecordedLocationScope place(form.place);
    const Array a = refs[0][{Index(_)}], b = refs[1][{Index(_)}];
    const DType sum = form.operands == DType::i8 ? DType::i32 : DType::f32;
    const Array product = dot_general(a, b, {{l.contractsLast ? 1 : 0}, {r.contractsLast ? 1 : 0}},
                                      {.preferred_element_type = sum, .precision = form.precision});
    refs[2][{Index(_)}] = astype(product, form.result);
  });
}

}  // namespace smalti::lang
