#include "smalti/dtype.h"

#include <array>

namespace smalti {
namespace {

enum class Kind : uint8_t { pred, signedInt, unsignedInt, floating, complex, other };

struct Row {
  std::string_view name;
  int bits;
  int bytes;
  Kind kind;
};

// In the order of DType.
constexpr std::array<Row, kNumDTypes> kRows{{
    {"pred", 1, 1, Kind::pred},
    {"i2", 2, 1, Kind::signedInt},
    {"i4", 4, 1, Kind::signedInt},
    {"i8", 8, 1, Kind::signedInt},
    {"i16", 16, 2, Kind::signedInt},
    {"i32", 32, 4, Kind::signedInt},
    {"i64", 64, 8, Kind::signedInt},
    {"u2", 2, 1, Kind::unsignedInt},
    {"u4", 4, 1, Kind::unsignedInt},
    {"u8", 8, 1, Kind::unsignedInt},
    {"u16", 16, 2, Kind::unsignedInt},
    {"u32", 32, 4, Kind::unsignedInt},
    {"u64", 64, 8, Kind::unsignedInt},
    {"f4e2m1fn", 4, 1, Kind::floating},
    {"f8e5m2", 8, 1, Kind::floating},
    {"f8e4m3fn", 8, 1, Kind::floating},
    {"f8e4m3b11fnuz", 8, 1, Kind::floating},
    {"f8e8m0fnu", 8, 1, Kind::floating},
    {"bf16", 16, 2, Kind::floating},
    {"f16", 16, 2, Kind::floating},
    {"f32", 32, 4, Kind::floating},
    {"f64", 64, 8, Kind::floating},
    {"index", 64, 8, Kind::other},
    {"semaphore", 64, 8, Kind::other},
    {"dma_semaphore", 64, 8, Kind::other},
    {"c64", 64, 8, Kind::complex},
    {"c128", 128, 16, Kind::complex},
}};

constexpr const Row& row(DType t) { return kRows[static_cast<size_t>(t)]; }

}  // namespace

int bit_width(DType t) { return row(t).bits; }
int storage_bytes(DType t) { return row(t).bytes; }
std::string_view name(DType t) { return row(t).name; }

std::optional<DType> dtype_from_name(std::string_view text) {
  for (int i = 0; i < kNumDTypes; ++i)
    if (kRows[i].name == text) return static_cast<DType>(i);
  return std::nullopt;
}

bool is_float(DType t) { return row(t).kind == Kind::floating; }
bool is_signed_integer(DType t) { return row(t).kind == Kind::signedInt; }
bool is_unsigned_integer(DType t) { return row(t).kind == Kind::unsignedInt; }
bool is_integer(DType t) { return is_signed_integer(t) || is_unsigned_integer(t); }
bool is_semaphore(DType t) { return t == DType::semaphore || t == DType::dma_semaphore; }

bool is_complex(DType t) { return row(t).kind == Kind::complex; }
DType part_of(DType t) { return t == DType::c64 ? DType::f32 : t == DType::c128 ? DType::f64 : t; }

DType signless(DType t) {
  if (!is_unsigned_integer(t)) return t;
  return static_cast<DType>(static_cast<int>(t) - static_cast<int>(DType::u2) + static_cast<int>(DType::i2));
}

}  // namespace smalti
