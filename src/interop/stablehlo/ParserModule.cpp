// The module's outside: module, functions, meshes.
#include <fmt/format.h>

#include "base/Text.h"
#include "interop/Limits.h"
#include "interop/stablehlo/Parser.h"
#include "interop/stablehlo/Sharding.h"

namespace smalti::interop::stablehlo {

bool Parser::module() {
  // Alias definitions are read already.
  const auto skipAliases = [&] {
    while (cursor_.peekSign("#")) {
      cursor_.take("#");
      while (cursor_.raw() != '\0' && cursor_.raw() != '\n') cursor_.advance();
    }
    return true;
  };
  skipAliases();
  if (cursor_.takeWord("module")) {
    if (cursor_.take("@")) {
      if (cursor_.peekSign("\"")) {
        auto name = cursor_.string();
        if (!name) return false;
        program_.name = printable(*name);
      } else {
        program_.name = cursor_.suffixId();
      }
    }
    if (cursor_.takeWord("attributes")) {
      Entries entries;
      if (!syntax().dictionary(entries)) return false;
      program_.moduleAttributes = printDictionary(entries, source_);
    }
    SourcePlace unused;
    if (!cursor_.expect("{") || !topLevelOps("}") || !cursor_.expect("}") || !loc(unused)) return false;
  } else if (cursor_.take("\"builtin.module\"")) {
    if (!cursor_.expect("(") || !cursor_.expect(")")) return false;
    Entries attributes;
    if (cursor_.take("<") && (!syntax().dictionary(attributes) || !cursor_.expect(">"))) return false;
    for (const auto& [key, value] : attributes)
      if (key == "sym_name") program_.name = printable(value.text);
    SourcePlace unused;
    if (!cursor_.expect("(") || !cursor_.expect("{") || !topLevelOps("}") || !cursor_.expect("}") ||
        !cursor_.expect(")"))
      return false;
    if (cursor_.peekSign("{")) {
      Entries entries;
      if (!syntax().dictionary(entries)) return false;
      program_.moduleAttributes = printDictionary(entries, source_);
    }
    Type type;
    if (!cursor_.expect(":") || !syntax().type(type) || !loc(unused)) return false;
  } else if (!topLevelOps("")) {
    return false;
  }
  skipAliases();
  return cursor_.atEnd() || cursor_.expected("the end of the module");
}

bool Parser::topLevelOps(std::string_view closer) {
  while (cursor_.ok() && !cursor_.atEnd() && (closer.empty() || !cursor_.peekSign(closer))) {
    if (cursor_.take("^")) {  // generic form may name the block
      cursor_.suffixId();
      if (!cursor_.expect(":")) return false;
    } else if (cursor_.takeWord("func.func")) {
      if (!function()) return false;
    } else if (cursor_.takeWord("sdy.mesh")) {
      if (!meshOp()) return false;
    } else if (cursor_.peekSign("\"func.func\"") || cursor_.peekSign("\"sdy.mesh\"")) {
      if (!genericTopLevelOp()) return false;
    } else if (cursor_.peekSign("#") && closer.empty()) {
      return true;
    } else {
      return cursor_.expected("a function (func.func) or a mesh (sdy.mesh)");
    }
  }
  return cursor_.ok();
}

bool Parser::meshOp() {
  DeviceMesh mesh;
  if (!cursor_.expect("@")) return false;
  mesh.name = cursor_.suffixId();
  Entries ignored;
  SourcePlace unused;
  if (!cursor_.expect("=") || !readMesh(cursor_, mesh) || !attributeDictionary(ignored) || !loc(unused)) return false;
  program_.meshes.push_back(std::move(mesh));
  return true;
}

bool Parser::functionArguments(Function& f) {
  if (!cursor_.expect("(")) return false;
  while (!cursor_.peekSign(")")) {
    if (!f.arguments.empty() && !cursor_.expect(",")) return false;
    const size_t at = cursor_.offset();
    if (!cursor_.expect("%")) return false;
    const std::string name(cursor_.suffixId());
    ArrayType type;
    Entries attributes;
    SourcePlace unused;
    if (!cursor_.expect(":") || !syntax().arrayType(type) || !attributeDictionary(attributes) || !loc(unused))
      return false;
    const ValueId value = newValue(std::move(type));
    f.arguments.push_back(value);
    f.argumentAttributes.push_back(attributes.empty() ? "" : printDictionary(attributes, source_));
    if (!define(name, {value}, at)) return false;
  }
  return cursor_.expect(")");
}

bool Parser::functionResults(Function& f) {
  if (!cursor_.take("->")) return true;
  if (!cursor_.peekSign("(")) {
    f.resultAttributes.emplace_back();
    return syntax().arrayType(f.resultTypes.emplace_back());
  }
  cursor_.take("(");
  while (!cursor_.peekSign(")")) {
    if (!f.resultTypes.empty() && !cursor_.expect(",")) return false;
    Entries attributes;
    if (!syntax().arrayType(f.resultTypes.emplace_back()) || !attributeDictionary(attributes)) return false;
    f.resultAttributes.push_back(attributes.empty() ? "" : printDictionary(attributes, source_));
  }
  return cursor_.expect(")");
}

bool Parser::tooManyFunctions() {
  if (program_.functions.size() < limits::kMaxFunctions) return false;
  cursor_.error({.code = "SM2009",
                 .message = "the module holds too many functions",
                 .place = {},
                 .need = fmt::format("at most {}", limits::kMaxFunctions),
                 .help = "split the program"});
  return true;
}

bool Parser::function() {
  Function f;
  function_ = &f;
  scopes_.assign(1, {});
  known_.clear();
  isPlatform_.clear();
  if (cursor_.takeWord("private") || cursor_.takeWord("nested"))
    f.isPrivate = true;
  else
    cursor_.takeWord("public");
  if (!cursor_.expect("@")) return false;
  if (cursor_.peekSign("\"")) {
    auto name = cursor_.string();
    if (!name) return false;
    f.name = std::move(*name);
  } else {
    f.name = cursor_.suffixId();
  }
  if (!functionArguments(f) || !functionResults(f)) return false;
  notePlatform(f.arguments, f.argumentAttributes);
  Entries ignored;
  if (cursor_.takeWord("attributes") && !syntax().dictionary(ignored)) return false;
  SourcePlace unused;
  if (!cursor_.expect("{") || !ops(f.ops) || !cursor_.expect("}") || !loc(unused)) return false;
  if (tooManyFunctions()) return false;
  program_.functions.push_back(std::move(f));
  function_ = nullptr;
  return true;
}

/// "func.func"() <{…}> ({ ^bb0(…): … }) : () -> (), and "sdy.mesh"() <{…}> : () -> ().
bool Parser::genericTopLevelOp() {
  const size_t begin = cursor_.offset();
  const auto opName = cursor_.string();
  Entries attributes;
  if (!opName || !cursor_.expect("(") || !cursor_.expect(")")) return false;
  if (cursor_.take("<") && (!syntax().dictionary(attributes) || !cursor_.expect(">"))) return false;
  const auto find = [&](std::string_view key) -> const Attr* {
    for (const auto& [name, value] : attributes)
      if (name == key) return &value;
    return nullptr;
  };
  const Attr* name = find("sym_name");
  Type type;
  SourcePlace unused;
  if (*opName == "sdy.mesh") {
    const Attr* value = find("mesh");
    DeviceMesh mesh;
    if (!name || !value || value->kind != Attr::Kind::opaque) return cursor_.expected("a mesh's name and axes");
    mesh.name = name->text;
    Cursor inner(source_, value->begin - 1, value->end + 1);  // with its < >
    if (!readMesh(inner, mesh)) return cursor_.error(inner.takeError());
    program_.meshes.push_back(std::move(mesh));
    return attributeDictionary(attributes) && cursor_.expect(":") && syntax().type(type) && loc(unused);
  }
  Function f;
  function_ = &f;
  scopes_.assign(1, {});
  known_.clear();
  isPlatform_.clear();
  const Attr* functionType = find("function_type");
  if (!name || !functionType || functionType->kind != Attr::Kind::type ||
      functionType->type.kind != Type::Kind::function)
    return cursor_.expected("a function's name and type");
  f.name = name->text;
  if (const Attr* visibility = find("sym_visibility")) f.isPrivate = visibility->text != "public";
  std::vector<ArrayType> arguments;
  if (!arrayTypes(functionType->type.inputs, arguments, begin) ||
      !arrayTypes(functionType->type.results, f.resultTypes, begin))
    return false;
  const auto attributeTexts = [&](std::string_view key, size_t n) {
    std::vector<std::string> texts(n);
    if (const Attr* list = find(key))
      for (size_t i = 0; i < n && i < list->items.size(); ++i)
        if (!list->items[i].entries.empty()) texts[i] = print(list->items[i], source_);
    return texts;
  };
  f.argumentAttributes = attributeTexts("arg_attrs", arguments.size());
  f.resultAttributes = attributeTexts("res_attrs", f.resultTypes.size());
  argumentAttributes_ = f.argumentAttributes;
  Block body;
  if (!cursor_.expect("(") || !region(body) || !cursor_.expect(")")) return false;
  std::vector<ArrayType> blockTypes;
  for (const ValueId v : body.arguments) blockTypes.push_back(f.values[v]);
  if (blockTypes != arguments)
    return cursor_.error(
        {.code = "SM2006",
         .message = fmt::format("types do not fit: function '{}' has a different type from its block", f.name),
         .place = {},
         .help = "export the module again"},
        begin);
  f.arguments = std::move(body.arguments);
  f.ops = std::move(body.ops);
  Entries ignored;
  if (!attributeDictionary(ignored) || !cursor_.expect(":") || !syntax().type(type) || !loc(unused)) return false;
  if (tooManyFunctions()) return false;
  program_.functions.push_back(std::move(f));
  function_ = nullptr;
  return true;
}

}  // namespace smalti::interop::stablehlo
