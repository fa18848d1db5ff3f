// fft: transforms along the last one to three dimensions, of any length. Computed in f64 and rounded once.
#include <array>
#include <cmath>
#include <complex>
#include <memory>
#include <numbers>
#include <vector>

#include "eval/FloatFormats.h"
#include "plain/ComplexNumbers.h"
#include "plain/PlainEvaluators.h"

namespace smalti::plain {
namespace {

using Number = std::complex<double>;
using Numbers = std::vector<Number>;

/// e^(sign · 2πi · k / n), exact at the quarters.
Number root(int64_t k, int64_t n, int sign) {
  const int64_t quarters = 4 * k;
  if (quarters % n == 0) {
    constexpr Number kQuarters[] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
    const Number q = kQuarters[quarters / n % 4];
    return sign > 0 ? q : std::conj(q);
  }
  return std::polar(1.0, sign * 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n));
}

/// x · w; where w is real or imaginary, no part of x reaches the other (NaN, infinities).
Number turned(Number x, Number w) {
  if (w.imag() == 0) return x * w.real();
  if (w.real() == 0) return Number(-x.imag(), x.real()) * w.imag();
  return product(x, w);
}

/// Transforms of one length and direction.
class Transform {
 public:
  Transform(int64_t n, int sign) : n_(n), sign_(sign) {
    int64_t m = n;
    for (int64_t f : {2, 3, 5, 7})
      while (m > 1 && m % f == 0) m /= f, factors_.push_back(f);
    if (m > kDirect) {
      prepareChirp();
    } else {
      if (m > 1) factors_.push_back(m);
      roots_.resize(static_cast<size_t>(n));
      for (int64_t k = 0; k < n; ++k) roots_[k] = root(k, n, sign);
    }
  }

  void run(Numbers& x) {
    if (n_ < 2) return;
    if (!chirp_.empty()) return runChirp(x);
    work_.resize(x.size());
    recurse(x.data(), 1, work_.data(), n_, 0);
    x = work_;
  }

 private:
  static constexpr int64_t kDirect = 64;  ///< the largest prime factor that is summed directly

  /// out[0, n) = the transform of every `stride`-th element of in: those of its `f` parts, put together.
  void recurse(const Number* in, int64_t stride, Number* out, int64_t n, size_t depth) {
    if (n == 1) {
      *out = *in;
      return;
    }
    const int64_t f = factors_[depth], m = n / f;
    for (int64_t part = 0; part < f; ++part) recurse(in + part * stride, stride * f, out + part * m, m, depth + 1);
    std::array<Number, kDirect> parts;
    const int64_t step = n_ / n;  // of roots
    for (int64_t k = 0; k < m; ++k) {
      for (int64_t part = 0; part < f; ++part)
        parts[part] = part == 0 ? out[k] : turned(out[part * m + k], roots_[part * k * step]);
      for (int64_t j = 0; j < f; ++j) {
        Number sum = parts[0];
        for (int64_t part = 1; part < f; ++part) sum += turned(parts[part], roots_[j * part % f * m * step]);
        out[j * m + k] = sum;
      }
    }
  }

  /// Bluestein: jk = (j² + k² - (k - j)²) / 2 makes a convolution, which has a length of our choice.
  void prepareChirp() {
    int64_t size = 1;
    while (size < 2 * n_ - 1) size *= 2;
    chirp_.resize(static_cast<size_t>(n_));
    for (int64_t k = 0; k < n_; ++k) chirp_[k] = root(k * k % (2 * n_), 2 * n_, sign_);
    kernel_.assign(static_cast<size_t>(size), 0);
    for (int64_t k = 0; k < n_; ++k) kernel_[k] = kernel_[(size - k) % size] = std::conj(chirp_[k]);
    forward_ = std::make_unique<Transform>(size, -1);
    backward_ = std::make_unique<Transform>(size, 1);
    forward_->run(kernel_);
  }

  void runChirp(Numbers& x) {
    const auto size = static_cast<double>(kernel_.size());
    Numbers padded(kernel_.size());
    for (int64_t k = 0; k < n_; ++k) padded[k] = product(x[k], chirp_[k]);
    forward_->run(padded);
    for (size_t k = 0; k < padded.size(); ++k) padded[k] = product(padded[k], kernel_[k]);
    backward_->run(padded);
    for (int64_t k = 0; k < n_; ++k) x[k] = product(padded[k] / size, chirp_[k]);
  }

