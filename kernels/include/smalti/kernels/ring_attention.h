// Attention over a sequence that is split over the devices of a shard_map: keys and values travel around the ring while
// each device works on those that are there (ring attention, Liu et al. 2023, arXiv:2310.01889).
#pragma once

#include "smalti/kernels/collectives.h"

namespace smalti::kernels {

struct RingAttentionOptions {
  /// Of the scores; 0: 1 / sqrt(depth).
  float scale = 0;
  /// A query sees keys up to its own position in the whole sequence.
  bool causal = false;
  int64_t collective_id = 0;
};

/// q, k, v f32[heads, length, depth]: this device's part of the sequence, device 0 first → f32[heads, length, depth].
/// What a device has must fit into VMEM. Scores, their softmax and the result are accumulated in f32.
Array ring_attention(const Array& q, const Array& k, const Array& v, const std::string& axis,
                     const RingAttentionOptions& options = {});
PallasCall ring_attention_call(const ArrayType& q, const std::string& axis, const RingAttentionOptions& options = {});

}  // namespace smalti::kernels
