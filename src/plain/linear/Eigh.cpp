// Eigh: eigenvalues and eigenvectors of symmetric and Hermitian matrices, in f64, rounded once.
#include <array>
#include <limits>
#include <string_view>

#include "plain/linear/WideMatrices.h"

namespace smalti::plain {
namespace {

/// "lower, sort, sweeps, tolerance": which triangle is read comes first. Eigenvalues ascend in any case.
bool readsLower(std::string_view options) { return !options.starts_with('0'); }

/// If elements are not finite, eigenvalues and eigenvectors are NaN.
template <class T>
PlainResults eigh(PlainCall& call) {
  const bool lower = readsLower(call.typed().text("backend_config"));
  const Extents e(call.operands[0].shape());
  auto a = widened<T>(call.operands[0], call);
  if (!a) return fail(std::move(a.error()));
  std::vector<double> values(static_cast<size_t>(e.batch * e.n));
  forMatrices(call, e.batch, 5 * e.n * e.n * e.n, [&](int64_t b) {
    T* matrix = a->data() + b * e.n * e.n;
    double* ofMatrix = values.data() + b * e.n;
    if (!lower)
      for (int64_t i = 0; i < e.n; ++i)
        for (int64_t j = 0; j <= i; ++j) matrix[i * e.n + j] = conjugate(matrix[j * e.n + i]);
    if (matrixKernels<T>().eigh(matrix, e.n, ofMatrix)) return;
    std::fill_n(matrix, e.n * e.n, T(std::numeric_limits<double>::quiet_NaN()));
    std::fill_n(ofMatrix, e.n, std::numeric_limits<double>::quiet_NaN());
  });
  auto vectors = narrowed(*a, call), diagonals = narrowed(values, call, 1);
  if (!vectors || !diagonals) return fail(std::move(vectors ? diagonals.error() : vectors.error()));
  return several(std::move(*vectors), std::move(*diagonals));
}

constexpr std::array kEighEvaluators{EvaluatorRow{"Eigh", ofRealOrComplex<eigh<double>, eigh<Complex>>}};

}  // namespace

std::span<const EvaluatorRow> eighEvaluators() { return kEighEvaluators; }

}  // namespace smalti::plain
