// fft: transforms along the last one to three dimensions, of any length. Computed in f64 and rounded once.
#include <algorithm>
#include <array>

#include "plain/ComplexNumbers.h"
#include "plain/Moves.h"
#include "plain/PlainEvaluators.h"
#include "plain/fourier/FourierTransform.h"

namespace smalti::plain {
namespace {

using Number = std::complex<double>;

/// The elements of an array as complex numbers; of a real one each, or each pair of neighbours.
template <class Real>
SplitNumbers numbersOf(const Array& array, bool pairs) {
  const Real* elements = array.as<Real>();
  SplitNumbers numbers(is_complex(array.dtype()) ? array.elements() : array.elements() / (pairs ? 2 : 1));
  const bool imaginary = pairs || is_complex(array.dtype());
  const int64_t parts = imaginary ? 2 : 1;
  for (int64_t i = 0; i < numbers.size(); ++i)
    numbers.set(i, {elements[parts * i], imaginary ? elements[parts * i + 1] : 0.0});
  return numbers;
}

/// Each number, times `scale`, as one element of a complex array, or two of a real one; its real part alone otherwise.
template <class Real>
void store(const SplitNumbers& numbers, double scale, bool pairs, Array& array) {
  Real* elements = array.as<Real>();
  const bool imaginary = pairs || is_complex(array.dtype());
  const int64_t parts = imaginary ? 2 : 1;
  for (int64_t i = 0; i < numbers.size(); ++i) {
    elements[parts * i] = static_cast<Real>(numbers[i].real() * scale);
    if (imaginary) elements[parts * i + 1] = static_cast<Real>(numbers[i].imag() * scale);
  }
}

/// Lines are transformed together up to so many numbers: 16 bytes each, twice, in L2.
constexpr int64_t kStripNumbers = 16 << 10;
/// Fewer numbers are less than a cache line.
constexpr int64_t kLeastStrip = 8;

void copyRows(SplitPointer from, int64_t fromStride, SplitPointer to, int64_t toStride, int64_t rows, int64_t count) {
  constexpr int64_t kBytes = sizeof(double);
  const auto move = [&](const double* x, double* y) {
    return Move{.from = reinterpret_cast<const std::byte*>(x),
                .to = reinterpret_cast<std::byte*>(y),
                .rows = rows,
                .rowBytes = count * kBytes,
                .fromStride = fromStride * kBytes,
                .toStride = toStride * kBytes};
  };
  moveAll(std::array{move(from.re, to.re), move(from.im, to.im)}, {});
}

/// Every line along dimension `d` transformed.
void along(SplitNumbers& values, const Shape& shape, size_t d, int sign, const ShareWork& share) {
  const int64_t length = shape[d];
  if (values.size() == 0 || length < 2) return;
  int64_t inner = 1;
  for (size_t k = d + 1; k < shape.size(); ++k) inner *= shape[k];
  const FourierTransform transform(length, sign, inner);
  const int64_t outer = values.size() / (length * inner);
  // Lines that are too long for the caches together are copied, a few at a time.
  const int64_t strip = std::min(inner, std::max(kLeastStrip, kStripNumbers / length));
  const int64_t strips = (inner + strip - 1) / strip, steps = 16 * values.size();
  shareInPieces(share, outer * strips, 1, steps, [&](int64_t begin, int64_t end) {
    SplitNumbers copied(strips > 1 ? length * strip : 0);
    for (int64_t s = begin; s < end; ++s) {
      const int64_t line = s % strips * strip, count = std::min(strip, inner - line);
      const SplitPointer first(values, s / strips * length * inner + line);
      if (strips == 1) {
        transform.run(first, inner, share);
        continue;
      }
      copyRows(first, inner, copied, count, length, count);
      transform.run(copied, count, share);
      copyRows(copied, count, first, inner, length, count);
    }
  });
}

/// The last dimension from `from` to `to` elements: cut, or filled up as the spectrum of real numbers continues.
SplitNumbers lastDimension(const SplitNumbers& values, int64_t from, int64_t to) {
  if (from == 0 || to == 0) return SplitNumbers();
  const int64_t rows = values.size() / from;
  SplitNumbers result(rows * to);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t k = 0; k < to; ++k)
      result.set(row * to + k, k < from ? values[row * from + k] : std::conj(values[row * from + to - k]));
  return result;
}

/// Rows of n real numbers as n / 2 complex ones, transformed → the first n / 2 + 1 of the n numbers' transform: those
/// of the elements at even and at odd places are told apart by their symmetry.
SplitNumbers spectrumOfPairs(const SplitNumbers& pairs, int64_t half, int sign) {
  const RootsOfUnity roots(2 * half, sign);
  const int64_t rows = pairs.size() / half;
  SplitNumbers spectrum(rows * (half + 1));
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t k = 0; k <= half; ++k) {
      const Number x = pairs[row * half + k % half], y = std::conj(pairs[row * half + (half - k) % half]);
      const Number even = (x + y) * 0.5, odd = (x - y) * 0.5;
      spectrum.set(row * (half + 1) + k, even + product(Number(odd.imag(), -odd.real()), roots(k)));
    }
  return spectrum;
}

