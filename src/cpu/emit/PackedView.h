// Refs that access memory as elements of another width (tpu.memref_bitcast; S-D7), in emitted code.
#pragma once

#include <optional>

#include "cpu/emit/View.h"
#include "cpu/plan/PackedLayout.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace smalti::cpu {

struct PackedView : PackedLayout<View> {};

/// Emits code that ends the call where the condition (i1) is false.
using Require = llvm::function_ref<void(Reg)>;

/// A ref as a packed view.
PackedView unpacked(const View&);
/// A bitcast, by the rule of `bitcastElements` (PackedLayout.h). Emits a check if its validity depends on an index.
std::optional<PackedView> bitcastView(Builder&, Require, const PackedView&, DType, std::span<const int64_t> shape);
/// A slice as in View.h, of which the view says that it has it, and a reshape by the rule of `reshapedElements`
/// (PackedLayout.h).
PackedView slice(Builder&, const PackedView&, std::span<const Reg> starts, std::span<const int64_t> sizes,
                 std::span<const int64_t> steps = {});
std::optional<PackedView> reshape(Builder&, const PackedView&, std::span<const int64_t> shape);
PackedView withoutUnitDims(const PackedView&);
/// A view of all stored elements that the view overlaps, and possibly of others between them.
View storedCells(Builder&, const PackedView&);

}  // namespace smalti::cpu
