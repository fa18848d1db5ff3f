// Pretty forms, one function per family; each ends in a RawOp with the generic form's attribute names.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "interop/stablehlo/Parser.h"
#include "interop/stablehlo/Sharding.h"

namespace smalti::interop::stablehlo {
namespace {

/// `%a, dims = [1, 0] : …`
struct DimsForm {
  std::string_view op, attribute;
};
constexpr std::array kDimsForms{
    DimsForm{"stablehlo.broadcast_in_dim", "broadcast_dimensions"},
    DimsForm{"stablehlo.dynamic_broadcast_in_dim", "broadcast_dimensions"},
    DimsForm{"stablehlo.transpose", "permutation"},
    DimsForm{"stablehlo.reverse", "dimensions"},
};

/// `%a, dim = 1 : …`, and of those without operands `dim = 1 : …`
constexpr std::array kDimForms{
    DimsForm{"stablehlo.concatenate", "dimension"},
    DimsForm{"stablehlo.dynamic_iota", "iota_dimension"},
    DimsForm{"stablehlo.get_dimension_size", "dimension"},
    DimsForm{"stablehlo.iota", "iota_dimension"},
};

}  // namespace

/// `, key =`
bool Parser::keyed(std::string_view key) {
  return cursor_.expect(",") && cursor_.expectWord(key) && cursor_.expect("=");
}

/// `: (a, b) -> c`, `: a, b -> c` and `: a -> (b, c)` (chlo), or a list of types that `form` explains.
bool Parser::types(RawOp& raw, Types form) {
  if (!attributeDictionary(raw.attributes) || !cursor_.expect(":")) return false;
  const size_t at = cursor_.offset();
  std::vector<Type> list;
  do {
    if (!syntax().type(list.emplace_back())) return false;
  } while (cursor_.take(","));
  if (list.size() == 1 && list[0].kind == Type::Kind::function)
    return arrayTypes(list[0].inputs, raw.operandTypes, at) && arrayTypes(list[0].results, raw.resultTypes, at);
  std::vector<ArrayType> given;
  if (!arrayTypes(list, given, at)) return false;
  if (cursor_.take("->")) {
    raw.operandTypes = std::move(given);
    if (!cursor_.take("(")) return syntax().arrayType(raw.resultTypes.emplace_back());
    do {
      if (!syntax().arrayType(raw.resultTypes.emplace_back())) return false;
    } while (cursor_.take(","));
    return cursor_.expect(")");
  }
  switch (form) {
    case Types::same:
      if (given.size() != 1) return cursor_.expected("one type");
      raw.operandTypes.assign(raw.operands.size(), given[0]);
      raw.resultTypes = std::move(given);
      return true;
    case Types::select:
      if (given.size() != 2) return cursor_.expected("two types");
      raw.operandTypes = {given[0], given[1], given[1]};
      raw.resultTypes = {given[1]};
      return true;
    case Types::each:
      raw.resultTypes = given;
      [[fallthrough]];
    case Types::operandsOnly:
      raw.operandTypes = std::move(given);
      return true;
  }
  return false;
}

bool Parser::prettyDims(RawOp& raw, std::string_view attribute) {
  std::vector<int64_t> dims;
  if (!operandList(raw) || !keyed("dims") || !syntax().integers(dims)) return false;
  raw.set(std::string(attribute), integersAttr(dims));
  return types(raw, Types::same);
}

bool Parser::prettyDim(RawOp& raw, std::string_view attribute) {
  if (cursor_.peekSign("%") && (!operandList(raw) || !cursor_.expect(","))) return false;
  if (!cursor_.expectWord("dim") || !cursor_.expect("=")) return false;
  const auto dim = cursor_.integer();
  if (!dim) return false;
  raw.set(std::string(attribute), integerAttr(*dim));
  return types(raw, Types::same);
}

/// `%a [0:4, 0:8:2] : …`
bool Parser::prettySlice(RawOp& raw) {
  std::vector<int64_t> starts, limits, strides;
  if (!operandList(raw) || !cursor_.expect("[")) return false;
  while (!cursor_.peekSign("]")) {
    if (!starts.empty() && !cursor_.expect(",")) return false;
    const auto start = cursor_.integer();
    if (!start || !cursor_.expect(":")) return false;
    const auto limit = cursor_.integer();
    if (!limit) return false;
    int64_t stride = 1;
    if (cursor_.take(":")) {
      const auto given = cursor_.integer();
      if (!given) return false;
      stride = *given;
    }
    starts.push_back(*start);
    limits.push_back(*limit);
    strides.push_back(stride);
  }
  raw.set("start_indices", integersAttr(starts));
  raw.set("limit_indices", integersAttr(limits));
  raw.set("strides", integersAttr(strides));
  return cursor_.expect("]") && types(raw, Types::same);
}

bool Parser::prettyPad(RawOp& raw) {
  if (!operandList(raw)) return false;
  for (const auto& [key, attribute] : {std::pair{"low", "edge_padding_low"}, std::pair{"high", "edge_padding_high"},
                                       std::pair{"interior", "interior_padding"}}) {
    std::vector<int64_t> values;
    if (!keyed(key) || !syntax().integers(values)) return false;
    raw.set(attribute, integersAttr(values));
  }
  return types(raw, Types::same);
}

/// `(%a, k = 3) : …`
bool Parser::prettyRngBitGenerator(RawOp& raw) {
  if (!operandList(raw) || !keyed("algorithm")) return false;
  raw.set("rng_algorithm", textAttr(std::string(cursor_.word())));
  return types(raw, Types::same);
}

bool Parser::prettyTopK(RawOp& raw) {
  if (!cursor_.expect("(") || !operandList(raw) || !keyed("k")) return false;
  const auto k = cursor_.integer();
  if (!k) return false;
  raw.set("k", integerAttr(*k));
  return cursor_.expect(")") && types(raw, Types::same);
}

/// `[0] x [1]`
bool Parser::prettyPairs(RawOp& raw, std::string_view lhs, std::string_view rhs) {
  std::vector<int64_t> left, right;
  if (!cursor_.expect("=") || !syntax().integers(left) || !cursor_.expectWord("x") || !syntax().integers(right))
    return false;
  raw.set(std::string(lhs), integersAttr(left));
  raw.set(std::string(rhs), integersAttr(right));
  return true;
}

bool Parser::prettyDot(RawOp& raw) {
  if (!operandList(raw)) return false;
  while (cursor_.take(",")) {
    const std::string_view key = cursor_.word();
    if (key == "batching_dims") {
      if (!prettyPairs(raw, "lhs_batching_dimensions", "rhs_batching_dimensions")) return false;
    } else if (key == "contracting_dims") {
      if (!prettyPairs(raw, "lhs_contracting_dimensions", "rhs_contracting_dimensions")) return false;
    } else if (key == "precision") {
      Attr list;
      list.kind = Attr::Kind::list;
      if (!cursor_.expect("=") || !cursor_.expect("[")) return false;
      while (!cursor_.peekSign("]")) {
        if (!list.items.empty() && !cursor_.expect(",")) return false;
        list.items.push_back(textAttr(std::string(cursor_.word())));
        if (list.items.back().text.empty()) return cursor_.expected("a precision");
      }
      if (!cursor_.expect("]")) return false;
      raw.set("precision_config", std::move(list));
    } else if (key == "algorithm") {
      if (!cursor_.expect("=") || !cursor_.expect("<")) return false;
      const auto body = cursor_.balanced('>');
      if (!body || !cursor_.expect(">")) return false;
      raw.set("algorithm", textAttr(std::string(*body)));
    } else {
      return cursor_.expected("`batching_dims`, `contracting_dims`, `precision` or `algorithm`");
    }
  }
  return types(raw, Types::same);
}

/// `(%a init: %b), (%c init: %d) [applies stablehlo.add] across dimensions = [1] : … [reducer(…) {…}]`
bool Parser::prettyReduce(RawOp& raw) {
  std::vector<ValueId> inits;
  do {
    if (!cursor_.expect("(") || !operand(raw.operands.emplace_back()) || !cursor_.expectWord("init") ||
        !cursor_.expect(":") || !operand(inits.emplace_back()) || !cursor_.expect(")"))
      return false;
  } while (cursor_.take(","));
  const size_t inputs = raw.operands.size();
  raw.operands.insert(raw.operands.end(), inits.begin(), inits.end());
  std::string_view applied;
  if (cursor_.takeWord("applies")) {
    applied = cursor_.word();
    if (!applied.starts_with("stablehlo.")) return cursor_.expected("the op to reduce by");
    applied.remove_prefix(std::string_view("stablehlo.").size());
  }
  std::vector<int64_t> dims;
  if (!cursor_.expectWord("across") || !cursor_.expectWord("dimensions") || !cursor_.expect("=") ||
      !syntax().integers(dims) || !types(raw, Types::same))
    return false;
  raw.set("dimensions", integersAttr(dims));
  if (applied.empty()) return reducer(raw, inputs);
  if (raw.operandTypes.empty()) return cursor_.expected("operand types");
  const ArrayType scalar{raw.operandTypes[0].dtype, {}};
  Block& block = raw.regions.emplace_back();
  block.arguments = {newValue(scalar), newValue(scalar)};
  const ValueId result = newValue(scalar);
  block.ops.push_back(
      {.name = std::string(applied), .operands = block.arguments, .results = {result}, .place = raw.place});
  block.ops.push_back({.name = "return", .operands = {result}, .place = raw.place});
  return true;
}

/// `reducer(%a: t, %b: t) (%c: u, %d: u) {…}`: pairs of accumulator and element; the block takes all
/// accumulators, then all elements.
bool Parser::reducer(RawOp& raw, size_t inputs) {
  using Argument = std::pair<std::string, ArrayType>;
  std::vector<Argument> accumulators, elements;
  if (!cursor_.expectWord("reducer")) return false;
  for (size_t i = 0; i < inputs; ++i) {
    if (!cursor_.expect("(")) return false;
    for (auto* list : {&accumulators, &elements}) {
      if (list == &elements && !cursor_.expect(",")) return false;
      if (!cursor_.expect("%")) return false;
      std::string name(cursor_.suffixId());
      ArrayType type;
      SourcePlace unused;
      if (!cursor_.expect(":") || !syntax().arrayType(type) || !loc(unused)) return false;
      list->emplace_back(std::move(name), std::move(type));
    }
    if (!cursor_.expect(")")) return false;
  }
  accumulators.insert(accumulators.end(), elements.begin(), elements.end());
  return region(raw.regions.emplace_back(), &accumulators);
}

/// `(%iterArg = %a, …) : types cond {…} do {…}`
bool Parser::prettyWhile(RawOp& raw) {
  std::vector<std::pair<std::string, ArrayType>> arguments;
  if (!cursor_.expect("(")) return false;
  while (!cursor_.peekSign(")")) {
    if (!arguments.empty() && !cursor_.expect(",")) return false;
    if (!cursor_.expect("%")) return false;
    arguments.emplace_back(std::string(cursor_.suffixId()), ArrayType{});
    if (!cursor_.expect("=") || !operand(raw.operands.emplace_back())) return false;
  }
  if (!cursor_.expect(")")) return false;
  if (!arguments.empty() && !types(raw, Types::each)) return false;
  if (raw.operandTypes.size() != arguments.size()) return cursor_.expected("a type for each carried value");
  for (size_t i = 0; i < arguments.size(); ++i) arguments[i].second = raw.operandTypes[i];
  if (cursor_.takeWord("attributes") && !syntax().dictionary(raw.attributes)) return false;
  return cursor_.expectWord("cond") && region(raw.regions.emplace_back(), &arguments) && cursor_.expectWord("do") &&
         region(raw.regions.emplace_back(), &arguments);
}

/// `(%a) in_shardings=[…] out_shardings=[…] manual_axes={…} (%arg: t) {…} : (…) -> …`
bool Parser::prettyManual(RawOp& raw) {
  if (!cursor_.expect("(") || !operandList(raw) || !cursor_.expect(")")) return false;
  if (!cursor_.expectWord("in_shardings") || !cursor_.expect("=") || !readShardings(cursor_, raw.inShardings) ||
      !cursor_.expectWord("out_shardings") || !cursor_.expect("=") || !readShardings(cursor_, raw.outShardings) ||
      !cursor_.expectWord("manual_axes") || !cursor_.expect("=") || !readAxes(cursor_, raw.manualAxes))
    return false;
  std::vector<std::pair<std::string, ArrayType>> arguments;
  if (!cursor_.expect("(")) return false;
  while (!cursor_.peekSign(")")) {
    if (!arguments.empty() && !cursor_.expect(",")) return false;
    if (!cursor_.expect("%")) return false;
    auto& [name, type] = arguments.emplace_back();
    name = cursor_.suffixId();
    SourcePlace unused;
    if (!cursor_.expect(":") || !syntax().arrayType(type) || !loc(unused)) return false;
  }
  return cursor_.expect(")") && region(raw.regions.emplace_back(), &arguments) && types(raw, Types::same);
}

bool Parser::prettyConstant(RawOp& raw) {
  Attr value;
  if (!attributeDictionary(raw.attributes) || !syntax().attribute(value)) return false;
  if (value.kind != Attr::Kind::elements) return cursor_.expected("dense<…>");
  raw.resultTypes = {value.elementsType};
  raw.set("value", std::move(value));
  return true;
}

/// `@callee(%a, %b) {…} : (…) -> …`
bool Parser::prettyCall(RawOp& raw) {
  Attr callee;
  if (!cursor_.peekSign("@")) return cursor_.expected("`@` and what is called");
  if (!syntax().attribute(callee) || !cursor_.expect("(") || !operandList(raw) || !cursor_.expect(")")) return false;
  raw.set(raw.name == "func.call" ? "callee" : "call_target_name", std::move(callee));
  return types(raw, Types::same);
}

bool Parser::prettyOp(RawOp& raw) {
  std::string_view name = cursor_.peekWord();
  if (name.empty()) return cursor_.expected("an op");
  cursor_.word();
  if (name == "return") name = "func.return";
  if (name == "call") name = "func.call";
  raw.name = name;

  if (name == "func.return" || name == "stablehlo.return" || name == "sdy.return") {
    if (!operandList(raw)) return false;
    return raw.operands.empty() ? attributeDictionary(raw.attributes) : types(raw, Types::operandsOnly);
  }
  if (name == "func.call" || name == "stablehlo.custom_call") return prettyCall(raw);
  if (name == "stablehlo.constant") return prettyConstant(raw);
  if (name == "stablehlo.slice") return prettySlice(raw);
  if (name == "stablehlo.pad") return prettyPad(raw);
  if (name == "chlo.top_k") return prettyTopK(raw);
  if (name == "stablehlo.dot_general") return prettyDot(raw);
  if (name == "stablehlo.convolution") return prettyConvolution(raw);
  if (name == "stablehlo.cholesky") return prettyCholesky(raw);
  if (name == "stablehlo.fft") return prettyFft(raw);
  if (name == "stablehlo.rng_bit_generator") return prettyRngBitGenerator(raw);
  if (name == "stablehlo.reduce") return prettyReduce(raw);
  if (name == "stablehlo.while") return prettyWhile(raw);
  if (name == "sdy.manual_computation") return prettyManual(raw);
  if (name == "stablehlo.select") return operandList(raw) && types(raw, Types::select);
  if (name == "stablehlo.optimization_barrier") return operandList(raw) && types(raw, Types::each);
  for (const DimsForm& form : kDimsForms)
    if (form.op == name) return prettyDims(raw, form.attribute);
  for (const DimsForm& form : kDimForms)
    if (form.op == name) return prettyDim(raw, form.attribute);
  if (name == "stablehlo.dynamic_slice") {
    std::vector<int64_t> sizes;
    if (!operandList(raw) || !keyed("sizes") || !syntax().integers(sizes)) return false;
    raw.set("slice_sizes", integersAttr(sizes));
    return types(raw, Types::same);
  }
  if (name == "stablehlo.compare") {
    raw.set("comparison_direction", textAttr(std::string(cursor_.word())));
    if (!cursor_.expect(",") || !operandList(raw)) return false;
    if (cursor_.take(",")) raw.set("compare_type", textAttr(std::string(cursor_.word())));
    return types(raw, Types::same);
  }
  if (name == "stablehlo.reduce_precision") {
    if (!operandList(raw) || !keyed("format")) return false;
    const std::string format(cursor_.word());  // e8m7
    int exponent = 0, mantissa = 0;
    if (std::sscanf(format.c_str(), "e%dm%d", &exponent, &mantissa) != 2) return cursor_.expected("e<bits>m<bits>");
    raw.set("exponent_bits", integerAttr(exponent));
    raw.set("mantissa_bits", integerAttr(mantissa));
    return types(raw, Types::same);
  }
  if (name == "stablehlo.composite") {
    auto composite = cursor_.string();
    if (!composite) return false;
    raw.set("name", textAttr(std::move(*composite)));
    return operandList(raw) && types(raw, Types::same);
  }
  if (name == "sdy.sharding_constraint") {
    if (!operandList(raw)) return false;
    const size_t begin = cursor_.offset();
    if (!cursor_.expect("<") || !cursor_.balanced('>') || !cursor_.expect(">")) return false;
    raw.set("sharding_text", textAttr(std::string(cursor_.textFrom(begin))));
    return types(raw, Types::same);
  }
  if (!canBeElementwise(name)) return refuseByName(raw);
  if (!operandList(raw) || !types(raw, Types::same)) return false;
  // Only the result's type is written.
  if (name == "stablehlo.complex")
    for (ArrayType& t : raw.operandTypes) t.dtype = part_of(t.dtype);
  return true;
}

}  // namespace smalti::interop::stablehlo
