#include <array>

#include "interop/npy/Npy.h"

namespace smalti::interop {
namespace {

struct Row {
  DType dtype;
  std::string_view name;
  std::string_view stored;
};

constexpr std::array kRows{
    Row{DType::pred, "bool", "bool"},
    Row{DType::i2, "int2", "uint8"},
    Row{DType::i4, "int4", "uint8"},
    Row{DType::i8, "int8", "int8"},
    Row{DType::i16, "int16", "int16"},
    Row{DType::i32, "int32", "int32"},
    Row{DType::i64, "int64", "int64"},
    Row{DType::u2, "uint2", "uint8"},
    Row{DType::u4, "uint4", "uint8"},
    Row{DType::u8, "uint8", "uint8"},
    Row{DType::u16, "uint16", "uint16"},
    Row{DType::u32, "uint32", "uint32"},
    Row{DType::u64, "uint64", "uint64"},
    Row{DType::f4e2m1fn, "float4_e2m1fn", "uint8"},
    Row{DType::f8e5m2, "float8_e5m2", "uint8"},
    Row{DType::f8e4m3fn, "float8_e4m3fn", "uint8"},
    Row{DType::f8e4m3b11fnuz, "float8_e4m3b11fnuz", "uint8"},
    Row{DType::f8e8m0fnu, "float8_e8m0fnu", "uint8"},
    Row{DType::bf16, "bfloat16", "uint16"},
    Row{DType::f16, "float16", "float16"},
    Row{DType::f32, "float32", "float32"},
    Row{DType::f64, "float64", "float64"},
    Row{DType::c64, "complex64", "complex64"},
    Row{DType::c128, "complex128", "complex128"},
};

const Row* row(DType dtype) {
  for (const Row& r : kRows)
    if (r.dtype == dtype) return &r;
  return nullptr;
}

}  // namespace

std::string_view numpyName(DType dtype) {
  const Row* r = row(dtype);
  return r ? r->name : name(dtype);
}

std::string_view numpyStoredName(DType dtype) {
  const Row* r = row(dtype);
  return r ? r->stored : "uint8";
}

std::optional<DType> dtypeFromNumpyName(std::string_view text) {
  for (const Row& r : kRows)
    if (r.name == text || name(r.dtype) == text) return r.dtype;
  return std::nullopt;
}

}  // namespace smalti::interop
