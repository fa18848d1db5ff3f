// Functions that the ops of the language share: promotion, broadcasting, axes.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "lang/trace/SourceLocationScope.h"
#include "lang/trace/Trace.h"
#include "smalti/operand.h"

namespace smalti::lang {

/// JAX's lattice over (dtype, weak) pairs, with 64-bit types kept only where an array has one (S-D5).
/// Error SM6302 when there is no implicit conversion (f8 with another float; 3000000000 with i32).
struct Promoted {
  DType dtype = DType::f32;
  bool weak = true;
};
Promoted promote(std::string_view op, std::span<const Operand* const> operands);
inline Promoted promote(std::string_view op, std::initializer_list<const Operand*> operands) {
  return promote(op, std::span<const Operand* const>(operands.begin(), operands.size()));
}
/// The same where only the bits of numbers count: 0xffffffff is a number for i32.
Promoted promoteBits(std::string_view op, std::span<const Operand* const> operands);
/// NumPy's broadcasting; error SM6301.
Shape broadcastShape(std::string_view op, std::initializer_list<const Operand*> operands);
/// The operand converted and broadcast; the same array when nothing changes.
Array prepare(const Operand&, DType, const Shape&);
Array convertTo(const Array&, DType);
Array broadcastTo(const Array&, const Shape&);
/// The same elements, in the same order, in another shape.
Array reshapeTo(const Array&, const Shape&);
/// The shape with its one -1, if any, replaced by what is left of `elements`; nullopt when it has a different number of
/// them, a negative size, or a -1 that could be anything.
std::optional<Shape> resolveShape(Shape, int64_t elements);
/// `size` elements of an axis, from a start that is computed; a start outside is moved inside.
Array dynamicSlice(const Array&, int64_t axis, const Array& start, int64_t size);
/// The array with `update` along an axis from such a start.
Array dynamicUpdate(const Array&, const Array& update, int64_t axis, const Array& start);
/// The same number, which the compiler may assume to be a multiple of n.
Array assumeMultiple(const Array&, int64_t n);
/// 0 ≤ axis < rank; error SM6305.
int64_t checkedAxis(std::string_view op, int64_t axis, int64_t rank);

/// The maximum, with axes of size 1; of no elements -infinity, where `max` has none.
Array maximumOrLowest(const Array&, const std::vector<int64_t>& axes);

/// One op on operands promoted to one dtype and shape; the result has them too (or `result`).
Array unary(const OpRecord& op, const Operand&);
Array binary(const OpRecord& op, const Operand&, const Operand&);
Array binary(const OpRecord& op, const Operand&, const Operand&, Promoted);
/// Operands that are not floats become f32 first: exp(1) is 2.718….
Array unaryFloat(const OpRecord& op, const Operand&, Attributes = {});
[[noreturn]] void refuseDType(std::string_view op, DType, std::string_view need);

}  // namespace smalti::lang
