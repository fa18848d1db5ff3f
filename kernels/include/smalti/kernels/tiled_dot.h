// x · y block by block, into an accumulator that the result shares memory with.
#pragma once

#include "smalti/pallas_call.h"

namespace smalti::kernels {

enum class DotStart : uint8_t {
  /// Copies the accumulator's block at step 0: right on every machine.
  copied,
  /// Relies on the result's window holding what the aliased operand held. True where windows are reloaded at every
  /// step (`semantics` "hlo"); on a TPU the window starts uninitialised and the sum is garbage, which `check` reports.
  aliased,
};

struct TiledDotOptions {
  DotStart start = DotStart::copied;
  /// Elements per program; 0: chosen.
  int64_t block = 0;
};

/// accumulator + x · y, for vectors of one length and an accumulator of shape [1].
Array tiled_dot(const Array& x, const Array& y, const Array& accumulator, const TiledDotOptions& options = {});
PallasCall tiled_dot_call(const ArrayType& x, const TiledDotOptions& options = {});

}  // namespace smalti::kernels
