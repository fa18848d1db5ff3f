// Finds decimal literals that their integer type does not hold as a signed number.
//
// MLIR's parser takes `2147483648 : i32` for the bits of -2147483648, and every other number of 32 bits alike; it
// prints -2147483648, and so does JAX. Anyone who writes the former by hand means a different number. Bits in
// hexadecimal (0x80000000), unsigned types and i1 are left alone.
#pragma once

#include <optional>
#include <string>

#include "interop/text/Lexer.h"

namespace smalti::interop::text {

class IntegerLiterals {
 public:
  struct Misfit {
    size_t offset;  ///< of the literal
    std::string literal, type;
  };
  /// To be called with every token in order: `12 : i32` and `dense<[1, 2]> : vector<2xi32>` are looked at.
  std::optional<Misfit> see(const Token&);

 private:
  struct Literal {
    size_t offset = 0;
    std::string_view digits;  ///< empty: none
  };
  enum class State : uint8_t { outside, scalar, colon, beforeDense, inDense, afterDense };

  State state_ = State::outside;
  Literal literal_;  ///< the scalar, or the largest one of the dense elements
  bool minus_ = false;
  int depth_ = 0;  ///< of brackets since `dense`
};

}  // namespace smalti::interop::text
