#include "cpu/emit/EdgeCopy.h"

#include "cpu/emit/elements/Elementwise.h"

namespace smalti::cpu {
namespace {

class EdgeCopy {
 public:
  EdgeCopy(NativeLowering& l, const EdgeBlock& block, bool fetching, Reg outside)
      : l_(l), b_(l.b), block_(block), fetching_(fetching), outside_(outside) {
    const auto clamp = [&](Reg v, Reg low, Reg high) {
      v = b_.CreateSelect(b_.CreateICmpSLT(v, low), low, v);
      return b_.CreateSelect(b_.CreateICmpSGT(v, high), high, v);
    };
    for (size_t d = 0; d < rank(); ++d) {
      Reg size = l_.index(shape()[d]), extent = l_.index(block_.array.shape[d]), start = block_.starts[d];
      Reg begin = clamp(start, l_.index(0), extent);
      Reg end = clamp(b_.CreateAdd(start, size), l_.index(0), extent);
      // If the block is entirely outside the array, the count is 0 and `begin` does not matter.
      inArray_.push_back(begin);
      begin_.push_back(clamp(b_.CreateSub(begin, start), l_.index(0), size));
      count_.push_back(b_.CreateSub(end, begin));
    }
    Reg place = elementPointer(b_, block_.array, inArray_);
    array_ = block_.array;
    array_.base = place;
  }

  void run() { walk(0); }

 private:
  size_t rank() const { return block_.buffer.shape.size(); }
  const Shape& shape() const { return block_.buffer.shape; }

  /// The box of the buffer at `at_`, of all dimensions from `d` on.
  void walk(size_t d) {
    if (d == rank()) {
      copyRun(l_.index(1), {}, {});
      return;
    }
    std::vector<Reg> inBuffer(rank(), l_.index(0));
    for (size_t k = 0; k < d; ++k) inBuffer[k] = b_.CreateAdd(begin_[k], at_[k]);
    if (outside_) {
      int64_t run = 1;
      for (size_t k = d + 1; k < rank(); ++k) run *= shape()[k];
      Reg from = elementPointer(b_, block_.buffer, inBuffer);
      Reg end = b_.CreateAdd(begin_[d], count_[d]);
      fill(from, l_.index(0), b_.CreateMul(begin_[d], l_.index(run)));
      fill(from, b_.CreateMul(end, l_.index(run)), l_.index(shape()[d] * run));
    }
    if (d + 1 == rank()) {
      inBuffer[d] = begin_[d];
      at_.push_back(l_.index(0));
      copyRun(count_[d], inBuffer, at_);
      at_.pop_back();
      return;
    }
    l_.loop(l_.index(0), count_[d], l_.index(1), [&](Reg i) {
      at_.push_back(i);
      walk(d + 1);
      at_.pop_back();
    });
  }

  void copyRun(Reg count, std::span<const Reg> inBuffer, std::span<const Reg> inArray) {
    const int bytes = storage_bytes(block_.buffer.dtype);
    const llvm::Align align(static_cast<uint64_t>(bytes));
    Reg array = elementPointer(b_, array_, inArray), buffer = elementPointer(b_, block_.buffer, inBuffer);
    l_.when(b_.CreateICmpSGT(count, l_.index(0)), [&] {
      b_.CreateMemCpy(fetching_ ? buffer : array, align, fetching_ ? array : buffer, align,
                      b_.CreateMul(count, l_.index(bytes)));
    });
  }

  void fill(Reg from, Reg begin, Reg end) {
    const DType t = block_.buffer.dtype;
    Reg stored = toStorage(b_, t, outside_);
    const int lanes = l_.processor.lanes(storage_bytes(t));
    const llvm::Align align(static_cast<uint64_t>(storage_bytes(t)));
    llvm::Type* type = storageType(b_.getContext(), t);
    Reg whole = b_.CreateAdd(begin, b_.CreateAnd(b_.CreateSub(end, begin), l_.index(-lanes)));
    l_.loop(begin, whole, l_.index(lanes), [&](Reg i) {
      b_.CreateAlignedStore(b_.CreateVectorSplat(static_cast<unsigned>(lanes), stored), b_.CreateGEP(type, from, i),
                            align);
    });
    l_.loop(whole, end, l_.index(1), [&](Reg i) { b_.CreateAlignedStore(stored, b_.CreateGEP(type, from, i), align); });
  }

  NativeLowering& l_;
  Builder& b_;
  const EdgeBlock& block_;
  bool fetching_;
  Reg outside_;
  View array_;                                ///< the array, from the first element of the intersection
  std::vector<Reg> inArray_, begin_, count_;  ///< the intersection: its starts in both, and its size
  std::vector<Reg> at_;
};

}  // namespace

void fetchInside(NativeLowering& l, const EdgeBlock& block, Reg outside) { EdgeCopy(l, block, true, outside).run(); }
void storeInside(NativeLowering& l, const EdgeBlock& block) { EdgeCopy(l, block, false, nullptr).run(); }

}  // namespace smalti::cpu
