// Attribute syntax: literals, lists, dictionaries, dense elements, aliases, other dialects' attributes kept as text.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "interop/Limits.h"
#include "interop/stablehlo/Syntax.h"
#include "ir/program/PlainOps.h"

namespace smalti::interop::stablehlo {

const Attr* Attr::find(std::string_view key) const {
  for (const auto& [name, value] : entries)
    if (name == key) return &value;
  return nullptr;
}

Aliases findAliases(const Source& source) {
  Aliases aliases;
  const std::string_view text = source.text();
  for (size_t line = 0; line < text.size();) {
    size_t end = text.find('\n', line);
    if (end == std::string_view::npos) end = text.size();
    if (text[line] == '#') {
      const size_t equals = text.substr(0, end).find(" = ", line);
      if (equals != std::string_view::npos)
        aliases.emplace(text.substr(line + 1, equals - line - 1), std::pair{equals + 3, end});
    }
    line = end + 1;
  }
  return aliases;
}

bool SyntaxReader::spend() {
  if (--budget_ >= 0) return true;
  return cursor_.error({.code = "SM2009",
                        .message = "the module holds too many attributes and types",
                        .place = {},
                        .need = fmt::format("at most {}", limits::kMaxOps * 10),
                        .help = "split the program"});
}

bool SyntaxReader::tooDeep(int depth) {
  if (depth <= limits::kMaxNesting) return false;
  cursor_.error({.code = "SM2009",
                 .message = "the module is nested too deeply",
                 .place = {},
                 .need = fmt::format("at most {} levels", limits::kMaxNesting),
                 .help = "simplify the program"});
  return true;
}

bool SyntaxReader::integers(std::vector<int64_t>& out) {
  out.clear();
  if (!cursor_.expect("[")) return false;
  while (!cursor_.peekSign("]")) {
    if (!out.empty() && !cursor_.expect(",")) return false;
    const auto value = cursor_.integer();
    if (!value) return false;
    out.push_back(*value);
  }
  return cursor_.expect("]");
}

bool SyntaxReader::dictionary(Entries& out, int depth) {
  return cursor_.expect("{") && entries(out, '}', depth) && cursor_.expect("}");
}

bool SyntaxReader::entries(Entries& out, char close, int depth) {
  const auto atClose = [&] { return close ? cursor_.peek() == close : cursor_.atEnd(); };
  for (bool first = true; cursor_.ok() && !atClose(); first = false) {
    if (!first && !cursor_.expect(",")) return false;
    std::string key;
    if (cursor_.peekSign("\"")) {
      auto quotedKey = cursor_.string();
      if (!quotedKey) return false;
      key = std::move(*quotedKey);
    } else {
      key = cursor_.word();
    }
    if (key.empty()) return cursor_.expected("an attribute's name");
    Attr value;
    if (cursor_.take("=") && !attribute(value, depth + 1)) return false;
    out.emplace_back(std::move(key), std::move(value));
  }
  return cursor_.ok();
}

bool SyntaxReader::denseArray(Attr& out) {
  out.kind = Attr::Kind::list;
  if (!cursor_.expect("<")) return false;
  out.suffix = cursor_.word();
  if (out.suffix.empty()) return cursor_.expected("an element type");
  if (cursor_.take(":")) {
    while (true) {
      Attr& item = out.items.emplace_back();
      if (!attribute(item, limits::kMaxNesting) || !fits(item, out.suffix)) return false;
      if (!cursor_.take(",")) break;
    }
  }
  return cursor_.expect(">");
}

bool SyntaxReader::fits(const Attr& number, std::string_view type) {
  const auto dtype = elementTypeFromName(type);
  if (!dtype || (number.kind != Attr::Kind::integer && number.kind != Attr::Kind::number)) return true;
  Cursor literal(cursor_.source(), number.begin, number.end);
  Array value;
  return readDenseLiteral(literal, {*dtype, {}}, value) || cursor_.error(literal.takeError());
}

bool SyntaxReader::denseElements(Attr& out) {
  out.kind = Attr::Kind::elements;
  if (!cursor_.expect("<")) return false;
  const size_t begin = cursor_.offset();
  const auto body = cursor_.balanced('>');
  if (!body || !cursor_.expect(">") || !cursor_.expect(":") || !arrayType(out.elementsType)) return false;
  if (hasUnknownDims(out.elementsType)) return cursor_.expected("a constant of known shape");
  Cursor literal(cursor_.source(), begin, begin + body->size());
  if (readDenseLiteral(literal, out.elementsType, out.elements)) return true;
  return cursor_.error(literal.takeError());
}

bool SyntaxReader::hashAttribute(Attr& out, int depth) {
  const size_t begin = cursor_.offset();
  const std::string name(cursor_.suffixId());
  if (const auto alias = aliases_.find(name); alias != aliases_.end()) {
    Cursor definition(cursor_.source(), alias->second.first, alias->second.second);
    SyntaxReader reader(definition, aliases_, budget_);
    return reader.attribute(out, depth + 1) || cursor_.error(definition.takeError());
  }
  out.kind = Attr::Kind::opaque;
  out.text = name;
  out.begin = out.end = cursor_.offset();
  if (cursor_.take("<")) {
    out.begin = cursor_.offset();
    const auto body = cursor_.balanced('>');
    if (!body) return false;
    out.end = out.begin + body->size();
    return cursor_.expect(">");
  }
  if (name.find('.') != std::string::npos) return true;
  return cursor_.error({.code = "SM2005",
                        .message = fmt::format("`#{}` is used but never defined", name),
                        .place = {},
                        .help = "pass the whole module, with the lines that start with #"},
                       begin);
}

bool SyntaxReader::attribute(Attr& out, int depth) {
  if (tooDeep(depth) || !spend()) return false;
  out.begin = cursor_.offset();
  const char c = cursor_.peek();
  const std::string_view word = cursor_.peekWord();
  bool read = true;
  if (c == '"') {
    out.kind = Attr::Kind::string;
    auto text = cursor_.string();
    if (!text) return false;
    out.text = std::move(*text);
  } else if (c == '[') {
    out.kind = Attr::Kind::list;
    cursor_.take("[");
    while (!cursor_.peekSign("]")) {
      if (!out.items.empty() && !cursor_.expect(",")) return false;
      if (!attribute(out.items.emplace_back(), depth + 1)) return false;
    }
    read = cursor_.expect("]");
  } else if (c == '{') {
    out.kind = Attr::Kind::dictionary;
    read = dictionary(out.entries, depth);
  } else if (c == '@') {
    out.kind = Attr::Kind::symbol;
    cursor_.take("@");
    if (cursor_.peekSign("\"")) {
      auto text = cursor_.string();
      if (!text) return false;
      out.text = std::move(*text);
    } else {
      out.text = cursor_.suffixId();
    }
  } else if (c == '#') {
    cursor_.take("#");
    return hashAttribute(out, depth);
  } else if (c == '-' || (c >= '0' && c <= '9')) {
    const std::string_view literal = cursor_.number();
    if (literal.empty()) return cursor_.expected("a number");
    out.text = literal;
    out.kind = Attr::Kind::number;
    if (literal.find_first_of(".") == std::string_view::npos) {
      Cursor digits(cursor_.source(), out.begin, out.begin + literal.size());
      if (const auto value = digits.integer()) {
        out.kind = Attr::Kind::integer;
        out.integer = *value;
      }
    }
  } else if (word == "true" || word == "false") {
    out.kind = Attr::Kind::boolean;
    out.integer = word == "true";
    cursor_.word();
  } else if (word == "unit") {
    cursor_.word();
  } else if (word == "dense") {
    cursor_.word();
    return denseElements(out);
  } else if (word == "array") {
    cursor_.word();
    return denseArray(out);
  } else if (word == "dense_resource") {
    return cursor_.error({.code = "SM2008",
                          .message = "constants stored next to the module (dense_resource) are not supported",
                          .place = {},
                          .help = "print the module without eliding or externalising large constants"});
  } else {
    out.kind = Attr::Kind::type;
    if (!type(out.type, depth + 1)) return false;
    out.text = out.type.text;
    return true;
  }
  out.end = cursor_.offset();
  if (!read || (out.kind != Attr::Kind::integer && out.kind != Attr::Kind::number)) return read;
  if (cursor_.take(":")) {
    Type suffix;
    if (!type(suffix, depth + 1)) return false;
    out.suffix = suffix.text;
    return fits(out, out.suffix);
  }
  return out.kind == Attr::Kind::integer || fits(out, out.text.find('.') == std::string::npos ? "i64" : "f64");
}

std::string quotedText(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\\')
      out += "\\\\";
    else if (c == '"' || byte < 0x20 || byte >= 0x7f)
      out += fmt::format("\\{:02X}", byte);
    else
      out += c;
  }
  return out + '"';
}

