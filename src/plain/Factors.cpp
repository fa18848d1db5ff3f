// LuDecomposition, Qr and ProductOfElementaryHouseholderReflectors, of real and complex matrices, as LAPACK's getrf,
// geqrf and orgqr have them. They are computed in f64 and rounded once.
#include <array>
#include <cmath>
#include <numeric>

#include "plain/ComplexNumbers.h"
#include "plain/PlainEvaluators.h"
#include "plain/WideMatrices.h"

namespace smalti::plain {
namespace {

/// By which pivots are chosen: LAPACK's norm of complex numbers.
double magnitude(double x) { return std::abs(x); }
double magnitude(Complex x) { return std::abs(x.real()) + std::abs(x.imag()); }

/// L below the diagonal of `a`, U on it and above: rows in order of the largest element of each column.
template <class T>
void factorLu(T* a, const Extents& e, int32_t* exchanged, int32_t* permutation) {
  std::iota(permutation, permutation + e.m, 0);
  for (int64_t j = 0; j < e.smaller(); ++j) {
    int64_t pivot = j;
    for (int64_t i = j + 1; i < e.m; ++i)
      if (magnitude(a[i * e.n + j]) > magnitude(a[pivot * e.n + j])) pivot = i;
    exchanged[j] = static_cast<int32_t>(pivot);
    if (pivot != j) std::swap_ranges(a + j * e.n, a + (j + 1) * e.n, a + pivot * e.n);
    std::swap(permutation[j], permutation[pivot]);
    const T* row = a + j * e.n;
    for (int64_t i = j + 1; i < e.m; ++i) {
      T* other = a + i * e.n;
      if (row[j] != T(0)) other[j] /= row[j];
      for (int64_t k = j + 1; k < e.n; ++k) other[k] -= product(other[j], row[k]);
    }
  }
}

template <class T>
struct Lu {
  static PlainResults run(PlainCall& call) {
    const Extents e(call.operands[0].shape());
    auto a = widened<T>(call.operands[0], call);
    auto exchanged = Array::allocate(call.results[1]), permutation = Array::allocate(call.results[2]);
    if (!a) return fail(std::move(a.error()));
    if (!exchanged || !permutation) return fail(std::move(exchanged ? permutation.error() : exchanged.error()));
    for (int64_t b = 0; b < e.batch; ++b)
      factorLu(a->data() + b * e.m * e.n, e, exchanged->as<int32_t>() + b * e.smaller(),
               permutation->as<int32_t>() + b * e.m);
    auto factors = narrowed(*a, call);
    if (!factors) return fail(std::move(factors.error()));
    return several(std::move(*factors), std::move(*exchanged), std::move(*permutation));
  }
};

/// A reflection I - factor · v vᴴ that turns a column x into (result, 0, …); v = (1, x₁, …) / scale.
template <class T>
struct Reflection {
  T factor, result, scale;
};

template <class T>
Reflection<T> reflectionOf(const T* column, int64_t length, int64_t stride) {
  double below = 0;  // by hypot: squares may overflow
  for (int64_t i = 1; i < length; ++i) below = std::hypot(below, std::abs(column[i * stride]));
  const T head = column[0];
  if (below == 0 && std::imag(head) == 0) return {T(0), head, T(1)};
  const double norm = std::hypot(below, std::abs(head));
  const T result = std::real(head) >= 0 ? -norm : norm;
  return {(result - head) / result, result, head - result};
}

/// Column `j` of `a` holds v below row `j`: rows from `j` and columns from `first` of `to` become (I - factor · v vᴴ)
/// times themselves.
template <class T>
void reflect(const T* a, int64_t columns, int64_t j, T factor, T* to, const Extents& e, int64_t first) {
  if (factor == T(0)) return;
  for (int64_t c = first; c < e.n; ++c) {
    T sum = to[j * e.n + c];
    for (int64_t i = j + 1; i < e.m; ++i) sum += product(conjugate(a[i * columns + j]), to[i * e.n + c]);
    sum = product(factor, sum);
    to[j * e.n + c] -= sum;
    for (int64_t i = j + 1; i < e.m; ++i) to[i * e.n + c] -= product(a[i * columns + j], sum);
  }
}

template <class T>
struct Qr {
  static PlainResults run(PlainCall& call) {
    const Extents e(call.operands[0].shape());
    auto a = widened<T>(call.operands[0], call);
    if (!a) return fail(std::move(a.error()));
    std::vector<T> factors(static_cast<size_t>(e.batch * e.smaller()));
    for (int64_t b = 0; b < e.batch; ++b) {
      T* matrix = a->data() + b * e.m * e.n;
      for (int64_t j = 0; j < e.smaller(); ++j) {
        T* head = matrix + j * e.n + j;
        const Reflection<T> r = reflectionOf(head, e.m - j, e.n);
        for (int64_t i = 1; i < e.m - j; ++i) head[i * e.n] /= r.scale;
        reflect(matrix, e.n, j, conjugate(r.factor), matrix, e, j + 1);
        *head = r.result;
        factors[static_cast<size_t>(b * e.smaller() + j)] = r.factor;
      }
    }
    auto triangle = narrowed(*a, call), scales = narrowed(factors, call, 1);
    if (!triangle || !scales) return fail(std::move(triangle ? scales.error() : triangle.error()));
    return several(std::move(*triangle), std::move(*scales));
  }
};

template <class T>
struct Reflections {
  static PlainResults run(PlainCall& call) {
    const Extents e(call.operands[0].shape());
    const int64_t count = call.operands[1].shape().back();
    const auto a = widened<T>(call.operands[0], call), factors = widened<T>(call.operands[1], call);
    if (!a || !factors) return fail(a ? factors.error() : a.error());
    std::vector<T> q(a->size());
    for (int64_t b = 0; b < e.batch; ++b) {
      const T* vectors = a->data() + b * e.m * e.n;
      T* to = q.data() + b * e.m * e.n;
      for (int64_t d = 0; d < e.n; ++d) to[d * e.n + d] = 1;
      for (int64_t j = count; j-- > 0;)
        reflect(vectors, e.n, j, (*factors)[static_cast<size_t>(b * count + j)], to, e, 0);
    }
    return oneOf(narrowed(q, call));
  }
};

constexpr std::array kFactorEvaluators{
    EvaluatorRow{"LuDecomposition", ofRealOrComplex<Lu<double>::run, Lu<Complex>::run>},
    EvaluatorRow{"ProductOfElementaryHouseholderReflectors",
                 ofRealOrComplex<Reflections<double>::run, Reflections<Complex>::run>},
    EvaluatorRow{"Qr", ofRealOrComplex<Qr<double>::run, Qr<Complex>::run>},
};

}  // namespace

std::span<const EvaluatorRow> factorEvaluators() { return kFactorEvaluators; }

}  // namespace smalti::plain
