// The loops around the microkernels, after Goto & van de Geijn, "Anatomy of high-performance matrix multiplication"
// (2008): a panel of B stays in L1, a block of A in L2.
//
// Integers of up to 8 bits are multiplied as f32: each product is at most 255² and a block of K at most 256 long, so
// every partial sum is an integer below 2^24 and exact; blocks are added up in i32.
#include "eval/contract/Gemm.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "eval/Scratch.h"
#include "eval/contract/Gemv.h"

namespace smalti::eval {
namespace {

constexpr int64_t kPageWords = 4096 / sizeof(Word);
constexpr int64_t kBlockK = 256, kBlockM = 140, kBlockN = 512;
constexpr int kMaxPanel = 32;  // columns of the widest microkernel
static_assert(kBlockK * 255 * 255 < (1 << 24), "integers through f32 would not be exact");

/// Rows further apart than this share so few cache sets that they must be copied.
bool stridesCollide(int64_t stride) { return stride % 512 == 0; }

/// A block of A where the microkernels read it.
struct BlockOfA {
  const Word* data;
  int64_t stride;
  bool rowMajor;
};

class Product {
 public:
  Product(Arithmetic arithmetic, const GemmOperand& a, const GemmOperand& b, const GemmShape& shape, Word* c)
      : arithmetic_(arithmetic),
        kernels_(contractKernels()),
        table_(arithmetic == Arithmetic::i32 ? kernels_.u32 : kernels_.f32),
        a_(a),
        b_(b),
        shape_(shape),
        c_(c),
        panel_(2 * kernels_.lanes) {}

  void run(bool accumulate) {
    const int64_t blocks = (shape_.k + kBlockK - 1) / kBlockK;
    const int64_t blockK = ((shape_.k + blocks - 1) / blocks + 3) / 4 * 4;
    for (int64_t j = 0; j < shape_.n; j += kBlockN)
      for (int64_t p = 0; p < shape_.k; p += blockK) {
        columns_ = std::min(kBlockN, shape_.n - j);
        depth_ = std::min(blockK, shape_.k - p);
        placeB(j, p);
        for (int64_t i = 0; i < shape_.m; i += kBlockM) {
          const int64_t rows = std::min(kBlockM, shape_.m - i);
          multiply(blockOfA(i, rows, p), rows, c_ + i * shape_.n + j, accumulate || p > 0);
        }
      }
  }

 private:
  /// Prepares panels of B: in place if possible, otherwise packed, with zeros beyond the last column.
  void placeB(int64_t j0, int64_t p0) {
    static thread_local constinit ThreadScratch packedB;
    const Word* direct = b_.reader->direct(b_.part);
    inPlace_ = nullptr;
    const bool reusedLittle = shape_.m <= 2 * kernels_.maxRows;
    const bool fitsL1 = b_.inner <= 128 && depth_ <= 128;
    // Each in a page of its own: hardware prefetchers follow rows, but no panel.
    const bool rowsFarApart = b_.outer == 1 && b_.inner >= kPageWords;
    if (direct && b_.outer == 1 && ((reusedLittle && !rowsFarApart) || fitsL1))
      inPlace_ = direct + b_.offset + j0 + p0 * b_.inner;
    const int64_t whole = inPlace_ ? columns_ / panel_ : 0;  // panels that are not packed
    const int64_t panels = (columns_ + panel_ - 1) / panel_;
    packed_ = packedB.get<Word>((panels - whole) * panel_ * depth_);
    wholeInPlace_ = whole;
    if (b_.outer == 1 && (!direct || (rowsFarApart && !inPlace_))) return packRows(j0, p0, direct);
    for (int64_t panel = whole; panel < panels; ++panel)
      packPanel(j0 + panel * panel_, std::min<int64_t>(panel_, columns_ - panel * panel_), p0,
                packed_ + (panel - whole) * panel_ * depth_, direct);
  }

  /// A row of B at a time, converted unless it can be read directly, is dealt out to the panels.
  void packRows(int64_t j0, int64_t p0, const Word* direct) {
    static thread_local constinit ThreadScratch staging;
    const int64_t padded = (columns_ + panel_ - 1) / panel_ * panel_;
    Word* row = staging.get<Word>(padded);
    std::fill(row + columns_, row + padded, 0);
    for (int64_t p = 0; p < depth_; ++p) {
      const int64_t at = b_.offset + j0 + (p0 + p) * b_.inner;
      const bool isWhole = direct && columns_ == padded;
      if (!isWhole) b_.reader->read(at, 1, columns_, b_.part, row);
      const Word* from = isWhole ? direct + at : row;
      Word* to = packed_ + p * panel_;
      for (int64_t j = 0; j < padded; j += panel_, to += panel_ * depth_) copyPanelRow(from + j, to);
    }
  }

  void copyPanelRow(const Word* from, Word* to) const {
    for (int64_t j = 0; j < panel_; j += 8) std::memcpy(to + j, from + j, 8 * sizeof(Word));
  }

