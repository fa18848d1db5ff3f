#include <fmt/format.h>

#include "ir/program/TypeRules.h"

namespace smalti::rules {

std::string sameShape(const ArrayType& a, const ArrayType& b, std::string_view aName, std::string_view bName) {
  if (a.shape == b.shape) return "";
  return fmt::format("{} and {} must have one shape, but are {} and {}", aName, bName, a.str(), b.str());
}

std::string dimsIn(std::span<const int64_t> dims, size_t rank, std::string_view what) {
  std::vector<bool> seen(rank);
  for (const int64_t d : dims) {
    if (d < 0 || d >= static_cast<int64_t>(rank)) return fmt::format("{} {} is not in [0, {})", what, d, rank);
    if (seen[d]) return fmt::format("{} {} is given twice", what, d);
    seen[d] = true;
  }
  return "";
}

std::string sameType(const TypedOp& op) {
  op.infer(0, op.operand(0).shape);
  for (int i = 0; i < op.numOperands(); ++i)
    if (op.operand(i) != op.result())
      return fmt::format("operand {} is {}, the result {}: they must be equal", i, op.operand(i).str(),
                         op.result().str());
  return "";
}

namespace {
std::string sameTypeOf(const TypedOp& op, bool allowed, std::string_view kinds) {
  if (!allowed) return fmt::format("takes {}, not {}", kinds, name(op.result().dtype));
  return sameType(op);
}
}  // namespace

std::string sameFloat(const TypedOp& op) { return sameTypeOf(op, is_float(op.result().dtype), "floats"); }
std::string sameFloatOrComplex(const TypedOp& op) {
  const DType t = op.result().dtype;
  return sameTypeOf(op, is_float(t) || is_complex(t), "floats or complex numbers");
}

std::string makeComplex(const TypedOp& op) {
  op.infer(0, op.operand(0).shape);
  const DType part = part_of(op.result().dtype);
  for (int i = 0; i < 2; ++i)
    if (!is_complex(op.result().dtype) || op.operand(i) != ArrayType{part, op.result().shape})
      return fmt::format("makes {} of {} and {}", op.result().str(), op.operand(0).str(), op.operand(1).str());
  return "";
}

std::string partOf(const TypedOp& op) {
  op.infer(0, op.operand(0).shape);
  if (op.result() == ArrayType{part_of(op.operand(0).dtype), op.operand(0).shape}) return "";
  return fmt::format("takes {} of {}", op.result().str(), op.operand(0).str());
}

std::string absolute(const TypedOp& op) { return is_complex(op.operand(0).dtype) ? partOf(op) : sameSigned(op); }

std::string sameInteger(const TypedOp& op) { return sameTypeOf(op, is_integer(op.result().dtype), "integers"); }
std::string sameLogical(const TypedOp& op) {
  const DType t = op.result().dtype;
  return sameTypeOf(op, is_integer(t) || t == DType::pred, "integers or bool");
}
std::string sameSigned(const TypedOp& op) {
  const DType t = op.result().dtype;
  return sameTypeOf(op, is_float(t) || is_integer(t) || is_complex(t), "numbers");
}

std::string convert(const TypedOp& op) {
  op.infer(0, op.operand(0).shape);
  return sameShape(op.operand(0), op.result(), "operand", "result");
}

std::string bitcastConvert(const TypedOp& op) {
  const ArrayType &from = op.operand(0), &to = op.result();
  const int fromBits = bit_width(from.dtype), toBits = bit_width(to.dtype);
  Shape expected = from.shape;
  bool fits = true;
  if (fromBits > toBits) {
    fits = fromBits % toBits == 0;
    expected.push_back(fromBits / toBits);
  } else if (fromBits < toBits) {
    fits = !expected.empty() && expected.back() * fromBits == toBits;
    if (fits) expected.pop_back();
  }
  op.infer(0, expected);
  if (fits && expected == to.shape) return "";
  return fmt::format("the bits of {} are not those of {}", from.str(), to.str());
}

std::string compare(const TypedOp& op) {
  const std::string_view direction = op.text("comparison_direction");
  if (direction != "EQ" && direction != "NE" && direction != "LT" && direction != "LE" && direction != "GT" &&
      direction != "GE")
    return fmt::format("comparison_direction is {}, not one of EQ, NE, LT, LE, GT, GE", direction);
  if (op.operand(0) != op.operand(1))
    return fmt::format("compares {} with {}: they must be equal", op.operand(0).str(), op.operand(1).str());
  if (op.result().dtype != DType::pred) return fmt::format("the result is {}, not bool", op.result().str());
  op.infer(0, op.operand(0).shape);
  return sameShape(op.operand(0), op.result(), "operands", "result");
}

std::string isFinite(const TypedOp& op) {
  if (!is_float(op.operand(0).dtype)) return fmt::format("takes floats, not {}", name(op.operand(0).dtype));
  if (op.result().dtype != DType::pred) return fmt::format("the result is {}, not bool", op.result().str());
  op.infer(0, op.operand(0).shape);
  return sameShape(op.operand(0), op.result(), "operand", "result");
}

std::string select(const TypedOp& op) {
  const ArrayType& condition = op.operand(0);
  if (condition.dtype != DType::pred) return fmt::format("the condition is {}, not bool", condition.str());
  op.infer(0, op.operand(1).shape);
  if (op.operand(1) != op.result() || op.operand(2) != op.result())
    return fmt::format("chooses between {} and {} for {}: the three must be equal", op.operand(1).str(),
                       op.operand(2).str(), op.result().str());
  return condition.shape.empty() ? "" : sameShape(condition, op.result(), "condition", "result");
}

std::string clamp(const TypedOp& op) {
  op.infer(0, op.operand(1).shape);
  if (op.operand(1) != op.result())
    return fmt::format("the operand is {}, the result {}", op.operand(1).str(), op.result().str());
  for (const int bound : {0, 2}) {
    const ArrayType& t = op.operand(bound);
    if (t.dtype != op.result().dtype || (!t.shape.empty() && t.shape != op.result().shape))
      return fmt::format("a bound is {}, which is neither a scalar nor like the operand {}", t.str(),
                         op.result().str());
  }
  return "";
}

std::string barrier(const TypedOp& op) {
  if (op.numOperands() != op.numResults())
    return fmt::format("has {} operands and {} results", op.numOperands(), op.numResults());
  for (int i = 0; i < op.numOperands(); ++i) {
    op.infer(i, op.operand(i).shape);
    if (op.operand(i) != op.result(i))
      return fmt::format("operand {} is {}, result {} is {}", i, op.operand(i).str(), i, op.result(i).str());
  }
  return "";
}

std::string reducePrecision(const TypedOp& op) {
  const int64_t exponent = op.integer("exponent_bits"), mantissa = op.integer("mantissa_bits");
  if (exponent < 1 || mantissa < 0) return fmt::format("e{}m{} is not a float format", exponent, mantissa);
  return sameFloat(op);
}

}  // namespace smalti::rules
