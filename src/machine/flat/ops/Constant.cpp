// Constants: scalars, splats (one element), dense arrays; and values that depend on nothing but the program.
#include <cstring>

#include "mlir/IR/BuiltinAttributes.h"

#include "eval/FloatFormats.h"
#include "eval/Shape.h"
#include "machine/flat/ops/Table.h"

namespace smalti::machine::flat {
namespace {

/// An attribute's element in storage form, in `out` (8 bytes). Sub-byte integers are kept sign-extended.
void storeInteger(const llvm::APInt& value, DType dtype, std::byte* out) {
  const int64_t v = dtype == DType::pred ? static_cast<int64_t>(value.getZExtValue() & 1) : value.getSExtValue();
  std::memcpy(out, &v, static_cast<size_t>(storage_bytes(dtype)));
}

void storeFloat(const llvm::APFloat& value, DType dtype, std::byte* out) {
  const uint64_t bits = value.bitcastToAPInt().getZExtValue();
  std::memcpy(out, &bits, static_cast<size_t>(storage_bytes(dtype)));
}

Status lowerConstant(FlatLowering& lowering, mlir::Operation& op) {
  mlir::Value result = op.getResult(0);
  const DType dtype = elementDType(result.getType());
  mlir::Attribute value = op.getAttr("value");
  std::byte element[8] = {};
  if (auto integer = llvm::dyn_cast_or_null<mlir::IntegerAttr>(value)) {
    storeInteger(integer.getValue(), dtype, element);
    lowering.constant(result, element);
    return {};
  }
  if (auto number = llvm::dyn_cast_or_null<mlir::FloatAttr>(value)) {
    storeFloat(number.getValue(), dtype, element);
    lowering.constant(result, element);
    return {};
  }
  auto dense = llvm::dyn_cast_or_null<mlir::DenseElementsAttr>(value);
  if (!dense || dense.getType() != result.getType())
    return lowering.refuse(op, "constants are numbers or dense arrays of them");
  const bool isFloat = llvm::isa<mlir::FloatType>(dense.getElementType());
  if (!isFloat && !dense.getElementType().isIntOrIndex()) return lowering.refuse(op);
  if (dense.isSplat() || dense.getNumElements() == 1) {
    if (isFloat)
      storeFloat(*dense.value_begin<llvm::APFloat>(), dtype, element);
    else
      storeInteger(*dense.value_begin<llvm::APInt>(), dtype, element);
    lowering.constant(result, element);
    return {};
  }
  const auto bytes = static_cast<size_t>(storage_bytes(dtype));
  std::vector<std::byte> data(static_cast<size_t>(dense.getNumElements()) * bytes);
  std::byte* at = data.data();
  if (isFloat)
    for (const llvm::APFloat& v : dense.getValues<llvm::APFloat>()) storeFloat(v, dtype, std::exchange(at, at + bytes));
  else
    for (const llvm::APInt& v : dense.getValues<llvm::APInt>()) storeInteger(v, dtype, std::exchange(at, at + bytes));
  lowering.denseConstant(result, data);
  return {};
}

/// tpu.iota and vector.step: computed once, when the function is compiled, if small; else where they stand.
struct Iota : Payload {
  Shape dims;
  Operand out;
  void run(Frame& frame) const {
    eval::iota(dims, frame.output(out));
    frame.setDefined(out);
  }
};

Status lowerIota(FlatLowering& lowering, mlir::Operation& op) {
  mlir::Value result = op.getResult(0);
  const DType dtype = elementDType(result.getType());
  if (!is_integer(dtype) && dtype != DType::index) return lowering.refuse(op);
  Shape dims = integersAttribute(op, "dimensions");
  if (op.getName().getStringRef() == "vector.step") dims = {0};
  const Shape shape = shapeOf(result.getType());
  for (int64_t d : dims)
    if (d < 0 || d >= static_cast<int64_t>(shape.size())) return lowering.refuse(op, "dimensions out of range");
  constexpr int64_t kPrecomputedBytes = 1 << 16;
  const int64_t n = checkedElements(shape);
  if (n > 0 && n * storage_bytes(dtype) <= kPrecomputedBytes) {
    std::vector<std::byte> data(static_cast<size_t>(n * storage_bytes(dtype)));
    eval::iota(dims, {data.data(), dtype, shape});
    if (n == 1)
      lowering.constant(result, data.data());
    else
      lowering.denseConstant(result, data);
    return {};
  }
  Iota payload;
  payload.dims = std::move(dims);
  payload.out = lowering.define(result);
  lowering.emit(std::move(payload));
  return {};
}

constexpr FlatOpRow kConstantTable[] = {
    {"arith.constant", lowerConstant, OpClass::vector},
    {"tpu.iota", lowerIota, OpClass::vector},
    {"vector.step", lowerIota, OpClass::vector},
};

}  // namespace

std::span<const FlatOpRow> constantTable() { return kConstantTable; }

}  // namespace smalti::machine::flat
