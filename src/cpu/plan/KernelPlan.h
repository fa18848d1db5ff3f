// The decisions about one kernel, as printable data: PlanKernel.h makes them, the emitted code follows them.
#pragma once

#include <string>
#include <vector>

#include "cpu/plan/BlockLocality.h"
#include "cpu/plan/GridPlan.h"
#include "cpu/plan/NestSummary.h"
#include "cpu/plan/product/ProductPlan.h"

namespace smalti::cpu {

/// A product, and what its op does besides it (ProductOpPlan).
struct ProductSummary : ProductPlan {
  int position = 0;          ///< among all that the body computes, from 1 in the order of the code
  std::string within;        ///< enclosingControlFlow of the op
  bool isInPlace = false;    ///< it is computed in the memory of the store that uses it
  bool storesAdded = false;  ///< what is added to it is stored there before it
  int64_t rowsOfChunk = 0;   ///< only needed rows are computed, in chunks of this many; 0: all rows
};

/// An op that src/eval computes.
struct InterpretedOp {
  int position = 0;    ///< as ProductSummary's
  std::string within;  ///< as ProductSummary's
  std::string name;    ///< "tpu.sort"
};

/// A copy that the kernel starts, from one ref to another.
struct CopySummary {
  int position = 0;       ///< as ProductSummary's
  std::string within{};   ///< as ProductSummary's
  DType dtype{};          ///< of the source
  Shape shape{};          ///< of the source; kDynamicSize (ir/Types.h) where it is known only when the kernel runs
  bool isRemote = false;  ///< to a device that is computed when the kernel runs
  bool isPacked = false;  ///< a side is stored in elements of another width (PackedLayout.h)
};

struct KernelPlan {
  std::vector<std::string> rewrites{};    ///< that changed the kernel, in order
  std::string sequentialReason{};         ///< why no more grid axes are shared by threads; empty: all that may be are
  std::vector<std::string> blockNames{};  ///< of the grid's blocks: "input 0"
  GridPlan grid{};
  std::vector<BlockLocality> locality{};   ///< by block of the grid
  std::vector<ProductSummary> products{};  ///< in the order of their emission
  std::vector<NestSummary> nests{};        ///< in the order of their emission
  std::vector<CopySummary> copies{};       ///< in the order of their emission
  std::vector<InterpretedOp> interpreted{};
};

}  // namespace smalti::cpu
