#include <vector>

#include "eval/Contract.h"
#include "eval/Shape.h"
#include "eval/bits/Widen.h"
#include "eval/shape/Strides.h"

namespace smalti::eval {
namespace {

DimList pick(Dims from, Dims which) {
  DimList r;
  for (int64_t d : which) r.push(from[d]);
  return r;
}

template <class T>
void product(const Input& lhs, const Input& rhs, const T* a, const T* b, const DotDims& d, T* out) {
  const DimList ls = rowMajorStrides(lhs.shape), rs = rowMajorStrides(rhs.shape);
  const DimList lb = pick(ls, d.lhsBatch), rb = pick(rs, d.rhsBatch), lf = pick(ls, d.lhsFree),
                rf = pick(rs, d.rhsFree), lc = pick(ls, d.lhsContracting), rc = pick(rs, d.rhsContracting);
  const DimList kShape = pick(lhs.shape, d.lhsContracting);
  Odometer<2> batch(pick(lhs.shape, d.lhsBatch), {Dims(lb), Dims(rb)});
  do {
    Odometer<1> row(pick(lhs.shape, d.lhsFree), {Dims(lf)});
    do {
      Odometer<1> column(pick(rhs.shape, d.rhsFree), {Dims(rf)});
      do {
        T sum = 0;
        if (productOf(kShape) > 0) {
          Odometer<2> k(kShape, {Dims(lc), Dims(rc)});
          do
            sum +=
                a[batch.offset(0) + row.offset(0) + k.offset(0)] * b[batch.offset(1) + column.offset(0) + k.offset(1)];
          while (k.next());
        }
        *out++ = sum;
      } while (column.next());
    } while (row.next());
  } while (batch.next());
}

template <class T>
std::vector<T> dense(const Input& in, const std::vector<T>& values) {
  if (!in.splat) return values;
  return std::vector<T>(in.elements(), values[0]);
}

}  // namespace

bool dotGeneral(Input lhs, Input rhs, const DotDims& dims, Input acc, Output out, DotNumerics, bool lhsUnsigned,
                bool rhsUnsigned) {
  const int64_t n = out.elements();
  auto count = [](const Input& in) { return in.splat ? 1 : in.elements(); };
  auto narrowFloat = [](DType t) { return is_float(t) && t != DType::f64; };
  auto narrowInt = [](DType t) { return is_integer(t) && bit_width(t) <= 32; };
  if (narrowFloat(lhs.dtype) && narrowFloat(rhs.dtype) && narrowFloat(acc.dtype) && narrowFloat(out.dtype)) {
    std::vector<float> a(count(lhs)), b(count(rhs)), c(count(acc)), r(n);
    floatsToF32(lhs.dtype, lhs.data, a.data(), count(lhs));
    floatsToF32(rhs.dtype, rhs.data, b.data(), count(rhs));
    floatsToF32(acc.dtype, acc.data, c.data(), count(acc));
    if (n > 0) product(lhs, rhs, dense(lhs, a).data(), dense(rhs, b).data(), dims, r.data());
    for (int64_t i = 0; i < n; ++i) r[i] += c[acc.splat ? 0 : i];
    floatsFromF32(out.dtype, r.data(), out.data, n);
    return true;
  }
  if (narrowInt(lhs.dtype) && narrowInt(rhs.dtype) && narrowInt(acc.dtype) && narrowInt(out.dtype)) {
    std::vector<int32_t> a(count(lhs)), b(count(rhs)), c(count(acc));
    integersToI32(lhs.dtype, lhsUnsigned, lhs.data, a.data(), count(lhs));
    integersToI32(rhs.dtype, rhsUnsigned, rhs.data, b.data(), count(rhs));
    integersToI32(acc.dtype, false, acc.data, c.data(), count(acc));
    std::vector<uint32_t> ua(a.begin(), a.end()), ub(b.begin(), b.end()), r(n);
    if (n > 0) product(lhs, rhs, dense(lhs, ua).data(), dense(rhs, ub).data(), dims, r.data());
    for (int64_t i = 0; i < n; ++i) r[i] += static_cast<uint32_t>(c[acc.splat ? 0 : i]);
    integersFromI32(out.dtype, reinterpret_cast<const int32_t*>(r.data()), out.data, n);
    return true;
  }
  return false;
}

}  // namespace smalti::eval
