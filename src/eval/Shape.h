// Ops that move elements without computing: broadcast, reshape, transpose, slices, concatenate, pad, rotate,
// gather, iota. They work on any element size, so initialisation masks move through the same functions.
#pragma once

#include "eval/Tensor.h"

namespace smalti::eval {

/// vector.broadcast / numpy: trailing dims align; each operand dim is the result's or 1.
void broadcast(Input in, Output out);
/// stablehlo.broadcast_in_dim: operand dim i becomes result dim `dims[i]`.
void broadcastInDim(Input in, Dims dims, Output out);
/// out[i0, i1, …] = in[i at permutation]: result dim d is operand dim permutation[d].
void transpose(Input in, Dims permutation, Output out);
/// out[i] = in[starts + i * strides] per dim; in bounds by contract.
void slice(Input in, Dims starts, Dims strides, Output out);
/// Concatenates along `dim`.
void concatenate(std::span<const Input> ins, int dim, Output out);
/// stablehlo.pad: `low`, `interior` per dim (low may be negative); `value` points to one element.
void pad(Input in, const void* value, Dims low, Dims interior, Output out);
/// out[(i + amount) mod n] = in[i] along dim; with strideDim ≥ 0, index k of it rotates amount + stride * k (S-E16).
void dynamicRotate(Input in, int64_t amount, int dim, int64_t stride, int strideDim, Output out);
/// tpu.dynamic_gather, take_along_axis: index dims `dims` (one or more: linear index over them), unsigned mod size.
void dynamicGather(Input in, Input indices, Dims dims, Output out);
/// tpu.iota: row-major linear index over the listed dims, wrapped to the dtype.
void iota(Dims dims, Output out);
/// Dense copy between strided views (strides in elements of `elementBytes`). Contiguous runs are memcpy.
void copyStrided(const std::byte* src, Dims srcStrides, std::byte* dst, Dims dstStrides, Dims shape, int elementBytes);
/// Fills n elements of `elementBytes` with the element at `value`.
void fill(void* out, const void* value, int64_t n, int elementBytes);

}  // namespace smalti::eval
