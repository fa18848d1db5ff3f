#include <algorithm>
#include <cstring>

#include "eval/Bits.h"
#include "eval/Shape.h"
#include "eval/bits/Widen.h"
#include "eval/shape/Strides.h"

namespace smalti::eval {
namespace {

/// Sets the spare bits of types narrower than a byte.
void toStorageForm(const Output& out) {
  for (int64_t i = 0, n = out.elements(); i < n; ++i)
    out.data[i] = std::byte(subByteStorage(out.dtype, static_cast<uint32_t>(out.data[i])));
}

void sameWidth(const Input& in, const Output& out) {
  const int bytes = storage_bytes(out.dtype);
  const int64_t n = out.elements();
  if (in.splat)
    fill(out.data, in.data, n, bytes);
  else if (n > 0)
    std::memcpy(out.data, in.data, n * bytes);
  if (bit_width(out.dtype) < 8 && is_signed_integer(in.dtype) != is_signed_integer(out.dtype)) toStorageForm(out);
}

/// Wide rows and the k rows of narrow elements each stands for.
struct Split {
  int64_t rows, lanes;
  int k, narrowBits;
  uint32_t signBit;  // of narrow elements that are stored sign-extended; else 0
  bool splat;
};

/// Narrow row r * k + j = bits [j, j + 1) * narrowBits of wide row r.
template <class Wide, class Narrow>
void splitRows(const Split& s, const std::byte* from, std::byte* to) {
  const Wide* wide = reinterpret_cast<const Wide*>(from);
  Narrow* narrow = reinterpret_cast<Narrow*>(to);
  const Wide mask = static_cast<Wide>((uint64_t{1} << s.narrowBits) - 1);
  const Wide sign = static_cast<Wide>(s.signBit);
  for (int64_t r = 0; r < s.rows; ++r, wide += s.splat ? 0 : s.lanes)
    for (int j = 0; j < s.k; ++j, narrow += s.lanes)
      for (int64_t c = 0; c < s.lanes; ++c) {
        const Wide part = static_cast<Wide>(wide[s.splat ? 0 : c] >> (j * s.narrowBits)) & mask;
        narrow[c] = static_cast<Narrow>((part ^ sign) - sign);
      }
}

template <class Wide, class Narrow>
void joinRows(const Split& s, const std::byte* from, std::byte* to) {
  const Narrow* narrow = reinterpret_cast<const Narrow*>(from);
  Wide* wide = reinterpret_cast<Wide*>(to);
  const Wide mask = static_cast<Wide>((uint64_t{1} << s.narrowBits) - 1);
  for (int64_t r = 0; r < s.rows; ++r, wide += s.lanes)
    for (int j = 0; j < s.k; ++j, narrow += s.splat ? 0 : s.lanes)
      for (int64_t c = 0; c < s.lanes; ++c) {
        const Wide part = static_cast<Wide>((static_cast<Wide>(narrow[s.splat ? 0 : c]) & mask) << (j * s.narrowBits));
        wide[c] = j == 0 ? part : wide[c] | part;
      }
}

template <class Wide>
void splitOrJoin(const Split& s, int narrowBytes, bool split, const std::byte* from, std::byte* to) {
  switch (narrowBytes) {
    case 1:
      return split ? splitRows<Wide, uint8_t>(s, from, to) : joinRows<Wide, uint8_t>(s, from, to);
    case 2:
      return split ? splitRows<Wide, uint16_t>(s, from, to) : joinRows<Wide, uint16_t>(s, from, to);
    default:
      return split ? splitRows<Wide, uint32_t>(s, from, to) : joinRows<Wide, uint32_t>(s, from, to);
  }
}

}  // namespace

void bitcast(Input in, Output out) {
  const int from = bit_width(in.dtype), to = bit_width(out.dtype);
  if (from == to) return sameWidth(in, out);
  if (out.elements() == 0) return;
  const bool split = from > to;
  const DType narrow = split ? out.dtype : in.dtype, wide = split ? in.dtype : out.dtype;
  const Dims shape = split ? in.shape : out.shape;  // of the wide side
  const int rank = static_cast<int>(shape.size());
  const Split s{.rows = productOf(shape, 0, rank - 1),
                .lanes = shape[rank - 1],
                .k = split ? from / to : to / from,
                .narrowBits = std::min(from, to),
                .signBit = bit_width(narrow) < 8 && is_signed_integer(narrow) ? 1u << (bit_width(narrow) - 1) : 0,
                .splat = in.splat};
  switch (storage_bytes(wide)) {
    case 1:
      splitOrJoin<uint8_t>(s, storage_bytes(narrow), split, in.data, out.data);
      break;
    case 2:
      splitOrJoin<uint16_t>(s, storage_bytes(narrow), split, in.data, out.data);
      break;
    case 4:
      splitOrJoin<uint32_t>(s, storage_bytes(narrow), split, in.data, out.data);
      break;
    default:
      splitOrJoin<uint64_t>(s, storage_bytes(narrow), split, in.data, out.data);
      break;
  }
  if (!split && to < 8) toStorageForm(out);
}

}  // namespace smalti::eval
