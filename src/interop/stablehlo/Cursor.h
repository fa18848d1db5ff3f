// A position in StableHLO text: skips blanks and comments, matches words and signs, knows its line and column.
// The first error sticks; everything after it fails at once, so callers need to look only where it matters.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "smalti/diagnostic.h"

namespace smalti::interop::stablehlo {

/// The whole text, and where its lines start.
class Source {
 public:
  Source(std::string_view text, std::string fileName);
  std::string_view text() const { return text_; }
  SourcePlace placeOf(size_t offset) const;
  /// The line that holds `offset`, shortened around it.
  std::string quote(size_t offset) const;

 private:
  std::string_view text_;
  std::string fileName_;
  std::vector<size_t> lineStarts_;
};

class Cursor {
 public:
  explicit Cursor(const Source& source) : Cursor(source, 0, source.text().size()) {}
  Cursor(const Source& source, size_t begin, size_t end) : source_(&source), at_(begin), end_(end) {}

  bool ok() const { return !error_; }
  Diagnostic takeError() { return std::move(*error_); }
  /// Records the first error, at `offset` (default: here). Returns false.
  bool error(Diagnostic d, std::optional<size_t> offset = {});
  /// SM2001: `what` stands where something else should.
  bool expected(std::string_view what);

  size_t offset();  ///< of the next token
  SourcePlace place() { return source_->placeOf(offset()); }
  bool atEnd() { return offset() >= end_; }
  const Source& source() const { return *source_; }
  std::string_view textFrom(size_t begin) const { return source_->text().substr(begin, at_ - begin); }

  /// The next character after blanks, 0 at the end.
  char peek();
  bool peekSign(std::string_view sign);
  /// `sign` is punctuation; consumed when it is next.
  bool take(std::string_view sign);
  bool expect(std::string_view sign);
  /// A whole word ([A-Za-z_$.] start, then also digits and '-' when `dashes`); empty when none is next.
  std::string_view peekWord();
  std::string_view word();
  bool takeWord(std::string_view word);
  bool expectWord(std::string_view word);

  /// "..." with MLIR's escapes (\n, \t, \\, \", \XX).
  std::optional<std::string> string();
  std::optional<int64_t> integer();
  /// Digits, sign, point, exponent, or 0x…: the literal's text.
  std::string_view number();
  /// Text up to the bracket that closes the one just taken (not consumed); strings and nesting respected.
  std::optional<std::string_view> balanced(char close);
  /// Characters that a name after %, @, # may hold.
  std::string_view suffixId();
  /// Moves without skipping blanks: for shapes, where 4x8xf32 are not words.
  char raw() const { return at_ < end_ ? source_->text()[at_] : '\0'; }
  void advance() { ++at_; }

 private:
  void skipBlanks();

  const Source* source_;
  size_t at_, end_;
  std::optional<Diagnostic> error_;
};

}  // namespace smalti::interop::stablehlo
