// Attributes and types of the module's text, before they are interpreted.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "interop/stablehlo/Cursor.h"
#include "smalti/array.h"

namespace smalti::interop::stablehlo {

/// tensor<…> (`array`), a function type, or anything else (kept as text).
struct Type {
  enum class Kind { array, function, other } kind = Kind::other;
  ArrayType array;
  std::vector<Type> inputs, results;
  std::string text;
};

struct Entry;

/// An attribute's value.
struct Attr {
  enum class Kind { unit, boolean, integer, number, string, symbol, list, dictionary, elements, opaque, type };
  Kind kind = Kind::unit;
  int64_t integer = 0;         ///< integer, boolean
  std::string text;            ///< string, symbol, number's literal, opaque's mnemonic, type's text
  std::string suffix;          ///< the text after ':' ("i64"), or the element type of array<…>
  std::vector<Attr> items;     ///< list
  std::vector<Entry> entries;  ///< dictionary
  ArrayType elementsType;      ///< elements
  Array elements;              ///< elements: of elementsType, or one element (rank 0) that stands for all
  size_t begin = 0, end = 0;   ///< its place in the text; opaque: that of its body
  Type type;                   ///< type

  const Attr* find(std::string_view key) const;  ///< entry of a dictionary
};
struct Entry {
  std::string key;
  Attr value;
};
using Entries = std::vector<Entry>;

/// `#name = …` definitions, found once before the rest is read (they may stand after their uses).
using Aliases = std::map<std::string, std::pair<size_t, size_t>, std::less<>>;
Aliases findAliases(const Source&);

/// Reads attributes and types at a cursor. On failure the cursor holds the diagnostic.
class SyntaxReader {
 public:
  SyntaxReader(Cursor& cursor, const Aliases& aliases, int64_t& budget)
      : cursor_(cursor), aliases_(aliases), budget_(budget) {}

  bool attribute(Attr& out, int depth = 0);
  /// `{key = value, key}` with the braces.
  bool dictionary(Entries& out, int depth = 0);
  /// The same without braces, up to (not including) the end of the cursor's range.
  bool entries(Entries& out, char close, int depth);
  bool type(Type& out, int depth = 0);
  /// tensor<…> and nothing else; `?` is kUnknownDim.
  bool arrayType(ArrayType& out);
  /// `[1, 2]`
  bool integers(std::vector<int64_t>& out);

 private:
  bool spend();
  bool takeDim(ArrayType& out, int64_t dim, size_t begin);
  bool tooDeep(int depth);
  bool hashAttribute(Attr& out, int depth);
  /// Whether the type (by its name) holds a number; SM2008 if not.
  bool fits(const Attr& number, std::string_view type);
  bool denseElements(Attr& out);
  bool denseArray(Attr& out);
  bool functionType(Type& out, int depth);
  bool typeList(std::vector<Type>& out, int depth);

  Cursor& cursor_;
  const Aliases& aliases_;
  int64_t& budget_;
};

/// The elements of a dense literal (the text inside dense<…>) of `type`; a single value stays one element.
bool readDenseLiteral(Cursor& literal, const ArrayType& type, Array& out);
/// `dense<…>` with its type, as MLIR prints it; `type` may be larger than a `value` of one element.
std::string printDense(const Array& value, const ArrayType& type);
/// "tensor<4x8xf32>"
std::string printType(const ArrayType&);
/// The DType of MLIR's name of an element type; nullopt if there is none.
std::optional<DType> elementTypeFromName(std::string_view mlirName);
/// The inverse: "i1", "ui8", "f8E4M3FN".
std::string_view elementTypeName(DType);

/// Attribute as text again (aliases resolved).
std::string print(const Attr&, const Source&);
std::string printDictionary(const Entries&, const Source&);
/// A dictionary's key, a symbol with its @: quoted where they must be.
std::string printKey(std::string_view);
std::string printSymbol(std::string_view);
/// "…" with MLIR's escapes.
std::string quotedText(std::string_view);

}  // namespace smalti::interop::stablehlo
