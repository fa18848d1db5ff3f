#include "interop/vhlo/ArtifactText.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "interop/Limits.h"
#include "interop/stablehlo/Syntax.h"
#include "interop/vhlo/AttributeText.h"
#include "interop/vhlo/Properties.h"

namespace smalti::interop::vhlo {
namespace {

using bytecode::OpRecord;
using bytecode::RegionRecord;

using Named = std::vector<std::pair<std::string, std::string>>;  ///< attributes: name, text

/// "dot_general" of "dot_general_v2".
std::string_view withoutVersion(std::string_view name) {
  const size_t at = name.rfind("_v");
  const bool versioned = at != std::string_view::npos && at + 2 < name.size() &&
                         name.find_first_not_of("0123456789", at + 2) == std::string_view::npos;
  return versioned ? name.substr(0, at) : name;
}

class TextWriter {
 public:
  TextWriter(const bytecode::BodyModel& model, bytecode::ReadState& state)
      : model_(model), state_(state), attributes_(model, state) {}

  std::string run() {
    const OpRecord& module = model_.root;
    if (dialectOf(module) != "builtin" || nameOf(module) != "module" || module.regions.size() != 1) {
      fail(module, "SM2105", "the artifact does not hold a module", {}, std::string(nameOf(module).substr(0, 40)));
      return "";
    }
    Named properties = propertiesOf(module);
    out_ = "module";
    for (const auto& [name, text] : properties)
      if (name == "sym_name" && text.size() > 2) out_ += fmt::format(" @{}", text);  // a symbol may be quoted
    if (const Named entries = dictionaryOf(module); !entries.empty())
      out_ += fmt::format(" attributes {}", braced(entries));
    out_ += " {\n";
    values_.resize(module.regions[0].numValues);
    for (const OpRecord& op : module.regions[0].ops) write(op, /*parent=*/"");
    out_ += "}\n";
    return std::move(out_);
  }

 private:
  struct Value {
    std::string name;
    uint32_t type = 0;
  };

  std::string_view dialectOf(const OpRecord& op) const { return model_.dialects[model_.opNames[op.name].dialect]; }
  std::string_view nameOf(const OpRecord& op) const { return model_.opNames[op.name].name; }

  void fail(const OpRecord& op, const char* code, std::string message, std::string need, std::string have) {
    state_.fail(code, op.offset, std::move(message), std::move(need), std::move(have));
  }

  /// "stablehlo.add", "func.func".
  std::string textName(const OpRecord& op, std::string_view parent) const {
    const std::string_view dialect = dialectOf(op);
    if (dialect != "vhlo") return fmt::format("{}.{}", dialect, nameOf(op));
    const std::string_view name = withoutVersion(nameOf(op));
    const bool ofFunc = name == "func" || name == "call" || (name == "return" && parent == "func.func");
    return fmt::format("{}.{}", ofFunc ? "func" : "stablehlo", name);
  }

  Named propertiesOf(const OpRecord& op) {
    Named named;
    if (op.properties < 0) return named;
    const bytecode::PropertiesEntry& stored = model_.properties[static_cast<size_t>(op.properties)];
    bytecode::Cursor c(state_, stored.bytes, stored.offset);
    const auto expected = vhlo::propertiesOf(dialectOf(op), nameOf(op));
    if (expected.empty()) return named;  // of an op that no Program holds: refused by its name
    for (const Property& p : expected) {
      const uint64_t index = c.varint("an op's property");
      if (p.optional && (index & 1) == 0) continue;
      const uint64_t attribute = p.optional ? index >> 1 : index;
      if (c.ok() && attribute >= model_.attributes.size())
        c.fail("SM2101", fmt::format("the {} refers to an attribute it does not have", state_.what()));
      if (!c.ok()) return named;
      named.emplace_back(p.name, textOf(p.name, static_cast<uint32_t>(attribute)));
    }
    c.expectEnd("an op's properties");
    return named;
  }

