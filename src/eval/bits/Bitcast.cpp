#include <cstring>

#include "eval/Bits.h"
#include "eval/Shape.h"
#include "eval/bits/Widen.h"
#include "eval/shape/Strides.h"

namespace smalti::eval {
namespace {

uint64_t loadBits(const std::byte* p, int bytes) {
  uint64_t x = 0;
  std::memcpy(&x, p, bytes);
  return x;
}

/// Stores the low bits of x as an element of `t`.
void storeBits(DType t, uint64_t x, std::byte* p) {
  if (bit_width(t) < 8)
    *p = std::byte(subByteStorage(t, static_cast<uint32_t>(x)));
  else
    std::memcpy(p, &x, storage_bytes(t));
}

void sameWidth(const Input& in, const Output& out) {
  const int bytes = storage_bytes(out.dtype);
  const int64_t n = out.elements();
  if (in.splat) {
    uint64_t element = 0;
    storeBits(out.dtype, loadBits(in.data, bytes), reinterpret_cast<std::byte*>(&element));
    return fill(out.data, &element, n, bytes);
  }
  if (n > 0) std::memcpy(out.data, in.data, n * bytes);
  if (bit_width(out.dtype) < 8 && is_signed_integer(in.dtype) != is_signed_integer(out.dtype))
    for (int64_t i = 0; i < n; ++i)  // the spare bits of the storage differ
      out.data[i] = std::byte(subByteStorage(out.dtype, static_cast<uint32_t>(out.data[i])));
}

/// Both widths whole bytes: parts of a wide element are `k` narrow elements, moved from lanes to rows.
void splitOrJoinBytes(const Input& in, const Output& out, int64_t blocks, int64_t rows, int64_t lanes, int k,
                      bool split) {
  const int64_t n = blocks * rows;
  const DimList shape{n, k, lanes};
  const DimList together{lanes * k, 1, k}, apart{lanes * k, lanes, 1};
  const DimList splatTogether{0, 1, 0};
  const int bytes = std::min(storage_bytes(in.dtype), storage_bytes(out.dtype));
  if (split)
    copyStrided(in.data, in.splat ? splatTogether : together, out.data, apart, shape, bytes);
  else
    copyStrided(in.data, in.splat ? DimList{0, 0, 0} : apart, out.data, together, shape, bytes);
}

/// Any widths: element by element through the bits.
void splitOrJoinBits(const Input& in, const Output& out, int64_t n, int64_t lanes, int k, bool split) {
  const int inBytes = storage_bytes(in.dtype), outBytes = storage_bytes(out.dtype);
  const int narrow = std::min(bit_width(in.dtype), bit_width(out.dtype));
  const uint64_t mask = (uint64_t{1} << narrow) - 1;
  auto source = [&](int64_t i) { return loadBits(in.data + (in.splat ? 0 : i * inBytes), inBytes); };
  for (int64_t r = 0; r < n; ++r)
    for (int64_t c = 0; c < lanes; ++c) {
      if (split) {
        const uint64_t word = source(r * lanes + c);
        for (int j = 0; j < k; ++j)
          storeBits(out.dtype, (word >> (j * narrow)) & mask, out.data + ((r * k + j) * lanes + c) * outBytes);
      } else {
        uint64_t word = 0;
        for (int j = 0; j < k; ++j) word |= (source((r * k + j) * lanes + c) & mask) << (j * narrow);
        storeBits(out.dtype, word, out.data + (r * lanes + c) * outBytes);
      }
    }
}

}  // namespace

void bitcast(Input in, Output out) {
  const int from = bit_width(in.dtype), to = bit_width(out.dtype);
  if (from == to) return sameWidth(in, out);
  if (out.elements() == 0) return;
  const bool split = from > to;
  const int k = split ? from / to : to / from;
  const Dims wide = split ? in.shape : out.shape;
  const int rank = static_cast<int>(wide.size());
  const int64_t blocks = productOf(wide, 0, rank - 2), rows = wide[rank - 2], lanes = wide[rank - 1];
  if (std::min(from, to) >= 8)
    splitOrJoinBytes(in, out, blocks, rows, lanes, k, split);
  else
    splitOrJoinBits(in, out, blocks * rows, lanes, k, split);
}

}  // namespace smalti::eval
