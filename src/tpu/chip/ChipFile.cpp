// Reads chips/*.toml. A key is `key = value`, from the section's `source`, or `key = { value = …, source = "…" }`.
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include "base/Text.h"
#include "tpu/chip/ChipSchema.h"

namespace smalti::tpu {
namespace {

SourcePlace placeInFile(const std::string& file, const toml::source_region& region) {
  return {file, static_cast<int>(region.begin.line), static_cast<int>(region.begin.column)};
}

class Reader {
 public:
  Reader(const toml::table& file, const std::string& name) : file_(file), name_(name) {}

  Result<Chip> read() {
    text("name", chip_.name);
    text("title", chip_.title);
    for (const auto& [key, node] : file_) section(key, node);
    for (const ChipKey& row : chipSchema())
      if (!seen_.contains(path(row)))
        add(file_.source(), fmt::format("the chip lacks '{}'", path(row)), std::string(row.help), "",
            fmt::format("[{}] of a chip that Smalti comes with has it: smalti chips v5e --toml", row.section));
    if (found_.empty())
      for (const Contradiction& c : contradictionsOf(chip_))
        add(file_[c.section][c.key].node()->source(), c.message, c.need, fmt::format("{}.{}", c.section, c.key));
    if (found_.empty()) return std::move(chip_);
    Diagnostic first = std::move(found_.front());
    first.related.assign(std::make_move_iterator(found_.begin() + 1), std::make_move_iterator(found_.end()));
    return fail(std::move(first));
  }

 private:
  static std::string path(const ChipKey& row) { return fmt::format("{}.{}", row.section, row.key); }

  void add(const toml::source_region& at, std::string message, std::string need, std::string have,
           std::string help = {}) {
    found_.push_back({.code = "SM1041",
                      .message = std::move(message),
                      .place = placeInFile(name_, at),
                      .need = std::move(need),
                      .have = std::move(have),
                      .help = std::move(help)});
  }

  void text(std::string_view key, std::string& out) {
    const auto value = file_[key].value<std::string>();
    if (value && !value->empty())
      out = *value;
    else
      add(file_.source(), fmt::format("the chip lacks '{}'", key), "a text", "");
  }

  static bool isSection(std::string_view name) {
    for (const ChipKey& row : chipSchema())
      if (row.section == name) return true;
    return false;
  }

  void section(const toml::key& name, const toml::node& node) {
    if (name == "name" || name == "title") return;
    const toml::table* table = node.as_table();
    if (!table || !isSection(name.str())) {
      std::set<std::string> sections;
      for (const ChipKey& row : chipSchema()) sections.emplace(row.section);
      const auto near = nearest(name.str(), std::vector<std::string>(sections.begin(), sections.end()), 1);
      return add(name.source(), fmt::format("'{}' is not a section of a chip", name.str()),
                 fmt::format("name, title, [{}]", fmt::join(sections, "], [")), "",
                 near.empty() ? "" : fmt::format("did you mean [{}]?", near[0]));
    }
    const auto source = (*table)["source"].value<std::string>();
    for (const auto& [key, value] : *table)
      if (key != "source") entry(name.str(), key, value, source.value_or(""));
  }

  void entry(std::string_view section, const toml::key& key, const toml::node& node, std::string source) {
    const ChipKey* row = nullptr;
    std::vector<std::string> names;
    for (const ChipKey& r : chipSchema()) {
      if (r.section != section) continue;
      names.emplace_back(r.key);
      if (r.key == key.str()) row = &r;
    }
    if (!row) {
      const auto near = nearest(std::string(key.str()), names, 1);
      return add(key.source(), fmt::format("'{}.{}' is not a key of a chip", section, key.str()),
                 fmt::format("{}", fmt::join(names, ", ")), "",
                 near.empty() ? "" : fmt::format("did you mean '{}'?", near[0]));
    }
    seen_.insert(path(*row));
    const toml::node* value = &node;
    if (const toml::table* both = node.as_table()) {
      for (const auto& [inner, unused] : *both)
        if (inner != "value" && inner != "source")
          return add(inner.source(), fmt::format("'{}' of '{}' has no meaning", inner.str(), path(*row)),
                     "{ value = …, source = \"…\" }", "");
      value = (*both)["value"].node();
      source = (*both)["source"].value_or(std::string());
      if (!value)
        return add(node.source(), fmt::format("'{}' has no value", path(*row)), "{ value = …, source = \"…\" }", "");
    }
    if (source.empty())
      return add(node.source(), fmt::format("'{}' does not say where it is from", path(*row)),
                 "`source` next to it or in its section: a document, or \"fitted\"", "");
    chip_.sources[path(*row)] = source;
    set(*row, *value);
  }