  Named dictionaryOf(const OpRecord& op) {
    Named named;
    if (op.attributes < 0) return named;
    for (auto& [name, attribute] : attributes_.dictionary(static_cast<uint32_t>(op.attributes)))
      named.emplace_back(name, textOf(name, attribute));
    return named;
  }

  /// VHLO has strings where StableHLO has symbols.
  std::string textOf(std::string_view name, uint32_t attribute) {
    const std::string& text = attributes_.attribute(attribute);
    const bool isSymbol = name == "callee" || name == "decomposition";
    if (isSymbol && text.starts_with('"')) return stablehlo::printSymbol(attributes_.string(attribute));
    return text;
  }

  /// Attributes that StableHLO spells differently, or lacks.
  static void respell(std::string_view op, Named& named) {
    const auto find = [&](std::string_view name) {
      return std::find_if(named.begin(), named.end(), [&](const auto& n) { return n.first == name; });
    };
    const auto drop = [&](std::string_view name) {
      if (const auto found = find(name); found != named.end()) named.erase(found);
    };
    if (op == "func.func")
      if (const auto visibility = find("sym_visibility"); visibility != named.end() && visibility->second == "\"\"")
        named.erase(visibility);
    if (op == "stablehlo.dot_general") {
      constexpr std::string_view kParts[] = {
          "lhs_precision_type",  "rhs_precision_type",       "accumulation_type",           "lhs_component_count",
          "rhs_component_count", "num_primitive_operations", "allow_imprecise_accumulation"};
      std::vector<std::string> algorithm;
      for (std::string_view part : kParts) {
        const auto found = find(part);
        if (found == named.end()) continue;
        // Numbers stand without their type there.
        if (!found->second.empty())
          algorithm.push_back(fmt::format("{} = {}", part, found->second.substr(0, found->second.find(" : "))));
        named.erase(found);
      }
      if (!algorithm.empty())
        named.emplace_back("algorithm", fmt::format("#stablehlo.dot_algorithm<{}>", fmt::join(algorithm, ", ")));
    }
    if (const auto channel = find("channel_id"); channel != named.end()) {
      const std::string number = channel->second.substr(0, channel->second.find(" : "));
      named.erase(channel);
      if (number != "0")
        named.emplace_back("channel_handle", fmt::format("#stablehlo.channel_handle<handle = {}, type = 0>", number));
    }
    if (const auto global = find("use_global_device_ids"); global != named.end())
      global->second = global->second == "true" ? "unit" : "";
    drop("result_accuracy");
    std::erase_if(named, [](const auto& n) { return n.second.empty(); });
  }

  static std::string braced(const Named& named) {
    std::string text = "{";
    for (const auto& [name, value] : named)
      text += fmt::format("{}{} = {}", text.size() > 1 ? ", " : "", stablehlo::printKey(name), value);
    return text + "}";
  }

  /// Null after a failure.
  const Value* valueOf(const OpRecord& op, uint64_t number) {
    if (number < values_.size() - base_ && !values_[base_ + number].name.empty()) return &values_[base_ + number];
    fail(op, "SM2101", fmt::format("the {} refers to a value it does not have", state_.what()),
         fmt::format("an index below {}", values_.size() - base_), fmt::format("{}", number));
    return nullptr;
  }

  /// Ops of sdy have MLIR's types, those around them VHLO's: as text both are the same, and so are the values.
  void cast(const OpRecord& op) {
    if (op.operands.size() != 1 || op.resultTypes.size() != 1)
      return fail(op, "SM2105", "a cast has other than one operand and one result", {}, {});
    const Value* operand = valueOf(op, op.operands[0]);
    if (!operand) return;
    const std::string from = attributes_.type(operand->type), to = attributes_.type(op.resultTypes[0]);
    if (from != to) return fail(op, "SM2105", "a cast changes a type", from.substr(0, 40), to.substr(0, 40));
    define(std::string(operand->name), op.resultTypes[0]);
  }

