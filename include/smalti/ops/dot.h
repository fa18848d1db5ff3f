// Matrix products.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "smalti/operand.h"

namespace smalti {

/// How f32 operands are multiplied (S-E3): `standard` as the target does by default, `highest` in full f32.
enum class Precision : uint8_t { standard, high, highest };

struct DotOptions {
  std::optional<DType> preferred_element_type{};  ///< of the result; nullopt: the operands' promoted dtype
  Precision precision = Precision::standard;      ///< of f32 operands alone
};

/// jnp.dot of rank 1 or 2. The result's dtype is the operands' promoted one unless told otherwise; the accumulation is
/// in f32 or i32. Errors: SM6304 (sizes that do not match).
Array dot(const Operand& x, const Operand& y, DotOptions options = {});
/// jnp.matmul: [batch…, m, k] × [batch…, k, n]; batches broadcast, rank 1 is a vector. Error SM6304.
Array matmul(const Operand& x, const Operand& y, DotOptions options = {});

struct DotDimensionNumbers {
  std::vector<int64_t> lhs_contracting{}, rhs_contracting{}, lhs_batch{}, rhs_batch{};
};
/// lax.dot_general: result axes are batch, lhs free, rhs free, each in the order of its operand or list. Error SM6304.
Array dot_general(const Operand& x, const Operand& y, DotDimensionNumbers dimensions, DotOptions options = {});
/// jnp.einsum: "ij,jk->ik", letters once per operand; no arrow: those that stand once, sorted. Cheapest pair first.
Array einsum(std::string_view equation, const Operand& x, const Operand& y, DotOptions options = {});
Array einsum(std::string_view equation, const Operand& x, DotOptions options = {});
Array einsum(std::string_view equation, const Operand& x, const Operand& y, const Operand& z, DotOptions options = {});
Array einsum(std::string_view equation, const std::vector<Operand>& operands, DotOptions options = {});

}  // namespace smalti
