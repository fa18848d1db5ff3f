#include "cpu/plan/product/Layout.h"

#include <algorithm>
#include <numeric>

#include "base/Arithmetic.h"
#include "cpu/plan/product/GemmPlan.h"

namespace smalti::cpu {
namespace {

// Fitted with the GEMM rows of `./do bench cpu` on the processor that docs/performance.md names.

/// Row stride of B, in bytes, from which rows share so few cache sets that panels are copied. A panel that is cached
/// for later products is always copied, unless B already has the packed layout.
constexpr int64_t kUnpackedBelowBytes = 2048;
/// The number of panels of B, and of values of k, from which packing A by tiles pays off.
constexpr int64_t kPanelsForA = 12, kDepthForA = 192;

/// Words of k from which a tile first prefetches its part of C: stores that miss fill the store buffer.
/// With two FMA ports, 256 words finish too soon for this to pay: 3 % slower.
int64_t wordsToPrefetchC(const Processor& p) { return p.fmaPorts > 1 ? 320 : 256; }

Layout chooseProduct(Layout l, const Processor& p) {
  const GemmShape& s = l.shape;
  const bool bytes = isByte(s.a) && isByte(s.b);
  if (s.c == DType::f32) {
    const bool dot = multipliesBf16Pairs(s.a, s.b, p) && s.m >= kPackRows;
    l.instruction = dot ? MultiplyAdd::bf16Dot : MultiplyAdd::floatFma;
    l.elementA = l.elementB = dot ? PackedElement::bf16 : PackedElement::f32;
    l.group = dot ? 2 : 1;
  } else if (bytes && p.int8Dot) {
    l.instruction = MultiplyAdd::i8Dot;
    l.elementA = PackedElement::i8;
    l.elementB = s.a == s.b ? PackedElement::i8Biased : PackedElement::i8;
    l.biasFactor = s.a != s.b ? 0 : s.a == DType::i8 ? -128 : 128;
    l.group = 4;
  } else if (bytes && p.isX86()) {
    l.instruction = MultiplyAdd::i16Madd;
    l.elementA = l.elementB = PackedElement::i16;
    l.group = 2;
  } else {
    l.instruction = MultiplyAdd::intMultiply;
    l.elementA = l.elementB = PackedElement::i32;
  }
  return l;
}

/// Cycles per word of k of one tile: its multiplications, its loads, chains of dependent multiply-adds, B coming from
/// L2, and the work around the loop.
double tileCycles(const Processor& p, int64_t rows, int64_t vectors) {
  constexpr double kLoadsPerCycle = 2, kFmaLatency = 4, kL2BytesPerCycle = 28;
  constexpr double kCyclesPerLoad = .1, kCyclesAround = .3;  // fitted: what the bounds above do not explain
  if (rows * vectors == 0) return 0;
  const double products = static_cast<double>(rows * vectors), loads = static_cast<double>(rows + vectors);
  const double bytesOfB = static_cast<double>(vectors * p.vectorBytes);
  return std::max({products / p.fmaPorts, loads / kLoadsPerCycle, kFmaLatency, bytesOfB / kL2BytesPerCycle}) +
         kCyclesPerLoad * loads + kCyclesAround;
}
/// Overhead of a remainder row of tiles, in cycles per word of k.
constexpr double kCyclesOfRemainder = .5;
/// A smaller tile is chosen only if it is faster by this factor.
constexpr double kMinGain = .995;

/// Vectors of columns per tile, with 32 and with 16 registers.
constexpr int64_t kPanelVectors = 4, kFewVectors = 2;

/// The most rows of a tile. Pointers to rows of A occupy registers, too, so tall tiles must have few vectors.
int64_t mostRows(int64_t accumulators, int64_t vectors) {
  return std::min<int64_t>(accumulators / vectors, vectors > kFewVectors ? 6 : 8);
}

Layout chooseTile(Layout l, const Processor& p) {
  const GemmShape& s = l.shape;
  const bool many = p.vectorRegisters >= 32;
  const bool threeOperands = p.vectorBytes > 16 || many;
  // Where one multiplication begins per cycle, four rows already hide their loads, and store less at a time. But if two
  // panels of B do not fit a quarter of L2, it is better to read each panel for more rows.
  const bool panelsFitL2 = 2 * l.words(l.blockDepth) * 4 * p.vectorBytes <= p.l2Bytes / 4;
  const int64_t accumulators = many ? (p.fmaPorts == 1 && panelsFitL2 ? 16 : 24) : threeOperands ? 12 : 8;
  const int64_t columnVectors = ceilDiv(s.n, l.lanes);
  double best = 0;
  for (const int64_t vectors : {4, 8, 3, 2, 1}) {
    if (vectors > std::max<int64_t>(columnVectors, 1) || (vectors == 8 && s.m > 2) || (vectors > kFewVectors && !many))
      continue;
    for (int64_t rows = std::min(mostRows(accumulators, vectors), std::max<int64_t>(s.m, 1)); rows >= 1; --rows) {
      const int64_t panels = s.n / (vectors * l.lanes), last = columnVectors - panels * vectors;
      const auto all = [&](int64_t v) { return s.m / rows * tileCycles(p, rows, v) + tileCycles(p, s.m % rows, v); };
      const double cost = panels * all(vectors) + all(last) + (s.m % rows ? kCyclesOfRemainder : 0);
      if (best != 0 && cost >= kMinGain * best) continue;
      best = cost;
      l.rows = static_cast<int>(rows);
      l.vectors = static_cast<int>(vectors);
    }
  }
  return l;
}

/// Up to this many rows of C, keeping the panel of B in L1 saves more than writing partial sums after each block of k
/// costs.
constexpr int64_t kMaxRowsForL1 = 128;

/// Whether blocks of k are so short that a panel of B stays in L1.
bool blocksForL1(const GemmShape& s, const Processor& p) {
  return p.vectorRegisters >= 32 && p.fmaPorts > 1 && s.m <= kMaxRowsForL1;
}

/// Values of k in a block. Tiles of few columns use a panel of B up so fast that it should stay in L1: three quarters
/// of L1, or five sixths if the tile is wide.
int64_t chooseBlockDepth(const Layout& l, const Processor& p) {
  int64_t words = kMaxChain;
  if (p.vectorRegisters < 32)
    words = std::min(words, p.l1Bytes * 3 / 4 / (kFewVectors * p.vectorBytes));
  else if (blocksForL1(l.shape, p))
    words = std::min(words, p.l1Bytes * 5 / 6 / (kPanelVectors * p.vectorBytes));
  return equalParts(l.shape.k, words * l.group, l.lanes * l.group);
}

Layout choosePacking(Layout l, const Processor& p) {
  const GemmShape& s = l.shape;
  const bool converts = !(s.a == DType::f32 && l.elementA == PackedElement::f32) &&
                        !(s.a == DType::i32 && l.elementA == PackedElement::i32) && l.group == 1;
  l.packA = s.transposedA || converts || l.elementA == PackedElement::i16 || s.k % l.group != 0;
  const bool plain = l.group == 1 && !s.transposedB;
  l.packB = !plain || s.m >= kPackRows;
  // Pointers to six rows would occupy most registers, and hardware prefetchers follow a packed tile, but not parts of
  // six rows.
  l.panelsA = p.vectorRegisters < 32 && !s.transposedA && !l.biasFactor && l.rows <= l.lanes && s.m >= 2 * l.rows &&
              s.n >= kPanelsForA * l.columns() && s.k >= kDepthForA;
  l.packA |= l.panelsA;
  if (plain && ((s.b == DType::f32 && l.elementB == PackedElement::f32) || s.b == DType::i32)) {
    l.unpackedBelowBytes = s.cachesPackedB ? 4 * l.columns() + 1 : kUnpackedBelowBytes;
    l.mayUseUnpackedB = blocksForL1(s, p);
  }
  return l;
}

Layout chooseBlocks(Layout l, const Processor& p) {
  const GemmShape& s = l.shape;
  const int64_t rowBytes = 4 * std::max<int64_t>(l.words(l.blockDepth), 1);
  // A block of A packed by columns is read in whole vectors, so tiles and vectors must end together.
  const int64_t step = s.transposedA ? std::lcm<int64_t>(l.rows, l.columns()) : l.rows;
  l.blockRows = equalParts(s.m, std::max(step, bytesForA(p) / rowBytes / step * step), step);
  l.keepPackedB = s.cachesPackedB || l.blockRows < s.m;
  const int64_t blockBytes = std::min(p.l3Bytes / 8, kMaxPackedBlockBytes);
  const int64_t most = std::max<int64_t>(l.columns(), blockBytes / rowBytes / l.columns() * l.columns());
  l.blockColumns = l.keepPackedB && !s.cachesPackedB ? equalParts(s.n, most, l.columns()) : s.n;
  l.prefetchesC = l.words(l.blockDepth) >= wordsToPrefetchC(p);
  return l;
}

/// A remainder below this fraction (1/n) of C's rows or columns is not worth the code of an unrolled micro-kernel.
constexpr int kUnrolledShare = 5;
/// Words of k in one body of a micro-kernel; in taller tiles the pointers to rows of A leave fewer registers.
constexpr int kUnroll = 4, kUnrollOfTallTiles = 2, kTallTile = 7;

Layout chooseLoops(Layout l) {
  const GemmShape& s = l.shape;
  l.unroll = l.rows < kTallTile ? kUnroll : kUnrollOfTallTiles;
  l.unrollsLastRows = kUnrolledShare * (s.m % l.rows) >= s.m;
  l.unrollsLastColumns = kUnrolledShare * (s.n % l.columns()) >= s.n;
  l.packsInFirstTile = l.packB && !s.transposedB && s.m >= l.rows && s.k % l.group == 0;
  return l;
}

Layout layOutWorkspace(Layout l) {
  const int64_t words = l.words(l.blockDepth), line = 64;
  l.panelBytes = l.packB ? words * l.columns() * 4 : 0;
  const int64_t panels = ceilDiv(l.blockColumns, l.columns());
  if (l.packB && l.shape.cachesPackedB) l.packedCacheBytes = 4 * l.words(l.shape.k) * roundUp(l.shape.n, l.columns());
  l.offsetA = l.shape.cachesPackedB ? 0 : roundUp(l.keepPackedB ? panels * l.panelBytes : l.panelBytes, line);
  l.offsetSums = l.offsetA;
  if (l.panelsA) {
    l.strideA = 4 * l.rows;
    // The last word of a tile is stored as a whole vector.
    l.offsetSums += roundUp(roundUp(l.blockRows, l.rows) * words * 4 + l.vectorBytes(), line);
  } else if (l.packA && l.shape.transposedA) {
    l.strideA = line * ((4 * roundUp(l.blockRows, l.lanes) + line - 1) / line | 1);  // not all in the same cache sets
    l.offsetSums += roundUp(words * l.strideA, line);
  } else if (l.packA) {
    l.strideA = 4 * (roundUp(words, l.lanes) + 16);  // rows begin in different cache sets
    l.offsetSums += roundUp(l.blockRows * l.strideA, line);
  }
  l.workspaceBytes = l.offsetSums + (l.biasFactor ? roundUp(4 * roundUp(l.blockRows, l.lanes), line) : 0);
  return l;
}

struct Numbers {
  bool constant(bool value) const { return value; }
  bool isAtLeast(int64_t bytes, int64_t limit) const { return bytes >= limit; }
  bool isAbove(int64_t bytes, int64_t limit) const { return bytes > limit; }
  bool isMultipleOf(int64_t bytes, int64_t of) const { return bytes % of == 0; }
  bool logicalAnd(bool a, bool b) const { return a && b; }
  bool logicalNot(bool a) const { return !a; }
};

}  // namespace

bool packsRowsOfB(const Layout& layout, int64_t rowBytes) { return packsRowsOfB(Numbers(), layout, rowBytes); }

int Layout::prefetches(int ofVectors) const {
  constexpr int kMaxPrefetches = 4;
  const int64_t tiles = std::max<int64_t>(1, std::min(blockRows, shape.m) / rows);
  const int64_t needed = (keepPackedB ? 2 : 1) * ofVectors * unroll;
  int count = 1;
  while (needed > count * tiles && count < kMaxPrefetches && ofVectors % (2 * count) == 0) count *= 2;
  return count;
}

Layout layOut(const GemmShape& shape, const Processor& processor) {
  Layout l;
  l.shape = shape;
  l.lanes = processor.lanes(4);
  l.nativeHalf = !processor.isX86() || processor.vectorBytes > 16;
  l = chooseProduct(l, processor);
  l.blockDepth = chooseBlockDepth(l, processor);
  l = chooseTile(l, processor);
  l = choosePacking(l, processor);
  l = chooseBlocks(l, processor);
  l = chooseLoops(l);
  return layOutWorkspace(l);
}

bool isByte(DType t) { return t == DType::i8 || t == DType::u8; }

int64_t equalParts(int64_t total, int64_t most, int64_t step) {
  if (total <= most) return total;
  const int64_t parts = ceilDiv(total, most);
  return roundUp(ceilDiv(total, parts), step);
}

}  // namespace smalti::cpu