  void set(const ChipKey& row, const toml::node& node) {
    const auto impossible = [&](const std::string& have) {
      const bool flag = std::holds_alternative<ChipKey::Flag>(row.member);
      const bool whole = std::holds_alternative<ChipKey::Integer>(row.member);
      add(node.source(), fmt::format("'{}' cannot be {}", path(row), have),
          flag ? std::string("true or false")
          : std::holds_alternative<ChipKey::Text>(row.member)
              ? fmt::format("a text: {}", row.help)
              : fmt::format("{} from {:.15g} to {:.15g}: {}", whole ? "a whole number" : "a number", row.min, row.max,
                            row.help),
          "");
    };
    if (const auto* flag = std::get_if<ChipKey::Flag>(&row.member)) {
      if (!node.is_boolean()) return impossible(shown(node));
      (*flag)(chip_) = node.value_or(false);
    } else if (const auto* text = std::get_if<ChipKey::Text>(&row.member)) {
      if (!node.is_string()) return impossible(shown(node));
      (*text)(chip_) = node.value_or(std::string());
    } else if (const auto* integer = std::get_if<ChipKey::Integer>(&row.member)) {
      const int64_t v = node.is_integer() ? node.value_or(int64_t{0}) : -1;
      if (!node.is_integer() || static_cast<double>(v) < row.min || static_cast<double>(v) > row.max)
        return impossible(shown(node));
      (*integer)(chip_) = v;
    } else {
      const double v = node.is_number() ? node.value_or(0.0) : NAN;
      if (!(v >= row.min && v <= row.max)) return impossible(shown(node));
      std::get<ChipKey::Number>(row.member)(chip_) = v;
    }
  }

  static std::string shown(const toml::node& node) {
    if (node.is_integer()) return fmt::format("{}", node.value_or(int64_t{0}));
    if (node.is_floating_point()) return fmt::format("{:.15g}", node.value_or(0.0));
    if (node.is_boolean()) return node.value_or(false) ? "true" : "false";
    if (node.is_string()) return fmt::format("the text '{}'", node.value_or(std::string()).substr(0, 100));
    return "a table or a list";
  }

  const toml::table& file_;
  const std::string& name_;
  Chip chip_;
  std::set<std::string> seen_;
  std::vector<Diagnostic> found_;
};

}  // namespace

Result<Chip> parseChip(std::string_view content, const std::string& name) {
  try {
    return Reader(toml::parse(content, name), name).read();
  } catch (const toml::parse_error& e) {
    return fail({.code = "SM1040",
                 .message = "the chip's file is not TOML",
                 .place = placeInFile(name, e.source()),
                 .have = std::string(e.description()),
                 .help = "a chip that Smalti comes with is a pattern: smalti chips v5e --toml"});
  }
}

std::vector<ChipFact> factsOf(const Chip& chip) {
  std::vector<ChipFact> facts;
  Chip copy = chip;
  for (const ChipKey& row : chipSchema()) {
    std::string value;
    if (const auto* flag = std::get_if<ChipKey::Flag>(&row.member))
      value = (*flag)(copy) ? "true" : "false";
    else if (const auto* text = std::get_if<ChipKey::Text>(&row.member))
      value = (*text)(copy);
    else if (const auto* integer = std::get_if<ChipKey::Integer>(&row.member))
      value = std::to_string((*integer)(copy));
    else
      value = fmt::format("{:.6g}", std::get<ChipKey::Number>(row.member)(copy));
    std::string path = fmt::format("{}.{}", row.section, row.key);
    const auto source = chip.sources.find(path);
    facts.push_back({path, std::move(value), std::holds_alternative<ChipKey::Text>(row.member), std::string(row.help),
                     source == chip.sources.end() ? "" : source->second});
  }
  return facts;
}

}  // namespace smalti::tpu
