#include "cpu/emit/ops/PackedAccess.h"

#include <algorithm>

#include "cpu/emit/ops/Columns.h"

namespace smalti::cpu {
namespace {

/// The position of a row's elements: the address of the first, and its first bit.
struct RowPlace {
  Reg cell = nullptr;
  Reg shift = nullptr;  ///< i64; of elements that share a stored one
};

/// The bits of a view's elements as integers of their width, in vectors along the last dimension.
class Bits {
 public:
  Bits(NativeLowering& l, const PackedView& v) : l_(l), b_(l.b), v_(v) {}

  RowPlace at(std::span<const Reg> indices) const {
    if (v_.shares == 1) return {elementPointer(b_, v_.cells, indices), nullptr};
    Reg row = v_.row;
    for (size_t d = 0; d < indices.size(); ++d) row = b_.CreateAdd(row, b_.CreateMul(indices[d], v_.rowSteps[d]));
    Reg shares = l_.index(v_.shares);
    return {move(elementPointer(b_, v_.cells, indices), b_.CreateMul(b_.CreateUDiv(row, shares), v_.rowStride)),
            b_.CreateMul(b_.CreateURem(row, shares), l_.index(bit_width(v_.dtype)))};
  }

  Reg load(const RowPlace& row, Reg start, int lanes, Reg mask) const {
    const int width = bit_width(v_.dtype), cell = bit_width(v_.cells.dtype);
    if (v_.shares > 1) {
      Reg word = loadCell(move(row.cell, start), lanes, mask);
      return b_.CreateTrunc(b_.CreateLShr(word, shiftOf(row, word)), bits(width, lanes));
    }
    Reg all = nullptr;
    for (int64_t j = 0; j < v_.parts; ++j) {
      Reg part = b_.CreateTrunc(loadCell(move(row.cell, partAt(j, start)), lanes, mask), bits(cell, lanes));
      if (v_.parts == 1) return part;
      part = b_.CreateShl(b_.CreateZExt(part, bits(width, lanes)), static_cast<uint64_t>(j * cell));
      all = all ? b_.CreateOr(all, part) : part;
    }
    return all;
  }

  void store(Reg value, const RowPlace& row, Reg start, int lanes, Reg mask) const {
    const int width = bit_width(v_.dtype), cell = bit_width(v_.cells.dtype);
    if (v_.shares > 1) {
      Reg at = move(row.cell, start), word = loadCell(at, lanes, mask), shift = shiftOf(row, word);
      Reg ones = llvm::ConstantInt::get(word->getType(), llvm::APInt::getLowBitsSet(storageBits(), width));
      Reg rest = b_.CreateAnd(word, b_.CreateNot(b_.CreateShl(ones, shift)));
      Reg wide = b_.CreateZExt(value, word->getType());
      storeCell(b_.CreateTrunc(b_.CreateOr(rest, b_.CreateShl(wide, shift)), bits(cell, lanes)), at, lanes, mask);
      return;
    }
    for (int64_t j = 0; j < v_.parts; ++j) {
      Reg part = v_.parts == 1 ? value : b_.CreateLShr(value, static_cast<uint64_t>(j * cell));
      storeCell(b_.CreateTrunc(part, bits(cell, lanes)), move(row.cell, partAt(j, start)), lanes, mask);
    }
  }

  /// Elements along the last dimension are contiguous.
  bool hasVectors() const {
    const size_t rank = v_.cells.shape.size();
    return rank > 0 && constantOf(v_.cells.strides.back()) == 1 &&
           (v_.shares == 1 || constantOf(v_.rowSteps.back()) == 0) && constantOf(extent(b_, v_.cells, rank - 1));
  }

