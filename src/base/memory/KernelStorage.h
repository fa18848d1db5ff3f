// How kernels store the elements of the arrays that they are called with. Inside a kernel integers are signless:
// unsigned ones keep their bits, those below a byte change from zero- to sign-extended storage; semaphore arrays become
// 64-bit counts.
#pragma once

#include "smalti/array.h"

namespace smalti {

/// True when the storage of `outside` elements differs from that of `inside` ones.
bool storageDiffers(DType outside, DType inside);
/// A copy of `array` with elements stored as `inside` wants them (storageDiffers).
Result<Array> toKernelStorage(const Array& array, DType inside);
/// The other way.
Result<Array> fromKernelStorage(const Array& array, const ArrayType& outside);
/// The same elements under another type of the same storage; shares them.
Array retyped(const Array& array, const ArrayType& type);

}  // namespace smalti
