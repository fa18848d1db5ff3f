// The numerics of a run.
#pragma once

#include <cstdint>

namespace smalti {

/// What matrix products of f32 are. f32: computed in f32; tpu: in the bf16 passes that the precision asks for (S-E).
enum class Numerics : uint8_t { f32, tpu };

}  // namespace smalti
