#include "driver/case/Values.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "driver/term/Style.h"
#include "eval/FloatFormats.h"
#include "eval/Shape.h"

namespace smalti::driver {
namespace {

const std::byte* elementAt(const Array& array, int64_t i) { return array.data() + i * storage_bytes(array.dtype()); }

double valueAt(const Array& array, int64_t i) { return eval::elementAsDouble(array.dtype(), elementAt(array, i)); }

/// Complex numbers as pairs of real ones, along one more dimension.
Array partsOf(const Array& array) {
  if (!is_complex(array.dtype())) return array;
  Shape shape = array.shape();
  shape.push_back(2);
  return Array::view({part_of(array.dtype()), std::move(shape)}, const_cast<std::byte*>(array.data()));
}

Shape unravel(int64_t flat, const Shape& shape) {
  Shape index(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    index[d] = flat % shape[d];
    flat /= shape[d];
  }
  return index;
}

/// Largest integer up to which the type counts without gaps, at most 2^24.
int64_t countsTo(DType t) {
  if (t == DType::pred) return 1;
  if (is_integer(t)) return (int64_t{1} << std::min(bit_width(t) - (is_signed_integer(t) ? 1 : 0), 24)) - 1;
  switch (t) {
    case DType::f32:
    case DType::f64:
      return 1 << 24;
    case DType::f16:
      return 1 << 11;
    case DType::bf16:
      return 1 << 8;
    case DType::f4e2m1fn:
      return 4;
    case DType::f8e5m2:
      return 1 << 3;
    default:
      return 1 << 4;
  }
}

/// Below it a value counts as 0: the smallest normal number of the type. 0, so nothing, for integers and for floats of
/// 8 bits and fewer: their denormals are a good part of all their values, and XLA flushes none of them.
double smallestNormal(DType t) {
  switch (t) {
    case DType::f64:
      return std::numeric_limits<double>::min();
    case DType::f32:
    case DType::bf16:
      return std::numeric_limits<float>::min();
    case DType::f16:
      return 0x1p-14;
    default:
      return 0;
  }
}

bool close(double got, double expected, Tolerance tolerance, double smallest) {
  if (std::isnan(got) || std::isnan(expected)) return std::isnan(got) && std::isnan(expected);
  if (got == expected) return true;
  if (std::isinf(got) || std::isinf(expected)) return false;
  const auto within = [&](double g, double e) {
    return std::abs(g - e) <= tolerance.absolute + tolerance.relative * std::abs(e);
  };
  const auto flushed = [&](double x) { return std::abs(x) < smallest ? 0.0 : x; };
  return within(got, expected) || within(flushed(got), flushed(expected));
}

}  // namespace

namespace {

/// Real parts are filled like real numbers, imaginary parts are 0; random numbers fill both.
Result<Array> filledComplex(const ArrayType& type, const std::string& how, uint64_t seed) {
  auto array = Array::allocate(type);
  if (!array) return array;
  Array parts = partsOf(*array);
  const bool random = how == "random";
  auto reals = filledArray({parts.dtype(), random ? parts.shape() : type.shape}, how, seed);
  if (!reals) return reals;
  for (int64_t i = 0; i < parts.elements(); ++i) {
    const double value = random || i % 2 == 0 ? valueAt(*reals, random ? i : i / 2) : 0;
    eval::elementFromDouble(parts.dtype(), value, parts.data() + i * storage_bytes(parts.dtype()));
  }
  return array;
}

/// Complex numbers are not ordered: only the NaN count and the first values.
Summary summariseComplex(const Array& array) {
  Summary summary;
  const Array parts = partsOf(array);
  constexpr int64_t kShown = 4;
  for (int64_t i = 0; i < array.elements(); ++i) {
    const double real = valueAt(parts, 2 * i), imaginary = valueAt(parts, 2 * i + 1);
    summary.nans += std::isnan(real) || std::isnan(imaginary);
    if (i < kShown)
      summary.first += fmt::format("{}({}, {})", i ? " " : "", term::number(real), term::number(imaginary));
  }
  if (array.elements() > kShown) summary.first += " …";
  return summary;
}

}  // namespace

Result<Array> filledArray(const ArrayType& type, const std::string& how, uint64_t seed) {
  if (is_complex(type.dtype)) return filledComplex(type, how, seed);
  auto array = Array::allocate(type);
  if (!array) return array;
  const int width = storage_bytes(type.dtype);
  const bool isRandom = how == "random", isIota = how == "iota";
  if (!isRandom && !isIota) {
    std::byte one[sizeof(double)];
    eval::elementFromDouble(type.dtype, 1, one);
    eval::fill(array->data(), one, array->elements(), width);
    return array;
  }
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> normal;
  const int64_t limit = countsTo(type.dtype);
  constexpr int64_t kLargestRandomInteger = 7;
  std::uniform_int_distribution<int64_t> integers(0, std::min(limit, kLargestRandomInteger));
  for (int64_t i = 0; i < array->elements(); ++i) {
    double value = isIota                 ? static_cast<double>(i % (limit + 1))
                   : is_float(type.dtype) ? normal(engine)
                                          : static_cast<double>(integers(engine));
    if (type.dtype == DType::f8e8m0fnu) value = std::exp2(value);  // it has positive numbers alone
    eval::elementFromDouble(type.dtype, value, array->data() + i * width);
  }
  return array;
}

Summary summarise(const Array& array) {
  if (is_complex(array.dtype())) return summariseComplex(array);
  Summary summary;
  double sum = 0;
  for (int64_t i = 0; i < array.elements(); ++i) {
    const double value = valueAt(array, i);
    if (std::isnan(value)) {
      ++summary.nans;
      continue;
    }
    summary.min = summary.numbers ? std::min(summary.min, value) : value;
    summary.max = summary.numbers ? std::max(summary.max, value) : value;
    sum += value;
    ++summary.numbers;
  }
  if (summary.numbers) summary.mean = sum / static_cast<double>(summary.numbers);
  constexpr int64_t kShown = 4;
  for (int64_t i = 0; i < std::min(kShown, array.elements()); ++i)
    summary.first += (i ? " " : "") + term::number(valueAt(array, i));
  if (array.elements() > kShown) summary.first += " …";
  return summary;
}

Comparison compare(const Array& wholeGot, const Array& wholeExpected, Tolerance tolerance) {
  const Array got = partsOf(wholeGot), expected = partsOf(wholeExpected);
  Comparison result;
  result.elements = got.elements();
  if (got.shape() != expected.shape()) {
    result.shapeDiffers = true;
    return result;
  }
  const double smallest = smallestNormal(got.dtype());
  for (int64_t i = 0; i < got.elements(); ++i) {
    const double g = valueAt(got, i), e = valueAt(expected, i);
    if (std::isfinite(g) && std::isfinite(e)) {
      const double error = std::abs(g - e);
      if (!result.maxError || error > *result.maxError) {
        result.maxError = error;
        result.maxErrorAt = unravel(i, got.shape());
      }
    }
    if (close(g, e, tolerance, smallest)) continue;
    if (result.wrong++ == 0) {
      result.firstWrongAt = unravel(i, got.shape());
      result.firstGot = g;
      result.firstExpected = e;
    }
    result.wrongNan += std::isnan(g) != std::isnan(e);
  }
  return result;
}

std::string describe(const Comparison& comparison, const ArrayType& got, const ArrayType& expected) {
  if (comparison.shapeDiffers) return fmt::format("got {}, expected {}", got.str(), expected.str());
  if (comparison.passed()) return "as expected";
  std::string text = fmt::format("{} of {} elements {} wrong, first at {}: got {:.9g}, expected {:.9g}",
                                 term::grouped(comparison.wrong), term::grouped(comparison.elements),
                                 comparison.wrong == 1 ? "is" : "are", indexText(comparison.firstWrongAt),
                                 comparison.firstGot, comparison.firstExpected);
  if (comparison.wrongNan > 0) text += fmt::format(" ({} by being NaN on one side only)", comparison.wrongNan);
  return text;
}

std::string indexText(const Shape& index) { return fmt::format("({})", fmt::join(index, ", ")); }

}  // namespace smalti::driver
