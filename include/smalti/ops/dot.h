// Matrix products.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "smalti/operand.h"

namespace smalti {

/// How f32 operands are multiplied (S-E3): `standard` as the target does by default, `high` as three products of bf16
/// parts where the target has them (bf16x3 of a TPU), `highest` in full f32.
enum class Precision : uint8_t { standard, high, highest };

struct DotOptions {
  std::optional<DType> preferred_element_type{};  ///< of the result; nullopt: the operands' promoted dtype
  Precision precision = Precision::standard;      ///< of f32 operands alone
};

/// jnp.dot: [m, k] × [k, n] -> [m, n], [k] × [k, n] -> [n], [m, k] × [k] -> [m], [k] × [k] -> []. The operands are
/// converted to their promoted dtype (i32 × f32: both to f32), which the result has too, unless
/// `preferred_element_type` is given: then they keep theirs. Floats are summed in f32, integers in i32. Two operands of
/// pred give pred, "any of the terms"; with a number as `preferred_element_type` their elements are 0 and 1.
/// Errors: SM6304 (sizes that do not match, other ranks).
Array dot(const Operand& x, const Operand& y, DotOptions options = {});
/// jnp.matmul: [batch…, m, k] × [batch…, k, n] -> [batch…, m, n]; batches broadcast, rank 1 is a vector. dtypes and
/// error as for `dot`.
Array matmul(const Operand& x, const Operand& y, DotOptions options = {});

struct DotDimensionNumbers {
  std::vector<int64_t> lhs_contracting{}, rhs_contracting{}, lhs_batch{}, rhs_batch{};
};
/// lax.dot_general: result axes are batch, lhs free, rhs free, each in the order of its operand or list. Error SM6304.
Array dot_general(const Operand& x, const Operand& y, DotDimensionNumbers dimensions, DotOptions options = {});
/// jnp.einsum: "ij,jk->ik". Without an arrow the result has the letters that occur once, sorted. The pair of operands
/// with the fewest multiplications is contracted first. Error SM6304: sizes that do not match, "...", or a letter twice
/// in one operand, which this einsum does not have.
Array einsum(std::string_view equation, const Operand& x, const Operand& y, DotOptions options = {});
Array einsum(std::string_view equation, const Operand& x, DotOptions options = {});
Array einsum(std::string_view equation, const Operand& x, const Operand& y, const Operand& z, DotOptions options = {});
Array einsum(std::string_view equation, const std::vector<Operand>& operands, DotOptions options = {});

}  // namespace smalti
