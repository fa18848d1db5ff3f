// Functions without a TPU instruction, composed of others as in Pallas.
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "lang/ops/Support.h"
#include "lang/transform/Custom.h"
#include "smalti/ops/create.h"
#include "smalti/ops/elementwise.h"

namespace smalti {

using lang::SourceLocationScope;

namespace {

/// M. Giles' polynomials ("Approximating the erfinv function", 2011), highest power first.
constexpr std::array kErfInvCentre{2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
                                   -0.00125372503, -0.00417768164, 0.246640727,    1.50140941};
constexpr std::array kErfInvTail{-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773,
                                 -0.0076224613,   0.00943887047,  1.00167406,    2.83297682};

DType uintOf(DType t) {
  return bit_width(t) == 16   ? DType::u16
         : bit_width(t) == 32 ? DType::u32
         : bit_width(t) == 64 ? DType::u64
                              : DType::u8;
}

Array polynomial(const Array& x) {
  Array w = -log1p(x * -x);
  const Array central = w < 5.0;
  w = where(central, w - 2.5, sqrt(w) - 3.0);
  Array p = where(central, kErfInvCentre[0], kErfInvTail[0]);
  for (size_t i = 1; i < kErfInvCentre.size(); ++i) p = where(central, kErfInvCentre[i], kErfInvTail[i]) + p * w;
  return where(abs(x) == 1.0, std::numeric_limits<double>::infinity() * x, p * x);
}

}  // namespace

Array erf_inv(const Operand& operand) {
  SourceLocationScope place(operand.at());
  if (!is_float(operand.dtype())) return erf_inv(lang::convertTo(operand.array(), DType::f32));
  if (operand.dtype() != DType::f32)
    return lang::convertTo(erf_inv(lang::convertTo(operand.array(), DType::f32)), operand.dtype());
  return lang::withSlope(operand, polynomial, [](const Array& t, const Array&, const Array& y) {
    return (std::sqrt(std::numbers::pi) / 2) * (t * exp(square(y)));
  });
}

/// Next bits up or down; from zero the smallest number of y's sign.
Array nextafter(const Operand& from, const Operand& to) {
  SourceLocationScope place(from.at());
  const lang::Promoted p = lang::promote("nextafter", {&from, &to});
  if (!is_float(p.dtype)) lang::refuseDType("nextafter", p.dtype, "floats");
  const Shape shape = lang::broadcastShape("nextafter", {&from, &to});
  const Array x = lang::prepare(from, p.dtype, shape), y = lang::prepare(to, p.dtype, shape);
  const DType word = uintOf(p.dtype);
  const Array one = full({}, 1, word), signBit = shift_left(one, bit_width(p.dtype) - 1);
  const Array xBits = bitcast_convert_type(x, word), yBits = bitcast_convert_type(y, word);
  const Array away = (x < y) == (x > full({}, 0, p.dtype));
  const Array stepped = where(away, xBits + one, xBits - one);
  const Array fromZero = (yBits & signBit) | one;
  const Array moved = bitcast_convert_type(where(x == full({}, 0, p.dtype), fromZero, stepped), p.dtype);
  return where(isnan(x) | isnan(y), x + y, where(x == y, y, moved));
}

}  // namespace smalti
