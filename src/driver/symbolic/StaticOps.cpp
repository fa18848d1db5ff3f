// Ops whose shapes, paddings and positions are operands, as the plain ops that have them as attributes.
#include <algorithm>
#include <array>

#include "driver/symbolic/Scope.h"

namespace smalti::driver::symbolic {
namespace {

/// One op and the scope that knows its operands.
class Converter {
 public:
  Converter(Op& op, Scope& scope, std::vector<Op>& made) : op_(op), scope_(scope), made_(made) {}

  Status run();

 private:
  Result<std::vector<int64_t>> integers(size_t operand, size_t count) {
    auto values = scope_.integers(op_.operands[operand]);
    if (!values)
      return fail(wrongOp(op_, "SM2003",
                          fmt::format("the shape of the result of {} depends on elements of arrays", op_.name),
                          "compute it from the shapes of the arguments alone"));
    if (values->size() != count) return misfit(fmt::format("has {} numbers for {} dimensions", values->size(), count));
    return std::move(*values);
  }
  tl::unexpected<Diagnostic> misfit(std::string what) const {
    return fail(wrongOp(op_, "SM2006", fmt::format("types do not fit: {} {}", op_.name, what),
                        "export the module again, or give other shapes"));
  }
  size_t rank(size_t operand) { return scope_.type(op_.operands[operand]).shape.size(); }
  size_t resultRank(size_t i = 0) { return scope_.type(op_.results[i]).shape.size(); }

  /// Result `i` has this shape.
  Status setShape(size_t i, const std::vector<int64_t>& shape) {
    Shape& have = scope_.type(op_.results[i]).shape;
    for (size_t d = 0; d < shape.size(); ++d)
      if (shape[d] < 0 || (have[d] != kUnknownDim && have[d] != shape[d]))
        return fail(wrongOp(op_, "SM2006",
                            fmt::format("types do not fit: dimension {} of the result of {} is {}, not {}", d, op_.name,
                                        shape[d], have[d] == kUnknownDim ? "a size" : std::to_string(have[d])),
                            "export the module again, or give other shapes"));
    have = shape;
    return {};
  }
  Status takeShape(size_t operand, size_t result) {
    const auto shape = integers(operand, resultRank(result));
    return shape ? setShape(result, *shape) : fail(shape.error());
  }
  /// Operands from `first` on become attributes of these names.
  Status takeAttributes(size_t first, std::span<const std::string_view> names, size_t count) {
    for (size_t i = 0; i < names.size(); ++i) {
      auto values = integers(first + i, count);
      if (!values) return fail(values.error());
      op_.attributes.emplace_back(names[i], std::move(*values));
    }
    op_.operands.resize(first);
    return {};
  }
  Status becomes(std::string_view name, size_t numOperands) {
    op_.name = name;
    op_.operands.resize(numOperands);
    return {};
  }

  Status size();
  Status slice();
  Status window();
  Status sliceAt(const std::vector<int64_t>& sizes);
  Status shapeOperands();

