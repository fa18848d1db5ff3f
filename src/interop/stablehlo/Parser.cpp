#include "interop/stablehlo/Parser.h"

#include <algorithm>

#include <fmt/format.h>

#include "interop/Interop.h"
#include "interop/Limits.h"
#include "interop/stablehlo/Gspmd.h"
#include "interop/stablehlo/Sharding.h"

namespace smalti::interop::stablehlo {

const Attr* RawOp::find(std::string_view attribute) const {
  for (const auto& [key, value] : attributes)
    if (key == attribute) return &value;
  return nullptr;
}

Attr integerAttr(int64_t value) {
  Attr a;
  a.kind = Attr::Kind::integer;
  a.integer = value;
  a.text = std::to_string(value);
  return a;
}

Attr integersAttr(const std::vector<int64_t>& values) {
  Attr a;
  a.kind = Attr::Kind::list;
  for (const int64_t v : values) a.items.push_back(integerAttr(v));
  return a;
}

Attr textAttr(std::string text) {
  Attr a;
  a.kind = Attr::Kind::string;
  a.text = std::move(text);
  return a;
}

Parser::Parser(std::string_view text, const std::string& fileName, int64_t platform)
    : source_(text, fileName),
      cursor_(source_),
      aliases_(findAliases(source_)),
      budget_(10 * limits::kMaxOps),
      locations_(source_, aliases_),
      kernelFile_(fileName),
      platform_(platform) {}

Result<Program> Parser::run() {
  if (!module() || !cursor_.ok()) return fail(cursor_.takeError());
  const auto isMain = [](const Function& f) { return f.name == "main"; };
  auto main = std::find_if(program_.functions.begin(), program_.functions.end(), isMain);
  if (main == program_.functions.end())
    main = std::find_if(program_.functions.begin(), program_.functions.end(), [](auto& f) { return !f.isPrivate; });
  program_.main = static_cast<int>(main - program_.functions.begin());
  if (main != program_.functions.end()) fixPlatform(*main);
  if (hasSymbolicShapes(program_) && main != program_.functions.end()) return std::move(program_);
  auto status = complete(program_);
  if (!status) {
    Diagnostic d = std::move(status.error());
    if (!d.place.known()) d.place = source_.placeOf(0);
    return fail(std::move(d));
  }
  return std::move(program_);
}

ValueId Parser::newValue(ArrayType type) {
  function_->values.push_back(std::move(type));
  return static_cast<ValueId>(function_->values.size() - 1);
}

bool Parser::define(const std::string& name, std::vector<ValueId> values, size_t at) {
  for (const auto& scope : scopes_)
    if (scope.contains(name))
      return cursor_.error({.code = "SM2005",
                            .message = fmt::format("`%{}` is defined twice", name),
                            .place = {},
                            .help = "export the module again"},
                           at);
  scopes_.back().emplace(name, std::move(values));
  return true;
}

bool Parser::operand(ValueId& out) {
  const size_t at = cursor_.offset();
  if (!cursor_.expect("%")) return false;
  const std::string_view name = cursor_.suffixId();
  int64_t index = 0;
  if (cursor_.raw() == '#') {
    cursor_.advance();
    const auto number = cursor_.integer();
    if (!number) return false;
    index = *number;
  }
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
    if (const auto found = scope->find(name); found != scope->end()) {
      if (index < 0 || index >= static_cast<int64_t>(found->second.size())) break;
      out = found->second[index];
      return true;
    }
  return cursor_.error(
      {.code = "SM2005",
       .message = fmt::format("`%{}{}` is used but not defined before", name, index ? fmt::format("#{}", index) : ""),
       .place = {},
       .help = "pass the whole module"},
      at);
}

bool Parser::operandList(RawOp& raw) {
  if (!cursor_.peekSign("%")) return cursor_.ok();
  do {
    if (!operand(raw.operands.emplace_back())) return false;
  } while (cursor_.peekSign(",") && [&] {
    // A comma may also start `dims = …`: it separates operands only if followed by %.
    Cursor ahead = cursor_;
    ahead.take(",");
    if (!ahead.peekSign("%")) return false;
    cursor_.take(",");
    return true;
  }());
  return true;
}

// ---- ops and regions

bool Parser::ops(std::vector<Op>& into) {
  if (++depth_ > limits::kMaxNesting)
    return cursor_.error({.code = "SM2009",
                          .message = "the module is nested too deeply",
                          .place = {},
                          .need = fmt::format("at most {} levels", limits::kMaxNesting),
                          .help = "simplify the program"});
  while (cursor_.ok() && !cursor_.peekSign("}")) {
    if (cursor_.atEnd()) return cursor_.expected("`}`");
    if (cursor_.peekSign("^"))
      return cursor_.error({.code = "SM2002",
                            .message = "branches between blocks are not supported around kernels",
                            .place = {},
                            .help = "use lax.cond and loops"});
    if (!op(into)) return false;
  }
  --depth_;
  return cursor_.ok();
}

bool Parser::region(Block& block, const std::vector<std::pair<std::string, ArrayType>>* arguments) {
  const size_t at = cursor_.offset();
  if (!cursor_.expect("{")) return false;
  scopes_.emplace_back();
  if (arguments)
    for (const auto& [name, type] : *arguments) {
      block.arguments.push_back(newValue(type));
      if (!define(name, {block.arguments.back()}, at)) return false;
    }
  if (cursor_.peekSign("^") && !blockArguments(block)) return false;
  if (!ops(block.ops) || !cursor_.expect("}")) return false;
  scopes_.pop_back();
  return true;
}

/// ^bb0(%a: type, …):
bool Parser::blockArguments(Block& block) {
  cursor_.take("^");
  cursor_.suffixId();
  if (cursor_.take("(")) {
    for (bool first = true; !cursor_.peekSign(")"); first = false) {
      if (!first && !cursor_.expect(",")) return false;
      const size_t at = cursor_.offset();
      if (!cursor_.expect("%")) return false;
      const std::string name(cursor_.suffixId());
      ArrayType type;
      SourcePlace unused;
      if (!cursor_.expect(":") || !syntax().arrayType(type) || !loc(unused)) return false;
      block.arguments.push_back(newValue(std::move(type)));
      if (!define(name, {block.arguments.back()}, at)) return false;
    }
    if (!cursor_.expect(")")) return false;
  }
  notePlatform(block.arguments, std::exchange(argumentAttributes_, {}));
  return cursor_.expect(":");
}

bool Parser::op(std::vector<Op>& into) {
  if (++numOps_ > limits::kMaxOps)
    return cursor_.error({.code = "SM2009",
                          .message = "the module holds too many ops",
                          .place = {},
                          .need = fmt::format("at most {}", limits::kMaxOps),
                          .help = "split the program"});
  struct Names {
    std::string name;
    int64_t count = 1;
    size_t at = 0;
  };
  std::vector<Names> names;
  if (cursor_.peekSign("%")) {
    do {
      Names n{.at = cursor_.offset()};
      if (!cursor_.expect("%")) return false;
      n.name = cursor_.suffixId();
      if (cursor_.take(":")) {
        const auto count = cursor_.integer();
        if (!count) return false;
        n.count = *count;
      }
      names.push_back(std::move(n));
    } while (cursor_.take(","));
    if (!cursor_.expect("=")) return false;
  }
  RawOp raw;
  raw.at = cursor_.offset();
  raw.place = source_.placeOf(raw.at);
  if (!(cursor_.peekSign("\"") ? genericOp(raw) : prettyOp(raw))) return false;
  if (!loc(raw.place)) return false;
  if (!operandTypesAgree(raw)) return false;

  int64_t declared = 0;
  for (const Names& n : names) {
    if (n.count < 1 || n.count > limits::kMaxListLength) return cursor_.expected("a sensible number of results");
    declared += n.count;
  }
  if (declared != static_cast<int64_t>(raw.resultTypes.size()) && !names.empty())
    return cursor_.error({.code = "SM2006",
                          .message = fmt::format("types do not fit: {} names {} results, its type has {}", raw.name,
                                                 declared, raw.resultTypes.size()),
                          .place = {},
                          .help = "export the module again"},
                         raw.at);
  Op& made = into.emplace_back();
  if (!lower(raw, made)) return false;
  for (const ArrayType& t : raw.resultTypes) made.results.push_back(newValue(t));
  noteKnown(made);
  size_t next = 0;
  for (const Names& n : names) {
    const auto first = made.results.begin() + static_cast<int64_t>(next);
    if (!define(n.name, {first, first + n.count}, n.at)) return false;
    next += n.count;
  }
  return true;
}

bool Parser::arrayTypes(const std::vector<Type>& types, std::vector<ArrayType>& out, size_t at) {
  for (const Type& t : types) {
    if (t.kind != Type::Kind::array)
      return cursor_.error({.code = "SM2003",
                            .message = fmt::format("`{}` is not an array: only arrays are values of a Program", t.text),
                            .place = {},
                            .help = "return arrays from the jitted function"},
                           at);
    out.push_back(t.array);
  }
  return true;
}

bool Parser::operandTypesAgree(const RawOp& raw) {
  if (raw.operandTypes.size() != raw.operands.size())
    return cursor_.error({.code = "SM2006",
                          .message = fmt::format("types do not fit: {} has {} operands and {} operand types", raw.name,
                                                 raw.operands.size(), raw.operandTypes.size()),
                          .place = {},
                          .help = "export the module again"},
                         raw.at);
  for (size_t i = 0; i < raw.operands.size(); ++i)
    if (const ArrayType& have = function_->values[raw.operands[i]]; have != raw.operandTypes[i])
      return cursor_.error({.code = "SM2006",
                            .message = fmt::format("types do not fit: operand {} of {} is {}, its type says {}", i,
                                                   raw.name, have.str(), raw.operandTypes[i].str()),
                            .place = {},
                            .help = "export the module again"},
                           raw.at);
  return true;
}

bool Parser::attributeDictionary(Entries& out) { return !cursor_.peekSign("{") || syntax().dictionary(out); }

/// "dialect.op"(%a, %b) <{…}> ({…}, {…}) {…} : (…) -> …
bool Parser::genericOp(RawOp& raw) {
  auto name = cursor_.string();
  if (!name || !cursor_.expect("(")) return false;
  raw.name = std::move(*name);
  while (!cursor_.peekSign(")")) {
    if (!raw.operands.empty() && !cursor_.expect(",")) return false;
    if (!operand(raw.operands.emplace_back())) return false;
  }
  if (!cursor_.expect(")")) return false;
  if (cursor_.peekSign("["))
    return refuse(raw, "SM2002", "branches between blocks are not supported around kernels", "use lax.cond and loops");
  if (cursor_.take("<") && (!syntax().dictionary(raw.attributes) || !cursor_.expect(">"))) return false;
  if (cursor_.peekSign("(") && !genericRegions(raw)) return false;
  if (!attributeDictionary(raw.attributes)) return false;
  Type type;
  if (!cursor_.expect(":") || !syntax().type(type)) return false;
  if (type.kind != Type::Kind::function) return cursor_.expected("a function type");
  if (!arrayTypes(type.inputs, raw.operandTypes, raw.at) || !arrayTypes(type.results, raw.resultTypes, raw.at))
    return false;
  const auto readIn = [&](std::string_view key, auto&& read) {
    const Attr* a = raw.find(key);
    if (!a || a->kind != Attr::Kind::opaque) return true;
    Cursor inner(source_, a->begin, a->end);
    return read(inner) || cursor_.error(inner.takeError());
  };
  return readIn("in_shardings", [&](Cursor& c) { return readShardings(c, raw.inShardings); }) &&
         readIn("out_shardings", [&](Cursor& c) { return readShardings(c, raw.outShardings); }) &&
         readIn("manual_axes", [&](Cursor& c) {
           c.takeWord("manual_axes");
           return readAxes(c, raw.manualAxes);
         });
}

bool Parser::genericRegions(RawOp& raw) {
  if (raw.name == "stablehlo.case" && raw.operands.size() == 1 && known_.contains(raw.operands[0]))
    return regionOfPlatform(raw);
  cursor_.take("(");
  do {
    if (!region(raw.regions.emplace_back())) return false;
  } while (cursor_.take(","));
  return cursor_.expect(")");
}

}  // namespace smalti::interop::stablehlo

namespace smalti::interop {

Status complete(Program& program) {
  if (Status lifted = stablehlo::liftShardMaps(program); !lifted) return lifted;
  return verify(program);
}

Result<Program> importStableHlo(std::string_view text, const std::string& fileName, Shapes shapes) {
  if (text.size() > limits::kMaxTextBytes)
    return fail({.code = "SM2009",
                 .message = "the module's text is too long",
                 .place = {fileName, 0, 0},
                 .need = fmt::format("at most {} bytes", limits::kMaxTextBytes),
                 .have = fmt::format("{} bytes", text.size()),
                 .help = "split the program"});
  auto program = stablehlo::importForAnyPlatform(text, fileName);
  if (program && shapes == Shapes::known && hasSymbolicShapes(*program))
    return fail({.code = "SM2003",
                 .message = "the program has symbolic shapes",
                 .place = {fileName, 0, 0},
                 .need = "the shapes of its arguments",
                 .help = "give the types of the arguments where the module is loaded"});
  return program;
}

}  // namespace smalti::interop
