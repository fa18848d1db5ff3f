// Ops as text: in pretty form where JAX users are familiar with it, otherwise in generic form.
#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "interop/Interop.h"
#include "interop/stablehlo/Syntax.h"
#include "interop/stablehlo/Writer.h"

namespace smalti::interop::stablehlo {
namespace {

std::string dialectName(std::string_view op) { return fmt::format("{}.{}", findPlainOp(op)->dialect, op); }

std::string list(std::span<const int64_t> values) { return fmt::format("[{}]", fmt::join(values, ", ")); }

std::string denseArray(std::span<const int64_t> values) {
  return values.empty() ? "array<i64>" : fmt::format("array<i64: {}>", fmt::join(values, ", "));
}

/// dense<[[1, 0], [0, 2]]> : tensor<2x2xi64>
std::string denseRows(std::span<const int64_t> values) {
  std::vector<std::string> rows;
  for (size_t i = 0; i + 1 < values.size(); i += 2) rows.push_back(list(values.subspan(i, 2)));
  return rows.empty() ? "dense<> : tensor<0x2xi64>"
                      : fmt::format("dense<[{}]> : tensor<{}x2xi64>", fmt::join(rows, ", "), rows.size());
}

std::string rowMajorLayouts(const std::vector<ArrayType>& types) {
  std::vector<std::string> layouts;
  for (const ArrayType& t : types) {
    const auto rank = static_cast<int64_t>(t.shape.size());
    std::vector<int64_t> order;
    for (int64_t d = rank - 1; d >= 0; --d) order.push_back(d);
    const std::string text = rank == 0 ? "" : rank == 1 ? "0" : list(order);
    layouts.push_back(fmt::format("dense<{}> : tensor<{}xindex>", text, rank));
  }
  return fmt::format("[{}]", fmt::join(layouts, ", "));
}

std::string printAttribute(const AttributeRule& rule, const Attribute& value, const ArrayType& result) {
  const auto enumValue = [&](const std::string& text) {
    if (rule.name == "algorithm") return fmt::format("#stablehlo.dot_algorithm<{}>", text);
    return rule.enumName.empty() ? quotedText(text) : fmt::format("#stablehlo<{} {}>", rule.enumName, text);
  };
  switch (rule.kind) {
    case AttributeKind::boolean:
      return std::get<bool>(value) ? "true" : "false";
    case AttributeKind::booleans: {
      std::vector<std::string_view> values;
      for (const int64_t v : std::get<std::vector<int64_t>>(value)) values.push_back(v ? "true" : "false");
      return values.empty() ? "array<i1>" : fmt::format("array<i1: {}>", fmt::join(values, ", "));
    }
    case AttributeKind::integer:
      return fmt::format("{}{}", std::get<int64_t>(value), rule.group.empty() ? " : i64" : "");
    case AttributeKind::integers:
      return rule.group.empty() ? denseArray(std::get<std::vector<int64_t>>(value))
                                : list(std::get<std::vector<int64_t>>(value));
    case AttributeKind::number:
      return fmt::format("{:#} : f32", std::get<double>(value));
    case AttributeKind::pairs:
      return denseRows(std::get<std::vector<int64_t>>(value));
    case AttributeKind::text:
      return enumValue(std::get<std::string>(value));
    case AttributeKind::texts: {
      std::vector<std::string> texts;
      for (const std::string& t : std::get<std::vector<std::string>>(value)) texts.push_back(enumValue(t));
      return fmt::format("[{}]", fmt::join(texts, ", "));
    }
    case AttributeKind::elements:
      return printDense(std::get<Array>(value), result);
    case AttributeKind::matrix:
      return printDense(std::get<Array>(value), std::get<Array>(value).type());
    case AttributeKind::unit:
      return "";
  }
  return "";
}

/// #stablehlo.MNEMONIC<…> of an attribute that groups others. A convolution's is short by default.
std::string_view groupMnemonic(std::string_view group, std::string_view op) {
  if (group == "dot_dimension_numbers") return "dot<";
  if (group == "channel_handle") return "channel_handle<";
  if (op == "convolution") return "conv<raw ";
  return group == "scatter_dimension_numbers" ? "scatter<" : "gather<";
}

}  // namespace

void Writer::plain(const Op& op, const PlainOp& row, int indent) {
  if (row.isCustomCall()) return arrayCall(op, row);
  if (!pretty(op)) generic(op, row, indent);
}

void Writer::arrayCall(const Op& op, const PlainOp& row) {
  std::vector<std::string> attributes, configuration;
  for (const Block& block : op.regions)
    attributes.push_back(fmt::format("called_computations = [{}]", printSymbol(block.ops.front().callee)));
  for (const AttributeRule& rule : row.attributes)
    if (const Attribute* value = op.find(rule.name))
      (rule.group.empty() ? attributes : configuration)
          .push_back(fmt::format("{} = {}", rule.name, printAttribute(rule, *value, {})));
  if (!configuration.empty())
    attributes.push_back(fmt::format("{} = {{{}}}", row.attributes[0].group, fmt::join(configuration, ", ")));
  out_ += fmt::format("stablehlo.custom_call @{}({}) ", op.name, operands(op));
  if (!attributes.empty()) out_ += fmt::format("{{{}}} ", fmt::join(attributes, ", "));
  out_ += ": " + functionType(op);
}

bool Writer::pretty(const Op& op) {
  const TypedOp typed{op, *function_};
  const std::string name = dialectName(op.name);
  const auto allOneType = [&] {
    return op.results.size() == 1 && !op.operands.empty() &&
           std::all_of(op.operands.begin(), op.operands.end(), [&](ValueId v) { return type(v) == typed.result(); });
  };
  if (op.name == "constant") {
    out_ += fmt::format("{} {}", name, printDense(std::get<Array>(*op.find("value")), typed.result()));
  } else if (op.name == "iota") {
    out_ += fmt::format("{} dim = {} : {}", name, typed.integer("iota_dimension"), types(op.results));
  } else if (op.name == "broadcast_in_dim" || op.name == "transpose") {
    const auto dims = typed.integers(op.name == "transpose" ? "permutation" : "broadcast_dimensions");
    out_ += fmt::format("{} {}, dims = {} : {}", name, operands(op), list(dims), functionType(op));
  } else if (op.name == "convert" || op.name == "reshape" || op.name == "bitcast_convert") {
    out_ += fmt::format("{} {} : {}", name, operands(op), functionType(op));
  } else if (op.name == "compare") {
    const std::string_view kind = typed.text("compare_type");
    out_ += fmt::format("{} {}, {}{}{} : {}", name, typed.text("comparison_direction"), operands(op),
                        kind.empty() ? "" : ", ", kind, functionType(op));
  } else if (op.name == "select") {
    out_ += fmt::format("{} {} : {}, {}", name, operands(op), printType(typed.operand(0)), types(op.results));
  } else if (op.name == "slice") {
    std::vector<std::string> ranges;
    const auto starts = typed.integers("start_indices"), limits = typed.integers("limit_indices"),
               strides = typed.integers("strides");
    for (size_t d = 0; d < starts.size(); ++d)
      ranges.push_back(strides[d] == 1 ? fmt::format("{}:{}", starts[d], limits[d])
                                       : fmt::format("{}:{}:{}", starts[d], limits[d], strides[d]));
    out_ += fmt::format("{} {} [{}] : {}", name, operands(op), fmt::join(ranges, ", "), functionType(op));
  } else if (op.name == "reduce_precision") {
    out_ += fmt::format("{} {}, format = e{}m{} : {}", name, operands(op), typed.integer("exponent_bits"),
                        typed.integer("mantissa_bits"), types(op.results));
  } else if (op.attributes.empty() && op.regions.empty() && allOneType() && name.starts_with("stablehlo.") &&
             op.name != "optimization_barrier") {
    out_ += fmt::format("{} {} : {}", name, operands(op), types(op.results));
  } else {
    return false;
  }
  return true;
}

void Writer::generic(const Op& op, const PlainOp& row, int indent) {
  std::vector<std::string> properties;
  std::vector<std::pair<std::string_view, std::vector<std::string>>> groups;
  for (const AttributeRule& rule : row.attributes) {
    const Attribute* value = op.find(rule.name);
    if (!value) continue;
    std::string text(rule.name);
    if (rule.kind != AttributeKind::unit)
      text += " = " + printAttribute(rule, *value, op.results.empty() ? ArrayType{} : type(op.results[0]));
    if (rule.group.empty()) {
      properties.push_back(text);
      continue;
    }
    if (groups.empty() || groups.back().first != rule.group)
      groups.emplace_back(rule.group, std::vector<std::string>{});
    groups.back().second.push_back(text);
  }
  for (const auto& [group, parts] : groups)
    properties.push_back(
        fmt::format("{} = #stablehlo.{}{}>", group, groupMnemonic(group, op.name), fmt::join(parts, ", ")));
  out_ += fmt::format("\"{}\"({})", dialectName(op.name), operands(op));
  if (!properties.empty()) out_ += fmt::format(" <{{{}}}>", fmt::join(properties, ", "));
  regions(op, indent);
  out_ += " : " + functionType(op);
}

void Writer::kernelCall(const Op& op) {
  const KernelPackage& kernel = program_.kernels[op.kernel];
  KernelConfig config = kernel.config;
  if (!config.serializationFormat) {  // a bare kernel had no call that said it; what is written is the stable form
    config.serializationFormat = 1;
    config.needsLayoutPasses = config.needsLayoutPasses.value_or(true);
  }
  std::vector<std::string> attributes{"backend_config = " + quotedText(printBackendConfig(config, bodies_[op.kernel]))};
  if (kernel.hasSideEffect) attributes.push_back("has_side_effect = true");
  attributes.push_back("kernel_name = " + quotedText(kernel.name));
  std::vector<std::string> frontend;
  for (const auto& [key, text] : kernel.frontendAttributes)
    frontend.push_back(fmt::format("{} = {}", printKey(key), quotedText(text)));
  if (!frontend.empty())
    attributes.push_back(fmt::format("mhlo.frontend_attributes = {{{}}}", fmt::join(frontend, ", ")));
  attributes.push_back("operand_layouts = " + rowMajorLayouts(kernel.operands));
  std::vector<std::string> aliases;
  for (const Alias& a : kernel.aliases)
    aliases.push_back(fmt::format(
        "#stablehlo.output_operand_alias<output_tuple_indices = [{}], operand_index = {}, operand_tuple_indices = []>",
        kernel.results.size() == 1 ? "" : std::to_string(a.output), a.operand));
  if (!aliases.empty()) attributes.push_back(fmt::format("output_operand_aliases = [{}]", fmt::join(aliases, ", ")));
  attributes.push_back("result_layouts = " + rowMajorLayouts(kernel.results));
  out_ += fmt::format("stablehlo.custom_call @tpu_custom_call({}) {{{}}} : {}", operands(op),
                      fmt::join(attributes, ", "), functionType(op));
}

}  // namespace smalti::interop::stablehlo
