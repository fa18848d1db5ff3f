// Types in the builtin dialect's binary encoding.
#include "mlir/IR/TypeRange.h"

#include "interop/bytecode/AttrTypeParts.h"
#include "interop/bytecode/AttrTypeReader.h"
#include "interop/bytecode/Format.h"

namespace smalti::interop::bytecode {

mlir::Type AttrTypeReader::builtinType(Frame& f) {
  const uint64_t code = f.cursor.varint("a type's code");
  if (!f.cursor.ok()) return {};
  switch (static_cast<TypeCode>(code)) {
    case TypeCode::Integer: {
      const uint64_t v = f.cursor.varint("an integer type");
      const uint64_t width = v >> 2, signedness = v & 3;
      if (f.cursor.ok() && (width == 0 || width > 64 || signedness > 2))
        f.cursor.fail("SM2105", "the kernel body has an integer type that kernels do not have", "1 to 64 bits",
                      fmt::format("{} bits, signedness {}", width, signedness));
      if (!f.cursor.ok()) return {};
      return mlir::IntegerType::get(&context_, width, static_cast<mlir::IntegerType::SignednessSemantics>(signedness));
    }
    case TypeCode::Index:
      return mlir::IndexType::get(&context_);
    case TypeCode::Function: {
      std::vector<mlir::Type> inputs = typeParts(f, "a function's inputs");
      std::vector<mlir::Type> results = typeParts(f, "a function's results");
      if (!f.cursor.ok()) return {};
      return mlir::FunctionType::get(&context_, llvm::ArrayRef(inputs), llvm::ArrayRef(results));
    }
    case TypeCode::BFloat16:
      return mlir::BFloat16Type::get(&context_);
    case TypeCode::Float16:
      return mlir::Float16Type::get(&context_);
    case TypeCode::Float32:
      return mlir::Float32Type::get(&context_);
    case TypeCode::Float64:
      return mlir::Float64Type::get(&context_);
    case TypeCode::MemRef:
      return memRefType(f, false);
    case TypeCode::MemRefWithMemSpace:
      return memRefType(f, true);
    case TypeCode::Vector:
      return vectorType(f);
    case TypeCode::TF32:
      return mlir::FloatTF32Type::get(&context_);
    case TypeCode::Float8E5M2:
      return mlir::Float8E5M2Type::get(&context_);
    case TypeCode::Float8E4M3:
      return mlir::Float8E4M3Type::get(&context_);
    case TypeCode::Float8E4M3FN:
      return mlir::Float8E4M3FNType::get(&context_);
    case TypeCode::Float8E5M2FNUZ:
      return mlir::Float8E5M2FNUZType::get(&context_);
    case TypeCode::Float8E4M3FNUZ:
      return mlir::Float8E4M3FNUZType::get(&context_);
    case TypeCode::Float8E4M3B11FNUZ:
      return mlir::Float8E4M3B11FNUZType::get(&context_);
    case TypeCode::Float8E3M4:
      return mlir::Float8E3M4Type::get(&context_);
    case TypeCode::Float4E2M1FN:
      return mlir::Float4E2M1FNType::get(&context_);
    case TypeCode::Float6E2M3FN:
      return mlir::Float6E2M3FNType::get(&context_);
    case TypeCode::Float6E3M2FN:
      return mlir::Float6E3M2FNType::get(&context_);
    case TypeCode::Float8E8M0FNU:
      return mlir::Float8E8M0FNUType::get(&context_);
    case TypeCode::Float80:
    case TypeCode::Float128:
    case TypeCode::Complex:
    case TypeCode::None:
    case TypeCode::RankedTensor:
    case TypeCode::RankedTensorWithEncoding:
    case TypeCode::Tuple:
    case TypeCode::UnrankedMemRef:
    case TypeCode::UnrankedMemRefWithMemSpace:
    case TypeCode::UnrankedTensor:
    case TypeCode::VectorWithScalableDims:
      f.cursor.fail("SM2105", "the kernel body has a type that kernels do not have",
                    "integers, floats of at most 64 bits, vectors and memrefs of known rank",
                    fmt::format("type code {}", code));
      return {};
  }
  unknownCode(f, "a type", code);
  return {};
}

mlir::Type AttrTypeReader::memRefType(Frame& f, bool withSpace) {
  mlir::Attribute space;
  if (withSpace) space = attributePart(f, "a memory space");
  std::vector<int64_t> shape = shapePart(f);
  mlir::Type element = typePart(f);
  auto layout = attributePart<mlir::MemRefLayoutAttrInterface>(f, "a memref's layout");
  if (!f.cursor.ok() || !checkElements(f, shape)) return {};
  if (auto map = mlir::dyn_cast<mlir::AffineMapAttr>(mlir::Attribute(layout)); map && !map.getValue().isPermutation()) {
    f.cursor.fail("SM2105", "a memref of the kernel body has a computed layout",
                  "the identity layout, or a permutation of its dimensions");
    return {};
  }
  auto emitError = [&] { return mlir::emitError(mlir::UnknownLoc::get(&context_)); };
  if (!mlir::BaseMemRefType::isValidElementType(element)) {
    f.cursor.fail("SM2105", "a memref of the kernel body has elements that memrefs cannot have");
    return {};
  }
  auto type = mlir::MemRefType::getChecked(emitError, shape, element, layout, space);
  if (!type) refusedByMlir(f, "a memref type");
  return type;
}

mlir::Type AttrTypeReader::vectorType(Frame& f) {
  std::vector<int64_t> shape = shapePart(f);
  mlir::Type element = typePart(f);
  if (!f.cursor.ok() || !checkElements(f, shape)) return {};
  if (!mlir::VectorType::isValidElementType(element)) {
    f.cursor.fail("SM2105", "a vector of the kernel body has elements that vectors cannot have");
    return {};
  }
  auto emitError = [&] { return mlir::emitError(mlir::UnknownLoc::get(&context_)); };
  auto type = mlir::VectorType::getChecked(emitError, shape, element);
  if (!type) refusedByMlir(f, "a vector type");
  return type;
}

}  // namespace smalti::interop::bytecode