  void packPanel(int64_t j, int64_t n, int64_t p0, Word* to, const Word* direct) {
    static thread_local constinit ThreadScratch staging;
    const int64_t at = b_.offset + j * b_.outer + p0 * b_.inner;
    if (n < panel_) std::memset(to, 0, depth_ * panel_ * sizeof(Word));
    if (b_.outer == 1) {
      const Word* from = direct + at;
      for (int64_t p = 0; p < depth_; ++p, from += b_.inner, to += panel_) {
        if (n == panel_)
          copyPanelRow(from, to);
        else
          std::memcpy(to, from, n * sizeof(Word));
      }
      return;
    }
    if (direct && b_.inner == 1 && !stridesCollide(b_.outer))
      return kernels_.transposeWords(direct + at, b_.outer, n, depth_, to, panel_);
    const int64_t stride = depth_ + 16;
    Word* rows = staging.get<Word>(n * stride);
    for (int64_t q = 0; q < n; ++q) b_.reader->read(at + q * b_.outer, b_.inner, depth_, b_.part, rows + q * stride);
    kernels_.transposeWords(rows, stride, n, depth_, to, panel_);
  }

  BlockOfA blockOfA(int64_t i, int64_t rows, int64_t p0) {
    static thread_local constinit ThreadScratch packedA;
    const int64_t at = a_.offset + i * a_.outer + p0 * a_.inner;
    const bool columnMajor = a_.outer == 1 && a_.inner != 1;
    if (const Word* direct = a_.reader->direct(a_.part)) {
      if (a_.inner == 1 && !(stridesCollide(a_.outer) && rows > 1)) return {direct + at, a_.outer, true};
      if (columnMajor && !stridesCollide(a_.inner)) return {direct + at, a_.inner, false};
    }
    const int64_t lines = columnMajor ? depth_ : rows, length = columnMajor ? rows : depth_;
    const int64_t step = columnMajor ? a_.inner : a_.outer, inner = columnMajor ? 1 : a_.inner;
    const int64_t stride = length + 16 + (length % 512 == 496 ? 16 : 0);
    Word* block = packedA.get<Word>(lines * stride);
    for (int64_t q = 0; q < lines; ++q) a_.reader->read(at + q * step, inner, length, a_.part, block + q * stride);
    return {block, stride, !columnMajor};
  }

  void multiply(const BlockOfA& a, int64_t rows, Word* c, bool accumulate) {
    const int64_t strips = (rows + kernels_.maxRows - 1) / kernels_.maxRows;
    const int64_t strip = (rows + strips - 1) / strips;  // equal strips waste least
    const auto& table = a.rowMajor ? table_.rowMajor : table_.columnMajor;
    for (int64_t j = 0, panel = 0; j < columns_; j += panel_, ++panel) {
      const int64_t n = std::min<int64_t>(panel_, columns_ - j);
      const bool isWide = n > kernels_.lanes;
      const bool isInPlace = panel < wholeInPlace_;
      const Word* b = isInPlace ? inPlace_ + j : packed_ + (panel - wholeInPlace_) * panel_ * depth_;
      const int64_t bStride = isInPlace ? b_.inner : panel_;
      const int64_t width = isWide ? panel_ : kernels_.lanes;
      for (int64_t i = 0; i < rows; i += strip) {
        const int64_t count = std::min(strip, rows - i);
        const MicroKernel kernel = table[count - 1][isWide];
        const Word* from = a.data + (a.rowMajor ? i * a.stride : i);
        Word* to = c + i * shape_.n + j;
        if (n == width && arithmetic_ != Arithmetic::i32ThroughF32) {
          kernel(depth_, from, a.stride, b, bStride, to, shape_.n, accumulate);
        } else {
          alignas(64) Word tile[kMaxKernelRows * kMaxPanel];
          kernel(depth_, from, a.stride, b, bStride, tile, width, false);
          finish(tile, width, count, n, to, accumulate);
        }
      }
    }
  }

  /// Adds a tile to C, or stores it.
  void finish(const Word* tile, int64_t width, int64_t rows, int64_t columns, Word* c, bool accumulate) const {
    for (int64_t i = 0; i < rows; ++i, tile += width, c += shape_.n)
      for (int64_t j = 0; j < columns; ++j) {
        if (arithmetic_ == Arithmetic::f32) {
          const float sum = std::bit_cast<float>(tile[j]);
          c[j] = std::bit_cast<Word>(accumulate ? std::bit_cast<float>(c[j]) + sum : sum);
        } else {
          const Word sum = arithmetic_ == Arithmetic::i32
                               ? tile[j]
                               : static_cast<Word>(static_cast<int32_t>(std::bit_cast<float>(tile[j])));
          c[j] = accumulate ? c[j] + sum : sum;
        }
      }
  }

  const Arithmetic arithmetic_;
  const ContractKernels& kernels_;
  const MicroKernelTable& table_;
  const GemmOperand &a_, &b_;
  const GemmShape shape_;
  Word* const c_;
  const int64_t panel_;

  int64_t columns_ = 0, depth_ = 0;  // of the block of B at hand
  const Word* inPlace_ = nullptr;    // its first wholeInPlace_ panels
  int64_t wholeInPlace_ = 0;
  Word* packed_ = nullptr;  // the other panels
};

}  // namespace

void gemm(Arithmetic arithmetic, const GemmOperand& a, const GemmOperand& b, const GemmShape& shape, Word* c,
          bool accumulate) {
  if (shape.k == 0) {
    if (!accumulate) std::memset(c, 0, shape.m * shape.n * sizeof(Word));
    return;
  }
  if (arithmetic == Arithmetic::f32 && (shape.m == 1 || shape.n == 1)) {
    const bool isRow = shape.m == 1;
    const GemmOperand &matrix = isRow ? b : a, &vector = isRow ? a : b;
    if (multiplyVector(matrix, vector, isRow ? shape.n : shape.m, shape.k, reinterpret_cast<float*>(c), accumulate))
      return;
  }
  Product(arithmetic, a, b, shape, c).run(accumulate);
}

}  // namespace smalti::eval
