// Stockham's algorithm (self-sorting, one pass per factor) for lengths with small factors, and Bluestein's for others.
#include "plain/FourierTransform.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>

#include "plain/ComplexNumbers.h"

namespace smalti::plain {
namespace {

using Number = std::complex<double>;

constexpr int64_t kLargestFactor = 64;  ///< the largest prime factor that is summed directly
constexpr int64_t kRootBlock = 1024;    ///< roots beyond the first so many are products of two: a sine costs 20 ns

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

}  // namespace

SplitNumbers rootsOfUnity(int64_t count, int64_t n, int sign) {
  SplitNumbers roots(count);
  for (int64_t block = 0; block < count; block += kRootBlock) {
    const Number first = rootOfUnity(block, n, sign);
    const int64_t end = std::min(count, block + kRootBlock);
    for (int64_t k = block; k < end; ++k) {
      const bool direct = block == 0 || 4 * k % n == 0;
      roots.set(k, direct ? rootOfUnity(k, n, sign) : product(first, roots[k - block]));
    }
  }
  return roots;
}

/// One factor of the length: `m` · `lines` butterflies, from x to y.
struct FourierTransform::Pass {
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

FourierTransform::FourierTransform(int64_t n, int sign) : n_(n), sign_(sign) {
  int64_t rest = n;
  for (const int64_t factor : {4, 2, 3, 5, 7})
    while (rest % factor == 0) rest /= factor, factors_.push_back(factor);
  for (int64_t prime = 11; prime <= kLargestFactor && rest > 1; prime += 2)
    while (rest % prime == 0) rest /= prime, factors_.push_back(prime);
  if (rest > 1)
    prepareChirp();
  else
    roots_ = rootsOfUnity(n, n, sign);
}

void FourierTransform::run(SplitNumbers& x, int64_t first, int64_t lines) {
  double *re = x.re.data() + first, *im = x.im.data() + first;
  if (n_ == 1) return;
  if (forward_)
    runChirp(re, im, lines);
  else
    runPasses(re, im, lines);
}

void FourierTransform::runPasses(double* re, double* im, int64_t lines) {
  if (work_.size() < n_ * lines) work_ = SplitNumbers(n_ * lines);
  double *fromR = re, *fromI = im, *toR = work_.re.data(), *toI = work_.im.data();
  int64_t length = n_, alike = lines;
  for (const int64_t factor : factors_) {
    length /= factor;
    Pass{fromR, fromI, toR, toI, roots_, n_, length, alike, factor, sign_}.run();
    alike *= factor;
    std::swap(fromR, toR);
    std::swap(fromI, toI);
  }
  if (fromR == re) return;
  std::copy_n(fromR, n_ * lines, re);
  std::copy_n(fromI, n_ * lines, im);
}

/// Bluestein: jk = (j² + k² - (k - j)²) / 2 makes a convolution of any length from 2n - 1 on.
void FourierTransform::prepareChirp() {
  int64_t size = 2 * n_ - 1;
  while (withoutFactors(size, {2, 3, 5}) > 1) ++size;
  const SplitNumbers roots = rootsOfUnity(2 * n_, 2 * n_, sign_);
  chirp_ = SplitNumbers(n_);
  kernel_ = SplitNumbers(size);
  for (int64_t k = 0; k < n_; ++k) {
    chirp_.set(k, roots[k * k % (2 * n_)]);
    kernel_.set(k, std::conj(chirp_[k]));
    kernel_.set((size - k) % size, std::conj(chirp_[k]));
  }
  forward_ = std::make_unique<FourierTransform>(size, -1);
  backward_ = std::make_unique<FourierTransform>(size, 1);
  forward_->run(kernel_, 0, 1);
  for (int64_t k = 0; k < size; ++k) kernel_.set(k, kernel_[k] / static_cast<double>(size));
}

void FourierTransform::runChirp(double* re, double* im, int64_t lines) {
  const int64_t size = kernel_.size();
  padded_ = SplitNumbers(size * lines);
  const auto multiply = [lines](Number w, const double* fromR, const double* fromI, double* toR, double* toI) {
    for (int64_t q = 0; q < lines; ++q) {
      const Number x = product(Number(fromR[q], fromI[q]), w);
      toR[q] = x.real();
      toI[q] = x.imag();
    }
  };
  double *padR = padded_.re.data(), *padI = padded_.im.data();
  for (int64_t k = 0, at = 0; k < n_; ++k, at += lines) multiply(chirp_[k], re + at, im + at, padR + at, padI + at);
  forward_->run(padded_, 0, lines);
  for (int64_t k = 0, at = 0; k < size; ++k, at += lines)
    multiply(kernel_[k], padR + at, padI + at, padR + at, padI + at);
  backward_->run(padded_, 0, lines);
  for (int64_t k = 0, at = 0; k < n_; ++k, at += lines) multiply(chirp_[k], padR + at, padI + at, re + at, im + at);
}

}  // namespace smalti::plain