  void write(const OpRecord& op, std::string_view parent) {
    if (!state_.ok() || tooLarge(op)) return;
    const std::string name = textName(op, parent);
    if (name == "builtin.unrealized_conversion_cast") return cast(op);
    // Older artifacts have properties in the dictionary: all in one place is read as well.
    Named named = propertiesOf(op), discardable = dictionaryOf(op);
    named.insert(named.end(), std::make_move_iterator(discardable.begin()), std::make_move_iterator(discardable.end()));
    respell(name, named);

    std::vector<std::string> operands, operandTypes, resultTypes;
    for (const uint64_t value : op.operands) {
      const Value* v = valueOf(op, value);
      if (!v) return;
      operands.push_back(v->name);
      operandTypes.push_back(attributes_.type(v->type));
    }
    std::string results;
    if (!op.resultTypes.empty()) {
      const uint64_t number = nextName_++;
      const bool several = op.resultTypes.size() > 1;
      results = several ? fmt::format("%{}:{} = ", number, op.resultTypes.size()) : fmt::format("%{} = ", number);
      for (size_t i = 0; i < op.resultTypes.size(); ++i) {
        define(several ? fmt::format("%{}#{}", number, i) : fmt::format("%{}", number), op.resultTypes[i]);
        resultTypes.push_back(attributes_.type(op.resultTypes[i]));
      }
    }
    out_ += fmt::format("{}\"{}\"({})", results, name, fmt::join(operands, ", "));
    if (!named.empty()) out_ += fmt::format(" <{}>", braced(named));
    if (!op.regions.empty()) regions(op, name);
    out_ += fmt::format(" : ({}) -> ", fmt::join(operandTypes, ", "));
    out_ += resultTypes.size() == 1 ? resultTypes[0] : fmt::format("({})", fmt::join(resultTypes, ", "));
    out_ += fmt::format(" {}\n", attributes_.location(op.location));
  }

  void regions(const OpRecord& op, std::string_view name) {
    const size_t outerBase = base_, outerNext = next_, before = values_.size();
    out_ += " (";
    for (size_t i = 0; i < op.regions.size() && state_.ok(); ++i) {
      const RegionRecord& region = op.regions[i];
      // Numbers of a region begin behind all of the one around it, those of later ops too.
      if (op.isolated) base_ = before;
      next_ = before;
      values_.resize(before + region.numValues);
      out_ += i ? ", {\n" : "{\n";
      std::string arguments;
      for (const bytecode::BlockArgument& a : region.arguments) {
        const std::string argument = fmt::format("%{}", nextName_++);
        define(argument, a.type);
        arguments += fmt::format("{}{}: {}", arguments.empty() ? "" : ", ", argument, attributes_.type(a.type));
      }
      if (!arguments.empty()) out_ += fmt::format("^bb0({}):\n", arguments);
      for (const OpRecord& inner : region.ops) write(inner, name);
      out_ += "}";
      values_.resize(before);
      base_ = outerBase;
      next_ = outerNext;
    }
    out_ += ")";
  }

  /// The container's reader has counted the values of each region.
  void define(std::string name, uint32_t type) { values_[next_++] = {std::move(name), type}; }

  bool tooLarge(const OpRecord& op) {
    if (out_.size() <= limits::kMaxTextBytes) return false;
    fail(op, "SM2106", fmt::format("the {} is too large", state_.what()),
         fmt::format("at most {} bytes as text", limits::kMaxTextBytes), "more");
    return true;
  }

  const bytecode::BodyModel& model_;
  bytecode::ReadState& state_;
  AttributeText attributes_;
  std::string out_;
  /// The values in scope, by number from `base_` on; those without a name are not yet defined. `next_` is the next to
  /// be defined.
  std::vector<Value> values_;
  size_t base_ = 0, next_ = 0;
  uint64_t nextName_ = 0;
};

}  // namespace

std::string artifactText(const bytecode::BodyModel& model, bytecode::ReadState& state) {
  return TextWriter(model, state).run();
}

}  // namespace smalti::interop::vhlo