  Op& op_;
  Scope& scope_;
  std::vector<Op>& made_;
};

Status Converter::size() {
  const int64_t dim = TypedOp{op_, scope_.function}.integer("dimension");
  const Shape& shape = scope_.type(op_.operands[0]).shape;
  if (dim < 0 || dim >= static_cast<int64_t>(shape.size()) || scope_.type(op_.results[0]) != ArrayType{DType::i32, {}})
    return misfit("has no such dimension");
  const int64_t size = shape[static_cast<size_t>(dim)];
  if (size > INT32_MAX)
    return fail(wrongOp(op_, "SM2009", fmt::format("dimension {} of size {} does not fit an i32", dim, size),
                        "use smaller arrays"));
  auto number = Array::allocate({DType::i32, {}});
  if (!number) return fail(number.error());
  *number->as<int32_t>() = static_cast<int32_t>(size);
  op_.attributes = {{"value", std::move(*number)}};
  return becomes("constant", 0);
}

/// Positions that only a run knows, and limits that are these plus sizes: a dynamic_slice.
Status Converter::sliceAt(const std::vector<int64_t>& sizes) {
  const ValueId starts = op_.operands[1];
  const ArrayType scalar{scope_.type(starts).dtype, {}};
  op_.operands.resize(1);
  for (int64_t d = 0; d < static_cast<int64_t>(sizes.size()); ++d) {
    Op part{.name = "slice", .operands = {starts}, .place = op_.place};
    part.results = {scope_.newValue({scalar.dtype, {1}})};
    part.attributes = {
        {"start_indices", std::vector{d}}, {"limit_indices", std::vector{d + 1}}, {"strides", std::vector{int64_t{1}}}};
    Op start{.name = "reshape", .operands = part.results, .place = op_.place};
    start.results = {scope_.newValue(scalar)};
    op_.operands.push_back(start.results[0]);
    made_.push_back(std::move(part));
    made_.push_back(std::move(start));
  }
  op_.name = "dynamic_slice";
  op_.attributes = {{"slice_sizes", sizes}};
  return {};
}

Status Converter::slice() {
  const size_t dims = rank(0);
  if (!scope_.integers(op_.operands[1]) || !scope_.integers(op_.operands[2])) {
    const auto sum = scope_.sums.find(op_.operands[2]);
    const auto strides = integers(3, dims);
    if (!strides) return fail(strides.error());
    if (sum != scope_.sums.end() && std::ranges::all_of(*strides, [](int64_t s) { return s == 1; }) &&
        scope_.type(op_.operands[1]).shape == Shape{static_cast<int64_t>(dims)})
      for (const size_t i : {0, 1})
        if (sum->second[i] == op_.operands[1])
          if (const auto sizes = scope_.integers(sum->second[1 - i]); sizes && sizes->size() == dims)
            return sliceAt(*sizes);
  }
  constexpr std::array<std::string_view, 3> kNames{"start_indices", "limit_indices", "strides"};
  if (Status taken = takeAttributes(1, kNames, dims); !taken) return taken;
  return becomes("slice", 1);
}

/// Operands: arrays, initial values, then window, strides, both dilations, padding.
Status Converter::window() {
  constexpr std::array<std::string_view, 4> kNames{"window_dimensions", "window_strides", "base_dilations",
                                                   "window_dilations"};
  const size_t inputs = 2 * op_.results.size();
  if (op_.results.empty() || op_.operands.size() != inputs + kNames.size() + 1)
    return misfit(fmt::format("has {} operands", op_.operands.size()));
  const size_t dims = rank(0);
  auto padding = integers(inputs + kNames.size(), 2 * dims);
  if (!padding) return fail(padding.error());
  op_.operands.pop_back();
  if (Status taken = takeAttributes(inputs, kNames, dims); !taken) return taken;
  op_.attributes.emplace_back("padding", std::move(*padding));
  return becomes("reduce_window", inputs);
}

Status Converter::shapeOperands() {
  const size_t results = op_.results.size();
  if (op_.operands.size() < results) return misfit(fmt::format("has {} operands", op_.operands.size()));
  const size_t first = op_.operands.size() - results;
  for (size_t i = 0; i < results; ++i)
    if (Status taken = takeShape(first + i, i); !taken) return taken;
  op_.operands.resize(first);
  std::erase_if(op_.attributes, [](const auto& a) { return a.first == kShapeOperands; });
  return {};
}

Status Converter::run() {
  if (op_.find(kShapeOperands))
    if (Status taken = shapeOperands(); !taken) return taken;
  const PlainOp* row = findSymbolicOp(op_.name);
  if (!row) return {};
  if (std::string wrong = miscounted(*row, op_); !wrong.empty()) return misfit(std::move(wrong));
  const std::string_view name = op_.name;
  if (name == "get_dimension_size") return size();
  if (name == "real_dynamic_slice") return slice();
  if (name == "stablehlo.dynamic_reduce_window") return window();
  if (name == "dynamic_broadcast_in_dim" || name == "dynamic_reshape" || name == "dynamic_iota") {
    const size_t inputs = op_.operands.size() - 1;
    if (Status taken = takeShape(inputs, 0); !taken) return taken;
    return becomes(name.substr(std::string_view("dynamic_").size()), inputs);
  }
  if (name == "dynamic_gather") {
    constexpr std::array<std::string_view, 1> kNames{"slice_sizes"};
    if (Status taken = takeAttributes(2, kNames, rank(0)); !taken) return taken;
    return becomes("gather", 2);
  }
  if (name == "dynamic_pad") {
    constexpr std::array<std::string_view, 3> kNames{"edge_padding_low", "edge_padding_high", "interior_padding"};
    if (Status taken = takeAttributes(2, kNames, rank(0)); !taken) return taken;
    return becomes("pad", 2);
  }
  if (name == "dynamic_conv") {
    constexpr std::array<std::string_view, 1> kNames{"padding"};
    std::erase_if(op_.attributes, [](const auto& a) { return a.first == "padding"; });
    if (Status taken = takeAttributes(2, kNames, 2 * (std::max<size_t>(rank(0), 2) - 2)); !taken) return taken;
    return becomes("convolution", 2);
  }
  if (name == "stablehlo.dynamic_rng_bit_generator") {
    if (Status taken = takeShape(1, 1); !taken) return taken;
    return becomes("rng_bit_generator", 1);
  }
  // top_k, approx_top_k: the number of elements is the last operand.
  if (op_.operands.empty()) return misfit("has no operands");
  const bool exact = name == "stablehlo.dynamic_top_k";
  const auto k = integers(op_.operands.size() - 1, 1);
  if (!k) return fail(k.error());
  op_.attributes.emplace_back(exact ? "k" : "top_k", (*k)[0]);
  return becomes(exact ? "top_k" : "ApproxTopK", op_.operands.size() - 1);
}

}  // namespace

Status makeStatic(Op& op, Scope& scope, std::vector<Op>& made) { return Converter(op, scope, made).run(); }

}  // namespace smalti::driver::symbolic
