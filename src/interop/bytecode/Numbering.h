// The dialects, op names, attributes, types and values of a module, and the number of each in the file. The order
// is that of MLIR's own writer: most used first, grouped by dialect within the numbers that take one byte, two bytes, …
#pragma once

#include <memory>
#include <vector>

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

#include "interop/bytecode/Encode.h"
#include "interop/bytecode/StableOps.h"

namespace smalti::interop::bytecode {

template <class T>
struct Numbered {
  T value;
  uint32_t dialect = 0;
  uint64_t uses = 1;
  uint32_t number = 0;
};

class Numbering {
 public:
  Numbering(mlir::ModuleOp, const StableOps&, EncodingDialect);

  const std::vector<std::string>& dialects() const { return dialects_; }
  const std::vector<std::unique_ptr<Numbered<std::string>>>& opNames() const { return opNames_; }
  const std::vector<std::unique_ptr<Numbered<mlir::Attribute>>>& attributes() const { return attributes_; }
  const std::vector<std::unique_ptr<Numbered<mlir::Type>>>& types() const { return types_; }

  uint32_t number(mlir::Attribute a) const { return attributeByValue_.at(a)->number; }
  uint32_t number(mlir::Type t) const { return typeByValue_.at(t)->number; }
  uint32_t numberOfName(const StableOp& op) const { return opNameByName_.at(op.dialect + "." + op.name)->number; }
  uint32_t number(mlir::Value v) const { return valueNumbers_.at(v); }
  /// The number of values directly in a region.
  uint32_t numValues(mlir::Region* r) const { return regionValues_.at(r); }

 private:
  void addRegion(mlir::Region&);
  void addOp(mlir::Operation*);
  void addOpName(const StableOp&);
  void add(mlir::Attribute);
  void add(mlir::Type);
  uint32_t dialectNumber(llvm::StringRef name);
  friend class NumberingSink;

  const StableOps& ops_;
  EncodingDialect encoding_;
  std::vector<std::string> dialects_;
  std::vector<std::unique_ptr<Numbered<std::string>>> opNames_;
  std::vector<std::unique_ptr<Numbered<mlir::Attribute>>> attributes_;
  std::vector<std::unique_ptr<Numbered<mlir::Type>>> types_;
  llvm::StringMap<uint32_t> dialectByName_;
  llvm::StringMap<Numbered<std::string>*> opNameByName_;
  llvm::DenseMap<mlir::Attribute, Numbered<mlir::Attribute>*> attributeByValue_;
  llvm::DenseMap<mlir::Type, Numbered<mlir::Type>*> typeByValue_;
  llvm::DenseMap<mlir::Value, uint32_t> valueNumbers_;
  llvm::DenseMap<mlir::Region*, uint32_t> regionValues_;
  uint32_t nextValue_ = 0;
};

}  // namespace smalti::interop::bytecode
