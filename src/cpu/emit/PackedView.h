// Refs that access memory as elements of another width (tpu.memref_bitcast; S-D7): their representation, and views of
// them.
#pragma once

#include <optional>

#include "cpu/emit/View.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace smalti::cpu {

/// Elements of one dtype in the memory of another. Rows are counted along the last dimension but one: row r * k + j of
/// narrow elements holds part j, the least significant first, of the elements in row r of k times as wide ones.
///
/// Elements that are wider than the stored ones are `parts` of those, `partStride` apart. Of narrower ones `shares`
/// share one that is stored: the element at index i is in narrow row `row + sum(i[d] * rowSteps[d])`.
struct PackedView {
  DType dtype = DType::f32;  ///< of the ref's elements
  View cells;                ///< the ref's shape; dtype, base and strides of the stored elements
  int64_t parts = 1;
  Reg partStride = nullptr;  ///< i64, in stored elements; where parts > 1
  int64_t shares = 1;
  std::vector<Reg> rowSteps;  ///< i64 per dimension; where shares > 1
  Reg row = nullptr;          ///< i64; where shares > 1
  Reg rowStride = nullptr;    ///< i64, in stored elements, from a stored row to the next; where shares > 1

  bool isPlain() const { return parts == 1 && shares == 1 && dtype == cells.dtype; }
};

/// Emits code that ends the call where the condition (i1) is false.
using Require = llvm::function_ref<void(Reg)>;

/// A ref as its own view.
PackedView unpacked(const View&);
/// The bits of a view as elements of `dtype`, `shape` as the verifier of tpu.memref_bitcast demands; nullopt where
/// `PackedView` cannot represent it. Emits a check if it depends on an index.
std::optional<PackedView> bitcastView(Builder&, Require, const PackedView&, DType, std::span<const int64_t> shape);
/// As `slice` and `reshape` of View.h.
PackedView slice(Builder&, const PackedView&, std::span<const Reg> starts, std::span<const int64_t> sizes,
                 std::span<const int64_t> steps = {});
std::optional<PackedView> reshape(Builder&, const PackedView&, std::span<const int64_t> shape);
PackedView withoutUnitDims(const PackedView&);
/// A view of all stored elements that the view overlaps, and possibly of others between them.
View storedCells(Builder&, const PackedView&);

}  // namespace smalti::cpu
