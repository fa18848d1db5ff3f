// MLIR's bytecode container: version 0, which stable_mosaic uses, and up to 6, which StableHLO's portable artifacts do.
// Numbers are MLIR's (Encoding.h and BuiltinDialectBytecode.td; attributes from 23 on and types from 21 on are newer
// MLIR's, read off what jaxlib 0.12 writes).
#pragma once

#include <cstdint>
#include <string_view>

namespace smalti::interop::bytecode {

inline constexpr std::string_view kMagic = "ML\xefR";
inline constexpr uint64_t kContainerVersion = 0;  ///< of kernel bodies
inline constexpr uint64_t kNewestContainerVersion = 6;

/// The container versions that introduced these features.
inline constexpr uint64_t kDialectVersions = 1, kIsolatedSections = 2, kUseListOrders = 3, kArgumentsWithoutPlace = 4,
                          kProperties = 5;
inline constexpr uint8_t kAlignmentByte = 0xCB;

enum class Section : uint8_t {
  String = 0,
  Dialect = 1,
  AttrType = 2,
  AttrTypeOffset = 3,
  Ir = 4,
  Resource = 5,
  ResourceOffset = 6,
  DialectVersions = 7,
  Properties = 8,
};
inline constexpr int kNumSections = 9;

/// The parts that follow an op's name. The last two belong to later container versions.
enum OpMask : uint8_t {
  kHasAttributes = 1,
  kHasResults = 2,
  kHasOperands = 4,
  kHasSuccessors = 8,
  kHasRegions = 16,
  kHasUseListOrders = 32,
  kHasProperties = 64,
};

enum class AttrCode : uint64_t {
  Array = 0,
  Dictionary = 1,
  String = 2,
  StringWithType = 3,
  FlatSymbolRef = 4,
  SymbolRef = 5,
  Type = 6,
  Unit = 7,
  Integer = 8,
  Float = 9,
  CallSiteLoc = 10,
  FileLineColLoc = 11,
  FusedLoc = 12,
  FusedLocWithMetadata = 13,
  NameLoc = 14,
  UnknownLoc = 15,
  DenseResourceElements = 16,
  DenseArray = 17,
  DenseIntOrFPElements = 18,
  DenseStringElements = 19,
  SparseElements = 20,
  Distinct = 21,
  FileLineColRange = 22,
  AffineMap = 23,
  StridedLayout = 25,
};

enum class TypeCode : uint64_t {
  Integer = 0,
  Index = 1,
  Function = 2,
  BFloat16 = 3,
  Float16 = 4,
  Float32 = 5,
  Float64 = 6,
  Float80 = 7,
  Float128 = 8,
  Complex = 9,
  MemRef = 10,
  MemRefWithMemSpace = 11,
  None = 12,
  RankedTensor = 13,
  RankedTensorWithEncoding = 14,
  Tuple = 15,
  UnrankedMemRef = 16,
  UnrankedMemRefWithMemSpace = 17,
  UnrankedTensor = 18,
  Vector = 19,
  VectorWithScalableDims = 20,
  TF32 = 21,
  Float8E5M2 = 22,
  Float8E4M3 = 23,
  Float8E4M3FN = 24,
  Float8E5M2FNUZ = 25,
  Float8E4M3FNUZ = 26,
  Float8E4M3B11FNUZ = 27,
  Float8E3M4 = 28,
  Float4E2M1FN = 29,
  Float6E2M3FN = 30,
  Float6E3M2FN = 31,
  Float8E8M0FNU = 32,
};

/// Affine maps (attribute code 23): the header is numDims << 2 | kind.
enum class AffineMapKind : uint8_t { Identity = 0, Permutation = 1, ProjectedPermutation = 2, General = 3 };

/// Expressions of a general map, in prefix order.
enum class AffineExprKind : uint64_t {
  Dim = 0,
  Symbol = 1,
  Constant = 2,
  Add = 3,
  Mul = 4,
  Mod = 5,
  FloorDiv = 6,
  CeilDiv = 7,
};

}  // namespace smalti::interop::bytecode
