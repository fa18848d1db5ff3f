// Converts the container's attribute and type entries to MLIR's. Each entry is decoded once, when something needs it.
#pragma once

#include <vector>

#include "mlir/IR/Attributes.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Location.h"
#include "mlir/IR/Types.h"

#include "interop/CapturedDiagnostics.h"
#include "interop/bytecode/Model.h"

namespace smalti::interop::bytecode {

class AttrTypeReader {
 public:
  /// All must outlive the reader. `captured` receives MLIR's messages about refused types and attributes.
  AttrTypeReader(const BodyModel&, mlir::MLIRContext&, ReadState&, CapturedDiagnostics& captured);

  /// Null after a failure, which the state holds.
  mlir::Attribute attribute(uint32_t index);
  mlir::Type type(uint32_t index);
  mlir::DictionaryAttr dictionary(uint32_t index);
  /// Unknown after a failure.
  mlir::Location location(uint32_t index);

  /// Every use of an attribute, type or location by an op is counted with its size, so that the module stays walkable.
  uint64_t nodesUsed() const { return nodesUsed_; }

 private:
  template <class T>
  struct Slot {
    T value = nullptr;
    uint32_t nodes = 0;  ///< this and all parts, shared parts counted each time
    bool open = false;   ///< being decoded: a reference to it from inside is a cycle
  };

  /// The position in an entry that is being read, and the total size of its parts.
  struct Frame {
    Cursor cursor;
    uint64_t nodes = 1;
  };

  template <class T>
  T resolve(const std::vector<Entry>& entries, std::vector<Slot<T>>& slots, uint32_t index, uint64_t& nodes);
  mlir::Attribute decode(const Entry&, Frame&, mlir::Attribute);
  mlir::Type decode(const Entry&, Frame&, mlir::Type);

  // Parts of an entry. `T` is a kind of attribute; another kind is a failure.
  template <class T = mlir::Attribute>
  T attributePart(Frame&, const char* what);
  mlir::Type typePart(Frame&);
  template <class T = mlir::Attribute>
  std::vector<T> attributeParts(Frame&, const char* what);
  std::vector<mlir::Type> typeParts(Frame&, const char* what);
  std::vector<int64_t> shapePart(Frame&);
  mlir::StringAttr stringPart(Frame&);
  /// Bits of a number of the given width.
  llvm::APInt bitsPart(Frame&, unsigned width);

  mlir::Attribute builtinAttribute(Frame&);
  mlir::Attribute dictionaryAttribute(Frame&);
  mlir::Attribute symbolAttribute(Frame&, bool nested);
  mlir::Attribute numberAttribute(Frame&, bool isFloat);
  mlir::Attribute denseArrayAttribute(Frame&);
  mlir::Attribute denseElementsAttribute(Frame&);
  mlir::Attribute affineMapAttribute(Frame&);
  mlir::Attribute stridedLayoutAttribute(Frame&);
  mlir::Attribute locationAttribute(Frame&, uint64_t code);
  mlir::Type builtinType(Frame&);
  mlir::Type memRefType(Frame&, bool withSpace);
  mlir::Type vectorType(Frame&);

  bool checkElements(Frame&, llvm::ArrayRef<int64_t> shape);
  void unknownCode(Frame&, const char* kind, uint64_t code);
  void refusedByMlir(Frame&, const char* what);

  const BodyModel& model_;
  mlir::MLIRContext& context_;
  ReadState& state_;
  CapturedDiagnostics& captured_;
  std::vector<Slot<mlir::Attribute>> attributes_;
  std::vector<Slot<mlir::Type>> types_;
  std::vector<mlir::StringAttr> strings_;  ///< by string number, so that a long string is hashed once
  bool hasSymbolicDims_;                   ///< the module says what numbers stand for (ir/facts/SymbolicDims.h)
  int depth_ = 0;
  uint64_t nodesUsed_ = 0;
};

}  // namespace smalti::interop::bytecode
