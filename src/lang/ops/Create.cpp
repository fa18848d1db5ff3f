#include "smalti/ops/create.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "eval/FloatFormats.h"
#include "lang/lower/DialectLowering.h"
#include "lang/ops/OpRecord.h"
#include "lang/ops/Support.h"
#include "smalti/error.h"

namespace smalti::lang {
namespace {

/// tpu.iota needs two axes or more.
void lowerIota(DialectLowering& l, const Op& op) {
  const ArrayType& to = l.typeOf(op.results[0]);
  auto axis = static_cast<int32_t>(std::get<int64_t>(*op.find("iota_dimension")));
  ArrayType made{is_float(to.dtype) || bit_width(to.dtype) < 32 ? DType::i32 : to.dtype, to.shape};
  if (to.shape.size() == 1) {
    made.shape.insert(made.shape.begin(), 1);
    ++axis;
  }
  mlir::Value x =
      l.create1("tpu.iota", {}, l.mlirType(made), {l.b.getNamedAttr("dimensions", l.b.getDenseI32ArrayAttr({axis}))});
  x = castTo(l, x, made, {made.dtype, to.shape});
  l.set(op.results[0], convertTo(l, x, made.dtype, to.dtype));
}

constexpr OpTable kCreateOps{
    OpRecord{.name = "iota", .lower = lowerIota, .noJvp = "it has no operands", .noBatch = "it has no operands"},
};
const OpFamily kCreateFamily(kCreateOps);

}  // namespace
}  // namespace smalti::lang