  int64_t n_;
  int sign_;
  std::vector<int64_t> factors_;
  Numbers roots_, work_, chirp_, kernel_;
  std::unique_ptr<Transform> forward_, backward_;
};

double partAt(const Array& array, int64_t i) {
  const DType part = part_of(array.dtype());
  return eval::elementAsDouble(part, array.data() + i * storage_bytes(part));
}

Numbers widened(const Array& array) {
  Numbers wide(static_cast<size_t>(array.elements()));
  const bool isComplex = is_complex(array.dtype());
  for (int64_t i = 0; i < array.elements(); ++i)
    wide[i] = isComplex ? Number(partAt(array, 2 * i), partAt(array, 2 * i + 1)) : Number(partAt(array, i));
  return wide;
}

/// Every line along dimension `d` transformed.
void along(Numbers& values, const Shape& shape, size_t d, int sign) {
  int64_t inner = 1;
  for (size_t k = d + 1; k < shape.size(); ++k) inner *= shape[k];
  const int64_t length = shape[d];
  if (values.empty() || length < 2) return;
  Transform transform(length, sign);
  Numbers line(static_cast<size_t>(length));
  const int64_t lines = static_cast<int64_t>(values.size()) / length;
  for (int64_t l = 0; l < lines; ++l) {
    Number* first = values.data() + l / inner * inner * length + l % inner;
    for (int64_t k = 0; k < length; ++k) line[k] = first[k * inner];
    transform.run(line);
    for (int64_t k = 0; k < length; ++k) first[k * inner] = line[k];
  }
}

/// The last dimension from `from` to `to` elements: cut, or filled up as the spectrum of real numbers continues.
Numbers lastDimension(const Numbers& values, int64_t from, int64_t to) {
  if (from == 0 || to == 0) return Numbers();
  Numbers result;
  for (size_t row = 0; row < values.size(); row += static_cast<size_t>(from))
    for (int64_t k = 0; k < to; ++k) result.push_back(k < from ? values[row + k] : std::conj(values[row + to - k]));
  return result;
}

PlainResults fft(PlainCall& call) {
  const TypedOp op = call.typed();
  const std::string_view type = op.text("fft_type");
  const int64_t n = static_cast<int64_t>(op.integers("fft_length").size());
  const bool inverse = type == "IFFT" || type == "IRFFT";
  const int sign = inverse ? 1 : -1;
  Shape shape = call.operands[0].shape();
  const size_t rank = shape.size();
  auto result = Array::allocate(call.results[0]);
  if (!result) return fail(std::move(result.error()));
  Numbers values = widened(call.operands[0]);
  double count = 1;
  for (const int64_t length : op.integers("fft_length")) count *= static_cast<double>(length);
  // Transforms of real numbers begin with the last dimension, which is halved; transforms to real numbers end with it.
  if (type == "RFFT") {
    along(values, shape, rank - 1, sign);
    values = lastDimension(values, shape[rank - 1], result->shape()[rank - 1]);
    shape[rank - 1] = result->shape()[rank - 1];
  }
  for (size_t d = rank - static_cast<size_t>(n); d + (type == "FFT" || type == "IFFT" ? 0 : 1) < rank; ++d)
    along(values, shape, d, sign);
  if (type == "IRFFT") {
    // The last dimension alone is mirrored: the others are transformed by now.
    values = lastDimension(values, shape[rank - 1], result->shape()[rank - 1]);
    shape[rank - 1] = result->shape()[rank - 1];
    along(values, shape, rank - 1, sign);
  }
  const DType part = part_of(result->dtype());
  const int64_t parts = is_complex(result->dtype()) ? 2 : 1;
  for (int64_t i = 0; i < result->elements(); ++i)
    for (int64_t p = 0; p < parts; ++p) {
      const double value = p ? values[i].imag() : values[i].real();
      eval::elementFromDouble(part, inverse ? value / count : value,
                              result->data() + (i * parts + p) * storage_bytes(part));
    }
  return one(std::move(*result));
}

constexpr std::array kFourierEvaluators{EvaluatorRow{"fft", fft}};

}  // namespace

std::span<const EvaluatorRow> fourierEvaluators() { return kFourierEvaluators; }

}  // namespace smalti::plain
