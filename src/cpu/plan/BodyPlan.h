// The decisions about a kernel's body: which loop nests are emitted before which op, which values they leave in memory,
// and how its products are computed. The plan refers to the ops of the kernel that it was made for.
#pragma once

#include <optional>
#include <vector>

#include "cpu/analysis/ProductStore.h"
#include "cpu/analysis/RowMasks.h"
#include "cpu/plan/RowDivisors.h"
#include "cpu/plan/product/ProductPlan.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "schedule/Segment.h"

namespace smalti::cpu {

/// A nest that only copies rows that a mask keeps: if the mask keeps all of them, its values are the rows in memory.
struct MaskedLoads {
  mlir::Value count;                    ///< of the kept rows
  std::vector<mlir::Operation*> loads;  ///< by buffer of the nest
};

/// How one root of a nest is computed.
struct RootDetails {
  int lanes = 1;    ///< of a vector of columns
  int vectors = 1;  ///< of columns that an iteration of its loop computes
  /// Divisors of rows whose reciprocals are multiplied with instead, where these are accurate enough.
  llvm::SmallVector<RowValue, 1> divisors{};
  bool prefetchesTarget = false;  ///< of a store that adds: memory is prefetched for later rows
};

/// The decisions about a nest that its NestPlan does not contain.
struct NestDetails {
  std::optional<RowGroups> neededRows{};  ///< iterations of the outermost loop; nullopt: all
  std::optional<MaskedLoads> maskedLoads{};
  std::vector<RootDetails> roots{};  ///< by root of the NestPlan
  /// Loads and earlier values whose memory is prefetched for later rows (RowSchedule::prefetchRows), as far as the
  /// first phase reads it in contiguous vectors.
  llvm::DenseSet<mlir::Value> prefetched{};

  bool prefetches() const {
    return !prefetched.empty() || llvm::any_of(roots, [](const RootDetails& r) { return r.prefetchesTarget; });
  }
};

struct PlannedSegment {
  schedule::Segment segment;
  std::vector<NestDetails> details{};  ///< by nest
};

/// When the code of a segment is emitted.
enum class FlushPoint : uint8_t {
  inOp,  ///< by the lowering of an op, which needs values in memory or changes memory
  load,  ///< before a load of elements that a deferred store may write
  limit  ///< after the op: too many ops are deferred
};

/// A point at which deferred ops are computed.
struct PlannedFlush {
  mlir::Operation* at = nullptr;  ///< the op, or the terminator of a block at the block's end
  FlushPoint point = FlushPoint::inOp;
  std::optional<PlannedSegment> segment{};   ///< nullopt: no op is deferred
  std::vector<mlir::Operation*> finished{};  ///< loads and stores that no later code needs
};

/// A deferred value that an op needs in memory, computed by a nest of its own.
struct PlannedValue {
  mlir::Value value;
  PlannedSegment segment;
};

/// One tpu.matmul or tpu.conv.
struct ProductOpPlan {
  std::optional<ProductStore> destination{};  ///< the product is computed in the memory of this store
  bool storesAdded = false;  ///< the other operand of the destination's addition is stored there before the product
  mlir::Value addedRow{};    ///< the row vector that the product adds to each of its rows; null: none
  bool accumulates = false;  ///< the product adds to what its memory holds
  bool joinsBlocks = false;  ///< blocks of B are multiplied as one skinny product, not one after the other
  std::optional<RowGroups> neededRows{};  ///< if at most half of the rows are needed, only these are computed …
  int64_t rowsOfChunk = 0;                ///< … in chunks of this many rows
  std::vector<ProductPlan> products{};    ///< in the order of their emission
};

/// Scalars that are computed before their op are functions of known ones, at most this deep.
inline constexpr int kMaxHoistDepth = 16;

struct BodyPlan {
  std::vector<PlannedFlush> flushes{};                                    ///< in the order of their emission
  std::vector<PlannedValue> values{};                                     ///< in the order of their emission
  llvm::DenseMap<mlir::Operation*, std::vector<mlir::Value>> released{};  ///< values that need no memory after the op
  llvm::DenseMap<mlir::Operation*, ProductOpPlan> products{};
  llvm::DenseSet<mlir::Operation*> covered{};  ///< ops that the product before them computes, too
  llvm::DenseSet<mlir::Operation*> dead{};     ///< their results are not used; bounds of loads are checked nevertheless
};

}  // namespace smalti::cpu
