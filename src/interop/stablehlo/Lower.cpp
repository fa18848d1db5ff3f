// Converts an op as written to an op of the Program: the relevant attributes, and what is refused with which reason.
#include <array>
#include <bit>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "interop/Limits.h"
#include "interop/stablehlo/Parser.h"
#include "interop/stablehlo/Sharding.h"
#include "ir/program/PlainOps.h"

namespace smalti::interop::stablehlo {
namespace {

/// Ops of StableHLO that are known and not supported, and what to do instead.
struct Refusal {
  std::string_view name, help;
};
constexpr std::string_view kOutside = "compute it outside the exported function";
constexpr std::string_view kExport = "export the function with jax.export, which writes it as ops of StableHLO";
constexpr std::array kRefusals{
    Refusal{"stablehlo.rng", "draw random numbers with jax.random"},
    Refusal{"stablehlo.infeed", "pass the data as arguments"},
    Refusal{"stablehlo.outfeed", "return the data"},
};

std::string_view withoutDialect(std::string_view name) {
  const size_t dot = name.find('.');
  return dot == std::string_view::npos ? name : name.substr(dot + 1);
}

/// "GT" of #stablehlo<comparison_direction GT>, "DEFAULT" of #stablehlo<precision DEFAULT>, or the string itself.
std::optional<std::string> enumText(const Attr& a, const Source& source) {
  if (a.kind == Attr::Kind::string) return a.text;
  if (a.kind != Attr::Kind::opaque) return std::nullopt;
  const std::string_view body = source.text().substr(a.begin, a.end - a.begin);
  if (a.text == "stablehlo.dot_algorithm") return std::string(body);
  const size_t space = body.rfind(' ');
  return std::string(space == std::string_view::npos ? body : body.substr(space + 1));
}

std::optional<std::vector<int64_t>> integerList(const Attr& a) {
  std::vector<int64_t> values;
  if (a.kind == Attr::Kind::list) {
    for (const Attr& item : a.items) {
      if (item.kind != Attr::Kind::integer) return std::nullopt;
      values.push_back(item.integer);
    }
    return values;
  }
  // Older modules: dense<[1, 2]> : tensor<2xi64>.
  if (a.kind != Attr::Kind::elements || a.elementsType.dtype != DType::i64 || a.elementsType.shape.size() != 1 ||
      a.elementsType.elements() > 1024)
    return std::nullopt;
  for (int64_t i = 0; i < a.elementsType.elements(); ++i)
    values.push_back(a.elements.as<int64_t>()[a.elements.shape().empty() ? 0 : i]);
  return values;
}

/// [true, false], array<i1: true, false>, and of older modules dense<[true, false]> : tensor<2xi1>
std::optional<std::vector<int64_t>> booleanList(const Attr& a) {
  std::vector<int64_t> values;
  if (a.kind == Attr::Kind::list) {
    for (const Attr& item : a.items) {
      if (item.kind != Attr::Kind::boolean && item.kind != Attr::Kind::integer) return std::nullopt;
      values.push_back(item.integer != 0);
    }
    return values;
  }
  if (a.kind != Attr::Kind::elements || a.elementsType.dtype != DType::pred || a.elementsType.shape.size() != 1 ||
      a.elementsType.elements() > limits::kMaxRank)
    return std::nullopt;
  for (int64_t i = 0; i < a.elementsType.elements(); ++i)
    values.push_back(a.elements.as<uint8_t>()[a.elements.shape().empty() ? 0 : i]);
  return values;
}

/// dense<[[1, 0], [0, 2]]> : tensor<2x2xi64>, or [[1, 0], [0, 2]]
std::optional<std::vector<int64_t>> integerPairs(const Attr& a) {
  if (a.kind == Attr::Kind::list) {
    std::vector<int64_t> values;
    for (const Attr& item : a.items) {
      const auto pair = integerList(item);
      if (!pair || pair->size() != 2) return std::nullopt;
      values.insert(values.end(), pair->begin(), pair->end());
    }
    return values;
  }
  if (a.kind != Attr::Kind::elements || a.elementsType.dtype != DType::i64 || a.elementsType.shape.size() != 2 ||
      a.elementsType.shape[1] != 2 || a.elementsType.shape[0] > limits::kMaxDevices)
    return std::nullopt;
  std::vector<int64_t> values;
  for (int64_t i = 0; i < a.elementsType.elements(); ++i)
    values.push_back(a.elements.as<int64_t>()[a.elements.shape().empty() ? 0 : i]);
  return values;
}

/// dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, with each element where one stands for all.
std::optional<Array> integerMatrix(const Attr& a) {
  if (a.kind != Attr::Kind::elements || a.elementsType.dtype != DType::i64 || a.elementsType.shape.size() != 2 ||
      a.elementsType.elements() > limits::kMaxListLength)
    return std::nullopt;
  auto matrix = Array::allocate(a.elementsType);
  if (!matrix) return std::nullopt;
  for (int64_t i = 0; i < matrix->elements(); ++i)
    matrix->as<int64_t>()[i] = a.elements.as<int64_t>()[a.elements.shape().empty() ? 0 : i];
  return std::move(*matrix);
}

/// 0.5 : f32, or its bits: 0x3F000000 : f32
std::optional<Attribute> number(const Attr& a) {
  std::string_view text = a.text;
  const auto parse = [&](auto& value, auto... format) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, format...);
    return error == std::errc() && end == text.data() + text.size();
  };
  double value = 0;
  uint32_t bits = 0;
  if (!text.starts_with("0x")) return parse(value) ? std::optional<Attribute>(value) : std::nullopt;
  text.remove_prefix(2);
  if (a.suffix != "f32" || !parse(bits, 16)) return std::nullopt;
  const auto number = static_cast<double>(std::bit_cast<float>(bits));
  return std::isfinite(number) ? std::optional<Attribute>(number) : std::nullopt;
}