/// The inverse, for the numbers' sums (twice what the definition of a mean has).
SplitNumbers pairsOfSpectrum(const SplitNumbers& spectrum, int64_t half, int sign) {
  const RootsOfUnity roots(2 * half, sign);
  const int64_t rows = spectrum.size() / (half + 1);
  SplitNumbers pairs(rows * half);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t k = 0; k < half; ++k) {
      Number x = spectrum[row * (half + 1) + k], y = std::conj(spectrum[row * (half + 1) + half - k]);
      if (k == 0) x = x.real(), y = y.real();  // of a real transform; what else stands there is not read
      const Number even = x + y, odd = product(x - y, roots(k));
      pairs.set(row * half + k, {even.real() - odd.imag(), even.imag() + odd.real()});
    }
  return pairs;
}

template <class Real>
PlainResults transformed(PlainCall& call) {
  const TypedOp op = call.typed();
  const std::string_view type = op.text("fft_type");
  const auto lengths = op.integers("fft_length");
  const bool inverse = type == "IFFT" || type == "IRFFT", real = type == "RFFT" || type == "IRFFT";
  const int sign = inverse ? 1 : -1;
  Shape shape = call.operands[0].shape();
  const size_t last = shape.size() - 1;
  auto result = Array::allocate(call.results[0]);
  if (!result) return fail(std::move(result.error()));
  // An even number of reals is transformed as half as many complex numbers.
  const int64_t half = real && lengths.back() % 2 == 0 ? lengths.back() / 2 : 0;
  double scale = 1;
  if (inverse)
    for (const int64_t length : lengths) scale /= static_cast<double>(length);
  SplitNumbers values = numbersOf<Real>(call.operands[0], type == "RFFT" && half > 0);
  // Transforms of real numbers begin with the last dimension, which is halved; transforms to real numbers end with it.
  const auto alongLast = [&](int64_t length) {
    shape[last] = length;
    along(values, shape, last, sign, call.share);
  };
  if (type == "RFFT") {
    alongLast(half > 0 ? half : shape[last]);
    const int64_t kept = result->shape()[last];
    values = half > 0 ? spectrumOfPairs(values, half, sign) : lastDimension(values, shape[last], kept);
    shape[last] = kept;
  }
  for (size_t d = shape.size() - lengths.size(); d + (real ? 1 : 0) <= last; ++d)
    along(values, shape, d, sign, call.share);
  if (type == "IRFFT") {
    // The last dimension alone is mirrored: the others are transformed by now.
    const int64_t length = result->shape()[last];
    values = half > 0 ? pairsOfSpectrum(values, half, sign) : lastDimension(values, shape[last], length);
    alongLast(half > 0 ? half : length);
  }
  store<Real>(values, scale, type == "IRFFT" && half > 0, *result);
  return one(std::move(*result));
}

PlainResults fft(PlainCall& call) {
  return part_of(call.results[0].dtype) == DType::f64 ? transformed<double>(call) : transformed<float>(call);
}

constexpr std::array kFourierEvaluators{EvaluatorRow{"fft", fft}};

}  // namespace

std::span<const EvaluatorRow> fourierEvaluators() { return kFourierEvaluators; }

}  // namespace smalti::plain
