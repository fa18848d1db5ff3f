#include "lang/ops/Support.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace smalti::lang {
namespace {

int category(DType t) { return t == DType::pred ? 0 : is_float(t) ? 2 : 1; }

bool isNarrowFloat(DType t) { return is_float(t) && bit_width(t) < 16; }

/// Two strong dtypes of one category.
std::optional<DType> join(DType a, DType b) {
  if (a == b) return a;
  if (category(a) == 2) {
    if (isNarrowFloat(a) || isNarrowFloat(b)) return std::nullopt;
    if (bit_width(a) == bit_width(b)) return DType::f32;  // bf16 with f16
    return bit_width(a) > bit_width(b) ? a : b;
  }
  const auto narrow = [](DType t) { return bit_width(t) < 8; };
  if (narrow(a) || narrow(b)) return std::nullopt;
  if (is_signed_integer(a) == is_signed_integer(b)) return bit_width(a) > bit_width(b) ? a : b;
  const DType s = is_signed_integer(a) ? a : b, u = is_signed_integer(a) ? b : a;
  if (bit_width(s) > bit_width(u)) return s;
  switch (bit_width(u)) {
    case 8:
      return DType::i16;
    case 16:
      return DType::i32;
    default:
      return s == DType::i64 || u == DType::u64 ? DType::i64 : DType::i32;  // no 64-bit types unasked
  }
}

/// A number from 2^31 on: only these are u32 and weak.
[[noreturn]] void refuseUnsignedNumber(std::string_view op, const Array& number, DType t) {
  const std::string value = number.is_traced() ? "a number from 2^31 on" : fmt::to_string(*number.as<uint32_t>());
  refuse(
      {.code = "SM6302",
       .message = fmt::format("'{}' has no implicit conversion of {} to {}", op, value, name(t)),
       .place = {},
       .need = fmt::format("a number that {} has", name(t)),
       .have = value,
       .help = "convert the other operand with astype, to u32 or i64; or write the negative number with these bits"});
}

}  // namespace

void refuseDType(std::string_view op, DType t, std::string_view need) {
  refuse({.code = "SM6302",
          .message = fmt::format("'{}' does not take {}", op, name(t)),
          .place = {},
          .need = std::string(need),
          .have = std::string(name(t)),
          .help = "convert the operand with astype"});
}

Promoted promote(std::string_view op, std::span<const Operand* const> operands) {
  const Promoted p = promoteBits(op, operands);
  if (!is_signed_integer(p.dtype) || bit_width(p.dtype) > 32) return p;
  for (const Operand* o : operands)
    if (o->dtype() == DType::u32 && o->array().weak_type()) refuseUnsignedNumber(op, o->array(), p.dtype);
  return p;
}

Promoted promoteBits(std::string_view op, std::span<const Operand* const> operands) {
  std::optional<DType> strong;
  int weakest = 0;  // highest category among weak operands
  for (const Operand* o : operands) {
    if (o->array().weak_type()) {
      weakest = std::max(weakest, category(o->dtype()));
      continue;
    }
    const DType t = o->dtype();
    if (!strong || category(*strong) < category(t)) {
      strong = t;
    } else if (category(*strong) == category(t)) {
      const auto joined = join(*strong, t);
      if (!joined)
        refuse({.code = "SM6302",
                .message = fmt::format("'{}' has no implicit conversion between {} and {}", op, name(*strong), name(t)),
                .place = {},
                .need = "operands of one dtype",
                .have = fmt::format("{} and {}", name(*strong), name(t)),
                .help = "convert one of them with astype"});
      strong = joined;
    }
  }
  constexpr DType kDefaults[] = {DType::pred, DType::i32, DType::f32};
  if (!strong) return {kDefaults[weakest], true};
  if (category(*strong) >= weakest) return {*strong, false};
  return {kDefaults[weakest], true};  // an integer array times 1.5 is a (weak) f32
}

Shape broadcastShape(std::string_view op, std::initializer_list<const Operand*> operands) {
  Shape shape;
  for (const Operand* o : operands)
    if (o->shape().size() > shape.size()) shape.insert(shape.begin(), o->shape().size() - shape.size(), 1);
  for (const Operand* o : operands) {
    const Shape& s = o->shape();
    const size_t skip = shape.size() - s.size();
    for (size_t i = 0; i < s.size(); ++i) {
      int64_t& d = shape[skip + i];
      if (s[i] == d || s[i] == 1) continue;
      if (d != 1) {
        std::vector<std::string> shapes;
        for (const Operand* p : operands) shapes.push_back(fmt::format("[{}]", fmt::join(p->shape(), ", ")));
        refuse({.code = "SM6301",
                .message = fmt::format("'{}' cannot broadcast its operands to one shape", op),
                .place = {},
                .need = "trailing axes that are equal, or 1",
                .have = fmt::format("shapes {}", fmt::join(shapes, " and ")),
                .help = "add an axis of size 1 with expand_dims; a reduction keeps its own with {.keepdims = true}"});
      }
      d = s[i];
    }
  }
  return shape;
}

std::optional<Shape> resolveShape(Shape shape, int64_t elements) {
  int64_t known = 1;
  auto open = shape.end();
  for (auto d = shape.begin(); d != shape.end(); ++d) {
    if (*d == -1 && open == shape.end())
      open = d;
    else if (*d < 0 || __builtin_mul_overflow(known, *d, &known))
      return std::nullopt;
  }
  if (open != shape.end()) {
    if (known == 0 || elements % known != 0) return std::nullopt;
    *open = elements / known;
  } else if (known != elements) {
    return std::nullopt;
  }
  return shape;
}

Array prepare(const Operand& o, DType t, const Shape& shape) { return broadcastTo(convertTo(o.array(), t), shape); }

int64_t checkedAxis(std::string_view op, int64_t axis, int64_t rank) {
  const int64_t a = axis < 0 ? axis + rank : axis;
  if (a < 0 || a >= rank)
    refuse({.code = "SM6305",
            .message = fmt::format("'{}' has no axis {}", op, axis),
            .place = {},
            .need = rank == 0 ? "an operand with axes" : fmt::format("an axis in [{}, {})", -rank, rank),
            .have = fmt::format("axis {} of an operand of rank {}", axis, rank),
            .help = "name an axis the operand has"});
  return a;
}

Array unary(const OpRecord& op, const Operand& x) {
  SourceLocationScope place(x.at());
  return bind1(op, {x.array()}, x.array().type()).with_weak_type(x.array().weak_type());
}

Array unaryFloat(const OpRecord& op, const Operand& x, Attributes attributes) {
  SourceLocationScope place(x.at());
  const Array a = is_float(x.dtype()) ? x.array() : convertTo(x.array(), DType::f32);
  return bind1(op, {a}, a.type(), std::move(attributes)).with_weak_type(x.array().weak_type());
}

Array binary(const OpRecord& op, const Operand& x, const Operand& y) {
  SourceLocationScope place(x.at());
  return binary(op, x, y, promote(op.name, {&x, &y}));
}

Array binary(const OpRecord& op, const Operand& x, const Operand& y, Promoted p) {
  SourceLocationScope place(x.at());
  const Shape shape = broadcastShape(op.name, {&x, &y});
  return bind1(op, {prepare(x, p.dtype, shape), prepare(y, p.dtype, shape)}, {p.dtype, shape}).with_weak_type(p.weak);
}

}  // namespace smalti::lang
