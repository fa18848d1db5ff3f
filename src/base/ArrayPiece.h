// Arrays that share memory with others.
#pragma once

#include "smalti/array.h"

namespace smalti {

/// The owner of the elements of an array that is not traced; null for the caller's memory. An array has one such
/// pointer: that of a traced array belongs to its tracer.
inline const std::shared_ptr<void>& ownerOf(const Array& array) { return array.tracer(); }

/// Contiguous elements of `whole`, from number `first` on, as an array of that type in the same memory.
inline Array pieceOf(const Array& whole, const ArrayType& type, int64_t first) {
  return Array::view(type, const_cast<std::byte*>(whole.data()) + first * storage_bytes(type.dtype), ownerOf(whole));
}

}  // namespace smalti
