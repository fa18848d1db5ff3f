// Discrete Fourier transforms of any length in f64, of many lines at a time.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <vector>

#include "plain/ShareWork.h"

namespace smalti::plain {

/// Complex numbers, real and imaginary parts apart: loops over them become vectors without shuffles.
struct SplitNumbers {
  std::vector<double> re, im;

  SplitNumbers() = default;
  explicit SplitNumbers(int64_t n) : re(static_cast<size_t>(n)), im(static_cast<size_t>(n)) {}
  int64_t size() const { return static_cast<int64_t>(re.size()); }
  std::complex<double> operator[](int64_t i) const { return {re[static_cast<size_t>(i)], im[static_cast<size_t>(i)]}; }
  void set(int64_t i, std::complex<double> x) {
    re[static_cast<size_t>(i)] = x.real();
    im[static_cast<size_t>(i)] = x.imag();
  }
  void atLeast(int64_t n) {
    if (size() < n) *this = SplitNumbers(n);
  }
};

/// Where such numbers are.
struct SplitPointer {
  double *re = nullptr, *im = nullptr;

  SplitPointer() = default;
  SplitPointer(SplitNumbers& numbers, int64_t first = 0)
      : re(numbers.re.data() + first), im(numbers.im.data() + first) {}
  SplitPointer operator+(int64_t n) const {
    SplitPointer p = *this;
    p.re += n, p.im += n;
    return p;
  }
};

/// e^(sign · 2πi · k / n), exact at the quarters.
class RootsOfUnity {
 public:
  RootsOfUnity() = default;
  RootsOfUnity(int64_t n, int sign);
  /// 0 ≤ k < n. Beyond the first ones a product of two, since a table of all leaves no room in the caches.
  std::complex<double> operator()(int64_t k) const;

 private:
  static constexpr int kLowBits = 10;
  int64_t n_ = 1;
  int sign_ = 1;
  SplitNumbers low_, high_;  ///< of k < 2^kLowBits, and of their multiples
};

/// Transforms of length `n` ≥ 1: X[k] = Σ x[j] e^(sign · 2πi · jk / n), not scaled.
class FourierTransform {
 public:
  /// `lines`: how many lines next to each other are transformed, about.
  FourierTransform(int64_t n, int sign, int64_t lines);
  ~FourierTransform();

  /// Transforms x[k · lines + line], 0 ≤ k < n, in place, for each of the lines.
  void run(SplitPointer x, int64_t lines, const ShareWork& share) const;

 private:
  class Passes;
  struct Scratch;
  static Scratch& scratch();

  void prepareTwoSteps(const std::vector<int64_t>& factors);
  void runTwoSteps(SplitPointer x, const ShareWork& share) const;
  void prepareChirp(int64_t lines);
  void runChirp(SplitPointer x, int64_t lines, const ShareWork& share) const;

  int64_t n_;
  int sign_;
  std::unique_ptr<Passes> whole_;
  /// Of one line: as a matrix, along its columns, then along its rows, each in the caches.
  std::unique_ptr<Passes> columns_, rows_;
  RootsOfUnity roots_;  ///< between the two
  SplitNumbers steps_;  ///< by column: roots of neighbours
  /// Where n has a large prime factor: a convolution with a chirp, by transforms of a length of our choice.
  SplitNumbers chirp_, kernel_;
  std::unique_ptr<FourierTransform> forward_, backward_;
};

}  // namespace smalti::plain
