// Stockham's algorithm (self-sorting, one pass per factor) for lengths with small factors, Bailey's for one long line
// of such a length, and Bluestein's for other lengths.
#include "plain/fourier/FourierTransform.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>

#include "base/process/ThreadLasting.h"
#include "plain/ComplexNumbers.h"

namespace smalti::plain {
namespace {

using Number = std::complex<double>;

constexpr int64_t kLargestFactor = 64;  ///< the largest prime factor that is summed directly
/// Lines that are transformed together: rows of two cache lines.
constexpr int64_t kLines = 16;
/// After each row of a matrix, in numbers: the same columns of rows would be in the same set of a cache if rows had a
/// power of two of them.
constexpr int64_t kPadding = 8;

Number rootOfUnity(int64_t k, int64_t n, int sign) {
  const int64_t quarters = 4 * k;
  if (quarters % n == 0) {
    constexpr std::array<Number, 4> kQuarters = {{{1, 0}, {0, 1}, {-1, 0}, {0, -1}}};
    const Number q = kQuarters[static_cast<size_t>(quarters / n % 4)];
    return sign > 0 ? q : std::conj(q);
  }
  return std::polar(1.0, sign * 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n));
}

/// What remains of n when all these factors are divided out.
int64_t withoutFactors(int64_t n, std::initializer_list<int64_t> factors) {
  for (const int64_t factor : factors)
    while (n % factor == 0) n /= factor;
  return n;
}

/// The factors of n that are summed directly; their product is n unless n has a larger prime factor.
std::vector<int64_t> factorsOf(int64_t n) {
  std::vector<int64_t> factors;
  for (const int64_t factor : {4, 2, 3, 5, 7})
    for (; n % factor == 0; n /= factor) factors.push_back(factor);
  for (int64_t prime = 11; prime <= kLargestFactor && n > 1; prime += 2)
    for (; n % prime == 0; n /= prime) factors.push_back(prime);
  return factors;
}

int64_t productOf(const std::vector<int64_t>& factors) {
  int64_t n = 1;
  for (const int64_t factor : factors) n *= factor;
  return n;
}

void copyNumbers(SplitPointer from, int64_t count, SplitPointer to) {
  std::copy_n(from.re, count, to.re);
  std::copy_n(from.im, count, to.im);
}

/// x[i] · w, i < count.
void multiply(SplitPointer x, int64_t count, Number w, SplitPointer to) {
  for (int64_t i = 0; i < count; ++i) {
    const Number y = product(Number(x.re[i], x.im[i]), w);
    to.re[i] = y.real();
    to.im[i] = y.imag();
  }
}

}  // namespace

RootsOfUnity::RootsOfUnity(int64_t n, int sign) : n_(n), sign_(sign) {
  constexpr int64_t kLow = int64_t{1} << kLowBits;
  low_ = SplitNumbers(std::min(n, kLow));
  high_ = SplitNumbers((n - 1) / kLow + 1);
  for (int64_t k = 0; k < low_.size(); ++k) low_.set(k, rootOfUnity(k, n, sign));
  for (int64_t k = 0; k < high_.size(); ++k) high_.set(k, rootOfUnity(k * kLow, n, sign));
}

std::complex<double> RootsOfUnity::operator()(int64_t k) const {
  const int64_t low = k & ((int64_t{1} << kLowBits) - 1);
  if (low == k) return low_[low];
  if (4 * k % n_ == 0) return rootOfUnity(k, n_, sign_);
  return product(high_[k >> kLowBits], low_[low]);
}

namespace {

/// One factor of the length: `m` · `lines` butterflies, from x to y.
struct Pass {
  const double *xr, *xi;
  double *yr, *yi;
  const SplitNumbers& roots;
  int64_t n;      ///< of the roots
  int64_t m;      ///< length of the transforms that remain
  int64_t lines;  ///< neighbours that are transformed alike
  int64_t factor;
  int sign;

  /// root[p · part] of the transform that is divided here.
  Number twiddle(int64_t p, int64_t part) const { return roots[p * part * (n / (m * factor))]; }

