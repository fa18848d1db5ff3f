#include "interop/stablehlo/Cursor.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "base/Text.h"
#include "interop/Limits.h"

namespace smalti::interop::stablehlo {
namespace {

bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isHex(char c) { return isDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool isLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool startsWord(char c) { return isLetter(c) || c == '_'; }
bool continuesWord(char c) { return startsWord(c) || isDigit(c) || c == '$' || c == '.'; }
int hexValue(char c) { return isDigit(c) ? c - '0' : (c | 0x20) - 'a' + 10; }

}  // namespace

Source::Source(std::string_view text, std::string fileName) : text_(text), fileName_(std::move(fileName)) {
  lineStarts_.push_back(0);
  for (size_t i = 0; i < text.size(); ++i)
    if (text[i] == '\n') lineStarts_.push_back(i + 1);
}

SourcePlace Source::placeOf(size_t offset) const {
  const auto next = std::upper_bound(lineStarts_.begin(), lineStarts_.end(), offset);
  const auto line = next - lineStarts_.begin();
  return {fileName_, static_cast<int>(line), static_cast<int>(offset - lineStarts_[line - 1] + 1)};
}

std::string Source::quote(size_t offset) const {
  constexpr size_t kBefore = 40, kAfter = 60;
  size_t lineBegin = *(std::upper_bound(lineStarts_.begin(), lineStarts_.end(), offset) - 1);
  const size_t lineEnd = std::min(text_.find('\n', lineBegin), text_.size());
  while (lineBegin < lineEnd && text_[lineBegin] == ' ') ++lineBegin;
  offset = std::clamp(offset, lineBegin, lineEnd);
  const size_t begin = offset - lineBegin > kBefore ? offset - kBefore : lineBegin;
  const size_t end = std::min(lineEnd, offset + kAfter);
  return fmt::format("{}{}{}", begin > lineBegin ? "…" : "", printable(text_.substr(begin, end - begin)),
                     end < lineEnd ? "…" : "");
}

bool Cursor::error(Diagnostic d, std::optional<size_t> offset) {
  if (error_) return false;
  if (!d.place.known()) d.place = source_->placeOf(offset ? *offset : this->offset());
  error_ = std::move(d);
  return false;
}

bool Cursor::expected(std::string_view what) {
  const size_t here = offset();
  return error({.code = "SM2001",
                .message = fmt::format("this is not StableHLO as JAX prints it: {} expected", what),
                .place = {},
                .have = here >= end_ ? "the end of the text" : fmt::format("`{}`", source_->quote(here)),
                .help = "print the module with `print(jax.jit(f).lower(...).as_text())`"},
               here);
}

void Cursor::skipBlanks() {
  const std::string_view text = source_->text();
  while (at_ < end_) {
    const char c = text[at_];
    if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
      ++at_;
    } else if (c == '/' && at_ + 1 < end_ && text[at_ + 1] == '/') {
      while (at_ < end_ && text[at_] != '\n') ++at_;
    } else {
      return;
    }
  }
}

size_t Cursor::offset() {
  skipBlanks();
  return at_;
}

char Cursor::peek() {
  if (!ok()) return '\0';
  skipBlanks();
  return raw();
}

bool Cursor::peekSign(std::string_view sign) {
  return peek() != '\0' && source_->text().substr(0, end_).substr(at_).starts_with(sign);
}

bool Cursor::take(std::string_view sign) {
  if (!peekSign(sign)) return false;
  at_ += sign.size();
  return true;
}

bool Cursor::expect(std::string_view sign) { return take(sign) || expected(fmt::format("`{}`", sign)); }

std::string_view Cursor::peekWord() {
  if (!startsWord(peek())) return {};
  size_t stop = at_;
  while (stop < end_ && continuesWord(source_->text()[stop])) ++stop;
  return source_->text().substr(at_, stop - at_);
}

std::string_view Cursor::word() {
  const std::string_view w = peekWord();
  at_ += w.size();
  return w;
}

bool Cursor::takeWord(std::string_view expectedWord) {
  if (peekWord() != expectedWord) return false;
  at_ += expectedWord.size();
  return true;
}

bool Cursor::expectWord(std::string_view expectedWord) {
  return takeWord(expectedWord) || expected(fmt::format("`{}`", expectedWord));
}

std::optional<std::string> Cursor::string() {
  if (!expect("\"")) return std::nullopt;
  const std::string_view text = source_->text();
  std::string value;
  for (; at_ < end_ && text[at_] != '"'; ++at_) {
    if (text[at_] != '\\') {
      value += text[at_];
      continue;
    }
    if (++at_ >= end_) break;
    const char c = text[at_];
    if (c == 'n' || c == 't' || c == '"' || c == '\\') {
      value += c == 'n' ? '\n' : c == 't' ? '\t' : c;
    } else if (isHex(c) && at_ + 1 < end_ && isHex(text[at_ + 1])) {
      value += static_cast<char>(hexValue(c) * 16 + hexValue(text[at_ + 1]));
      ++at_;
    } else {
      expected("a string escape (\\n, \\t, \\\\, \\\" or two hex digits)");
      return std::nullopt;
    }
  }
  if (at_ >= end_) {
    expected("the end of a string");
    return std::nullopt;
  }
  ++at_;
  return value;
}

std::string_view Cursor::number() {
  if (!ok()) return {};
  const size_t begin = offset();
  const std::string_view text = source_->text();
  size_t i = begin;
  if (i < end_ && text[i] == '-') ++i;
  if (i >= end_ || !isDigit(text[i])) return {};
  if (text[i] == '0' && i + 2 < end_ && text[i + 1] == 'x' && isHex(text[i + 2])) {
    for (i += 2; i < end_ && isHex(text[i]);) ++i;
  } else {
    while (i < end_ && isDigit(text[i])) ++i;
    if (i < end_ && text[i] == '.') {
      for (++i; i < end_ && isDigit(text[i]);) ++i;
      if (i + 1 < end_ && (text[i] | 0x20) == 'e') {
        size_t e = i + 1;
        if (text[e] == '+' || text[e] == '-') ++e;
        if (e < end_ && isDigit(text[e])) {
          while (e < end_ && isDigit(text[e])) ++e;
          i = e;
        }
      }
    }
  }
  at_ = i;
  return text.substr(begin, i - begin);
}

std::optional<int64_t> Cursor::integer() {
  const size_t begin = offset();
  const std::string_view digits = number();
  int64_t value = 0;
  const auto [stop, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (digits.empty() || failure != std::errc{} || stop != digits.data() + digits.size()) {
    if (!ok()) return std::nullopt;
    at_ = begin;
    expected("an integer of at most 64 bits");
    return std::nullopt;
  }
  return value;
}

std::optional<std::string_view> Cursor::balanced(char close) {
  const size_t begin = at_;
  const std::string_view text = source_->text();
  std::string closers(1, close);
  while (ok() && at_ < end_) {
    const char c = text[at_];
    if (c == closers.back()) {
      closers.pop_back();
      if (closers.empty()) return text.substr(begin, at_ - begin);
    } else if (c == '"') {
      if (!string()) return std::nullopt;
      continue;
    } else if (c == '-' && at_ + 1 < end_ && text[at_ + 1] == '>') {
      ++at_;
    } else if (c == '<' || c == '(' || c == '[' || c == '{') {
      if (closers.size() > limits::kMaxNesting) break;
      closers += c == '<' ? '>' : c == '(' ? ')' : c == '[' ? ']' : '}';
    }
    ++at_;
  }
  expected(fmt::format("`{}`", closers.empty() ? close : closers.back()));
  return std::nullopt;
}

std::string_view Cursor::suffixId() {
  if (!ok()) return {};
  size_t i = at_;
  while (i < end_ && (continuesWord(source_->text()[i]) || source_->text()[i] == '-')) ++i;
  const std::string_view id = source_->text().substr(at_, i - at_);
  at_ = i;
  return id;
}

}  // namespace smalti::interop::stablehlo
