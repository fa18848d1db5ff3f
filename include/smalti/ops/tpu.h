// Ops of jax.experimental.pallas.tpu: the TPU's own ops on registers (K1–K8 in docs/features.md). Those
// marked "kernels only" are errors elsewhere (SM6106). Errors of all: SM6302 (a dtype the op does not take), SM6307
// (a number outside the stated range, or shapes that differ).
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
/// The same bits under another dtype; the second-last axis scales by the ratio of the widths (S-D8). Error SM6306.
Array bitcast(const Operand& x, DType dtype);
/// Source k, converted to `packed_dtype`, goes to part k of each word, lowest first: f32 to bf16, or integers (S-E18).
/// There are as many sources as parts in a word, of one shape and dtype; the result is unsigned, of their width.
Array pack_elementwise(const std::vector<Operand>& sources, DType packed_dtype);
/// Part `index` of each word, in [0, bits of a word / bits of `packed_dtype`), lowest first, widened to
/// `unpacked_dtype`, which has the width of x: bf16 to f32, or integers.
Array unpack_elementwise(const Operand& x, int index, DType packed_dtype, DType unpacked_dtype);
/// f32 rounded up or down as `random_bits` say, u32 of the shape of x (S-E19). Targets: floats and signed integers
/// below 32 bits.
Array stochastic_round(const Operand& x, const Operand& random_bits, DType target_dtype);

namespace detail {
void prng_seed(const std::vector<Operand>& seeds, const Location& at);
}
/// Seeds the core's generator with integer scalars, used as i32; kernels only (S-L2).
inline void prng_seed(const Operand& seed) { detail::prng_seed({seed}, seed.at()); }
inline void prng_seed(const Operand& seed, const Operand& more) { detail::prng_seed({seed, more}, seed.at()); }
inline void prng_seed(const std::vector<Operand>& seeds, Location at = Location::current()) {
  detail::prng_seed(seeds, at);
}
/// The generator's next bits, i32, of a shape of two axes or more; kernels only.
Array prng_random_bits(Shape shape, Location at = Location::current());

/// Splits, moves and joins axes: einshape("a(bc)->bac", x, {{'b', 8}}). Sizes that follow from x need no entry. Error
/// SM6303: a malformed equation, or sizes that do not fit x.
Array einshape(std::string_view equation, const Operand& x, std::vector<std::pair<char, int64_t>> sizes = {});
/// Promises the compiler that x, an integer scalar, is a multiple of n > 0; returns x. A wrong promise is undefined on
/// a TPU. Error SM6307: n < 1.
Array multiple_of(const Operand& x, int64_t n);

// Explicit use of a matrix unit (K8); kernels only. Weights are pushed to a staging register, loaded from it, and
// multiplied with the left operand: into accumulators (from v7x on) or a queue (before). Units, staging registers and
// accumulators are numbered from 0; `interpret` and `cpu` have as many as a kernel names. Errors: SM6304 (not a
// matrix); SM6307 (a number below 0); when the kernel runs SM4013 (sizes or dtypes that do not fit, an empty register
// or queue); for chips SM6634 (accumulators or a queue that a chip lacks), SM6640 (a queue that is empty or full).

/// Puts the weights [k, n] into a staging register, where they replace others; `transpose`: `rhs` is [n, k].
void matmul_push_rhs(const Operand& rhs, int staging_register, int mxu_index, bool transpose = false);
/// Adds lhs [m, k] × weights [k, n] to accumulator `acc_addr`: f32, of integers i32. `load_staged_rhs`: the staging
/// register whose content becomes the unit's weights first; without it the weights loaded last are used again.
void matmul_acc_lhs(int acc_addr, const Operand& lhs, int mxu_index, std::optional<int> load_staged_rhs = {});
/// The accumulator, which is cleared; zeros if nothing was added. `shape` and `dtype` (f32 or i32) are the sum's.
Array matmul_pop(int acc_addr, Shape shape, DType dtype, int mxu_index, Location at = Location::current());
/// Appends lhs × weights to the unit's queue; operands as for `matmul_acc_lhs`.
void matmul_lhs_fifo(const Operand& lhs, int mxu_index, std::optional<int> load_staged_rhs = {});
/// Takes the oldest product out of the unit's queue; `shape` and `dtype` are those of the product.
Array matmul_pop_fifo(Shape shape, DType dtype, int mxu_index, Location at = Location::current());

}  // namespace smalti
