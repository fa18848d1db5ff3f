// Finds decimal literals that their type does not hold.
//
// MLIR's parser takes `2147483648 : i32` for the bits of -2147483648, and every other number of 32 bits alike; it
// prints -2147483648, and so does JAX. Anyone who writes the former by hand means a different number. Likewise it takes
// `1.0e39 : f32` for infinity, which it prints as bits. Bits in hexadecimal (0x80000000), unsigned types and i1 are
// left alone; negative integers that do not fit are errors of MLIR's parser.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "interop/text/Lexer.h"

namespace smalti::interop::text {

class NumberLiterals {
 public:
  struct Misfit {
    size_t offset;  ///< of the literal
    std::string literal, type, need, help;
  };
  /// To be called with every token in order: `12 : i32`, `12` (an i64), `dense<[1, 2]> : vector<2xi32>` and
  /// `array<i32: 1, 2>` are looked at, and what aliases of types (`!t = i32`) stand for.
  std::optional<Misfit> see(const Token&);

 private:
  struct Literal {
    size_t offset = 0;
    std::string_view text;  ///< without leading zeros; empty: none
  };
  enum class State : uint8_t {
    outside,
    scalar,
    scalarColon,
    beforeDense,
    inDense,
    afterDense,
    beforeArray,
    arrayType,
    inArray,
    typeName,
    typeDefinition
  };

  std::optional<Misfit> step(const Token&);
  void start(const Token&);
  void collect(const Token&);
  std::optional<std::string> elementName(const Token&) const;
  std::optional<Misfit> judge(std::string_view type) const;
  std::optional<Misfit> judgeInteger(std::string_view type) const;
  std::optional<Misfit> judgeFloat(std::string_view type) const;

  State state_ = State::outside;
  Literal integer_, float_;  ///< the scalar, or the largest ones of dense elements or an array
  std::string elementType_;  ///< of an array
  std::string_view alias_;   ///< being defined
  std::map<std::string, std::string, std::less<>> aliases_;  ///< "!t" → "i32"
  bool minus_ = false;
  int depth_ = 0;  ///< of brackets since `dense`
};

}  // namespace smalti::interop::text