std::optional<Attribute> convert(const Attr& a, AttributeKind kind, const Source& source) {
  switch (kind) {
    case AttributeKind::boolean:
      if (a.kind == Attr::Kind::unit) return true;
      if (a.kind == Attr::Kind::boolean) return a.integer != 0;
      return std::nullopt;
    case AttributeKind::booleans:
      if (auto values = booleanList(a)) return std::move(*values);
      return std::nullopt;
    case AttributeKind::unit:
      if (a.kind == Attr::Kind::unit) return true;
      return std::nullopt;
    case AttributeKind::matrix:
      if (auto values = integerMatrix(a)) return std::move(*values);
      return std::nullopt;
    case AttributeKind::integer:
      if (a.kind == Attr::Kind::integer) return a.integer;
      return std::nullopt;
    case AttributeKind::number:
      if (a.kind == Attr::Kind::number) return number(a);
      return std::nullopt;
    case AttributeKind::integers:
      if (auto values = integerList(a)) return std::move(*values);
      return std::nullopt;
    case AttributeKind::pairs:
      if (auto values = integerPairs(a)) return std::move(*values);
      return std::nullopt;
    case AttributeKind::text:
      if (auto text = enumText(a, source)) return std::move(*text);
      return std::nullopt;
    case AttributeKind::texts: {
      if (a.kind != Attr::Kind::list) return std::nullopt;
      std::vector<std::string> texts;
      for (const Attr& item : a.items) {
        auto text = enumText(item, source);
        if (!text) return std::nullopt;
        texts.push_back(std::move(*text));
      }
      return texts;
    }
    case AttributeKind::elements:
      if (a.kind == Attr::Kind::elements) return a.elements;
      return std::nullopt;
  }
  return std::nullopt;
}

/// Reads a composite of CHLO as the op of that name: top_k, whose decomposition sorts the whole array, and functions of
/// one float, whose decompositions are many ops and less exact. Those of complex numbers keep to the decomposition.
void readCompositeAsOp(RawOp& raw) {
  const Attr* name = raw.find("name");
  if (raw.name != "stablehlo.composite" || !name || !name->text.starts_with("chlo.") ||
      !findPlainOp(withoutDialect(name->text)))
    return;
  const Attr* attributes = raw.find("composite_attributes");
  const Attr* k = name->text == "chlo.top_k" && attributes ? attributes->find("k") : nullptr;
  const bool isFloatFunction = !attributes && raw.operandTypes.size() == 1 && is_float(raw.operandTypes[0].dtype);
  if (!k && !isFloatFunction) return;
  const Attr count = k ? *k : Attr{};
  raw.name = name->text;
  raw.attributes.clear();
  if (k) raw.set("k", count);
}

}  // namespace

bool Parser::refuse(const RawOp& raw, std::string code, std::string message, std::string help) {
  return cursor_.error({.code = std::move(code),
                        .message = std::move(message),
                        .place = raw.place,
                        .have = fmt::format("`{}`", source_.quote(raw.at)),
                        .help = std::move(help)},
                       raw.at);
}

