// Discrete Fourier transforms of any length in f64, of many lines at a time.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <vector>

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
};

/// Transforms of length `n` ≥ 1: X[k] = Σ x[j] e^(sign · 2πi · jk / n), not scaled.
class FourierTransform {
 public:
  FourierTransform(int64_t n, int sign);

  /// Transforms x[first + k · lines + line], 0 ≤ k < n, in place, for each of the `lines` lines.
  void run(SplitNumbers& x, int64_t first, int64_t lines);

 private:
  struct Pass;

  void runPasses(double* re, double* im, int64_t lines);
  void prepareChirp();
  void runChirp(double* re, double* im, int64_t lines);

  int64_t n_;
  int sign_;
  std::vector<int64_t> factors_;
  SplitNumbers roots_;  ///< e^(sign · 2πi · k / n)
  SplitNumbers work_;
  /// Where n has a large prime factor: a convolution with a chirp, by transforms of a length of our choice.
  SplitNumbers chirp_, kernel_, padded_;
  std::unique_ptr<FourierTransform> forward_, backward_;
};

/// e^(sign · 2πi · k / n) for k < count, exact at the quarters.
SplitNumbers rootsOfUnity(int64_t count, int64_t n, int sign);

}  // namespace smalti::plain