  /// The sums of `kFactor` numbers, with constants in place of roots: sums(in, out) for real and imaginary parts.
  template <int kFactor, class Sums>
  void butterflies(Sums sums) const {
    for (int64_t p = 0; p < m; ++p) {
      std::array<double, kFactor> wr, wi;
      for (int j = 0; j < kFactor; ++j) wr[j] = twiddle(p, j).real(), wi[j] = twiddle(p, j).imag();
      const double *inR = xr + p * lines, *inI = xi + p * lines;
      double* __restrict outR = yr + p * kFactor * lines, * __restrict outI = yi + p * kFactor * lines;
      const int64_t apart = m * lines;
      if (p == 0) {  // no root reaches these: an infinity stays in its part
        for (int64_t q = 0; q < lines; ++q) {
          std::array<double, kFactor> ar, ai, br, bi;
          for (int j = 0; j < kFactor; ++j) ar[j] = inR[j * apart + q], ai[j] = inI[j * apart + q];
          sums(ar, ai, br, bi);
          for (int j = 0; j < kFactor; ++j) outR[j * lines + q] = br[j], outI[j * lines + q] = bi[j];
        }
        continue;
      }
      for (int64_t q = 0; q < lines; ++q) {
        std::array<double, kFactor> ar, ai, br, bi;
        for (int j = 0; j < kFactor; ++j) ar[j] = inR[j * apart + q], ai[j] = inI[j * apart + q];
        sums(ar, ai, br, bi);
        outR[q] = br[0], outI[q] = bi[0];
        for (int j = 1; j < kFactor; ++j) {
          outR[j * lines + q] = br[j] * wr[j] - bi[j] * wi[j];
          outI[j * lines + q] = br[j] * wi[j] + bi[j] * wr[j];
        }
      }
    }
  }

  void two() const {
    butterflies<2>([](const auto& ar, const auto& ai, auto& br, auto& bi) {
      br = {ar[0] + ar[1], ar[0] - ar[1]};
      bi = {ai[0] + ai[1], ai[0] - ai[1]};
    });
  }
  void three() const {
    const double s = sign * std::numbers::sqrt3 / 2;
    butterflies<3>([s](const auto& ar, const auto& ai, auto& br, auto& bi) {
      const double tr = ar[1] + ar[2], ti = ai[1] + ai[2], dr = s * (ar[1] - ar[2]), di = s * (ai[1] - ai[2]);
      const double mr = ar[0] - tr / 2, mi = ai[0] - ti / 2;
      br = {ar[0] + tr, mr - di, mr + di};
      bi = {ai[0] + ti, mi + dr, mi - dr};
    });
  }
  void four() const {
    const double s = sign;
    butterflies<4>([s](const auto& ar, const auto& ai, auto& br, auto& bi) {
      const double er = ar[0] + ar[2], ei = ai[0] + ai[2], fr = ar[0] - ar[2], fi = ai[0] - ai[2];
      const double gr = ar[1] + ar[3], gi = ai[1] + ai[3], hr = s * (ar[1] - ar[3]), hi = s * (ai[1] - ai[3]);
      br = {er + gr, fr - hi, er - gr, fr + hi};
      bi = {ei + gi, fi + hr, ei - gi, fi - hr};
    });
  }
  void five() const {
    const double c1 = std::cos(2 * std::numbers::pi / 5), c2 = std::cos(4 * std::numbers::pi / 5);
    const double s1 = sign * std::sin(2 * std::numbers::pi / 5), s2 = sign * std::sin(4 * std::numbers::pi / 5);
    butterflies<5>([=](const auto& ar, const auto& ai, auto& br, auto& bi) {
      const double pr = ar[1] + ar[4], pi = ai[1] + ai[4], qr = ar[2] + ar[3], qi = ai[2] + ai[3];
      const double ur = ar[1] - ar[4], ui = ai[1] - ai[4], vr = ar[2] - ar[3], vi = ai[2] - ai[3];
      const double m1r = ar[0] + c1 * pr + c2 * qr, m1i = ai[0] + c1 * pi + c2 * qi;
      const double m2r = ar[0] + c2 * pr + c1 * qr, m2i = ai[0] + c2 * pi + c1 * qi;
      const double n1r = s1 * ur + s2 * vr, n1i = s1 * ui + s2 * vi;
      const double n2r = s2 * ur - s1 * vr, n2i = s2 * ui - s1 * vi;
      br = {ar[0] + pr + qr, m1r - n1i, m2r - n2i, m2r + n2i, m1r + n1i};
      bi = {ai[0] + pi + qi, m1i + n1r, m2i + n2r, m2i - n2r, m1i - n1r};
    });
  }
  /// Any factor up to kLargestFactor, by its definition.
  void direct() const {
    const int64_t step = n / factor;  // of roots
    for (int64_t p = 0; p < m; ++p)
      for (int64_t j = 0; j < factor; ++j) {
        const double* __restrict inR = xr + p * lines;
        const double* __restrict inI = xi + p * lines;
        double* __restrict outR = yr + (p * factor + j) * lines, * __restrict outI = yi + (p * factor + j) * lines;
        std::copy_n(inR, lines, outR);
        std::copy_n(inI, lines, outI);
        for (int64_t k = 1; k < factor; ++k) {
          const Number w = roots[j * k % factor * step];
          const int64_t at = k * m * lines;
          for (int64_t q = 0; q < lines; ++q) {
            outR[q] += inR[at + q] * w.real() - inI[at + q] * w.imag();
            outI[q] += inR[at + q] * w.imag() + inI[at + q] * w.real();
          }
        }
        if (p == 0) continue;
        const Number w = twiddle(p, j);
        for (int64_t q = 0; q < lines; ++q) {
          const double re = outR[q] * w.real() - outI[q] * w.imag();
          outI[q] = outR[q] * w.imag() + outI[q] * w.real();
          outR[q] = re;
        }
      }
  }

