#pragma once

namespace smalti {

/// Most dimensions of an array or vector that is computed with. The evaluators' lists hold a few more, which they need
/// for themselves (eval/shape/Strides.h).
inline constexpr int kMaxDimensions = 12;

}  // namespace smalti