bool Parser::refuseByName(const RawOp& raw) {
  std::string_view help = raw.name.starts_with("chlo.") ? kExport : kOutside;
  for (const Refusal& r : kRefusals)
    if (r.name == raw.name) help = r.help;
  return refuse(raw, "SM2002", fmt::format("op '{}' is not supported around kernels", raw.name), std::string(help));
}

const PlainOp* findArrayOp(std::string_view name) {
  const PlainOp* op = findPlainOp(name);
  return op ? op : findSymbolicOp(name);
}

bool canBeElementwise(std::string_view name) {
  const PlainOp* op = findArrayOp(withoutDialect(name));
  return (name.starts_with("stablehlo.") || name.starts_with("chlo.")) && op && !op->isCustomCall();
}

/// #stablehlo.dot<…> and the like hold attributes of their own: one flat list is easier to use.
bool Parser::flatten(RawOp& raw) {
  Entries flat;
  for (auto& [key, value] : raw.attributes) {
    if (value.kind == Attr::Kind::opaque && value.text.starts_with("stablehlo.") &&
        value.text != "stablehlo.dot_algorithm" && value.begin < value.end) {
      Cursor inner(source_, value.begin, value.end);
      SyntaxReader reader(inner, aliases_, budget_);
      if (value.text == "stablehlo.conv" && !inner.takeWord("raw")) {
        if (convDimensionNumbers(inner, flat)) continue;
        return cursor_.error(inner.takeError());
      }
      if (reader.entries(flat, '\0', 0)) continue;
      return cursor_.error(inner.takeError());
    }
    flat.emplace_back(std::move(key), std::move(value));
  }
  raw.attributes = std::move(flat);
  return true;
}

bool Parser::lowerAttributes(const RawOp& raw, Op& op) {
  for (const AttributeRule& rule : findArrayOp(op.name)->attributes) {
    const Attr* given = raw.find(rule.name);
    if (!given) {
      if (!rule.required) continue;
      return refuse(raw, "SM2007", fmt::format("{} has no attribute '{}'", raw.name, rule.name),
                    "export the module again");
    }
    auto value = convert(*given, rule.kind, source_);
    if (!value)
      return refuse(raw, "SM2007",
                    fmt::format("attribute '{}' of {} has an unexpected value: {}", rule.name, raw.name,
                                print(*given, source_).substr(0, 100)),
                    "export the module again");
    op.attributes.emplace_back(rule.name, std::move(*value));
  }
  return true;
}

bool Parser::lower(RawOp& raw, Op& op) {
  op.place = raw.place;
  op.operands = raw.operands;
  readCompositeAsOp(raw);
  const std::string_view name = raw.name;
  if (name == "func.return" || name == "stablehlo.return" || name == "sdy.return" || name == "func.call" ||
      name == "stablehlo.composite") {
    op.name = name == "func.call" || name == "stablehlo.composite" ? "call" : "return";
    if (op.name == "return") return true;
    const Attr* callee = raw.find(name == "func.call" ? "callee" : "decomposition");
    if (!callee || callee->kind != Attr::Kind::symbol)
      return refuse(raw, "SM2007", fmt::format("{} does not say what it calls", name), "export the module again");
    op.callee = callee->text;
    return true;
  }
  if (name == "stablehlo.custom_call") return lowerCustomCall(raw, op);
  op.regions = std::move(raw.regions);
  if (name == "sdy.manual_computation") {
    op.name = "manual_computation";
    op.attributes = {{"in_shardings", std::move(raw.inShardings)},
                     {"out_shardings", std::move(raw.outShardings)},
                     {"manual_axes", std::move(raw.manualAxes)}};
    return true;
  }
  if (name == "sdy.sharding_constraint") {
    op.name = "sharding_constraint";
    const Attr* text = raw.find("sharding_text");
    const Attr* generic = raw.find("sharding");
    if (!text && !generic) return refuse(raw, "SM2007", "a sharding constraint without sharding", "export again");
    op.attributes.emplace_back(
        "sharding",
        text ? text->text : fmt::format("<{}>", source_.text().substr(generic->begin, generic->end - generic->begin)));
    return true;
  }
  if (!canBeElementwise(name)) return refuseByName(raw);
  op.name = withoutDialect(name);
  return flatten(raw) && lowerAttributes(raw, op);
}

}  // namespace smalti::interop::stablehlo
