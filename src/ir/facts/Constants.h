// Values that are known constants.
#pragma once

#include <cstdint>
#include <optional>

#include "mlir/IR/Attributes.h"
#include "mlir/IR/Value.h"

namespace smalti {

/// Whether the value is zero everywhere, possibly after broadcasts and conversions: +0 if it is a float.
bool isZero(mlir::Value);
/// The float that all elements are, possibly after broadcasts.
std::optional<double> splatFloat(mlir::Value);
/// The bits of an element of a constant in storage form: of a float its own, of integers sign-extended but for i1.
uint64_t constantBits(mlir::Attribute);
/// An integer or index that is a constant, possibly after casts between indices and integers.
std::optional<int64_t> constantIndex(mlir::Value);

}  // namespace smalti
