// Eigh: eigenvalues and eigenvectors of symmetric and Hermitian matrices, by Jacobi's rotations (Golub and Van
// Loan, Matrix Computations, 8.5) in f64, rounded once.
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "plain/ComplexNumbers.h"
#include "plain/PlainEvaluators.h"
#include "plain/WideMatrices.h"

namespace smalti::plain {
namespace {

/// More than matrices need: convergence is quadratic, in about log2(n) + 4 sweeps.
constexpr int kMaxSweeps = 100;
/// In elements, behind each row: elements of a column of 512 rows would share few sets of the cache.
constexpr int64_t kPadding = 8;

double realPart(double x) { return x; }
double realPart(Complex x) { return x.real(); }

/// x and y become c·x - s̄·y and s·x + c·y.
template <class T>
void rotate(T& x, T& y, double c, T s) {
  const T old = x;
  x = c * old - product(conjugate(s), y);
  y = product(s, old) + c * y;
}

template <class T>
struct Jacobi {
  explicit Jacobi(int64_t size)
      : n(size), a(static_cast<size_t>(n * (n + kPadding))), vectors(static_cast<size_t>(n * (n + kPadding))) {}

  int64_t n;
  std::vector<T> a;        ///< Hermitian; its diagonal becomes the eigenvalues
  std::vector<T> vectors;  ///< an eigenvector's conjugate in each row

  size_t at(int64_t i, int64_t j) const { return static_cast<size_t>(i * (n + kPadding) + j); }

  /// The squares outside of the diagonal, and all.
  std::pair<double, double> norms() const {
    double outside = 0, all = 0;
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j) (i == j ? all : outside) += std::norm(a[at(i, j)]);
    return {outside, all + outside};
  }

  /// False: the matrix has no finite eigenvalues.
  bool run() {
    for (int sweep = 0; sweep < kMaxSweeps; ++sweep) {
      const auto [outside, all] = norms();
      // Rounding leaves about epsilon times an eigenvalue in each element.
      constexpr double kRounding = std::numeric_limits<double>::epsilon() * std::numeric_limits<double>::epsilon();
      const double negligible = kRounding * all / static_cast<double>(std::max<int64_t>(n, 1));
      if (!std::isfinite(all)) return false;
      if (outside <= negligible * static_cast<double>(n * n)) break;
      for (int64_t round = 0; round < players() - 1; ++round) annihilate(round, negligible);
    }
    return true;
  }

 private:
  struct Rotation {
    int64_t p, q;
    double c;
    T s;
  };

  int64_t players() const { return n + n % 2; }

  /// Rotates disjoint pairs of rows and columns, those of one round of a tournament (Brent and Luk, 1985), together:
  /// memory is read in its order.
  void annihilate(int64_t round, double negligible) {
    std::vector<Rotation> rotations;
    const int64_t others = players() - 1;
    for (int64_t i = 0; i < players() / 2; ++i) {
      const int64_t x = i == 0 ? others : (round + i) % others, y = (round + others - i) % others;
      const auto [p, q] = std::minmax(x, y);
      if (q < n && std::norm(a[at(p, q)]) > negligible) rotations.push_back(rotationOf(p, q));
    }
    for (int64_t k = 0; k < n; ++k)
      for (const Rotation& r : rotations) rotate(a[at(k, r.p)], a[at(k, r.q)], r.c, r.s);
    for (const Rotation& r : rotations) {
      for (int64_t k = 0; k < n; ++k) {
        rotate(a[at(r.p, k)], a[at(r.q, k)], r.c, conjugate(r.s));
        rotate(vectors[at(r.p, k)], vectors[at(r.q, k)], r.c, conjugate(r.s));
      }
      a[at(r.p, r.q)] = a[at(r.q, r.p)] = T(0);
    }
  }

  Rotation rotationOf(int64_t p, int64_t q) const {
    const T off = a[at(p, q)];
    const double size = std::abs(off);
    const double ratio = (realPart(a[at(q, q)]) - realPart(a[at(p, p)])) / (2 * size);
    const double tangent = (ratio >= 0 ? 1 : -1) / (std::abs(ratio) + std::hypot(1, ratio));
    const double c = 1 / std::hypot(1, tangent);
    return {p, q, c, off / size * (tangent * c)};
  }
};

/// "lower, sort, sweeps, tolerance": which triangle is read, whether eigenvalues ascend.
bool flag(std::string_view options, size_t which) {
  for (; which > 0 && !options.empty(); --which) options.remove_prefix(std::min(options.find(',') + 1, options.size()));
  return !options.starts_with('0');
}

template <class T>
struct Eigh {
  static PlainResults run(PlainCall& call) {
    const std::string_view options = call.typed().text("backend_config");
    const Extents e(call.operands[0].shape());
    auto a = widened<T>(call.operands[0], call);
    if (!a) return fail(std::move(a.error()));
    std::vector<double> values(static_cast<size_t>(e.batch * e.n));
    for (int64_t b = 0; b < e.batch; ++b)
      decompose(a->data() + b * e.n * e.n, values.data() + b * e.n, e.n, flag(options, 0), flag(options, 1));
    auto vectors = narrowed(*a, call), diagonals = narrowed(values, call, 1);
    if (!vectors || !diagonals) return fail(std::move(vectors ? diagonals.error() : vectors.error()));
    return several(std::move(*vectors), std::move(*diagonals));
  }

 private:
  /// Replaces the matrix by its eigenvectors, in columns.
  static void decompose(T* matrix, double* values, int64_t n, bool lower, bool sorted) {
    Jacobi<T> jacobi(n);
    double largest = 0;
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j <= i; ++j) {
        const T below = lower ? matrix[i * n + j] : conjugate(matrix[j * n + i]);
        jacobi.a[jacobi.at(j, i)] = conjugate(below);
        jacobi.a[jacobi.at(i, j)] = i == j ? T(realPart(below)) : below;
        jacobi.vectors[jacobi.at(i, j)] = i == j ? 1 : 0;
        largest = std::max(largest, std::abs(below));
      }
    const double scale = largest > 0 ? largest : 1;  // squares of quotients do not overflow
    for (T& element : jacobi.a) element /= scale;
    const bool isFinite = jacobi.run();
    std::vector<int64_t> order(static_cast<size_t>(n));
    std::iota(order.begin(), order.end(), 0);
    const auto value = [&](int64_t i) { return realPart(jacobi.a[jacobi.at(i, i)]); };
    if (sorted && isFinite) std::ranges::stable_sort(order, {}, value);
    for (int64_t i = 0; i < n; ++i) {
      const int64_t from = order[static_cast<size_t>(i)];
      values[i] = isFinite ? value(from) * scale : std::numeric_limits<double>::quiet_NaN();
      for (int64_t k = 0; k < n; ++k)
        matrix[k * n + i] = isFinite ? conjugate(jacobi.vectors[jacobi.at(from, k)]) : T(values[i]);
    }
  }
};

constexpr std::array kEighEvaluators{EvaluatorRow{"Eigh", ofRealOrComplex<Eigh<double>::run, Eigh<Complex>::run>}};

}  // namespace

std::span<const EvaluatorRow> eighEvaluators() { return kEighEvaluators; }

}  // namespace smalti::plain
