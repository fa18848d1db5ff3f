// Matrix products.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "smalti/operand.h"

namespace smalti {

/// What a product of f32 may lose (S-E3): `standard` is the target's own.
enum class Precision : uint8_t { standard, high, highest };

struct DotOptions {
  std::optional<DType> preferred_element_type{};
  Precision precision = Precision::standard;
};

/// jnp.dot of rank 1 or 2. The result's dtype is the operands' promoted one unless told otherwise; the accumulation is
/// in f32 or i32. Errors: SM6304 (sizes that do not match).
Array dot(const Operand& x, const Operand& y, DotOptions options = {});
/// jnp.matmul: leading axes are batches.
Array matmul(const Operand& x, const Operand& y, DotOptions options = {});

struct DotDimensionNumbers {
  std::vector<int64_t> lhs_contracting{}, rhs_contracting{}, lhs_batch{}, rhs_batch{};
};
/// lax.dot_general: result axes are batch, lhs free, rhs free.
Array dot_general(const Operand& x, const Operand& y, DotDimensionNumbers dimensions, DotOptions options = {});
/// jnp.einsum: "ij,jk->ik". More than two operands are contracted two by two, the cheapest product first.
Array einsum(std::string_view equation, const Operand& x, const Operand& y, DotOptions options = {});
Array einsum(std::string_view equation, const Operand& x, DotOptions options = {});
Array einsum(std::string_view equation, const Operand& x, const Operand& y, const Operand& z, DotOptions options = {});
Array einsum(std::string_view equation, const std::vector<Operand>& operands, DotOptions options = {});

}  // namespace smalti