namespace smalti {

using lang::SourceLocationScope;

namespace {

/// Sizes of at least 0; error SM6220.
void checkShape(std::string_view op, const Shape& shape) {
  if (std::all_of(shape.begin(), shape.end(), [](int64_t d) { return d >= 0; })) return;
  lang::refuse({.code = "SM6220",
                .message = fmt::format("'{}' of a shape with a negative size", op),
                .place = {},
                .need = "sizes of at least 0",
                .have = fmt::format("shape [{}]", fmt::join(shape, ", ")),
                .help = "check how the shape is computed"});
}

Array scalar(DType t, double value) {
  Array a = unwrap(Array::allocate({t, {}}));
  eval::elementFromDouble(t, value, a.data());
  return a;
}

template <class T>
Array scalarOf(DType t, T value) {
  Array a = unwrap(Array::allocate({t, {}}));
  std::memcpy(a.data(), &value, sizeof value);
  return a.with_weak_type(true);
}

}  // namespace

void Operand::setBool(bool b) { array_ = scalarOf<uint8_t>(DType::pred, b); }
void Operand::setInteger(int64_t i) {
  if (i >= INT32_MIN && i <= INT32_MAX)
    array_ = scalarOf<int32_t>(DType::i32, static_cast<int32_t>(i));
  else if (i > 0 && i <= UINT32_MAX)
    array_ = scalarOf<uint32_t>(DType::u32, static_cast<uint32_t>(i));
  else
    array_ = scalarOf<int64_t>(DType::i64, i).with_weak_type(false);
}
void Operand::setUnsigned(uint64_t u) {
  if (u <= static_cast<uint64_t>(INT64_MAX))
    setInteger(static_cast<int64_t>(u));
  else
    array_ = scalarOf<uint64_t>(DType::u64, u).with_weak_type(false);
}
void Operand::setFloat(double d) { array_ = scalarOf<float>(DType::f32, static_cast<float>(d)); }

Array full(Shape shape, const Operand& value, DType dtype) {
  SourceLocationScope place(value.at());
  checkShape("full", shape);
  return lang::broadcastTo(lang::convertTo(value.array(), dtype), shape).with_weak_type(false);
}
Array full(Shape shape, const Operand& value) {
  SourceLocationScope place(value.at());
  checkShape("full", shape);
  return lang::broadcastTo(value.array(), shape);
}
Array zeros(Shape shape, DType dtype, Location at) {
  SourceLocationScope place(at);
  checkShape("zeros", shape);
  return lang::broadcastTo(scalar(dtype, 0), shape);
}
Array ones(Shape shape, DType dtype, Location at) {
  SourceLocationScope place(at);
  checkShape("ones", shape);
  return lang::broadcastTo(scalar(dtype, 1), shape);
}
Array empty(Shape shape, DType dtype, Location at) {
  SourceLocationScope place(at);
  checkShape("empty", shape);
  if (lang::Trace::current())
    lang::refuse({.code = "SM6402",
                  .message = "'empty' is for arrays outside kernels",
                  .place = {},
                  .need = "memory of the kernel",
                  .have = fmt::format("empty of shape [{}]", fmt::join(shape, ", ")),
                  .help = "scratch_shapes, run_scoped or empty_ref give memory that is not initialised"});
  return unwrap(Array::allocate({dtype, std::move(shape)}));
}
Array empty_like(const Array& x, Location at) { return empty(x.shape(), x.dtype(), at); }
Array zeros_like(const Array& x, Location at) { return zeros(x.shape(), x.dtype(), at); }
Array zeros_like(const Ref& x, Location at) { return zeros(x.shape(), x.dtype(), at); }
Array ones_like(const Array& x, Location at) { return ones(x.shape(), x.dtype(), at); }
Array ones_like(const Ref& x, Location at) { return ones(x.shape(), x.dtype(), at); }
Array full_like(const Array& x, const Operand& value) { return full(x.shape(), value, x.dtype()); }
Array full_like(const Ref& x, const Operand& value) { return full(x.shape(), value, x.dtype()); }

Array broadcasted_iota(DType dtype, Shape shape, int64_t dimension, Location at) {
  SourceLocationScope place(at);
  checkShape("broadcasted_iota", shape);
  dimension = lang::checkedAxis("broadcasted_iota", dimension, static_cast<int64_t>(shape.size()));
  return lang::bind1(lang::kCreateOps["iota"], {}, {dtype, std::move(shape)}, {{"iota_dimension", dimension}});
}
Array arange(int64_t n, DType dtype, Location at) { return broadcasted_iota(dtype, {n}, 0, at); }

template <class T>
Array array(std::span<const T> elements, Shape shape, Location at) {
  constexpr DType t = std::is_same_v<T, float>      ? DType::f32
                      : std::is_same_v<T, double>   ? DType::f64
                      : std::is_same_v<T, int8_t>   ? DType::i8
                      : std::is_same_v<T, int16_t>  ? DType::i16
                      : std::is_same_v<T, int32_t>  ? DType::i32
                      : std::is_same_v<T, int64_t>  ? DType::i64
                      : std::is_same_v<T, uint8_t>  ? DType::u8
                      : std::is_same_v<T, uint16_t> ? DType::u16
                      : std::is_same_v<T, uint32_t> ? DType::u32
                                                    : DType::u64;
  SourceLocationScope place(at);
  checkShape("array", shape);
  if (num_elements(shape) != static_cast<int64_t>(elements.size()))
    lang::refuse({.code = "SM6303",
                  .message = "an array is made from a different number of elements than its shape has",
                  .place = {},
                  .need = fmt::format("{} elements", num_elements(shape)),
                  .have = fmt::format("{}", elements.size()),
                  .help = "pass the shape of the data"});
  Array a = unwrap(Array::allocate({t, std::move(shape)}));
  if (!elements.empty()) std::memcpy(a.data(), elements.data(), elements.size_bytes());
  return a;
}
template Array array(std::span<const float>, Shape, Location);
template Array array(std::span<const double>, Shape, Location);
template Array array(std::span<const int8_t>, Shape, Location);
template Array array(std::span<const int16_t>, Shape, Location);
template Array array(std::span<const int32_t>, Shape, Location);
template Array array(std::span<const int64_t>, Shape, Location);
template Array array(std::span<const uint8_t>, Shape, Location);
template Array array(std::span<const uint16_t>, Shape, Location);
template Array array(std::span<const uint32_t>, Shape, Location);
template Array array(std::span<const uint64_t>, Shape, Location);

}  // namespace smalti
