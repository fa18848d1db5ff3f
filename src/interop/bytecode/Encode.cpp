#include "interop/bytecode/Encode.h"

#include "llvm/ADT/TypeSwitch.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Location.h"

#include "interop/bytecode/Format.h"

namespace smalti::interop::bytecode {
namespace {

template <class Code>
void code(EncodingSink& s, Code c) {
  s.varint(static_cast<uint64_t>(c));
}

template <class Range>
void attributes(EncodingSink& s, const Range& parts) {
  s.varint(parts.size());
  for (mlir::Attribute a : parts) s.attribute(a);
}

void types(EncodingSink& s, llvm::ArrayRef<mlir::Type> parts) {
  s.varint(parts.size());
  for (mlir::Type t : parts) s.type(t);
}

void shape(EncodingSink& s, llvm::ArrayRef<int64_t> dims) {
  s.varint(dims.size());
  for (int64_t d : dims) s.signedVarint(d);
}

// One byte up to eight bits; above, the zero-extended value as a signed varint.
void bits(EncodingSink& s, const llvm::APInt& value) {
  if (value.getBitWidth() <= 8)
    s.byte(static_cast<uint8_t>(value.getZExtValue()));
  else
    s.signedVarint(static_cast<int64_t>(value.getZExtValue()));
}

bool encodeFileLocation(mlir::FileLineColRange l, EncodingSink& s) {
  const unsigned line = l.getStartLine(), column = l.getStartColumn();
  if (mlir::isStrictFileLineColLoc(l)) {
    code(s, AttrCode::FileLineColLoc);
    s.attribute(l.getFilename());
    s.varint(line);
    s.varint(column);
    return true;
  }
  code(s, AttrCode::FileLineColRange);
  s.attribute(l.getFilename());
  std::vector<unsigned> numbers;
  if (line != l.getEndLine())
    numbers = {line, column, l.getEndLine(), l.getEndColumn()};
  else if (column != l.getEndColumn())
    numbers = {line, column, l.getEndColumn()};
  else if (line != 0)
    numbers = {line};
  s.varint(numbers.size());
  for (unsigned n : numbers) s.varint(n);
  return true;
}

bool encodeFused(mlir::FusedLoc l, EncodingSink& s) {
  code(s, l.getMetadata() ? AttrCode::FusedLocWithMetadata : AttrCode::FusedLoc);
  s.varint(l.getLocations().size());
  for (mlir::Location part : l.getLocations()) s.attribute(mlir::LocationAttr(part));
  if (l.getMetadata()) s.attribute(l.getMetadata());
  return true;
}

void encodeExpr(mlir::AffineExpr e, EncodingSink& s) {
  auto binary = [&](AffineExprKind kind) {
    auto b = mlir::cast<mlir::AffineBinaryOpExpr>(e);
    code(s, kind);
    encodeExpr(b.getLHS(), s);
    encodeExpr(b.getRHS(), s);
  };
  switch (e.getKind()) {
    case mlir::AffineExprKind::DimId:
      code(s, AffineExprKind::Dim);
      return s.varint(mlir::cast<mlir::AffineDimExpr>(e).getPosition());
    case mlir::AffineExprKind::SymbolId:
      code(s, AffineExprKind::Symbol);
      return s.varint(mlir::cast<mlir::AffineSymbolExpr>(e).getPosition());
    case mlir::AffineExprKind::Constant:
      code(s, AffineExprKind::Constant);
      return s.signedVarint(mlir::cast<mlir::AffineConstantExpr>(e).getValue());
    case mlir::AffineExprKind::Add:
      return binary(AffineExprKind::Add);
    case mlir::AffineExprKind::Mul:
      return binary(AffineExprKind::Mul);
    case mlir::AffineExprKind::Mod:
      return binary(AffineExprKind::Mod);
    case mlir::AffineExprKind::FloorDiv:
      return binary(AffineExprKind::FloorDiv);
    case mlir::AffineExprKind::CeilDiv:
      return binary(AffineExprKind::CeilDiv);
  }
}

bool encodeAffineMap(mlir::AffineMap m, EncodingSink& s, EncodingDialect dialect) {
  if (!dialect.newerCodes) return false;
  code(s, AttrCode::AffineMap);
  const bool plain = m.getNumSymbols() == 0;
  const AffineMapKind kind = plain && m.isIdentity()               ? AffineMapKind::Identity
                             : plain && m.isPermutation()          ? AffineMapKind::Permutation
                             : plain && m.isProjectedPermutation() ? AffineMapKind::ProjectedPermutation
                                                                   : AffineMapKind::General;
  s.varint(static_cast<uint64_t>(m.getNumDims()) << 2 | static_cast<uint64_t>(kind));
  if (kind == AffineMapKind::Identity) return true;
  if (kind == AffineMapKind::General) s.varint(m.getNumSymbols());
  if (kind != AffineMapKind::Permutation) s.varint(m.getNumResults());
  for (mlir::AffineExpr e : m.getResults()) {
    if (kind == AffineMapKind::General)
      encodeExpr(e, s);
    else
      s.varint(mlir::cast<mlir::AffineDimExpr>(e).getPosition());
  }
  return true;
}

bool encodeStrided(mlir::StridedLayoutAttr l, EncodingSink& s, EncodingDialect dialect) {
  if (!dialect.newerCodes) return false;
  code(s, AttrCode::StridedLayout);
  s.signedVarint(l.getOffset());
  shape(s, l.getStrides());
  return true;
}

// The i1 raw buffer is packed eight to a byte, a splat one byte of 0x00 or 0xff, as readers of every version take it.
bool encodeDense(mlir::DenseIntOrFPElementsAttr d, EncodingSink& s) {
  code(s, AttrCode::DenseIntOrFPElements);
  s.type(d.getType());
  s.blob(d.getRawData());
  return true;
}

bool encodeSymbol(mlir::SymbolRefAttr r, EncodingSink& s) {
  code(s, r.getNestedReferences().empty() ? AttrCode::FlatSymbolRef : AttrCode::SymbolRef);
  s.attribute(r.getRootReference());
  if (!r.getNestedReferences().empty()) attributes(s, r.getNestedReferences());
  return true;
}

bool encodeString(mlir::StringAttr a, EncodingSink& s) {
  const bool typed = !mlir::isa<mlir::NoneType>(a.getType());
  code(s, typed ? AttrCode::StringWithType : AttrCode::String);
  s.string(a.getValue());
  if (typed) s.type(a.getType());
  return true;
}

bool encodeDictionary(mlir::DictionaryAttr d, EncodingSink& s) {
  code(s, AttrCode::Dictionary);
  s.varint(d.size());
  for (mlir::NamedAttribute a : d) {
    s.attribute(a.getName());
    s.attribute(a.getValue());
  }
  return true;
}

}  // namespace

bool encode(mlir::Attribute attribute, EncodingSink& s, EncodingDialect dialect) {
  return llvm::TypeSwitch<mlir::Attribute, bool>(attribute)
      .Case([&](mlir::ArrayAttr a) { return code(s, AttrCode::Array), attributes(s, a.getValue()), true; })
      .Case([&](mlir::DictionaryAttr a) { return encodeDictionary(a, s); })
      .Case([&](mlir::StringAttr a) { return encodeString(a, s); })
      .Case([&](mlir::SymbolRefAttr a) { return encodeSymbol(a, s); })
      .Case([&](mlir::TypeAttr a) { return code(s, AttrCode::Type), s.type(a.getValue()), true; })
      .Case([&](mlir::UnitAttr) { return code(s, AttrCode::Unit), true; })
      .Case([&](mlir::IntegerAttr a) {
        return code(s, AttrCode::Integer), s.type(a.getType()), bits(s, a.getValue()), true;
      })
      .Case([&](mlir::FloatAttr a) {
        return code(s, AttrCode::Float), s.type(a.getType()), bits(s, a.getValue().bitcastToAPInt()), true;
      })
      .Case([&](mlir::DenseArrayAttr a) {
        code(s, AttrCode::DenseArray);
        s.type(a.getElementType());
        s.varint(a.getSize());
        s.blob(a.getRawData());
        return true;
      })
      .Case([&](mlir::DenseIntOrFPElementsAttr a) { return encodeDense(a, s); })
      .Case([&](mlir::AffineMapAttr a) { return encodeAffineMap(a.getValue(), s, dialect); })
      .Case([&](mlir::StridedLayoutAttr a) { return encodeStrided(a, s, dialect); })
      .Case([&](mlir::UnknownLoc) { return code(s, AttrCode::UnknownLoc), true; })
      .Case([&](mlir::FileLineColRange l) { return encodeFileLocation(l, s); })
      .Case([&](mlir::FusedLoc l) { return encodeFused(l, s); })
      .Case([&](mlir::NameLoc l) {
        code(s, AttrCode::NameLoc);
        s.attribute(l.getName());
        s.attribute(mlir::LocationAttr(l.getChildLoc()));
        return true;
      })
      .Case([&](mlir::CallSiteLoc l) {
        code(s, AttrCode::CallSiteLoc);
        s.attribute(mlir::LocationAttr(l.getCallee()));
        s.attribute(mlir::LocationAttr(l.getCaller()));
        return true;
      })
      .Default([](mlir::Attribute) { return false; });
}

bool encode(mlir::Type type, EncodingSink& s, EncodingDialect dialect) {
  auto small = [&](TypeCode c) {
    if (dialect.newerCodes) code(s, c);
    return dialect.newerCodes;
  };
  return llvm::TypeSwitch<mlir::Type, bool>(type)
      .Case([&](mlir::IntegerType t) {
        code(s, TypeCode::Integer);
        s.varint(static_cast<uint64_t>(t.getWidth()) << 2 | static_cast<uint64_t>(t.getSignedness()));
        return true;
      })
      .Case([&](mlir::IndexType) { return code(s, TypeCode::Index), true; })
      .Case([&](mlir::FunctionType t) {
        return code(s, TypeCode::Function), types(s, t.getInputs()), types(s, t.getResults()), true;
      })
      .Case([&](mlir::BFloat16Type) { return code(s, TypeCode::BFloat16), true; })
      .Case([&](mlir::Float16Type) { return code(s, TypeCode::Float16), true; })
      .Case([&](mlir::Float32Type) { return code(s, TypeCode::Float32), true; })
      .Case([&](mlir::Float64Type) { return code(s, TypeCode::Float64), true; })
      .Case([&](mlir::MemRefType t) {
        code(s, t.getMemorySpace() ? TypeCode::MemRefWithMemSpace : TypeCode::MemRef);
        if (t.getMemorySpace()) s.attribute(t.getMemorySpace());
        shape(s, t.getShape());
        s.type(t.getElementType());
        s.attribute(t.getLayout());
        return true;
      })
      .Case([&](mlir::VectorType t) {
        if (t.isScalable()) return false;
        return code(s, TypeCode::Vector), shape(s, t.getShape()), s.type(t.getElementType()), true;
      })
      .Case([&](mlir::FloatTF32Type) { return small(TypeCode::TF32); })
      .Case([&](mlir::Float8E5M2Type) { return small(TypeCode::Float8E5M2); })
      .Case([&](mlir::Float8E4M3Type) { return small(TypeCode::Float8E4M3); })
      .Case([&](mlir::Float8E4M3FNType) { return small(TypeCode::Float8E4M3FN); })
      .Case([&](mlir::Float8E5M2FNUZType) { return small(TypeCode::Float8E5M2FNUZ); })
      .Case([&](mlir::Float8E4M3FNUZType) { return small(TypeCode::Float8E4M3FNUZ); })
      .Case([&](mlir::Float8E4M3B11FNUZType) { return small(TypeCode::Float8E4M3B11FNUZ); })
      .Case([&](mlir::Float8E3M4Type) { return small(TypeCode::Float8E3M4); })
      .Case([&](mlir::Float4E2M1FNType) { return small(TypeCode::Float4E2M1FN); })
      .Case([&](mlir::Float6E2M3FNType) { return small(TypeCode::Float6E2M3FN); })
      .Case([&](mlir::Float6E3M2FNType) { return small(TypeCode::Float6E3M2FN); })
      .Case([&](mlir::Float8E8M0FNUType) { return small(TypeCode::Float8E8M0FNU); })
      .Default([](mlir::Type) { return false; });
}

}  // namespace smalti::interop::bytecode