  void run() const {
    switch (factor) {
      case 2:
        return two();
      case 3:
        return three();
      case 4:
        return four();
      case 5:
        return five();
      default:
        return direct();
    }
  }
};

}  // namespace

/// Transforms of a length whose factors are all small, factor by factor.
class FourierTransform::Passes {
 public:
  Passes(int64_t n, int sign) : n_(n), sign_(sign), factors_(factorsOf(n)), roots_(n) {
    for (int64_t k = 0; k < n; ++k) roots_.set(k, rootOfUnity(k, n, sign));
  }
  int64_t length() const { return n_; }

  void run(SplitPointer x, int64_t lines, SplitNumbers& work) const {
    work.atLeast(n_ * lines);
    SplitPointer from = x, to = work;
    int64_t length = n_, alike = lines;
    for (const int64_t factor : factors_) {
      length /= factor;
      Pass{from.re, from.im, to.re, to.im, roots_, n_, length, alike, factor, sign_}.run();
      alike *= factor;
      std::swap(from, to);
    }
    if (from.re != x.re) copyNumbers(from, n_ * lines, x);
  }

 private:
  int64_t n_;
  int sign_;
  std::vector<int64_t> factors_;
  SplitNumbers roots_;
};

/// Memory of a thread.
struct FourierTransform::Scratch {
  SplitNumbers work, strip, matrix, padded, line;
};

FourierTransform::Scratch& FourierTransform::scratch() {
  static thread_local constinit ThreadLasting<Scratch> scratch;
  return scratch.get();
}

FourierTransform::FourierTransform(int64_t n, int sign, int64_t lines) : n_(n), sign_(sign) {
  const std::vector<int64_t> factors = factorsOf(n);
  const bool isSmooth = productOf(factors) == n;
  if (!isSmooth) prepareChirp(lines);
  if (isSmooth && lines < kLines / 2) prepareTwoSteps(factors);
  if (isSmooth && !columns_) whole_ = std::make_unique<Passes>(n, sign);
}

FourierTransform::~FourierTransform() = default;

void FourierTransform::run(SplitPointer x, int64_t lines, const ShareWork& share) const {
  if (n_ == 1) return;
  if (forward_) return runChirp(x, lines, share);
  if (whole_) return whole_->run(x, lines, scratch().work);
  if (lines == 1) return runTwoSteps(x, share);
  SplitNumbers& line = scratch().line;
  line.atLeast(n_);
  for (int64_t l = 0; l < lines; ++l) {
    for (int64_t k = 0; k < n_; ++k) copyNumbers(x + (k * lines + l), 1, SplitPointer(line, k));
    runTwoSteps(line, share);
    for (int64_t k = 0; k < n_; ++k) copyNumbers(SplitPointer(line, k), 1, x + (k * lines + l));
  }
}

/// j = j1 · b + j2 and k = k1 + k2 · a: transforms of the a numbers of each column, of which the k1-th is multiplied by
/// a root, and of the b numbers of each row.
void FourierTransform::prepareTwoSteps(const std::vector<int64_t>& factors) {
  int64_t a = 1;
  for (const int64_t factor : factors)
    if (a * factor * a * factor <= 2 * n_) a *= factor;
  if (a < kLines / 2 || n_ / a < kLines / 2) return;
  columns_ = std::make_unique<Passes>(a, sign_);
  rows_ = std::make_unique<Passes>(n_ / a, sign_);
  roots_ = RootsOfUnity(n_, sign_);
  steps_ = SplitNumbers(a * kLines);
  for (int64_t k = 0; k < a; ++k)
    for (int64_t c = 0; c < kLines; ++c) steps_.set(k * kLines + c, roots_(k * c % n_));
}

