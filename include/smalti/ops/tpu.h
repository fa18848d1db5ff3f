// Ops of jax.experimental.pallas.tpu: the TPU's own ops on registers (K1–K8 in docs/features.md). Those
// marked "kernels only" are errors elsewhere (SM6106).
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "smalti/operand.h"

namespace smalti {

/// 1 / x of f32; ±inf of ±0. `approx`: 1 / bf16(x) (S-E12); `full_range = false`: tiny results may flush to zero.
Array reciprocal(const Operand& x, bool approx = false, bool full_range = true);
/// Element i goes to (i + shift) mod n. `shift` is a scalar of 0 or more, which may be traced (S-E16).
Array roll(const Operand& x, const Operand& shift, int64_t axis);
/// Row k of `stride_axis` shifts by k * stride more.
Array roll(const Operand& x, const Operand& shift, int64_t axis, int64_t stride, int64_t stride_axis);
/// The same bits under another dtype; the last but one axis scales by the ratio of the widths (S-D8). Error SM6306.
Array bitcast(const Operand& x, DType dtype);
/// Source k, converted to `packed_dtype`, goes to part k of each word, lowest first: f32 to bf16, or integers (S-E18).
Array pack_elementwise(const std::vector<Operand>& sources, DType packed_dtype);
/// Part `index` of each word, in [0, bits of a word / bits of `packed_dtype`), lowest first, widened.
Array unpack_elementwise(const Operand& x, int index, DType packed_dtype, DType unpacked_dtype);
/// f32 rounded up or down as the u32 `random_bits` say (S-E19).
Array stochastic_round(const Operand& x, const Operand& random_bits, DType target_dtype);

namespace detail {
void prng_seed(const std::vector<Operand>& seeds, const Location& at);
}
/// Seeds the core's generator with i32 scalars; kernels only (S-L2).
inline void prng_seed(const Operand& seed) { detail::prng_seed({seed}, seed.at()); }
inline void prng_seed(const Operand& seed, const Operand& more) { detail::prng_seed({seed, more}, seed.at()); }
inline void prng_seed(const std::vector<Operand>& seeds, Location at = Location::current()) {
  detail::prng_seed(seeds, at);
}
/// The generator's next bits, i32; kernels only.
Array prng_random_bits(Shape shape, Location at = Location::current());

/// Splits, moves and joins axes: einshape("a(bc)->bac", x, {{'b', 8}}). Sizes that follow from x need no entry.
Array einshape(std::string_view equation, const Operand& x, std::vector<std::pair<char, int64_t>> sizes = {});
/// Promises the compiler that the integer x is a multiple of n > 0; returns x. A wrong promise is undefined on a TPU.
Array multiple_of(const Operand& x, int64_t n);

// Explicit use of the matrix unit (K8); kernels only. Weights are pushed to a staging register, loaded from it, and
// multiplied with the left operand: into accumulators (TPU7x) or a queue (before).
void matmul_push_rhs(const Operand& rhs, int staging_register, int mxu_index, bool transpose = false);
void matmul_acc_lhs(int acc_addr, const Operand& lhs, int mxu_index, std::optional<int> load_staged_rhs = {});
/// Takes the accumulator out and clears it; f32 or i32.
Array matmul_pop(int acc_addr, Shape shape, DType dtype, int mxu_index, Location at = Location::current());
void matmul_lhs_fifo(const Operand& lhs, int mxu_index, std::optional<int> load_staged_rhs = {});
Array matmul_pop_fifo(Shape shape, DType dtype, int mxu_index, Location at = Location::current());

}  // namespace smalti
