// The operand of an op of the language: an array, a traced value, a read of a Ref, the result of a call, or a C++
// number; and the line of the user's source that passes it.
#pragma once

#include <cstdint>
#include <source_location>
#include <type_traits>
#include <utility>

#include "smalti/array.h"

namespace smalti {

class Ref;
class RefView;
class Results;

using Location = std::source_location;

/// Converts implicitly from everything an op accepts. Numbers are weakly typed, as in Python: `x * 2` keeps the dtype
/// of x (S-D5); otherwise bool is pred, integers are i32 (u32 from 2^31 on), floating-point numbers f32. Integers of
/// more than 32 bits are not weak: i64, or u64 from 2^63 on.
class Operand {
 public:
  Operand(const Array& array, Location at = Location::current());
  Operand(const RefView& view, Location at = Location::current());
  /// The result of a call, `f(g(x))`; error SM6201 if there is not exactly one.
  Operand(Results results, Location at = Location::current());
  /// Always throws an Error: a Ref must be read first, `ref[_]` (E-A7).
  Operand(const Ref& ref, Location at = Location::current());
  template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
  Operand(T number, Location at = Location::current()) : at_(at) {
    if constexpr (std::is_same_v<T, bool>)
      setBool(number);
    else if constexpr (std::is_unsigned_v<T>)
      setUnsigned(number);
    else if constexpr (std::is_integral_v<T>)
      setInteger(number);
    else
      setFloat(static_cast<double>(number));
  }

  const Array& array() const { return array_; }
  /// Moves the array out of this operand.
  Array take() { return std::move(array_); }
  const Location& at() const { return at_; }
  DType dtype() const { return array_.dtype(); }
  const Shape& shape() const { return array_.shape(); }
  int64_t rank() const { return array_.rank(); }

 private:
  void setBool(bool);
  void setInteger(int64_t);
  void setUnsigned(uint64_t);
  void setFloat(double);

  Array array_;
  Location at_;
};

}  // namespace smalti
