// Conversions between any two element types. Common pairs have their own loops (isa/Convert.cpp);
// the others go block by block: load into a common type, step to another, store.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "eval/Elementwise.h"
#include "eval/FloatFormats.h"
#include "eval/elementwise/Tables.h"

namespace smalti::eval {
namespace {

/// How a conversion reads or writes an element: a dtype, or one of the readings that only kernels' signless integers
/// have.
enum class Form : uint8_t {
  bit = kNumDTypes,  ///< i1 as 0 or 1, where storing keeps the low bit (pred stores whether it is not 0)
  signedBit,         ///< i1 as 0 or -1
  u2InI2,            ///< an unsigned result in the storage of i2
  u4InI4,
};
constexpr int kNumForms = kNumDTypes + 4;
constexpr Form formOf(DType t) { return static_cast<Form>(t); }
constexpr bool is(Form f, DType t) { return f == formOf(t); }

constexpr int64_t kBlock = 256;
struct Block {
  alignas(64) int32_t i32[kBlock];
  alignas(64) int64_t i64[kBlock];
  alignas(64) float f32[kBlock];
  alignas(64) double f64[kBlock];
};
/// Which member of a block holds the values; u64 is i64 read as unsigned.
enum class Holder : uint8_t { i32, i64, u64, f32, f64 };

const CodecRow* codecFor(Form f) {
  for (const CodecRow& row : activeTables().codecs)
    if (is(f, row.dtype)) return &row;
  return nullptr;
}

template <class From, class To>
void copy(const void* from, To* to, int64_t n) {
  const From* x = static_cast<const From*>(from);
  for (int64_t i = 0; i < n; ++i) to[i] = static_cast<To>(x[i]);
}

template <class From, class To>
void put(const From* from, void* to, int64_t n) {
  To* y = static_cast<To*>(to);
  for (int64_t i = 0; i < n; ++i) y[i] = static_cast<To>(from[i]);
}

template <int padding, class Byte>
void loadSubByte(const void* from, int32_t* to, int64_t n) {
  const uint8_t* x = static_cast<const uint8_t*>(from);
  for (int64_t i = 0; i < n; ++i) to[i] = static_cast<Byte>(static_cast<Byte>(x[i] << padding) >> padding);
}

/// To the low bits, sign- (int8_t) or zero-extended (uint8_t).
template <int padding, class Byte, class From>
void storeSubByte(const From* from, void* to, int64_t n) {
  uint8_t* y = static_cast<uint8_t*>(to);
  for (int64_t i = 0; i < n; ++i)
    y[i] = static_cast<uint8_t>(static_cast<Byte>(static_cast<Byte>(from[i] << padding) >> padding));
}

/// `form` is one to read: a dtype or signedBit.
Holder load(Form form, const void* in, int64_t n, Block& block) {
  if (form == Form::signedBit) return loadSubByte<7, int8_t>(in, block.i32, n), Holder::i32;
  switch (static_cast<DType>(form)) {
    case DType::pred:
      return loadSubByte<7, uint8_t>(in, block.i32, n), Holder::i32;
    case DType::i2:
      return loadSubByte<6, int8_t>(in, block.i32, n), Holder::i32;
    case DType::u2:
      return loadSubByte<6, uint8_t>(in, block.i32, n), Holder::i32;
    case DType::i4:
      return loadSubByte<4, int8_t>(in, block.i32, n), Holder::i32;
    case DType::u4:
      return loadSubByte<4, uint8_t>(in, block.i32, n), Holder::i32;
    case DType::i8:
      return copy<int8_t>(in, block.i32, n), Holder::i32;
    case DType::u8:
      return copy<uint8_t>(in, block.i32, n), Holder::i32;
    case DType::i16:
      return copy<int16_t>(in, block.i32, n), Holder::i32;
    case DType::u16:
      return copy<uint16_t>(in, block.i32, n), Holder::i32;
    case DType::i32:
      return copy<int32_t>(in, block.i32, n), Holder::i32;
    case DType::u32:
      return copy<uint32_t>(in, block.i64, n), Holder::i64;
    case DType::u64:
      return copy<int64_t>(in, block.i64, n), Holder::u64;
    case DType::f32:
      return copy<float>(in, block.f32, n), Holder::f32;
    case DType::f64:
      return copy<double>(in, block.f64, n), Holder::f64;
    default:
      break;
  }
  if (const CodecRow* codec = codecFor(form)) return codec->load(in, block.f32, n), Holder::f32;
  return copy<int64_t>(in, block.i64, n), Holder::i64;  // i64, index, semaphores
}

/// Integers of up to 64 bits as they are stored.
template <class From>
void storeInteger(Form form, const From* from, void* out, int64_t n) {
  switch (form) {
    case Form::bit:
    case Form::signedBit:
      return storeSubByte<7, uint8_t>(from, out, n);
    case Form::u2InI2:
      return storeSubByte<6, int8_t>(from, out, n);
    case Form::u4InI4:
      return storeSubByte<4, int8_t>(from, out, n);
    default:
      break;
  }
  switch (static_cast<DType>(form)) {
    case DType::pred:
      for (int64_t i = 0; i < n; ++i) static_cast<uint8_t*>(out)[i] = from[i] != 0;
      return;
    case DType::i2:
      return storeSubByte<6, int8_t>(from, out, n);
    case DType::u2:
      return storeSubByte<6, uint8_t>(from, out, n);
    case DType::i4:
      return storeSubByte<4, int8_t>(from, out, n);
    case DType::u4:
      return storeSubByte<4, uint8_t>(from, out, n);
    case DType::i8:
    case DType::u8:
      return put<From, uint8_t>(from, out, n);
    case DType::i16:
    case DType::u16:
      return put<From, uint16_t>(from, out, n);
    case DType::i32:
    case DType::u32:
      return put<From, uint32_t>(from, out, n);
    default:
      return put<From, int64_t>(from, out, n);
  }
}

int widthOf(Form form) {
  switch (form) {
    case Form::bit:
    case Form::signedBit:
      return 1;
    case Form::u2InI2:
      return 2;
    case Form::u4InI4:
      return 4;
    default:
      return bit_width(static_cast<DType>(form));
  }
}

bool isUnsigned(Form form) {
  if (form == Form::bit || form == Form::u2InI2 || form == Form::u4InI4) return true;
  return form != Form::signedBit && is_unsigned_integer(static_cast<DType>(form));
}

/// Truncates, saturates to the form's width, NaN is 0.
template <class Float>
void toInteger(Form form, const Float* from, Block& block, int64_t n) {
  const int bits = widthOf(form);
  if (is(form, DType::pred)) {
    for (int64_t i = 0; i < n; ++i) block.i64[i] = from[i] != 0;
  } else if (isUnsigned(form)) {
    const Float limit = std::ldexp(Float{1}, bits);
    const uint64_t highest = ~uint64_t{0} >> (64 - bits);
    for (int64_t i = 0; i < n; ++i) {
      const Float x = from[i];
      const uint64_t inside = x > 0 && x < limit ? static_cast<uint64_t>(x) : 0;
      block.i64[i] = static_cast<int64_t>(x >= limit ? highest : inside);
    }
  } else {
    const Float limit = std::ldexp(Float{1}, bits - 1);
    const int64_t highest = static_cast<int64_t>((uint64_t{1} << (bits - 1)) - 1);
    for (int64_t i = 0; i < n; ++i) {
      const Float x = from[i];
      const int64_t inside = x >= -limit && x < limit ? static_cast<int64_t>(x) : 0;
      block.i64[i] = x >= limit ? highest : x < -limit ? -highest - 1 : inside;
    }
  }
}

template <class To>
void toFloat(Holder holder, const Block& block, To* to, int64_t n) {
  switch (holder) {
    case Holder::i32:
      return copy<int32_t>(block.i32, to, n);
    case Holder::i64:
      return copy<int64_t>(block.i64, to, n);
    case Holder::u64:
      return copy<uint64_t>(block.i64, to, n);
    case Holder::f32:
      return copy<float>(block.f32, to, n);
    case Holder::f64:
      return copy<double>(block.f64, to, n);
  }
}

void storeFloat(Form form, Holder holder, Block& block, void* out, int64_t n) {
  if (is(form, DType::f64)) return toFloat(holder, block, static_cast<double*>(out), n);
  if (is(form, DType::f32)) return toFloat(holder, block, static_cast<float*>(out), n);
  if (holder == Holder::f64)
    for (int64_t i = 0; i < n; ++i) block.f32[i] = f64ToF32Odd(block.f64[i]);
  else if (holder != Holder::f32)
    toFloat(holder, block, block.f32, n);
  codecFor(form)->store(block.f32, out, n);
}

bool isFloatForm(Form form) { return static_cast<int>(form) < kNumDTypes && is_float(static_cast<DType>(form)); }
int bytesOf(Form form) { return static_cast<int>(form) < kNumDTypes ? storage_bytes(static_cast<DType>(form)) : 1; }

void convertBlocks(Form from, Form to, const void* in, void* out, int64_t n) {
  Block block;
  for (int64_t at = 0; at < n; at += kBlock) {
    const int64_t count = std::min(kBlock, n - at);
    const void* source = static_cast<const char*>(in) + at * bytesOf(from);
    void* target = static_cast<char*>(out) + at * bytesOf(to);
    const Holder holder = load(from, source, count, block);
    if (isFloatForm(to)) {
      storeFloat(to, holder, block, target, count);
    } else if (holder == Holder::i32) {
      storeInteger(to, block.i32, target, count);
    } else {
      if (holder == Holder::f32) toInteger(to, block.f32, block, count);
      if (holder == Holder::f64) toInteger(to, block.f64, block, count);
      storeInteger(to, block.i64, target, count);
    }
  }
}

template <int from, int to>
void thunk(const void* in, void* out, int64_t n) {
  convertBlocks(static_cast<Form>(from), static_cast<Form>(to), in, out, n);
}
template <int... i>
constexpr std::array<UnaryKernel, sizeof...(i)> thunks(std::integer_sequence<int, i...>) {
  return {thunk<i / kNumForms, i % kNumForms>...};
}
constexpr auto kThunks = thunks(std::make_integer_sequence<int, kNumForms * kNumForms>{});

template <int bytes>
void move(const void* in, void* out, int64_t n) {
  if (n > 0) std::memmove(out, in, static_cast<size_t>(n) * bytes);
}
UnaryKernel moveOf(int bytes) { return bytes == 1 ? move<1> : bytes == 2 ? move<2> : bytes == 4 ? move<4> : move<8>; }

UnaryKernel converter(Form from, Form to) {
  if (from == to && bytesOf(from) > 1) return moveOf(bytesOf(from));
  for (const ConvertRow& row : activeTables().converts)
    if (is(from, row.from) && is(to, row.to)) return row.kernel;
  return kThunks[static_cast<size_t>(from) * kNumForms + static_cast<size_t>(to)];
}

bool isWhole(DType t) { return is_integer(t) || t == DType::index || t == DType::pred; }

DType unsignedOf(DType t) {
  if (t == DType::index) return DType::u64;
  if (!is_signed_integer(t)) return t;
  return static_cast<DType>(static_cast<int>(t) - static_cast<int>(DType::i2) + static_cast<int>(DType::u2));
}

Form signedSource(DType t) { return t == DType::pred ? Form::signedBit : formOf(signless(t)); }
Form unsignedSource(DType t) { return formOf(unsignedOf(t)); }
Form truncatedTarget(DType t) { return t == DType::pred ? Form::bit : formOf(t); }
Form signedTarget(DType t) { return t == DType::pred ? Form::signedBit : formOf(signless(t)); }
Form unsignedTarget(DType t) {
  if (t == DType::i2) return Form::u2InI2;
  if (t == DType::i4) return Form::u4InI4;
  return t == DType::pred ? Form::bit : formOf(unsignedOf(t));
}

UnaryKernel bitcastSameWidth(DType from, DType to) {
  if (bit_width(from) != bit_width(to)) return nullptr;
  if (storage_bytes(from) > 1 || bit_width(from) >= 8 || from == to) return moveOf(storage_bytes(from));
  // Below a byte the storage differs: only i2 and i4 are sign-extended.
  const DType bits = bit_width(from) == 2 ? DType::u2 : DType::u4;
  return converter(formOf(bits), formOf(is_signed_integer(to) ? to : bits));
}

}  // namespace

UnaryKernel findConvert(std::string_view name, DType from, DType to) {
  enum class Kind { floats, wholes, fromWhole, toWhole };
  struct Row {
    std::string_view name;
    Kind kind;
    Form (*source)(DType);
    Form (*target)(DType);
  };
  constexpr auto same = +[](DType t) { return formOf(t); };
  constexpr Row kRows[] = {
      {"arith.extf", Kind::floats, same, same},
      {"arith.truncf", Kind::floats, same, same},
      {"arith.extsi", Kind::wholes, signedSource, truncatedTarget},
      {"arith.extui", Kind::wholes, unsignedSource, truncatedTarget},
      {"arith.trunci", Kind::wholes, signedSource, truncatedTarget},
      {"arith.index_cast", Kind::wholes, signedSource, truncatedTarget},
      {"arith.index_castui", Kind::wholes, unsignedSource, truncatedTarget},
      {"arith.sitofp", Kind::fromWhole, signedSource, same},
      {"arith.uitofp", Kind::fromWhole, unsignedSource, same},
      {"arith.fptosi", Kind::toWhole, same, signedTarget},
      {"arith.fptoui", Kind::toWhole, same, unsignedTarget},
  };
  if (name == "arith.bitcast") return bitcastSameWidth(from, to);
  for (const Row& row : kRows) {
    if (row.name != name) continue;
    const bool wholeFrom = row.kind == Kind::wholes || row.kind == Kind::fromWhole;
    const bool wholeTo = row.kind == Kind::wholes || row.kind == Kind::toWhole;
    if ((wholeFrom ? !isWhole(from) : !is_float(from)) || (wholeTo ? !isWhole(to) : !is_float(to))) return nullptr;
    return converter(row.source(from), row.target(to));
  }
  return nullptr;
}

UnaryKernel findArrayConvert(DType from, DType to) {
  return is_complex(from) || is_complex(to) ? nullptr : converter(formOf(from), formOf(to));
}

}  // namespace smalti::eval
