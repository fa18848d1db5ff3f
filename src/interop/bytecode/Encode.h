// The encoding of attributes and types in bytes, defined once: numbering (to which others they refer) and writing (by
// number) are two sinks of the same encoder.
#pragma once

#include "mlir/IR/Attributes.h"
#include "mlir/IR/Types.h"

namespace smalti::interop::bytecode {

class EncodingSink {
 public:
  virtual ~EncodingSink() = default;
  virtual void byte(uint8_t) = 0;
  virtual void varint(uint64_t) = 0;
  virtual void string(llvm::StringRef) = 0;
  virtual void blob(llvm::ArrayRef<char>) = 0;
  virtual void attribute(mlir::Attribute) = 0;
  virtual void type(mlir::Type) = 0;
  void signedVarint(int64_t v) { varint(static_cast<uint64_t>(v) << 1 ^ static_cast<uint64_t>(v >> 63)); }
};

/// The encodings that the reader of the body supports.
struct EncodingDialect {
  /// Layouts and small floats by code; else as text, which every reader takes. The codes came to MLIR after the last
  /// JAX that reads at most version 13 (0.10.1), and before the first that reads 15 (0.10.2).
  bool newerCodes = true;
};

/// Spells it, or gives false and touches nothing: then it is stored as text.
bool encode(mlir::Attribute, EncodingSink&, EncodingDialect);
bool encode(mlir::Type, EncodingSink&, EncodingDialect);

}  // namespace smalti::interop::bytecode
