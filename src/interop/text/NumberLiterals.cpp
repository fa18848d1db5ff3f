#include "interop/text/NumberLiterals.h"

#include <charconv>

#include <fmt/format.h>

#include "interop/FloatLiterals.h"
#include "interop/stablehlo/Syntax.h"

namespace smalti::interop::text {
namespace {

bool isDecimal(std::string_view text) { return text.find_first_not_of("0123456789") == std::string_view::npos; }
bool isFloat(std::string_view text) { return text.find('.') != std::string_view::npos; }

/// Digits without leading zeros compare as numbers do.
std::string_view significant(std::string_view digits) {
  const size_t first = digits.find_first_not_of('0');
  return first == std::string_view::npos ? std::string_view() : digits.substr(first);
}

bool isLarger(std::string_view a, std::string_view b) { return a.size() != b.size() ? a.size() > b.size() : a > b; }

double valueOf(std::string_view decimal) { return decimalValue(std::string(decimal)); }

/// Bits of i2 to i64 and of index; 0: another type.
int signlessBits(std::string_view type) {
  if (type == "index") return 64;
  if (!type.starts_with('i') || type.size() < 2 || type.size() > 3 || !isDecimal(type.substr(1))) return 0;
  int bits = 0;
  std::from_chars(type.data() + 1, type.data() + type.size(), bits);
  return bits > 1 && bits <= 64 ? bits : 0;
}

}  // namespace

std::optional<NumberLiterals::Misfit> NumberLiterals::judgeInteger(std::string_view type) const {
  const int bits = signlessBits(type);
  if (bits == 0 || integer_.text.empty()) return std::nullopt;
  const std::string largest = fmt::format("{}", (uint64_t{1} << (bits - 1)) - 1);
  if (!isLarger(integer_.text, largest)) return std::nullopt;
  return Misfit{.offset = integer_.offset,
                .literal = std::string(integer_.text),
                .type = std::string(type),
                .need = "a number as MLIR prints it: negative where the sign bit is set",
                .help = "write the negative number, or the bits in hexadecimal: 0x..."};
}

std::optional<NumberLiterals::Misfit> NumberLiterals::judgeFloat(std::string_view type) const {
  const auto dtype = stablehlo::elementTypeFromName(type);
  if (float_.text.empty() || !dtype || !is_float(*dtype) || holdsDecimal(*dtype, std::string(float_.text)))
    return std::nullopt;
  return Misfit{.offset = float_.offset,
                .literal = std::string(float_.text),
                .type = std::string(type),
                .need = fmt::format("at most {:.9g}", largestFloat(*dtype)),
                .help = "write a number of that range, or the bits of infinity or NaN in hexadecimal: 0x..."};
}

std::optional<NumberLiterals::Misfit> NumberLiterals::judge(std::string_view type) const {
  const auto misfit = judgeInteger(type);
  return misfit ? misfit : judgeFloat(type);
}

/// The type of an element, once a token names it: i32 of `i32`, of `x8x128xi32` and of `!t`.
std::optional<std::string> NumberLiterals::elementName(const Token& token) const {
  if (token.kind == Token::type) {
    const auto known = aliases_.find(token.text);
    return known == aliases_.end() ? std::string() : known->second;
  }
  if (token.kind != Token::bare || token.is("vector") || token.is("tensor")) return std::nullopt;
  const std::string_view t = token.text;
  const std::string_view name = t.starts_with('x') ? t.substr(t.rfind('x') + 1) : t;
  if (name.empty()) return std::nullopt;  // the x128x of 8x128x!t
  return std::string(name);
}

void NumberLiterals::collect(const Token& token) {
  if (token.kind != Token::number) return;
  if (isFloat(token.text)) {
    if (float_.text.empty() || valueOf(token.text) > valueOf(float_.text)) float_ = {token.offset, token.text};
  } else if (!minus_ && isDecimal(token.text) && isLarger(significant(token.text), integer_.text)) {
    integer_ = {token.offset, significant(token.text)};
  }
}

void NumberLiterals::start(const Token& token) {
  state_ = token.kind == Token::number ? State::scalar
           : token.kind == Token::type ? State::typeName
           : token.is("dense")         ? State::beforeDense
           : token.is("array")         ? State::beforeArray
                                       : State::outside;
  integer_ = float_ = {};
  alias_ = token.text;
  collect(token);
}

std::optional<NumberLiterals::Misfit> NumberLiterals::see(const Token& token) {
  const auto misfit = step(token);
  minus_ = token.is("-");
  return misfit;
}

std::optional<NumberLiterals::Misfit> NumberLiterals::step(const Token& token) {
  switch (state_) {
    case State::outside:
      break;
    case State::scalar: {
      if (token.is(":")) {
        state_ = State::scalarColon;
        return std::nullopt;
      }
      if (const auto misfit = judge(float_.text.empty() ? "i64" : "f64")) return misfit;
      break;
    }
    case State::scalarColon:
      if (const auto type = elementName(token)) {
        state_ = State::outside;
        return judge(*type);
      }
      break;
    case State::beforeDense:
      if (!token.is("<")) break;
      state_ = State::inDense;
      depth_ = 1;
      return std::nullopt;
    case State::inDense:
      depth_ += (token.kind == Token::open) - (token.kind == Token::close);
      collect(token);
      if (depth_ == 0) state_ = State::afterDense;
      return std::nullopt;
    case State::afterDense:  // : vector<8x128xi32>
      if (const auto type = elementName(token)) {
        state_ = State::outside;
        return judge(*type);
      }
      return std::nullopt;
    case State::beforeArray:
      if (!token.is("<")) break;
      state_ = State::arrayType;
      return std::nullopt;
    case State::arrayType:
      elementType_ = token.text;
      state_ = State::inArray;
      return std::nullopt;
    case State::inArray:
      if (token.kind != Token::close) {
        collect(token);
        return std::nullopt;
      }
      state_ = State::outside;
      return judge(elementType_);
    case State::typeName:
      if (!token.is("=")) break;
      state_ = State::typeDefinition;
      return std::nullopt;
    case State::typeDefinition:
      if (const auto type = elementName(token)) {
        aliases_.emplace(alias_, *type);
        state_ = State::outside;
      }
      return std::nullopt;
  }
  start(token);
  return std::nullopt;
}

}  // namespace smalti::interop::text
