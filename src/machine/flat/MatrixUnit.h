// The explicit MXU's state: what tpu.matmul_push_rhs, _acc_lhs, _pop, _lhs_fifo and _pop_fifo share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "smalti/array.h"

namespace smalti::machine::flat {

/// A value kept outside the slots; `mask` empty: all defined.
struct StoredMatrix {
  ArrayType type;
  std::vector<std::byte> data;
  std::vector<uint8_t> mask;
};

struct MatrixUnit {
  std::map<int, StoredMatrix> staged;  ///< by staging register
  StoredMatrix weights;                ///< of the next product
  /// By start address: JAX gives each accumulator its own range and never slices it, so that an address names the same
  /// whole accumulator in every op, and the ranges of two accumulators do not overlap.
  std::map<int, StoredMatrix> accumulators;
  std::deque<StoredMatrix> fifo;
};

using MatrixUnits = std::map<int, MatrixUnit>;  ///< by mxu_index

}  // namespace smalti::machine::flat
