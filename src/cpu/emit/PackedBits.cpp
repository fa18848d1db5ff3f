#include "cpu/emit/PackedBits.h"

namespace smalti::cpu {

PackedRow PackedBits::at(std::span<const Reg> indices) const {
  if (v_.elementsPerCell == 1) return {elementPointer(b_, v_.cells, indices), nullptr};
  Reg row = v_.row;
  for (size_t d = 0; d < indices.size(); ++d) row = b_.CreateAdd(row, b_.CreateMul(indices[d], v_.rowSteps[d]));
  Reg perCell = index(v_.elementsPerCell);
  return {move(elementPointer(b_, v_.cells, indices), b_.CreateMul(b_.CreateUDiv(row, perCell), v_.rowStride)),
          b_.CreateMul(b_.CreateURem(row, perCell), index(bit_width(v_.dtype)))};
}

Reg PackedBits::load(const PackedRow& row, Reg start, int lanes, Reg mask) const {
  const int width = bit_width(v_.dtype), cell = bit_width(v_.cells.dtype);
  if (v_.elementsPerCell > 1) {
    Reg word = loadCell(move(row.cell, start), lanes, mask);
    return b_.CreateTrunc(b_.CreateLShr(word, shiftOf(row, word)), bits(width, lanes));
  }
  Reg all = nullptr;
  for (int64_t j = 0; j < v_.cellsPerElement; ++j) {
    Reg part = b_.CreateTrunc(loadCell(move(row.cell, partAt(j, start)), lanes, mask), bits(cell, lanes));
    if (v_.cellsPerElement == 1) return part;
    part = b_.CreateShl(b_.CreateZExt(part, bits(width, lanes)), static_cast<uint64_t>(j * cell));
    all = all ? b_.CreateOr(all, part) : part;
  }
  return all;
}

void PackedBits::store(Reg value, const PackedRow& row, Reg start, int lanes, Reg mask) const {
  const int width = bit_width(v_.dtype), cell = bit_width(v_.cells.dtype);
  if (v_.elementsPerCell > 1) {
    Reg at = move(row.cell, start), word = loadCell(at, lanes, mask), shift = shiftOf(row, word);
    Reg ones = llvm::ConstantInt::get(word->getType(), llvm::APInt::getLowBitsSet(cellWidthBits(), width));
    Reg rest = b_.CreateAnd(word, b_.CreateNot(b_.CreateShl(ones, shift)));
    Reg wide = b_.CreateZExt(value, word->getType());
    storeCell(b_.CreateTrunc(b_.CreateOr(rest, b_.CreateShl(wide, shift)), bits(cell, lanes)), at, lanes, mask);
    return;
  }
  for (int64_t j = 0; j < v_.cellsPerElement; ++j) {
    Reg part = v_.cellsPerElement == 1 ? value : b_.CreateLShr(value, static_cast<uint64_t>(j * cell));
    storeCell(b_.CreateTrunc(part, bits(cell, lanes)), move(row.cell, partAt(j, start)), lanes, mask);
  }
}

bool PackedBits::hasVectors() const {
  const size_t rank = v_.cells.shape.size();
  return rank > 0 && constantOf(v_.cells.strides.back()) == 1 &&
         (v_.elementsPerCell == 1 || constantOf(v_.rowSteps.back()) == 0) && constantOf(extent(b_, v_.cells, rank - 1));
}

llvm::Type* PackedBits::bits(int width, int lanes) const {
  llvm::Type* t = b_.getIntNTy(static_cast<unsigned>(width));
  return lanes == 1 ? t : llvm::FixedVectorType::get(t, static_cast<unsigned>(lanes));
}

Reg PackedBits::move(Reg pointer, Reg cells) const {
  return b_.CreateGEP(storageType(b_.getContext(), v_.cells.dtype), pointer, cells);
}

Reg PackedBits::partAt(int64_t j, Reg start) const {
  return j == 0 ? start : b_.CreateAdd(start, b_.CreateMul(index(j), v_.cellStride));
}

Reg PackedBits::shiftOf(const PackedRow& row, Reg word) const {
  Reg shift = b_.CreateTrunc(row.shift, b_.getIntNTy(cellWidthBits()));
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(word->getType());
  return vector ? b_.CreateVectorSplat(vector->getNumElements(), shift) : shift;
}

/// Stored elements, as integers of their storage.
Reg PackedBits::loadCell(Reg pointer, int lanes, Reg mask) const {
  llvm::Type* type = bits(static_cast<int>(cellWidthBits()), lanes);
  if (mask) return b_.CreateMaskedLoad(type, pointer, align(), mask, llvm::Constant::getNullValue(type));
  return b_.CreateAlignedLoad(type, pointer, align());
}

void PackedBits::storeCell(Reg value, Reg pointer, int lanes, Reg mask) const {
  llvm::Type* type = bits(static_cast<int>(cellWidthBits()), lanes);
  Reg word = is_signed_integer(v_.cells.dtype) ? b_.CreateSExt(value, type) : b_.CreateZExt(value, type);
  if (mask)
    b_.CreateMaskedStore(word, pointer, align(), mask);
  else
    b_.CreateAlignedStore(word, pointer, align());
}

}  // namespace smalti::cpu
