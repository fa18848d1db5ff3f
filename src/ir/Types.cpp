#include "ir/Types.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/TypeUtilities.h"

#include "ir/Tpu.h"

namespace smalti {

static_assert(kDynamicSize == mlir::ShapedType::kDynamic);
namespace {

std::optional<DType> integerDtype(mlir::IntegerType type) {
  const bool isUnsigned = type.isUnsigned();
  switch (type.getWidth()) {
    case 1:
      return isUnsigned ? std::nullopt : std::optional(DType::pred);
    case 2:
      return isUnsigned ? DType::u2 : DType::i2;
    case 4:
      return isUnsigned ? DType::u4 : DType::i4;
    case 8:
      return isUnsigned ? DType::u8 : DType::i8;
    case 16:
      return isUnsigned ? DType::u16 : DType::i16;
    case 32:
      return isUnsigned ? DType::u32 : DType::i32;
    case 64:
      return isUnsigned ? DType::u64 : DType::i64;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<DType> dtypeOf(mlir::Type type) {
  if (auto integer = mlir::dyn_cast<mlir::IntegerType>(type)) return integerDtype(integer);
  if (type.isF32()) return DType::f32;
  if (type.isBF16()) return DType::bf16;
  if (mlir::isa<mlir::IndexType>(type)) return DType::index;
  if (type.isF16()) return DType::f16;
  if (type.isF64()) return DType::f64;
  if (mlir::isa<mlir::Float8E5M2Type>(type)) return DType::f8e5m2;
  if (mlir::isa<mlir::Float8E4M3FNType>(type)) return DType::f8e4m3fn;
  if (mlir::isa<mlir::Float8E4M3B11FNUZType>(type)) return DType::f8e4m3b11fnuz;
  if (mlir::isa<mlir::Float8E8M0FNUType>(type)) return DType::f8e8m0fnu;
  if (mlir::isa<mlir::Float4E2M1FNType>(type)) return DType::f4e2m1fn;
  if (mlir::isa<tpu::SemaphoreType>(type)) return DType::semaphore;
  if (mlir::isa<tpu::DmaSemaphoreType>(type)) return DType::dma_semaphore;
  return std::nullopt;
}

mlir::Type typeOf(DType dtype, mlir::MLIRContext& context) {
  switch (dtype) {
    case DType::f32:
      return mlir::Float32Type::get(&context);
    case DType::f64:
      return mlir::Float64Type::get(&context);
    case DType::bf16:
      return mlir::BFloat16Type::get(&context);
    case DType::f16:
      return mlir::Float16Type::get(&context);
    case DType::f8e5m2:
      return mlir::Float8E5M2Type::get(&context);
    case DType::f8e4m3fn:
      return mlir::Float8E4M3FNType::get(&context);
    case DType::f8e4m3b11fnuz:
      return mlir::Float8E4M3B11FNUZType::get(&context);
    case DType::f8e8m0fnu:
      return mlir::Float8E8M0FNUType::get(&context);
    case DType::f4e2m1fn:
      return mlir::Float4E2M1FNType::get(&context);
    case DType::index:
      return mlir::IndexType::get(&context);
    case DType::semaphore:
      return tpu::SemaphoreType::get(&context);
    case DType::dma_semaphore:
      return tpu::DmaSemaphoreType::get(&context);
    default:
      return mlir::IntegerType::get(&context, bit_width(dtype));
  }
}

std::optional<ArrayType> arrayTypeOf(mlir::Type type) {
  auto shaped = mlir::dyn_cast<mlir::ShapedType>(type);
  std::optional<DType> dtype = dtypeOf(shaped ? shaped.getElementType() : type);
  if (!dtype || (shaped && !shaped.hasStaticShape())) return std::nullopt;
  ArrayType result{.dtype = *dtype};
  if (shaped) result.shape.assign(shaped.getShape().begin(), shaped.getShape().end());
  return result;
}

Shape shapeOf(mlir::Type t) {
  if (auto shaped = llvm::dyn_cast<mlir::ShapedType>(t))
    if (shaped.hasRank()) return Shape(shaped.getShape().begin(), shaped.getShape().end());
  return {};
}

DType elementDType(mlir::Type t) { return dtypeOf(mlir::getElementTypeOrSelf(t)).value_or(DType::f32); }

int64_t checkedElements(std::span<const int64_t> shape) {
  constexpr int64_t kMax = int64_t{1} << 40;
  int64_t n = 1;
  for (int64_t d : shape)
    if (d < 0 || __builtin_mul_overflow(n, d, &n) || n > kMax) return -1;
  return n;
}

}  // namespace smalti
