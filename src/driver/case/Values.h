// Arrays as a whole: filling them, summing them up, comparing them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "smalti/array.h"
#include "smalti/diagnostic.h"

namespace smalti::driver {

/// "ones", "iota" (0, 1, 2, … modulo what the type holds exactly) or "random" (normal floats, small integers).
Result<Array> filledArray(const ArrayType&, const std::string& how, uint64_t seed);

struct Summary {
  double min = 0, max = 0, mean = 0;  ///< over the elements that are not NaN
  int64_t nans = 0;
  int64_t numbers = 0;  ///< elements that are not NaN
  std::string first;    ///< the first few values: "1 2.5 NaN …"
};
Summary summarise(const Array&);

struct Tolerance {
  double relative = 0, absolute = 0;
};

/// Result of a comparison, element by element in f64: |got - expected| ≤ absolute + relative·|expected|; NaN exactly
/// where expected; infinities equal; ±0 equal; denormals of floats of 16 bits and more equal 0.
struct Comparison {
  bool shapeDiffers = false;
  int64_t elements = 0;
  int64_t wrong = 0;
  int64_t wrongNan = 0;  ///< NaN on one side only; part of `wrong`
  /// Largest |got - expected| over the elements where both are finite; nullopt when there is none.
  std::optional<double> maxError;
  Shape maxErrorAt;
  /// The first element that is wrong.
  Shape firstWrongAt;
  double firstGot = 0, firstExpected = 0;
  bool passed() const { return !shapeDiffers && wrong == 0; }
};
Comparison compare(const Array& got, const Array& expected, Tolerance);

/// A description of the errors: "3 of 1024 elements are wrong, first at (0, 5): got 1, expected 2".
std::string describe(const Comparison&, const ArrayType& got, const ArrayType& expected);

/// "(3, 0)".
std::string indexText(const Shape&);

}  // namespace smalti::driver
