// How one matrix product is computed: decided from sizes, dtypes, what is known of its operands, and the processor,
// before anything is emitted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cpu/Processor.h"
#include "cpu/product/gemm/Gemm.h"

namespace smalti::cpu {

/// Rows of A up to which a product is skinny: reading B once costs more than multiplying.
constexpr int64_t kSkinnyRows = 8;

/// What is known of a product before it is emitted.
struct ProductFacts {
  GemmShape shape;
  int64_t blocksOfB = 1;    ///< of equal size, below each other, each anywhere in memory
  bool knowsNextB = false;  ///< where the next step of the grid finds its B
  /// Bytes from a row of B to the next one, as B is stored; nullopt: known when the kernel runs.
  std::optional<int64_t> rowBytesOfB{};
  /// Blocks of B through which the steps of the grid cycle, which are not written meanwhile; 0: B is
  /// not seen again soon.
  int64_t reusedBlocksOfB = 0;
};

enum class Strategy : uint8_t {
  packed,       ///< register tiles over packed panels (product/gemm)
  gemvDot,      ///< dot products of rows of a transposed B with rows of A
  gemvAxpy,     ///< sums of rows of B, each times an element of A
  skinnyTiles,  ///< tiles of rows of B times as many elements of all rows of A
};

/// Whether B is copied to panels.
enum class PacksB : uint8_t { never, always, byDistance };  // byDistance: of its rows, when the kernel runs

struct ProductPlan {
  GemmShape shape;  ///< with `keepsB` as decided
  Strategy strategy = Strategy::packed;

  // ---- skinny products read B where it lies, once
  int64_t blocksOfB = 1;
  int64_t streams = 1;       ///< equal parts of a single block that are read side by side
  bool interleaves = false;  ///< reads a row of each block, or stream, in turn
  bool bf16Pairs = false;    ///< multiplies two bf16 at once
  bool widensA = false;      ///< A is converted to f32 first: every row of B reads it again

  // ---- packed products
  GemmPlan gemm;
  PacksB packsB = PacksB::never;
  int64_t keptBlocksOfB = 1;  ///< places for packed blocks of B, where it is kept

  bool isSkinny() const { return strategy != Strategy::packed; }
};

/// Whether a product of `parts` blocks or streams of B multiplies two bf16 at once: it is faster than to multiply as
/// f32, and every pair of rows of B lies in one of them.
bool usesBf16Pairs(const GemmShape&, int64_t parts, const Processor&);

ProductPlan planProduct(const ProductFacts&, const Processor&);

/// One line for people: "8x128x64 f32·f32→f32: GEMV by dot products, 8 interleaved blocks". `of`: what the product is
/// part of, or nothing.
std::string text(const ProductPlan&, std::string_view of = {});

}  // namespace smalti::cpu
