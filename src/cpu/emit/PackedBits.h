// Bits of the elements of refs that access memory as elements of another width.
#pragma once

#include "cpu/emit/PackedView.h"

namespace smalti::cpu {

/// The position of a row's elements: the address of the first, and its first bit.
struct PackedRow {
  Reg cell = nullptr;
  Reg shift = nullptr;  ///< i64; of elements that share a stored one
};

/// The bits of a view's elements as integers of their width, in vectors along the last dimension.
class PackedBits {
 public:
  PackedBits(Builder& b, const PackedView& v) : b_(b), v_(v) {}

  PackedRow at(std::span<const Reg> indices) const;
  Reg load(const PackedRow&, Reg start, int lanes, Reg mask) const;
  void store(Reg value, const PackedRow&, Reg start, int lanes, Reg mask) const;
  /// Elements along the last dimension are contiguous.
  bool hasVectors() const;

 private:
  Reg index(int64_t i) const { return b_.getInt64(static_cast<uint64_t>(i)); }
  llvm::Type* bits(int width, int lanes) const;
  unsigned cellWidthBits() const { return static_cast<unsigned>(8 * storage_bytes(v_.cells.dtype)); }
  llvm::Align align() const { return llvm::Align(static_cast<uint64_t>(storage_bytes(v_.cells.dtype))); }
  Reg move(Reg pointer, Reg cells) const;
  Reg partAt(int64_t j, Reg start) const;
  Reg shiftOf(const PackedRow&, Reg word) const;
  Reg loadCell(Reg pointer, int lanes, Reg mask) const;
  void storeCell(Reg value, Reg pointer, int lanes, Reg mask) const;

  Builder& b_;
  const PackedView& v_;
};

}  // namespace smalti::cpu
