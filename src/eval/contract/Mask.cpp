// Definedness of a product: an element is defined when its whole row, its whole column and its accumulator are.
#include <algorithm>
#include <cstring>

#include "eval/Contract.h"
#include "eval/Scratch.h"
#include "eval/Shape.h"
#include "eval/shape/Strides.h"

namespace smalti::eval {
namespace {

uint8_t allOf(const uint8_t* mask, int64_t n) {
  uint8_t all = 1;
  for (int64_t i = 0; i < n; ++i) all &= mask[i];
  return all;
}

/// One byte per row of [batch, free]: 1 where all of the row is defined. nullptr: every row is.
const uint8_t* definedRows(const uint8_t* mask, Dims shape, Dims batch, Dims free, Dims contracting, Scratch& scratch) {
  if (!mask || allOf(mask, productOf(shape))) return nullptr;
  const DimList strides = rowMajorStrides(shape);
  DimList ordered, orderedStrides;
  for (Dims dims : {batch, free, contracting})
    for (int64_t d : dims) ordered.push(shape[d]), orderedStrides.push(strides[d]);
  const int64_t total = productOf(ordered);
  const int kept = static_cast<int>(batch.size() + free.size());
  const int64_t rows = productOf(ordered, 0, kept), depth = productOf(ordered, kept, ordered.size());
  uint8_t* copy = scratch.get<uint8_t>(total + rows);
  copyStrided(reinterpret_cast<const std::byte*>(mask), orderedStrides, reinterpret_cast<std::byte*>(copy),
              rowMajorStrides(ordered), ordered, 1);
  uint8_t* defined = copy + total;
  for (int64_t i = 0; i < rows; ++i) defined[i] = allOf(copy + i * depth, depth);
  return defined;
}

}  // namespace

void dotGeneralMask(const uint8_t* lhs, Dims lhsShape, const uint8_t* rhs, Dims rhsShape, const DotDims& dims,
                    uint8_t* out, int64_t outElements) {
  if (outElements == 0) return;
  static thread_local constinit ThreadScratch lhsScratch, rhsScratch;
  const uint8_t* rows = definedRows(lhs, lhsShape, dims.lhsBatch, dims.lhsFree, dims.lhsContracting, lhsScratch);
  const uint8_t* columns = definedRows(rhs, rhsShape, dims.rhsBatch, dims.rhsFree, dims.rhsContracting, rhsScratch);
  if (!rows && !columns) return;
  int64_t batches = 1, n = 1;
  for (int64_t d : dims.lhsBatch) batches *= lhsShape[d];
  for (int64_t d : dims.rhsFree) n *= rhsShape[d];
  const int64_t m = outElements / (batches * n);
  for (int64_t b = 0; b < batches; ++b)
    for (int64_t i = 0; i < m; ++i, out += n) {
      if (rows && !rows[b * m + i])
        std::memset(out, 0, n);
      else if (columns)
        for (int64_t j = 0; j < n; ++j) out[j] &= columns[b * n + j];
    }
}

}  // namespace smalti::eval