void FourierTransform::runTwoSteps(SplitPointer x, const ShareWork& share) const {
  const int64_t a = columns_->length(), b = rows_->length(), steps = 16 * n_;
  const int64_t stride = b + kPadding;
  SplitNumbers& matrix = scratch().matrix;
  matrix.atLeast(a * stride);
  const SplitPointer between = matrix;
  shareInPieces(share, b, kLines, steps, [&](int64_t begin, int64_t end) {
    Scratch& own = scratch();
    own.strip.atLeast(a * kLines);
    for (int64_t j = begin; j < end; j += kLines) {
      const int64_t count = std::min(kLines, end - j);
      for (int64_t k = 0; k < a; ++k) copyNumbers(x + (k * b + j), count, SplitPointer(own.strip, k * count));
      columns_->run(own.strip, count, own.work);
      for (int64_t k = 0; k < a; ++k) {
        const SplitPointer from(own.strip, k * count), to = between + (k * stride + j);
        const double *stepR = steps_.re.data() + k * kLines, *stepI = steps_.im.data() + k * kLines;
        const Number first = roots_(k * j);
        for (int64_t c = 0; c < count; ++c) {
          const Number y = product(product(first, Number(stepR[c], stepI[c])), Number(from.re[c], from.im[c]));
          to.re[c] = y.real();
          to.im[c] = y.imag();
        }
      }
    }
  });
  shareInPieces(share, a, kLines, steps, [&](int64_t begin, int64_t end) {
    Scratch& own = scratch();
    own.strip.atLeast(b * kLines);
    for (int64_t k = begin; k < end; k += kLines) {
      const int64_t count = std::min(kLines, end - k);
      for (int64_t j = 0; j < b; ++j)
        for (int64_t c = 0; c < count; ++c) {
          own.strip.re[j * count + c] = between.re[(k + c) * stride + j];
          own.strip.im[j * count + c] = between.im[(k + c) * stride + j];
        }
      rows_->run(own.strip, count, own.work);
      for (int64_t j = 0; j < b; ++j) copyNumbers(SplitPointer(own.strip, j * count), count, x + (j * a + k));
    }
  });
}

/// Bluestein: jk = (j² + k² - (k - j)²) / 2 makes a convolution of any length from 2n - 1 on.
void FourierTransform::prepareChirp(int64_t lines) {
  int64_t size = 2 * n_ - 1;
  while (withoutFactors(size, {2, 3, 5}) > 1) ++size;
  const RootsOfUnity roots(2 * n_, sign_);
  chirp_ = SplitNumbers(n_);
  kernel_ = SplitNumbers(size);
  for (int64_t k = 0; k < n_; ++k) {
    chirp_.set(k, roots(k * k % (2 * n_)));
    kernel_.set(k, std::conj(chirp_[k]));
    kernel_.set((size - k) % size, std::conj(chirp_[k]));
  }
  forward_ = std::make_unique<FourierTransform>(size, -1, lines);
  backward_ = std::make_unique<FourierTransform>(size, 1, lines);
  FourierTransform(size, -1, 1).run(kernel_, 1, {});
  for (int64_t k = 0; k < size; ++k) kernel_.set(k, kernel_[k] / static_cast<double>(size));
}

void FourierTransform::runChirp(SplitPointer x, int64_t lines, const ShareWork& share) const {
  const int64_t size = kernel_.size();
  SplitNumbers& padded = scratch().padded;
  padded.atLeast(size * lines);
  for (int64_t k = 0, at = 0; k < n_; ++k, at += lines) multiply(x + at, lines, chirp_[k], SplitPointer(padded, at));
  std::fill(padded.re.begin() + n_ * lines, padded.re.begin() + size * lines, 0);
  std::fill(padded.im.begin() + n_ * lines, padded.im.begin() + size * lines, 0);
  forward_->run(padded, lines, share);
  for (int64_t k = 0, at = 0; k < size; ++k, at += lines)
    multiply(SplitPointer(padded, at), lines, kernel_[k], SplitPointer(padded, at));
  backward_->run(padded, lines, share);
  for (int64_t k = 0, at = 0; k < n_; ++k, at += lines) multiply(SplitPointer(padded, at), lines, chirp_[k], x + at);
}

}  // namespace smalti::plain