 private:
  llvm::Type* bits(int width, int lanes) const {
    llvm::Type* t = b_.getIntNTy(static_cast<unsigned>(width));
    return lanes == 1 ? t : llvm::FixedVectorType::get(t, static_cast<unsigned>(lanes));
  }
  unsigned storageBits() const { return static_cast<unsigned>(8 * storage_bytes(v_.cells.dtype)); }
  llvm::Align align() const { return llvm::Align(static_cast<uint64_t>(storage_bytes(v_.cells.dtype))); }
  Reg move(Reg pointer, Reg cells) const {
    return b_.CreateGEP(storageType(b_.getContext(), v_.cells.dtype), pointer, cells);
  }
  Reg partAt(int64_t j, Reg start) const {
    return j == 0 ? start : b_.CreateAdd(start, b_.CreateMul(l_.index(j), v_.partStride));
  }
  Reg shiftOf(const RowPlace& row, Reg word) const {
    Reg shift = b_.CreateTrunc(row.shift, b_.getIntNTy(storageBits()));
    auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(word->getType());
    return vector ? b_.CreateVectorSplat(vector->getNumElements(), shift) : shift;
  }
  /// Stored elements, as integers of their storage.
  Reg loadCell(Reg pointer, int lanes, Reg mask) const {
    llvm::Type* type = bits(static_cast<int>(storageBits()), lanes);
    if (mask) return b_.CreateMaskedLoad(type, pointer, align(), mask, llvm::Constant::getNullValue(type));
    return b_.CreateAlignedLoad(type, pointer, align());
  }
  void storeCell(Reg value, Reg pointer, int lanes, Reg mask) const {
    llvm::Type* type = bits(static_cast<int>(storageBits()), lanes);
    Reg word = is_signed_integer(v_.cells.dtype) ? b_.CreateSExt(value, type) : b_.CreateZExt(value, type);
    if (mask)
      b_.CreateMaskedStore(word, pointer, align(), mask);
    else
      b_.CreateAlignedStore(word, pointer, align());
  }

  NativeLowering& l_;
  Builder& b_;
  const PackedView& v_;
};

/// `body` for each place of the shape's first `rank` dimensions.
void forEachRow(NativeLowering& l, const View& shape, size_t rank,
                const std::function<void(std::span<const Reg>)>& body) {
  std::vector<Reg> at;
  std::function<void()> walk = [&] {
    if (at.size() == rank) return body(at);
    l.loop(l.index(0), extent(l.b, shape, at.size()), l.index(1), [&](Reg i) {
      at.push_back(i);
      walk();
      at.pop_back();
    });
  };
  walk();
}

void copyRows(NativeLowering& l, const PackedView& from, const PackedView& to, const View* where) {
  const Bits in(l, from), out(l, to);
  const size_t rank = to.cells.shape.size();
  const bool vectors = in.hasVectors() && out.hasVectors() && (!where || constantOf(where->strides.back()) == 1);
  forEachRow(l, to.cells, vectors ? rank - 1 : rank, [&](std::span<const Reg> at) {
    const RowPlace source = in.at(at), target = out.at(at);
    Reg chosen = where ? elementPointer(l.b, *where, at) : nullptr;
    const auto body = [&](Reg start, int lanes, Reg mask) {
      if (chosen) {
        Reg place = l.b.CreateGEP(storageType(l.b.getContext(), DType::pred), chosen, start);
        Reg here = loadElements(l.b, DType::pred, place, lanes, mask);
        mask = mask ? l.b.CreateAnd(mask, here) : here;
      }
      if (lanes == 1 && mask)
        return l.when(mask, [&] { out.store(in.load(source, start, 1, nullptr), target, start, 1, nullptr); });
      out.store(in.load(source, start, lanes, mask), target, start, lanes, mask);
    };
    if (!vectors) return body(l.index(0), 1, nullptr);
    int widest = 1;
    for (const DType t : {from.dtype, from.cells.dtype, to.cells.dtype}) widest = std::max(widest, storage_bytes(t));
    forColumns(l, *constantOf(extent(l.b, to.cells, rank - 1)), l.processor.lanes(widest), body);
  });
}

}  // namespace

void copyPacked(NativeLowering& l, const PackedView& from, const PackedView& to) { copyRows(l, from, to, nullptr); }

void copyPackedWhere(NativeLowering& l, const PackedView& from, const PackedView& to, const View& mask) {
  copyRows(l, from, to, &mask);
}

View gatherPacked(NativeLowering& l, const PackedView& from) {
  View to = l.allocate(from.dtype, from.cells.shape);
  copyPacked(l, from, unpacked(to));
  return to;
}

}  // namespace smalti::cpu
