// Decisions about one matrix product: the instruction, the tile in registers, the blocks in caches, the workspace.
#pragma once

#include <cstdint>

#include "base/Arithmetic.h"
#include "cpu/Processor.h"
#include "cpu/plan/product/GemmShape.h"

namespace smalti::cpu {

/// The instruction that multiplies and adds. Each takes a vector of 32-bit *words* of either operand and adds the dot
/// products of the words to 32-bit accumulators. A word is `group` successive values of k.
enum class MultiplyAdd {
  floatFma,     ///< f32 words
  intMultiply,  ///< i32 words
  i16Madd,      ///< two i16: pmaddwd, exact for 8-bit values
  bf16Dot,      ///< two bf16: vdpbf16ps, which rounds denormals to zero
  i8Dot,        ///< four bytes, one side unsigned: vpdpbusd
};

/// The conversion of an operand's elements while they are packed.
enum class PackedElement { f32, i32, i16, bf16, i8, i8Biased };

struct Layout {
  GemmShape shape;
  MultiplyAdd instruction = MultiplyAdd::floatFma;
  PackedElement elementA = PackedElement::f32, elementB = PackedElement::f32;
  int group = 1;                                            ///< values of k per word
  int lanes = 4;                                            ///< words per vector
  int rows = 1, vectors = 1;                                ///< register tile: rows × (vectors · lanes) columns
  int64_t blockRows = 0, blockColumns = 0, blockDepth = 0;  ///< of C and k; a multiple of the tile, or the whole size
  bool packA = false;              ///< to [rows][words] of `strideA` bytes, or when transposed to [words][rows]
  bool panelsA = false;            ///< packed by tiles instead, to [tile][words][rows]
  bool packB = false;              ///< to panels [words][columns of a tile]
  bool keepPackedB = false;        ///< all panels of a block are kept for the following blocks of rows
  bool prefetchesC = false;        ///< tiles take so long that prefetching C and the next rows of A first costs nothing
  int64_t unpackedBelowBytes = 0;  ///< rows of B with a smaller stride in bytes are read in place despite `packB`
  bool mayUseUnpackedB = false;    ///< also others that do not share sets of L1: packsRowsOfB()
  bool packsInFirstTile = false;   ///< a panel of B is packed by its first tile, whose multiplications hide it
  int unroll = 1;                  ///< words of k in a body of a micro-kernel
  bool unrollsLastRows = true, unrollsLastColumns = true;  ///< also micro-kernels for what remains of C
  int biasFactor = 0;            ///< i8Dot of operands of the same signedness: accumulators start at this · Σ a
  bool nativeHalf = true;        ///< f16 → f32 is an instruction
  int64_t strideA = 0;           ///< of the packed block of A, bytes
  int64_t panelBytes = 0;        ///< of one packed panel of B
  int64_t packedCacheBytes = 0;  ///< of packed B, when later products use it
  int64_t offsetA = 0, offsetSums = 0, workspaceBytes = 0;  ///< packed B begins at 0

  int columns() const { return vectors * lanes; }
  int vectorBytes() const { return 4 * lanes; }
  int64_t words(int64_t depth) const { return ceilDiv(depth, group); }
  /// Cache lines that a body of a micro-kernel with `vectors` vectors of columns prefetches. Together the tiles of a
  /// block fetch the next panel, and the memory to which it is packed.
  int prefetches(int vectors) const;
};
Layout layOut(const GemmShape&, const Processor&);

/// Rows of C from which packing B pays off. Fitted with the GEMM rows of `./do bench cpu` on the processor that
/// docs/performance.md names.
inline constexpr int64_t kPackRows = 16;
/// The most f32 additions in one chain: longer ones lose accuracy. Chosen, not measured.
inline constexpr int64_t kMaxChain = 1024;
/// The most bytes of packed panels of B, which other cores' blocks share the last-level cache with.
inline constexpr int64_t kMaxPackedBlockBytes = 8 << 20;
/// The part of L2 that a block of A takes; panels of B and rows of C pass through the rest. Source: as kPackRows.
inline int64_t bytesForA(const Processor& p) { return p.l2Bytes * 2 / 5; }
/// The size of parts of at most `most`, as equal as multiples of `step` allow.
int64_t equalParts(int64_t total, int64_t most, int64_t step);

/// Whether B is packed, given its row stride in bytes. `Ops` evaluates this when the product is planned, or emits it as
/// code.
template <class Ops, class Bytes>
auto packsRowsOfB(const Ops& ops, const Layout& l, Bytes rowBytes) {
  constexpr int64_t kPageBytes = 4096;       // rows with this stride share sets of L1
  constexpr int64_t kMinStrideBytes = 1024;  // smaller: few columns, packing is cheap and often cached; as kPackRows
  if (!l.packB) return ops.constant(false);
  auto packs = l.unpackedBelowBytes ? ops.isAtLeast(rowBytes, l.unpackedBelowBytes) : ops.constant(true);
  if (!l.mayUseUnpackedB) return packs;
  auto offPages = ops.logicalNot(ops.isMultipleOf(rowBytes, kPageBytes));
  auto spread = ops.logicalAnd(ops.isMultipleOf(rowBytes, kLineBytes), offPages);
  auto inPlace = ops.logicalAnd(ops.isAbove(rowBytes, kMinStrideBytes), spread);
  return ops.logicalAnd(packs, ops.logicalNot(inPlace));
}
bool packsRowsOfB(const Layout&, int64_t rowBytes);

}  // namespace smalti::cpu
