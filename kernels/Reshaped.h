// Arrays of another shape with the same elements, on the way into a kernel and out of it.
#pragma once

#include "smalti/smalti.h"

namespace smalti::kernels {

/// A traced array is reshaped by an op, another one without a copy.
inline Array reshaped(const Array& a, Shape shape) {
  return a.is_traced() ? reshape(a, std::move(shape)) : unwrap(a.reshaped(std::move(shape)));
}

}  // namespace smalti::kernels
