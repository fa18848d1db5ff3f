// Definedness of a product: an element is defined when its whole row, its whole column and its accumulator are.
#include <vector>

#include "eval/Contract.h"
#include "eval/shape/Strides.h"

namespace smalti::eval {
namespace {

/// all[i] = 1 where every element that shares the kept dims' index i is 1; kept dims in the order given.
std::vector<uint8_t> allAlong(const uint8_t* mask, Dims shape, Dims batch, Dims free, Dims reduced) {
  const DimList strides = rowMajorStrides(shape);
  DimList keptShape, keptStrides, shapeOfReduced, stridesOfReduced;
  for (Dims dims : {batch, free})
    for (int64_t d : dims) keptShape.push(shape[d]), keptStrides.push(strides[d]);
  for (int64_t d : reduced) shapeOfReduced.push(shape[d]), stridesOfReduced.push(strides[d]);
  std::vector<uint8_t> all(productOf(keptShape), 1);
  if (all.empty() || productOf(shapeOfReduced) == 0) return all;
  Odometer<1> kept(keptShape, {Dims(keptStrides)});
  for (uint8_t& one : all) {
    Odometer<1> along(shapeOfReduced, {Dims(stridesOfReduced)});
    do one &= mask[kept.offset(0) + along.offset(0)];
    while (one && along.next());
    kept.next();
  }
  return all;
}

}  // namespace

void dotGeneralMask(const uint8_t* lhs, Dims lhsShape, const uint8_t* rhs, Dims rhsShape, const DotDims& dims,
                    uint8_t* out, int64_t outElements) {
  if (outElements == 0) return;
  int64_t batches = 1;
  for (int64_t d : dims.lhsBatch) batches *= lhsShape[d];
  std::vector<uint8_t> rows, columns;
  if (lhs) rows = allAlong(lhs, lhsShape, dims.lhsBatch, dims.lhsFree, dims.lhsContracting);
  if (rhs) columns = allAlong(rhs, rhsShape, dims.rhsBatch, dims.rhsFree, dims.rhsContracting);
  int64_t n = 1;
  for (int64_t d : dims.rhsFree) n *= rhsShape[d];
  const int64_t m = outElements / (batches * n);
  for (int64_t b = 0; b < batches; ++b)
    for (int64_t i = 0; i < m; ++i, out += n) {
      const uint8_t row = rows.empty() ? 1 : rows[b * m + i];
      for (int64_t j = 0; j < n; ++j) out[j] &= row & (columns.empty() ? 1 : columns[b * n + j]);
    }
}

}  // namespace smalti::eval
