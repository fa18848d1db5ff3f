// Narrow floats in bulk, and the conversions that kernels do most, each a loop of its own.
#include "eval/elementwise/isa/Families.h"
#include "eval/elementwise/isa/Formats.h"
#include "eval/elementwise/isa/Loops.h"

#ifdef __F16C__
#include <immintrin.h>
#endif

namespace smalti::eval::SMALTI_ISA {
namespace {

template <class From>
void load(const void* from, float* to, int64_t n) {
  const auto* x = static_cast<const typename From::Word*>(from);
  for (int64_t i = 0; i < n; ++i) to[i] = From::load(x[i]);
}

template <class To>
void store(const float* from, void* to, int64_t n) {
  auto* y = static_cast<typename To::Word*>(to);
  for (int64_t i = 0; i < n; ++i) y[i] = To::store(from[i]);
}

#ifdef __F16C__
void loadF16(const void* from, float* to, int64_t n) {
  const uint16_t* x = static_cast<const uint16_t*>(from);
  int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x + i))));
  for (; i < n; ++i) to[i] = F16::load(x[i]);
}

void storeF16(const float* from, void* to, int64_t n) {
  uint16_t* y = static_cast<uint16_t*>(to);
  int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
  for (; i < n; ++i) y[i] = F16::store(from[i]);
}
#else
constexpr auto loadF16 = load<F16>;
constexpr auto storeF16 = store<F16>;
#endif

constexpr CodecRow kCodecs[kNumCodecs] = {
    {DType::bf16, load<Bf16>, store<Bf16>},
    {DType::f16, loadF16, storeF16},
    {DType::f8e5m2, load<F8e5m2>, store<F8e5m2>},
    {DType::f8e4m3fn, load<F8e4m3fn>, store<F8e4m3fn>},
    {DType::f8e4m3b11fnuz, load<F8e4m3b11fnuz>, store<F8e4m3b11fnuz>},
    {DType::f8e8m0fnu, load<F8e8m0fnu>, store<F8e8m0fnu>},
    {DType::f4e2m1fn, load<F4e2m1fn>, store<F4e2m1fn>},
};

/// A plain C++ type as a codec.
template <class T>
struct Plain {
  using Word = T;
  static T load(T x) { return x; }
  static T store(T x) { return x; }
};

/// Four bits in a byte, in the low half.
struct SignedNibble {
  using Word = uint8_t;
  static int32_t load(Word w) { return static_cast<int8_t>(w << 4) >> 4; }
  static Word store(int32_t x) { return static_cast<Word>(static_cast<int8_t>(x << 4) >> 4); }
};
struct UnsignedNibble {
  using Word = uint8_t;
  static int32_t load(Word w) { return w & 15; }
  static Word store(int32_t x) { return static_cast<Word>(x & 15); }
};

struct Same {
  static float apply(float x) { return x; }
};
template <class T>
struct Cast {
  template <class F>
  static T apply(F x) {
    return static_cast<T>(x);
  }
};
struct ToFloat {
  template <class F>
  static float apply(F x) {
    return static_cast<float>(static_cast<int32_t>(x));
  }
};
/// Truncates, saturates, NaN is 0. Limits of at most 16 bits are floats; 2^31 is the first float beyond i32.
template <int32_t low, int32_t high>
struct ToSmallInteger {
  static int32_t apply(float x) {
    const float number = x == x ? x : 0.0f;
    const float above = number < low ? static_cast<float>(low) : number;
    return static_cast<int32_t>(above > high ? static_cast<float>(high) : above);
  }
};
struct ToI32 {
  static int32_t apply(float x) {
    const bool inside = (x >= -2147483648.0f) & (x < 2147483648.0f);
    const int32_t truncated = static_cast<int32_t>(inside ? x : 0.0f);
    const int32_t limit = x >= 2147483648.0f ? INT32_MAX : x < -2147483648.0f ? INT32_MIN : 0;
    return inside ? truncated : limit;
  }
};
struct NotZero {
  template <class F>
  static bool apply(F x) {
    return x != 0;
  }
};

