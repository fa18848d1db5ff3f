#include "types.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

static int is(const char* type, const char* name) { return strcmp(type, name) == 0; }

int bytesOf(const char* type) {
  static const struct {
    const char* name;
    int bytes;
  } all[] = {{"pred", 1},         {"i2", 1},   {"i4", 1},       {"i8", 1},     {"i16", 2},      {"i32", 4},
             {"i64", 8},          {"u2", 1},   {"u4", 1},       {"u8", 1},     {"u16", 2},      {"u32", 4},
             {"u64", 8},          {"f64", 8},  {"f4e2m1fn", 1}, {"f8e5m2", 1}, {"f8e4m3fn", 1}, {"f8e4m3b11fnuz", 1},
             {"f8e8m0fnu", 1},    {"bf16", 2}, {"f16", 2},      {"f32", 4},    {"index", 8},    {"semaphore", 8},
             {"dma_semaphore", 8}};
  for (unsigned i = 0; i < sizeof all / sizeof *all; ++i)
    if (is(type, all[i].name)) return all[i].bytes;
  return 0;
}

int isFloat(const char* type) {
  return is(type, "f32") || is(type, "bf16") || is(type, "f16") || is(type, "f64") || is(type, "f8e4m3fn");
}

/* A float of a sign, an exponent and a mantissa. The largest exponent is that of infinity and NaN, or else only of one
 * NaN. */
static double small(unsigned bits, int exponentBits, int mantissaBits, int hasInfinity) {
  const int bias = (1 << (exponentBits - 1)) - 1, most = (1 << exponentBits) - 1, ones = (1 << mantissaBits) - 1;
  const int exponent = (int)(bits >> mantissaBits) & most, mantissa = (int)bits & ones;
  double v =
      exponent ? ldexp(mantissa + ones + 1, exponent - bias - mantissaBits) : ldexp(mantissa, 1 - bias - mantissaBits);
  if (exponent == most && hasInfinity) v = mantissa ? (double)NAN : (double)INFINITY;
  if (exponent == most && !hasInfinity && mantissa == ones) v = (double)NAN;
  return bits >> (exponentBits + mantissaBits) & 1 ? -v : v;
}

double toDouble(const char* type, const char* at) {
  if (is(type, "f64")) {
    double v;
    return memcpy(&v, at, 8), v;
  }
  if (is(type, "f8e4m3fn")) return small((unsigned char)*at, 4, 3, 0);
  float v;
  if (is(type, "f32")) return memcpy(&v, at, 4), v;
  uint16_t bits;
  memcpy(&bits, at, 2);
  if (is(type, "f16")) return small(bits, 5, 10, 1);
  const uint32_t wide = (uint32_t)bits << 16;
  return memcpy(&v, &wide, 4), v;
}

int canRound(const char* type) { return is(type, "f32") || is(type, "bf16") || is(type, "f8e4m3fn"); }

static unsigned char nearest8(double value) {
  static double values[256];
  if (values[1] == 0)
    for (int code = 0; code < 256; ++code) {
      const char at = (char)code;
      values[code] = toDouble("f8e4m3fn", &at);
    }
  int best = 0;
  double least = fabs(value);
  for (int code = 1; code < 256; ++code) {
    const double distance = fabs(values[code] - value);
    if (distance < least || (distance == least && code % 2 == 0 && best % 2 == 1)) best = code, least = distance;
  }
  return (unsigned char)best;
}

void fromDouble(const char* type, double value, char* at) {
  if (is(type, "f8e4m3fn")) {
    *at = (char)nearest8(value);
    return;
  }
  const float v = (float)value;
  uint32_t bits;
  memcpy(&bits, &v, 4);
  if (is(type, "f32")) {
    memcpy(at, &bits, 4);
    return;
  }
  const uint16_t rounded = (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
  memcpy(at, &rounded, 2);
}
