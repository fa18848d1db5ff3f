// The plan of one matrix product. It is decided from sizes, dtypes, facts about the operands, and the processor,
// before code is emitted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "cpu/plan/product/SharedRows.h"
#include "cpu/plan/product/SkinnyPlan.h"

namespace smalti::cpu {

/// The facts about a product that the decision depends on.
struct ProductFacts {
  GemmShape shape;
  int64_t blocksOfB = 1;      ///< B is a concatenation of this many blocks of equal size, each anywhere in memory
  bool nextBIsKnown = false;  ///< the address of the next grid step's B is known
  /// Bytes from a row of B, as stored, to the next; nullopt: known only when the kernel runs.
  std::optional<int64_t> rowBytesOfB{};
  /// The number of blocks of B through which grid steps cycle, none of which is written meanwhile; 0: B is
  /// not used again soon.
  int64_t reusedBlocksOfB = 0;
  int threads = 1;  ///< that may share the rows
};

enum class Strategy : uint8_t {
  packed,       ///< register tiles over packed panels (product/gemm)
  gemvDot,      ///< dot products of rows of a transposed B with rows of A
  dotTiles,     ///< the same in tile registers
  gemvAxpy,     ///< sums of rows of B, each multiplied by an element of A
  skinnyTiles,  ///< tiles of rows of B multiplied by the corresponding elements of all rows of A
};

/// Whether B is packed into panels.
enum class PacksB : uint8_t { never, always, byDistance };  // byDistance: depends on its row stride at run time

/// The number of rows of B that are prefetched ahead; 0: none.
struct RowPrefetch {
  int64_t acrossSteps = 0;  ///< if the block that the next grid step reads is known
  int64_t withinBlock = 0;  ///< otherwise
  bool operator==(const RowPrefetch&) const = default;
};

std::string_view name(Strategy);  ///< "gemv_dot"
std::string_view name(PacksB);    ///< "by_distance"

struct PackedPlan {
  GemmPlan gemm;
  PacksB packsB = PacksB::never;
  std::optional<SharedRows> shared{};  ///< the threads of a call share the rows; nullopt: one thread computes all
};

struct ProductPlan {
  GemmShape shape;                        ///< `cachesPackedB` as decided
  std::string of{};                       ///< the op that the product is part of; empty: it is a tpu.matmul
  bool copiesA = false, copiesB = false;  ///< the operand's matrix is copied first: products cannot read it in place

  // ---- skinny products read B once, in place
  int64_t blocksOfB = 1;
  int64_t streams = 1;       ///< equal parts of a single block that are read concurrently
  bool interleaves = false;  ///< alternates between the blocks, or streams, row by row
  bool bf16Pairs = false;    ///< multiplies two bf16 in one instruction
  bool widensA = false;      ///< A is converted to f32 first, since it is read again for every row of B
  RowPrefetch prefetch{};

  /// In the order of Strategy.
  std::variant<PackedPlan, GemvDotPlan, DotTilesPlan, GemvAxpyPlan, SkinnyTilesPlan> division{};

  /// Only for packed products.
  const PackedPlan& packed() const { return std::get<PackedPlan>(division); }
  Strategy strategy() const { return static_cast<Strategy>(division.index()); }
  bool isSkinny() const { return strategy() != Strategy::packed; }

  template <Strategy strategy>
  using DivisionOf = std::variant_alternative_t<static_cast<size_t>(strategy), decltype(division)>;
  static_assert(std::is_same_v<DivisionOf<Strategy::packed>, PackedPlan> &&
                std::is_same_v<DivisionOf<Strategy::gemvDot>, GemvDotPlan> &&
                std::is_same_v<DivisionOf<Strategy::dotTiles>, DotTilesPlan> &&
                std::is_same_v<DivisionOf<Strategy::gemvAxpy>, GemvAxpyPlan> &&
                std::is_same_v<DivisionOf<Strategy::skinnyTiles>, SkinnyTilesPlan>);
};

ProductPlan planProduct(const ProductFacts&, const Processor&);

/// One line for `show`: "8x128x64 f32·f32→f32: GEMV by dot products, 8 interleaved blocks, 4 x 4 rows together".
std::string text(const ProductPlan&);

}  // namespace smalti::cpu