constexpr ConvertRow kConverts[] = {
    {DType::bf16, DType::f32, unaryLoop<Bf16, F32, Same>},
    {DType::f32, DType::bf16, unaryLoop<F32, Bf16, Same>},
    {DType::i32, DType::f32, unaryLoop<Plain<int32_t>, F32, ToFloat>},
    {DType::i32, DType::bf16, unaryLoop<Plain<int32_t>, Bf16, ToFloat>},
    {DType::i16, DType::f32, unaryLoop<Plain<int16_t>, F32, ToFloat>},
    {DType::i8, DType::f32, unaryLoop<Plain<int8_t>, F32, ToFloat>},
    {DType::i8, DType::bf16, unaryLoop<Plain<int8_t>, Bf16, ToFloat>},
    {DType::u8, DType::f32, unaryLoop<Plain<uint8_t>, F32, ToFloat>},
    {DType::i4, DType::f32, unaryLoop<SignedNibble, F32, ToFloat>},
    {DType::i4, DType::bf16, unaryLoop<SignedNibble, Bf16, ToFloat>},
    {DType::u4, DType::f32, unaryLoop<UnsignedNibble, F32, ToFloat>},
    {DType::u4, DType::bf16, unaryLoop<UnsignedNibble, Bf16, ToFloat>},
    {DType::u32, DType::f32, unaryLoop<Plain<uint32_t>, F32, Cast<float>>},
    {DType::pred, DType::f32, unaryLoop<Plain<uint8_t>, F32, ToFloat>},
    {DType::pred, DType::bf16, unaryLoop<Plain<uint8_t>, Bf16, ToFloat>},
    {DType::f32, DType::i32, unaryLoop<F32, Plain<int32_t>, ToI32>},
    {DType::bf16, DType::i32, unaryLoop<Bf16, Plain<int32_t>, ToI32>},
    {DType::f32, DType::i16, unaryLoop<F32, Plain<int16_t>, ToSmallInteger<-32768, 32767>>},
    {DType::f32, DType::i8, unaryLoop<F32, Plain<int8_t>, ToSmallInteger<-128, 127>>},
    {DType::bf16, DType::i8, unaryLoop<Bf16, Plain<int8_t>, ToSmallInteger<-128, 127>>},
    {DType::f32, DType::u8, unaryLoop<F32, Plain<uint8_t>, ToSmallInteger<0, 255>>},
    {DType::f32, DType::i4, unaryLoop<F32, SignedNibble, ToSmallInteger<-8, 7>>},
    {DType::f32, DType::u4, unaryLoop<F32, UnsignedNibble, ToSmallInteger<0, 15>>},
    {DType::pred, DType::i32, unaryLoop<Plain<uint8_t>, Plain<int32_t>, Cast<int32_t>>},
    {DType::i8, DType::i32, unaryLoop<Plain<int8_t>, Plain<int32_t>, Cast<int32_t>>},
    {DType::i4, DType::i8, unaryLoop<SignedNibble, Plain<int8_t>, Cast<int8_t>>},
    {DType::i4, DType::i32, unaryLoop<SignedNibble, Plain<int32_t>, Cast<int32_t>>},
    {DType::u8, DType::i32, unaryLoop<Plain<uint8_t>, Plain<int32_t>, Cast<int32_t>>},
    {DType::i16, DType::i32, unaryLoop<Plain<int16_t>, Plain<int32_t>, Cast<int32_t>>},
    {DType::i32, DType::i8, unaryLoop<Plain<int32_t>, Plain<int8_t>, Cast<int8_t>>},
    {DType::i32, DType::i4, unaryLoop<Plain<int32_t>, SignedNibble, Cast<int32_t>>},
    {DType::i32, DType::i16, unaryLoop<Plain<int32_t>, Plain<int16_t>, Cast<int16_t>>},
    {DType::i32, DType::pred, unaryLoop<Plain<int32_t>, Pred, NotZero>},
    {DType::f32, DType::pred, unaryLoop<F32, Pred, NotZero>},
    {DType::bf16, DType::pred, unaryLoop<Bf16, Pred, NotZero>},
};

}  // namespace

Rows<CodecRow> codecRows() { return SMALTI_ROWS(kCodecs); }
Rows<ConvertRow> convertRows() { return SMALTI_ROWS(kConverts); }

}  // namespace smalti::eval::SMALTI_ISA
