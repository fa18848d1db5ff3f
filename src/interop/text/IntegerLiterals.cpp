#include "interop/text/IntegerLiterals.h"

#include <charconv>

#include <fmt/format.h>

namespace smalti::interop::text {
namespace {

bool isDecimal(std::string_view text) { return text.find_first_not_of("0123456789") == std::string_view::npos; }

/// Digits without leading zeros compare as numbers do.
std::string_view significant(std::string_view digits) {
  const size_t first = digits.find_first_not_of('0');
  return first == std::string_view::npos ? std::string_view() : digits.substr(first);
}

bool isLarger(std::string_view a, std::string_view b) { return a.size() != b.size() ? a.size() > b.size() : a > b; }

/// Bits of i2 to i64, alone or at the end of x8x128xi32; 0: another type.
int signlessBits(std::string_view type) {
  if (type.starts_with('x')) type = type.substr(type.rfind('x') + 1);
  if (!type.starts_with('i') || type.size() < 2 || type.size() > 3 || !isDecimal(type.substr(1))) return 0;
  int bits = 0;
  std::from_chars(type.data() + 1, type.data() + type.size(), bits);
  return bits > 1 && bits <= 64 ? bits : 0;
}

}  // namespace

std::optional<IntegerLiterals::Misfit> IntegerLiterals::see(const Token& token) {
  const auto judge = [&]() -> std::optional<Misfit> {
    const int bits = signlessBits(token.text);
    state_ = State::outside;
    if (bits == 0 || literal_.digits.empty()) return std::nullopt;
    const std::string largest = fmt::format("{}", (uint64_t{1} << (bits - 1)) - 1);
    if (!isLarger(literal_.digits, largest)) return std::nullopt;
    return Misfit{literal_.offset, std::string(literal_.digits), fmt::format("i{}", bits)};
  };
  const bool isNumber = token.kind == Token::number && !minus_ && isDecimal(token.text);
  minus_ = token.is("-");
  switch (state_) {
    case State::beforeDense:
      if (token.is("<")) {
        state_ = State::inDense;
        depth_ = 1;
        literal_ = {};
        return std::nullopt;
      }
      break;
    case State::inDense:
      depth_ += (token.kind == Token::open) - (token.kind == Token::close);
      if (isNumber && isLarger(significant(token.text), literal_.digits))
        literal_ = {token.offset, significant(token.text)};
      if (depth_ == 0) state_ = State::afterDense;
      return std::nullopt;
    case State::afterDense:  // : vector<8x128xi32>
      if (token.kind == Token::bare && !token.is("vector") && !token.is("tensor")) return judge();
      return std::nullopt;
    case State::scalar:
      state_ = token.is(":") ? State::colon : State::outside;
      if (state_ == State::colon) return std::nullopt;
      break;
    case State::colon:
      if (token.kind == Token::bare) return judge();
      break;
    case State::outside:
      break;
  }
  state_ = State::outside;
  if (token.is("dense")) state_ = State::beforeDense;
  if (isNumber) {
    state_ = State::scalar;
    literal_ = {token.offset, significant(token.text)};
  }
  return std::nullopt;
}

}  // namespace smalti::interop::text
