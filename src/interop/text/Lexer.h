// MLIR's tokens, as far as a scan needs them.
#pragma once

#include <string_view>

#include "smalti/diagnostic.h"

namespace smalti::interop::text {

struct Token {
  enum Kind {
    end,
    bare,       ///< arith.addf, func, i32, x128xf32, array
    value,      ///< %0
    symbol,     ///< @f
    block,      ///< ^bb0
    attribute,  ///< #tpu.memory_space, #loc1
    type,       ///< !tpu.semaphore
    string,     ///< with its quotes
    number,     ///< 12, 1.5e3, 0xFF
    open,       ///< one of ( [ { <
    close,      ///< one of ) ] } >
    other,      ///< any other character, and ->
    bad,        ///< a string or character that cannot be
  };
  Kind kind = end;
  std::string_view text;
  size_t offset = 0;

  bool is(std::string_view s) const { return text == s; }
};

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}
  /// The token after the white space and comments; `end` at the end, again and again.
  Token next();

 private:
  void skipSpace();
  Token take(Token::Kind, size_t length);
  size_t nameLength(size_t from) const;
  size_t numberLength() const;

  std::string_view text_;
  size_t at_ = 0;
};

/// Line and column of an offset, counted from 1.
SourcePlace placeIn(std::string_view text, size_t offset, const std::string& fileName);

}  // namespace smalti::interop::text
