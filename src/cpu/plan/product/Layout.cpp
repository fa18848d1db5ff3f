#include "cpu/plan/product/Layout.h"

#include <algorithm>
#include <numeric>

#include "cpu/plan/product/GemmPlan.h"

namespace smalti::cpu {
namespace {

/// Rows of B at least this far apart share few cache sets: a panel of them is copied. (One that is kept is, unless its
/// rows have the same layout as in the copy.)
constexpr int64_t kInPlaceBelowBytes = 2048;
/// Panels of B and values of k from which packing A by tiles pays off.
constexpr int64_t kPanelsForA = 12, kDepthForA = 192;
/// Rows of C from which packing B pays off.
constexpr int64_t kPackRows = 16;

/// Words of k from which tiles prefetch their part of C first: stores that miss fill the store buffer.
/// With two FMA ports, 256 words finish too soon for this to pay: 3 % slower.
int64_t deepWords(const Processor& p) { return p.fmaPorts > 1 ? 320 : 256; }

bool isX86(const Processor& p) { return p.triple.starts_with("x86_64") || p.triple.starts_with("i"); }

void chooseProduct(Layout& l, const Processor& p) {
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
  } else if (bytes && isX86(p)) {
    l.instruction = MultiplyAdd::i16Madd;
    l.elementA = l.elementB = PackedElement::i16;
    l.group = 2;
  } else {
    l.instruction = MultiplyAdd::intMultiply;
    l.elementA = l.elementB = PackedElement::i32;
  }
}

/// Cycles per word of k of one tile: multiplications, two loads per cycle, chains of additions of four cycles, B coming
/// from L2, and the work around the loop. Fitted to measurements.
double tileCost(const Processor& p, int64_t rows, int64_t vectors) {
  if (rows * vectors == 0) return 0;
  const double products = static_cast<double>(rows * vectors), loads = static_cast<double>(rows + vectors);
  return std::max({products / p.fmaPorts, loads / 2, 4.0, vectors * p.vectorBytes / 28.0}) + .1 * loads + .3;
}

/// Of columns in a tile; and where registers are few.
constexpr int64_t kPanelVectors = 4, kFewVectors = 2;

/// Taller tiles only for few vectors: pointers to rows of A also occupy registers.
int64_t mostRows(int64_t accumulators, int64_t vectors) {
  return std::min<int64_t>(accumulators / vectors, vectors > kFewVectors ? 6 : 8);
}

void chooseTile(Layout& l, const Processor& p) {
  const GemmShape& s = l.shape;
  const bool many = p.vectorRegisters >= 32;
  const bool threeOperands = p.vectorBytes > 16 || many;
  // Where one multiplication begins per cycle, four rows hide their loads too, and store less at a time; but deep
  // panels of B are better read for more rows, since not all of two of them stays in L2.
  const bool shallow = 2 * l.words(l.blockDepth) * 4 * p.vectorBytes <= p.l2Bytes / 4;
  const int64_t accumulators = many ? (p.fmaPorts == 1 && shallow ? 16 : 24) : threeOperands ? 12 : 8;
  const int64_t columnVectors = (s.n + l.lanes - 1) / l.lanes;
  double best = 0;
  for (const int64_t vectors : {4, 8, 3, 2, 1}) {
    if (vectors > std::max<int64_t>(columnVectors, 1) || (vectors == 8 && s.m > 2) || (vectors > kFewVectors && !many))
      continue;
    for (int64_t rows = std::min(mostRows(accumulators, vectors), std::max<int64_t>(s.m, 1)); rows >= 1; --rows) {
      const int64_t panels = s.n / (vectors * l.lanes), last = columnVectors - panels * vectors;
      const auto all = [&](int64_t v) { return s.m / rows * tileCost(p, rows, v) + tileCost(p, s.m % rows, v); };
      const double cost = panels * all(vectors) + all(last) + (s.m % rows ? .5 : 0);
      if (best != 0 && cost >= .995 * best) continue;
      best = cost;
      l.rows = static_cast<int>(rows);
      l.vectors = static_cast<int>(vectors);
    }
  }
}

/// Rows of C up to which the sums that go to memory after each block of k cost less than what it saves that a panel of
/// B, which they soon have used up, is in L1: packing it, and prefetching the next one along with it.
constexpr int64_t kShallowRows = 128;

bool isShallow(const GemmShape& s, const Processor& p) {
  return p.vectorRegisters >= 32 && p.fmaPorts > 1 && s.m <= kShallowRows;
}

/// Values of k in a block. A tile of few columns uses a panel of B up so fast that it should stay in L1.
int64_t depthOf(const Layout& l, const Processor& p) {
  int64_t words = kMaxChain;
  if (p.vectorRegisters < 32)
    words = std::min(words, p.l1Bytes * 3 / 4 / (kFewVectors * p.vectorBytes));
  else if (isShallow(l.shape, p))
    words = std::min(words, p.l1Bytes * 5 / 6 / (kPanelVectors * p.vectorBytes));
  return equalParts(l.shape.k, words * l.group, l.lanes * l.group);
}

void choosePacking(Layout& l, const Processor& p) {
  const GemmShape& s = l.shape;
  const bool converts = !(s.a == DType::f32 && l.elementA == PackedElement::f32) &&
                        !(s.a == DType::i32 && l.elementA == PackedElement::i32) && l.group == 1;
  l.packA = s.transposedA || converts || l.elementA == PackedElement::i16 || s.k % l.group != 0;
  const bool plain = l.group == 1 && !s.transposedB;
  l.packB = !plain || s.m >= kPackRows;
  // Pointers to six rows would occupy most registers, and hardware prefetchers do not follow pieces of six rows,
  // but they do follow a packed tile.
  l.panelsA = p.vectorRegisters < 32 && !s.transposedA && !l.biasFactor && l.rows <= l.lanes && s.m >= 2 * l.rows &&
              s.n >= kPanelsForA * l.columns() && s.k >= kDepthForA;
  l.packA |= l.panelsA;
  if (plain && ((s.b == DType::f32 && l.elementB == PackedElement::f32) || s.b == DType::i32)) {
    l.inPlaceBelow = s.cachesPackedB ? 4 * l.columns() + 1 : kInPlaceBelowBytes;
    l.mayUseUnpackedB = isShallow(s, p);
  }
}

void chooseBlocks(Layout& l, const Processor& p) {
  const GemmShape& s = l.shape;
  const int64_t rowBytes = 4 * std::max<int64_t>(l.words(l.blockDepth), 1);
  // A block of A packed by columns is read in whole vectors, so tiles and vectors must end together.
  const int64_t step = s.transposedA ? std::lcm<int64_t>(l.rows, l.columns()) : l.rows;
  l.blockRows = equalParts(s.m, std::max(step, p.l2Bytes * 2 / 5 / rowBytes / step * step), step);
  l.keepPackedB = s.cachesPackedB || l.blockRows < s.m;
  const int64_t blockBytes = std::min<int64_t>(p.l3Bytes / 8, 8 << 20);
  const int64_t most = std::max<int64_t>(l.columns(), blockBytes / rowBytes / l.columns() * l.columns());
  l.blockColumns = l.keepPackedB && !s.cachesPackedB ? equalParts(s.n, most, l.columns()) : s.n;
  l.deep = l.words(l.blockDepth) >= deepWords(p);
}

void layOutWorkspace(Layout& l) {
  const int64_t words = l.words(l.blockDepth), line = 64;
  l.panelBytes = l.packB ? words * l.columns() * 4 : 0;
  const int64_t panels = (l.blockColumns + l.columns() - 1) / l.columns();
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

Layout layOut(const GemmShape& shape, const Processor& processor) {
  Layout l;
  l.shape = shape;
  l.lanes = processor.lanes(4);
  l.nativeHalf = !isX86(processor) || processor.vectorBytes > 16;
  chooseProduct(l, processor);
  l.blockDepth = depthOf(l, processor);
  chooseTile(l, processor);
  choosePacking(l, processor);
  chooseBlocks(l, processor);
  layOutWorkspace(l);
  return l;
}

bool isByte(DType t) { return t == DType::i8 || t == DType::u8; }

int64_t roundUp(int64_t value, int64_t to) { return (value + to - 1) / to * to; }

int64_t equalParts(int64_t total, int64_t most, int64_t step) {
  if (total <= most) return total;
  const int64_t parts = (total + most - 1) / most;
  return roundUp((total + parts - 1) / parts, step);
}

}  // namespace smalti::cpu
