#include "lang/print/Print.h"

#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lang/refs/Indexer.h"
#include "lang/refs/SpaceText.h"

namespace smalti::lang {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kComparisons{
    {{"EQ", "eq"}, {"NE", "ne"}, {"LT", "lt"}, {"LE", "le"}, {"GT", "gt"}, {"GE", "ge"}}};

std::string_view comparison(std::string_view direction) {
  for (const auto& [from, to] : kComparisons)
    if (from == direction) return to;
  return direction;
}

std::string longName(DType t) {
  const std::string_view n = name(t);
  if (t == DType::pred) return "bool";
  if (t == DType::bf16) return "bfloat16";
  if (n.starts_with("f8") || n.starts_with("f4")) return fmt::format("float{}", n.substr(1));
  const std::string_view kind = n[0] == 'f' ? "float" : n[0] == 'u' ? "uint" : "int";
  return t == DType::index || is_semaphore(t) ? std::string(n) : fmt::format("{}{}", kind, n.substr(1));
}

class Printer {
 public:
  explicit Printer(const TracedFunction& traced) : traced_(traced), names_(traced.function.values.size()) {}

  std::string run() {
    std::string text = "{ lambda ;";
    for (const ValueId v : traced_.function.arguments) text += fmt::format(" {}:{}", define(v), type(v));
    text += ". let\n";
    ops(traced_.function.ops, 4, text);
    return text + "  in () }\n";
  }

 private:
  std::string& define(ValueId v) {
    int n = next_++;
    std::string name;
    for (; n >= 0; n = n / 26 - 1) name.insert(name.begin(), static_cast<char>('a' + n % 26));
    return names_[v] = name;
  }
  std::string type(ValueId v) const {
    const ArrayType& t = traced_.function.values[v];
    if (!traced_.refs[v])
      return fmt::format("{}[{}]", t.dtype == DType::pred ? "bool" : name(t.dtype), fmt::join(t.shape, ","));
    return fmt::format("Ref{}{{{}[{}]}}", space(*traced_.refs[v]), longName(t.dtype), fmt::join(t.shape, ","));
  }
  static std::string space(MemorySpace s) {
    const std::string_view text = spaceText(s);
    return text == "vmem" ? "" : fmt::format("<{}>", text);
  }
  std::string use(ValueId v) const { return names_[v].empty() ? fmt::format("_{}", v) : names_[v]; }

  std::string index(const Op& op) const {
    const auto* code = op.find("index");
    const ArrayType& of = traced_.function.values[op.operands[0]];
    std::vector<std::string> parts;
    size_t dynamic = 1;
    size_t axis = 0;
    bool whole = true;
    for (const AxisIndex& a : decodeIndex(std::get<std::vector<int64_t>>(*code))) {
      const std::string start = a.dynamicStart ? use(op.operands[dynamic++]) : fmt::format("{}", a.start);
      const std::string size = a.dynamicSize ? use(op.operands[dynamic++]) : fmt::format("{}", a.size);
      const bool all =
          a.isSlice && !a.dynamicStart && !a.dynamicSize && a.start == 0 && a.stride == 1 && a.size == of.shape[axis];
      whole = whole && all;
      parts.push_back(all          ? ":"
                      : !a.isSlice ? start
                                   : fmt::format("{}:{}+{}{}", start, start, size,
                                                 a.stride == 1 ? "" : fmt::format(":{}", a.stride)));
      ++axis;
    }
    return whole ? "[...]" : fmt::format("[{}]", fmt::join(parts, ","));
  }

  static std::string attribute(const Attribute& a) {
    return std::visit(
        [](const auto& v) -> std::string {
          using T = std::decay_t<decltype(v)>;
          if constexpr (std::is_same_v<T, bool>)
            return v ? "True" : "False";
          else if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, double>)
            return fmt::format("{}", v);
          else if constexpr (std::is_same_v<T, std::string>)
            return v;
          else if constexpr (std::is_same_v<T, std::vector<int64_t>>)
            return fmt::format("({})", fmt::join(v, ", "));
          else if constexpr (std::is_same_v<T, std::vector<std::string>>)
            return fmt::format("({})", fmt::join(v, ", "));
          else if constexpr (std::is_same_v<T, Array>)
            return element(v);
          else
            return "";
        },
        a);
  }
  static std::string element(const Array& a) {
    switch (a.dtype()) {
      case DType::f32:
        return fmt::format("{:#}", *a.as<float>());
      case DType::i32:
        return fmt::format("{}", *a.as<int32_t>());
      case DType::pred:
        return *a.as<uint8_t>() ? "True" : "False";
      default:
        return a.type().str();
    }
  }

  void ops(const std::vector<Op>& list, int indent, std::string& text) {
    for (const Op& op : list) {
      if (op.name == "return") {
        if (indent > 4 && !op.operands.empty()) {
          text += std::string(indent, ' ') + "yield";
          for (const ValueId v : op.operands) text += " " + use(v);
          text += "\n";
        }
        continue;
      }
      if (op.name == "constant") {  // shown where it is used
        names_[op.results[0]] = fmt::format("{}:{}", element(std::get<Array>(*op.find("value"))), type(op.results[0]));
        continue;
      }
      text += std::string(indent, ' ');
      if (op.name == "swap") {
        const bool masked = op.find("masked") != nullptr;
        const size_t value = op.operands.size() - (masked ? 2 : 1);
        text += fmt::format("{}{} <- {}{}\n", use(op.operands[0]), index(op), use(op.operands[value]),
                            masked ? " mask=" + use(op.operands.back()) : "");
        continue;
      }
      std::string left;
      for (const ValueId v : op.results) left += fmt::format("{}:{} ", define(v), type(v));
      if (op.name == "get") {
        text += fmt::format("{}<- {}{}\n", left, use(op.operands[0]), index(op));
        continue;
      }
      if (!left.empty()) left += "= ";
      const auto* direction = op.find("comparison_direction");
      text += left;
      text += direction ? comparison(std::get<std::string>(*direction)) : jaxName(op.name);
      std::vector<std::string> shown;
      for (const auto& [key, value] : op.attributes)
        if (key != "comparison_direction" && key != "compare_type" && key != "index")
          shown.push_back(fmt::format("{}={}", key, attribute(value)));
      if (!shown.empty()) text += fmt::format("[{}]", fmt::join(shown, " "));
      if (op.find("index") && !op.operands.empty())
        text += fmt::format(" {}{}", use(op.operands[0]), index(op));
      else
        for (const ValueId v : op.operands) text += " " + use(v);
      text += "\n";
      for (const Block& block : op.regions) {
        text += std::string(indent, ' ') + "{";
        for (const ValueId v : block.arguments) text += fmt::format(" {}:{}", define(v), type(v));
        text += block.arguments.empty() ? "\n" : " .\n";
        ops(block.ops, indent + 2, text);
        text += std::string(indent, ' ') + "}\n";
      }
    }
  }

  const TracedFunction& traced_;
  std::vector<std::string> names_;
  int next_ = 0;
};

}  // namespace

std::string print(const TracedFunction& function) { return Printer(function).run(); }
std::string print(const TracedKernel& kernel) { return print(kernel.body); }

std::string_view jaxName(std::string_view op) {
  const OpRecord* record = findOp(op);
  return record ? record->shownName() : op;
}

}  // namespace smalti::lang