namespace {

bool isBareKey(std::string_view key) {
  for (const char c : key)
    if (!(c == '_' || c == '.' || c == '$' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
          (c >= 'A' && c <= 'Z')))
      return false;
  return !key.empty() && !(key[0] >= '0' && key[0] <= '9') && key[0] != '.' && key[0] != '$';
}

}  // namespace

std::string printKey(std::string_view key) { return isBareKey(key) ? std::string(key) : quotedText(key); }
std::string printSymbol(std::string_view name) { return "@" + printKey(name); }

std::string printDictionary(const Entries& entries, const Source& source) {
  std::vector<std::string> parts;
  for (const auto& [key, value] : entries) {
    std::string part = printKey(key);
    if (value.kind != Attr::Kind::unit) part += " = " + print(value, source);
    parts.push_back(std::move(part));
  }
  return fmt::format("{{{}}}", fmt::join(parts, ", "));
}

std::string print(const Attr& attr, const Source& source) {
  const std::string suffix = attr.suffix.empty() ? "" : " : " + attr.suffix;
  switch (attr.kind) {
    case Attr::Kind::unit:
      return "unit";
    case Attr::Kind::boolean:
      return attr.integer ? "true" : "false";
    case Attr::Kind::integer:
    case Attr::Kind::number:
      return attr.text + suffix;
    case Attr::Kind::string:
      return quotedText(attr.text);
    case Attr::Kind::symbol:
      return printSymbol(attr.text);
    case Attr::Kind::dictionary:
      return printDictionary(attr.entries, source);
    case Attr::Kind::type:
      return attr.text;
    case Attr::Kind::elements:
      return std::string(source.text().substr(attr.begin, attr.end - attr.begin));
    case Attr::Kind::opaque: {
      const std::string_view body = source.text().substr(attr.begin, attr.end - attr.begin);
      return body.empty() ? "#" + attr.text : fmt::format("#{}<{}>", attr.text, body);
    }
    case Attr::Kind::list:
      break;
  }
  std::vector<std::string> parts;
  for (const Attr& item : attr.items) parts.push_back(print(item, source));
  if (attr.suffix.empty()) return fmt::format("[{}]", fmt::join(parts, ", "));
  return fmt::format("array<{}{}{}>", attr.suffix, parts.empty() ? "" : ": ", fmt::join(parts, ", "));
}

}  // namespace smalti::interop::stablehlo
