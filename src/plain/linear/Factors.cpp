// LuDecomposition, Qr and ProductOfElementaryHouseholderReflectors, of real and complex matrices, as LAPACK's getrf,
// geqrf and orgqr have them. They are computed in f64 and rounded once.
#include <array>
#include <numeric>

#include "plain/linear/WideMatrices.h"

namespace smalti::plain {
namespace {

template <class T>
struct Lu {
  static PlainResults run(PlainCall& call) {
    const Extents e(call.operands[0].shape());
    auto a = widened<T>(call.operands[0], call);
    auto exchanged = Array::allocate(call.results[1]), permutation = Array::allocate(call.results[2]);
    if (!a) return fail(std::move(a.error()));
    if (!exchanged || !permutation) return fail(std::move(exchanged ? permutation.error() : exchanged.error()));
    forMatrices(call, e.batch, e.m * e.n * e.smaller() / 2, [&](int64_t b) {
      int32_t* rows = exchanged->as<int32_t>() + b * e.smaller();
      int32_t* order = permutation->as<int32_t>() + b * e.m;
      matrixKernels<T>().lu(a->data() + b * e.m * e.n, e.m, e.n, rows);
      std::iota(order, order + e.m, 0);
      for (int64_t j = 0; j < e.smaller(); ++j) std::swap(order[j], order[rows[j]]);
    });
    auto factors = narrowed(*a, call);
    if (!factors) return fail(std::move(factors.error()));
    return several(std::move(*factors), std::move(*exchanged), std::move(*permutation));
  }
};

template <class T>
struct Qr {
  static PlainResults run(PlainCall& call) {
    const Extents e(call.operands[0].shape());
    auto a = widened<T>(call.operands[0], call);
    if (!a) return fail(std::move(a.error()));
    std::vector<T> factors(static_cast<size_t>(e.batch * e.smaller()));
    forMatrices(call, e.batch, e.m * e.n * e.smaller(), [&](int64_t b) {
      matrixKernels<T>().qr(a->data() + b * e.m * e.n, e.m, e.n, factors.data() + b * e.smaller());
    });
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
    forMatrices(call, e.batch, e.m * e.n * count, [&](int64_t b) {
      matrixKernels<T>().productOfReflections(a->data() + b * e.m * e.n, e.m, e.n, factors->data() + b * count, count,
                                              q.data() + b * e.m * e.n);
    });
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
