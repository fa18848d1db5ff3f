// Ops on bit patterns: bitcasts that change width, packing, stochastic rounding, the hardware PRNG.
#pragma once

#include <array>

#include "eval/Tensor.h"

namespace smalti::eval {

/// tpu.bitcast / ref.bitcast: same bits under another dtype; a width change by k rescales dim -2: narrow row
/// r*k+j holds the j-th (low first) part of wide row r (S-D7, S-D8). Rank ≥ 2 when widths differ.
void bitcast(Input in, Output out);

/// tpu.pack_elementwise: source i goes to bits [i*b, (i+1)*b) of each word; b = width of `target` (S-E18).
/// Float sources are rounded to `target`, integers truncated.
bool packElementwise(std::span<const Input> sources, DType target, Output out);
/// tpu.unpack_elementwise: part `index` of each word, read as `source`, widened (sign-extended) to out's dtype.
bool unpackElementwise(Input in, DType source, int index, Output out);

/// tpu.stochastic_convert: f32 → out's dtype using the low bits of `bits` (S-E19).
bool stochasticConvert(Input value, Input bits, Output out);

/// tpu.reduce_precision, stablehlo.reduce_precision: n floats of dtype `t`, each rounded to that many bits (to
/// nearest, ties to even; infinity beyond its largest, zero below its smallest normal). False: not this dtype.
bool reducePrecision(DType t, const std::byte* from, int64_t n, int exponentBits, int mantissaBits, std::byte* to);

/// The documented stand-in for the hardware generator: Philox-4x32-10 keyed by the seed words (S-L2).
class Prng {
 public:
  void seed(std::span<const int32_t> words);
  /// Fills n 32-bit words.
  void fill(uint32_t* out, int64_t n);

 private:
  std::array<uint32_t, 2> key_{};
  uint64_t counter_ = 0;
};

}  // namespace smalti::eval
