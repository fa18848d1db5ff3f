// Attributes and locations in the builtin dialect's binary encoding. Elements and layouts: ReadElements.cpp.
#include <set>

#include "mlir/IR/BuiltinAttributes.h"

#include "interop/bytecode/AttrTypeParts.h"
#include "interop/bytecode/AttrTypeReader.h"
#include "interop/bytecode/Format.h"

namespace smalti::interop::bytecode {

mlir::Attribute AttrTypeReader::builtinAttribute(Frame& f) {
  const uint64_t code = f.cursor.varint("an attribute's code");
  if (!f.cursor.ok()) return {};
  switch (static_cast<AttrCode>(code)) {
    case AttrCode::Array: {
      auto elements = attributeParts(f, "elements of an array attribute");
      return f.cursor.ok() ? mlir::ArrayAttr::get(&context_, elements) : nullptr;
    }
    case AttrCode::Dictionary:
      return dictionaryAttribute(f);
    case AttrCode::String:
      return stringPart(f);
    case AttrCode::StringWithType: {
      mlir::StringAttr value = stringPart(f);
      mlir::Type type = typePart(f);
      return f.cursor.ok() ? mlir::StringAttr::get(value.getValue(), type) : nullptr;
    }
    case AttrCode::FlatSymbolRef:
      return symbolAttribute(f, false);
    case AttrCode::SymbolRef:
      return symbolAttribute(f, true);
    case AttrCode::Type: {
      mlir::Type type = typePart(f);
      return type ? mlir::TypeAttr::get(type) : nullptr;
    }
    case AttrCode::Unit:
      return mlir::UnitAttr::get(&context_);
    case AttrCode::Integer:
      return numberAttribute(f, false);
    case AttrCode::Float:
      return numberAttribute(f, true);
    case AttrCode::CallSiteLoc:
    case AttrCode::FileLineColLoc:
    case AttrCode::FusedLoc:
    case AttrCode::FusedLocWithMetadata:
    case AttrCode::NameLoc:
    case AttrCode::UnknownLoc:
    case AttrCode::FileLineColRange:
      return locationAttribute(f, code);
    case AttrCode::DenseArray:
      return denseArrayAttribute(f);
    case AttrCode::DenseIntOrFPElements:
      return denseElementsAttribute(f);
    case AttrCode::AffineMap:
      return affineMapAttribute(f);
    case AttrCode::StridedLayout:
      return stridedLayoutAttribute(f);
    case AttrCode::DenseResourceElements:
    case AttrCode::DenseStringElements:
    case AttrCode::SparseElements:
    case AttrCode::Distinct:
      f.cursor.fail("SM2105", "the kernel body has an attribute that kernels do not have",
                    "numbers, strings, symbols, types, arrays, dictionaries and dense elements",
                    fmt::format("attribute code {}", code));
      return {};
  }
  unknownCode(f, "an attribute", code);
  return {};
}

mlir::Attribute AttrTypeReader::dictionaryAttribute(Frame& f) {
  const uint64_t n = f.cursor.count("entries of a dictionary", 2);
  std::vector<mlir::NamedAttribute> entries;
  entries.reserve(n);
  std::set<const void*> names;
  for (uint64_t i = 0; i < n && f.cursor.ok(); ++i) {
    auto name = attributePart<mlir::StringAttr>(f, "a dictionary's key");
    mlir::Attribute value = attributePart(f, "a dictionary's value");
    if (!f.cursor.ok()) return {};
    if (name.empty() || !names.insert(name.getAsOpaquePointer()).second)
      f.cursor.fail("SM2105", "an attribute dictionary has an empty key or one key twice", {}, name.str());
    else
      entries.emplace_back(name, value);
  }
  return f.cursor.ok() ? mlir::DictionaryAttr::get(&context_, entries) : nullptr;
}

mlir::Attribute AttrTypeReader::symbolAttribute(Frame& f, bool nested) {
  auto root = attributePart<mlir::StringAttr>(f, "a symbol's name");
  std::vector<mlir::FlatSymbolRefAttr> inner;
  if (nested) inner = attributeParts<mlir::FlatSymbolRefAttr>(f, "a symbol's nested names");
  if (f.cursor.ok() && root.empty()) f.cursor.fail("SM2105", "a symbol of the kernel body has an empty name");
  return f.cursor.ok() ? mlir::SymbolRefAttr::get(root, inner) : nullptr;
}

mlir::Attribute AttrTypeReader::numberAttribute(Frame& f, bool isFloat) {
  mlir::Type type = typePart(f);
  if (!type) return {};
  auto floatType = mlir::dyn_cast<mlir::FloatType>(type);
  if (isFloat ? !floatType : !type.isIntOrIndex()) {
    f.cursor.fail("SM2105", fmt::format("{} attribute has a type of another kind", isFloat ? "a float" : "an integer"));
    return {};
  }
  const unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  const llvm::APInt bits = bitsPart(f, width);
  if (!f.cursor.ok()) return {};
  if (!isFloat) return mlir::IntegerAttr::get(type, bits);
  return mlir::FloatAttr::get(floatType, llvm::APFloat(floatType.getFloatSemantics(), bits));
}

mlir::Attribute AttrTypeReader::locationAttribute(Frame& f, uint64_t code) {
  switch (static_cast<AttrCode>(code)) {
    case AttrCode::CallSiteLoc: {
      auto callee = attributePart<mlir::LocationAttr>(f, "a call site's callee");
      auto caller = attributePart<mlir::LocationAttr>(f, "a call site's caller");
      return f.cursor.ok() ? mlir::CallSiteLoc::get(callee, caller) : nullptr;
    }
    case AttrCode::NameLoc: {
      auto name = attributePart<mlir::StringAttr>(f, "a location's name");
      auto child = attributePart<mlir::LocationAttr>(f, "a location's place");
      return f.cursor.ok() ? mlir::NameLoc::get(name, child) : nullptr;
    }
    case AttrCode::FusedLoc:
    case AttrCode::FusedLocWithMetadata: {
      auto parts = attributeParts<mlir::LocationAttr>(f, "parts of a fused location");
      mlir::Attribute metadata;
      if (static_cast<AttrCode>(code) == AttrCode::FusedLocWithMetadata)
        metadata = attributePart(f, "a location's metadata");
      if (!f.cursor.ok()) return {};
      std::vector<mlir::Location> locations(parts.begin(), parts.end());
      return mlir::FusedLoc::get(&context_, locations, metadata);
    }
    case AttrCode::FileLineColLoc: {
      auto file = attributePart<mlir::StringAttr>(f, "a location's file");
      const uint64_t line = f.cursor.varint("a line"), column = f.cursor.varint("a column");
      return f.cursor.ok() ? mlir::FileLineColLoc::get(file, line, column) : nullptr;
    }
    case AttrCode::FileLineColRange: {  // no column, one line, one place, columns of one line, or all four
      auto file = attributePart<mlir::StringAttr>(f, "a location's file");
      std::vector<uint64_t> v(f.cursor.count("lines and columns"));
      for (uint64_t& x : v) x = f.cursor.varint("a line or column");
      if (f.cursor.ok() && v.size() > 4) f.cursor.fail("SM2101", "a location has more than four numbers");
      if (!f.cursor.ok()) return {};
      switch (v.size()) {
        case 0:
          return mlir::FileLineColRange::get(file);
        case 1:
          return mlir::FileLineColRange::get(file, v[0]);
        case 2:
          return mlir::FileLineColRange::get(file, v[0], v[1]);
        case 3:
          return mlir::FileLineColRange::get(file, v[0], v[1], v[2]);
        default:
          return mlir::FileLineColRange::get(file, v[0], v[1], v[2], v[3]);
      }
    }
    default:
      return mlir::UnknownLoc::get(&context_);
  }
}

}  // namespace smalti::interop::bytecode
