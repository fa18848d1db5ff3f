#include "eval/contract/MatrixForm.h"

#include "eval/Shape.h"

namespace smalti::eval {
namespace {

DimList pick(Dims from, Dims which) {
  DimList picked;
  for (int64_t d : which) picked.push(from[d]);
  return picked;
}

/// The stride of the dims taken as one in the order given; false when there is none.
bool mergedStride(Dims shape, Dims strides, int64_t& stride) {
  int64_t next = -1;  // what the next dim outwards must have
  for (size_t i = shape.size(); i-- > 0;) {
    if (shape[i] == 1) continue;
    if (next < 0)
      stride = strides[i];
    else if (strides[i] != next)
      return false;
    next = strides[i] * shape[i];
  }
  return true;
}

}  // namespace

MatrixForm matrixForm(const Input& in, Dims batch, Dims free, Dims contracting, Scratch& scratch) {
  const DimList strides = in.splat ? DimList(static_cast<int>(in.shape.size()), 0) : rowMajorStrides(in.shape);
  const DimList freeShape = pick(in.shape, free), freeStrides = pick(strides, free);
  const DimList depthShape = pick(in.shape, contracting), depthStrides = pick(strides, contracting);
  MatrixForm form{in, pick(in.shape, batch), pick(strides, batch), productOf(freeShape), productOf(depthShape)};
  form.rowStride = form.depthStride = 0;
  if (mergedStride(freeShape, freeStrides, form.rowStride) &&
      mergedStride(depthShape, depthStrides, form.depthStride)) {
    // A dim of one element has no stride; one that makes the other dim's access look contiguous is as good as any.
    if (form.rows == 1) form.rowStride = form.depth * form.depthStride;
    if (form.depth == 1) form.depthStride = form.rowStride == 1 ? form.rows : 1;
    return form;
  }
  DimList shape = form.batchShape, order = form.batchStrides;
  for (int d = 0; d < freeShape.size(); ++d) shape.push(freeShape[d]), order.push(freeStrides[d]);
  for (int d = 0; d < depthShape.size(); ++d) shape.push(depthShape[d]), order.push(depthStrides[d]);
  const DimList dense = rowMajorStrides(shape);
  const int bytes = storage_bytes(in.dtype);
  std::byte* copy = scratch.get<std::byte>(productOf(shape) * bytes);
  copyStrided(in.data, order, copy, dense, shape, bytes);
  form.in.data = copy;
  for (int d = 0; d < form.batchStrides.size(); ++d) form.batchStrides[d] = dense[d];
  form.rowStride = form.depth;
  form.depthStride = 1;
  return form;
}

}  // namespace smalti::eval
