// Broadcast, transpose, slice, concatenate, pad and rotate as strided copies.
#include <algorithm>

#include "eval/Shape.h"
#include "eval/shape/Strides.h"

namespace smalti::eval {
namespace {

/// True when done: every element of the result is the splat.
bool fillFromSplat(const Input& in, const Output& out) {
  if (!in.splat) return false;
  fill(out.data, in.data, out.elements(), storage_bytes(out.dtype));
  return true;
}

int64_t dot(Dims a, Dims b) {
  int64_t sum = 0;
  for (size_t d = 0; d < a.size(); ++d) sum += a[d] * b[d];
  return sum;
}

/// Strides of `in`, all zero when it is a splat.
DimList inputStrides(const Input& in) {
  return in.splat ? DimList(static_cast<int>(in.shape.size()), 0) : rowMajorStrides(in.shape);
}

}  // namespace

void broadcastInDim(Input in, Dims dims, Output out) {
  if (fillFromSplat(in, out)) return;
  const DimList inStrides = rowMajorStrides(in.shape);
  DimList strides(static_cast<int>(out.shape.size()), 0);
  for (size_t i = 0; i < dims.size(); ++i)
    if (in.shape[i] != 1) strides[dims[i]] = inStrides[i];
  copyStrided(in.data, strides, out.data, rowMajorStrides(out.shape), out.shape, storage_bytes(out.dtype));
}

void broadcast(Input in, Output out) {
  DimList dims;
  for (size_t i = 0; i < in.shape.size(); ++i) dims.push(out.shape.size() - in.shape.size() + i);
  broadcastInDim(in, dims, out);
}

void transpose(Input in, Dims permutation, Output out) {
  if (fillFromSplat(in, out)) return;
  const DimList inStrides = rowMajorStrides(in.shape);
  DimList strides;
  for (int64_t d : permutation) strides.push(inStrides[d]);
  copyStrided(in.data, strides, out.data, rowMajorStrides(out.shape), out.shape, storage_bytes(out.dtype));
}

void slice(Input in, Dims starts, Dims strides, Output out) {
  if (fillFromSplat(in, out) || out.elements() == 0) return;
  DimList inStrides = rowMajorStrides(in.shape);
  const int64_t first = dot(inStrides, starts);
  for (int d = 0; d < inStrides.size(); ++d) inStrides[d] *= strides[d];
  const int bytes = storage_bytes(out.dtype);
  copyStrided(in.data + first * bytes, inStrides, out.data, rowMajorStrides(out.shape), out.shape, bytes);
}

void concatenate(std::span<const Input> ins, int dim, Output out) {
  const DimList outStrides = rowMajorStrides(out.shape);
  const int bytes = storage_bytes(out.dtype);
  int64_t at = 0;
  for (const Input& in : ins) {
    copyStrided(in.data, inputStrides(in), out.data + at * outStrides[dim] * bytes, outStrides, in.shape, bytes);
    at += in.shape[dim];
  }
}

void pad(Input in, const void* value, Dims low, Dims interior, Output out) {
  const int bytes = storage_bytes(out.dtype);
  fill(out.data, value, out.elements(), bytes);
  DimList inStrides = inputStrides(in), outStrides = rowMajorStrides(out.shape), shape;
  int64_t from = 0, to = 0;
  for (int d = 0; d < inStrides.size(); ++d) {
    // Operand index i lands at low + i * step; keep those that land inside the result.
    const int64_t step = interior[d] + 1;
    const int64_t begin = low[d] >= 0 ? 0 : (-low[d] + step - 1) / step;
    const int64_t room = out.shape[d] - low[d];
    const int64_t end = std::min(in.shape[d], room > 0 ? (room + step - 1) / step : 0);
    if (end <= begin) return;
    shape.push(end - begin);
    from += begin * inStrides[d];
    to += (low[d] + begin * step) * outStrides[d];
    outStrides[d] *= step;
  }
  copyStrided(in.data + from * bytes, inStrides, out.data + to * bytes, outStrides, shape, bytes);
}

void dynamicRotate(Input in, int64_t amount, int dim, int64_t stride, int strideDim, Output out) {
  if (fillFromSplat(in, out) || out.elements() == 0) return;
  const int bytes = storage_bytes(out.dtype);
  const DimList strides = rowMajorStrides(in.shape);
  const int64_t n = in.shape[dim];
  const int64_t slices = strideDim >= 0 ? in.shape[strideDim] : 1;
  DimList part(in.shape);
  if (strideDim >= 0) part[strideDim] = 1;
  for (int64_t k = 0; k < slices; ++k) {
    const int64_t perSlice = strideDim >= 0 ? floorMod(stride, n) * (k % n) : 0;
    const int64_t shift = floorMod(floorMod(amount, n) + perSlice, n);
    const int64_t base = strideDim >= 0 ? k * strides[strideDim] * bytes : 0;
    const int64_t step = strides[dim] * bytes;
    part[dim] = n - shift;
    copyStrided(in.data + base, strides, out.data + base + shift * step, strides, part, bytes);
    part[dim] = shift;
    copyStrided(in.data + base + (n - shift) * step, strides, out.data + base, strides, part, bytes);
  }
}

}  // namespace smalti::eval
