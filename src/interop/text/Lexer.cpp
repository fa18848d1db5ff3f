#include "interop/text/Lexer.h"

#include <algorithm>

namespace smalti::interop::text {
namespace {

bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isHex(char c) { return isDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool isLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool inName(char c) { return isLetter(c) || isDigit(c) || c == '.' || c == '$'; }

}  // namespace

void Lexer::skipSpace() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      ++at_;
    } else if (c == '/' && at_ + 1 < text_.size() && text_[at_ + 1] == '/') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else {
      return;
    }
  }
}

Token Lexer::take(Token::Kind kind, size_t length) {
  Token token{kind, text_.substr(at_, length), at_};
  at_ += length;
  return token;
}

size_t Lexer::nameLength(size_t from) const {
  size_t to = from;
  while (to < text_.size() && inName(text_[to])) ++to;
  return to - at_;
}

// 0x… is hexadecimal only when a hexadecimal digit follows: the reader of shapes handles 0xf32 in a shape.
size_t Lexer::numberLength() const {
  auto at = [&](size_t i) { return i < text_.size() ? text_[i] : '\0'; };
  size_t i = at_;
  if (at(i) == '0' && at(i + 1) == 'x' && isHex(at(i + 2))) {
    for (i += 2; isHex(at(i));) ++i;
    return i - at_;
  }
  while (isDigit(at(i))) ++i;
  if (at(i) == '.') {
    for (++i; isDigit(at(i));) ++i;
    if (at(i) == 'e' || at(i) == 'E') {
      size_t exponent = i + 1;
      if (at(exponent) == '+' || at(exponent) == '-') ++exponent;
      if (isDigit(at(exponent)))
        for (i = exponent; isDigit(at(i));) ++i;
    }
  }
  return i - at_;
}

Token Lexer::next() {
  skipSpace();
  if (at_ >= text_.size()) return take(Token::end, 0);
  const char c = text_[at_];
  const char following = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
  if (isLetter(c)) return take(Token::bare, nameLength(at_ + 1));
  if (isDigit(c)) return take(Token::number, numberLength());
  switch (c) {
    case '"': {
      size_t to = at_ + 1;
      while (to < text_.size() && text_[to] != '"' && text_[to] != '\n') to += text_[to] == '\\' ? 2 : 1;
      if (to >= text_.size() || text_[to] != '"') return take(Token::bad, std::min(to, text_.size()) - at_);
      return take(Token::string, to + 1 - at_);
    }
    case '%':
      return take(Token::value, nameLength(at_ + 1));
    case '^':
      return take(Token::block, nameLength(at_ + 1));
    case '@':
      return following == '"' ? take(Token::other, 1) : take(Token::symbol, nameLength(at_ + 1));
    case '#':
      return take(Token::attribute, nameLength(at_ + 1));
    case '!':
      return take(Token::type, nameLength(at_ + 1));
    case '(':
    case '[':
    case '{':
    case '<':
      return take(Token::open, 1);
    case ')':
    case ']':
    case '}':
    case '>':
      return take(Token::close, 1);
    case '-':
      return take(Token::other, following == '>' ? 2 : 1);
    default:
      return take(c > ' ' && c < 0x7f ? Token::other : Token::bad, 1);
  }
}

SourcePlace placeIn(std::string_view text, size_t offset, const std::string& fileName) {
  const std::string_view before = text.substr(0, offset);
  const size_t lineStart = before.rfind('\n') + 1;  // npos + 1 is 0
  return {.file = fileName,
          .line = static_cast<int>(std::ranges::count(before, '\n')) + 1,
          .column = static_cast<int>(offset - lineStart) + 1};
}

}  // namespace smalti::interop::text
