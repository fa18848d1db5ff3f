// The decisions about a kernel's body: which loop nests are emitted before which op, which values they leave in memory,
// and how its products are computed. The plan refers to the ops of the kernel that it was made for.
#pragma once

#include <optional>
#include <variant>
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

/// A loop over the columns of one row, in one of its phases. Roots with one column per row have none.
struct ColumnLoop {
  int phase = 0;
  int64_t columns = 1;
  std::vector<size_t> roots{};  ///< of the NestPlan, computed together
  int lanes = 1;                ///< of a vector of columns
  int vectors = 1;              ///< of columns that an iteration computes
  /// Divisors of rows whose reciprocals are multiplied with instead, where these are accurate enough.
  llvm::SmallVector<RowValue, 2> divisors{};
};

/// The decisions about a nest that its NestPlan does not contain.
struct NestDetails {
  std::optional<RowGroups> neededRows{};  ///< iterations of the outermost loop; nullopt: all
  std::optional<MaskedLoads> maskedLoads{};
  std::vector<ColumnLoop> loops{};                  ///< in their order within a phase
  llvm::SmallDenseSet<size_t> prefetchedTargets{};  ///< roots that add to memory, which is prefetched for later rows
  /// Loads and earlier values whose memory is prefetched for later rows (RowSchedule::prefetchRows), as far as the
  /// first phase reads it in contiguous vectors.
  llvm::DenseSet<mlir::Value> prefetched{};
  /// Values that, where one is needed per row, are kept in memory for the later phases of a row instead of being
  /// computed again.
  llvm::DenseSet<mlir::Value> keptRowValues{};
  int64_t sharedRows = 0;  ///< the threads of a call share the outermost loop, this many rows at a time; 0: they do not

  bool prefetches() const { return !prefetched.empty() || !prefetchedTargets.empty(); }
};

struct PlannedSegment {
  schedule::Segment segment;
  std::vector<NestDetails> details{};  ///< by nest
};

/// Deferred ops that are computed together.
struct PlannedNests {
  PlannedSegment segment;
  std::vector<mlir::Operation*> finished{};  ///< loads and stores that no later code needs
};

/// The memory of a store is located, for a product that is computed there; `stored` is stored in it first.
struct LocatedStore {
  mlir::Operation* store = nullptr;
  mlir::Value stored;
};

/// One tpu.matmul or tpu.conv.
struct ProductOpPlan {
  std::optional<ProductStore> destination{};  ///< the product is computed in the memory of this store
  bool storesAdded = false;  ///< the other operand of the destination's addition is stored there before the product
  mlir::Value addedRow{};    ///< the row vector that the product adds to each of its rows; null: none
  bool accumulates = false;  ///< the product adds to what its memory holds
  bool joinsBlocks = false;  ///< blocks of B are multiplied as one skinny product, not one after the other
  std::optional<RowGroups> neededRows{};  ///< if few rows are needed (mostNeededRows), only these are computed …
  int64_t rowsOfChunk = 0;                ///< … in chunks of this many rows
  int64_t mostNeededRows = 0;             ///< with more needed rows, all are computed
  std::vector<ProductPlan> products{};    ///< in the order of their emission
};

/// Scalars that are computed before their op are functions of known ones, at most this deep.
inline constexpr int kMaxHoistDepth = 16;

/// How the code of an op is made.
enum class OpCode : uint8_t {
  deferred,     ///< by a nest, when an op needs its value in memory, or memory changes
  own,          ///< by the lowering of its name (emit/ops/OpTables.h)
  scalar,       ///< elementwise in registers
  interpreted,  ///< src/eval computes it on values in memory
};

struct OpPlan {
  OpCode code = OpCode::own;
  std::vector<std::variant<PlannedNests, LocatedStore>> before{};  ///< what precedes the op's own code, in this order
  std::vector<PlannedNests> after{};
  std::vector<mlir::Value> released{};     ///< values that need no memory after the op
  std::optional<ProductOpPlan> product{};  ///< of a tpu.matmul or tpu.conv that is not interpreted
};

/// The refusal of a copy or signal of a kernel that runs without other devices.
inline constexpr const char* kOtherDevice = "it copies to another device or core, or signals it";

/// An attribute of loads, stores, enqueue_dma, wait_dma and sem_wait in checked code (emit/ops/HazardChecks.h). A load
/// with the value "write" counts as a write.
inline constexpr const char* kHazardChecked = "smalti.hazard_checked";

struct BodyPlan {
  /// By op, the terminators of blocks included. Ops without a plan have no code: constants, ops that a product
  /// computes, too, and those whose results are not used.
  llvm::DenseMap<mlir::Operation*, OpPlan> ops{};
  bool copiesLater = false;  ///< a copy may be executed by another thread until the kernel waits for its semaphore
  llvm::DenseSet<mlir::Operation*> dead{};  ///< loads whose values are not used: their bounds are checked nevertheless
};

}  // namespace smalti::cpu
