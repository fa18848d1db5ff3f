#include "pjrt/ElementTypes.h"

#include <fmt/format.h>

namespace smalti::pjrt {
namespace {

/// 0: none.
int typeNumber(DType dtype) {
  switch (dtype) {
    case DType::pred:
      return 1;
    case DType::i8:
      return 2;
    case DType::i16:
      return 3;
    case DType::i32:
      return 4;
    case DType::i64:
      return 5;
    case DType::u8:
      return 6;
    case DType::u16:
      return 7;
    case DType::u32:
      return 8;
    case DType::u64:
      return 9;
    case DType::f16:
      return 10;
    case DType::f32:
      return 11;
    case DType::f64:
      return 12;
    case DType::bf16:
      return 13;
    case DType::c64:
      return 14;
    case DType::c128:
      return 15;
    case DType::f8e5m2:
      return 16;
    case DType::f8e4m3fn:
      return 17;
    case DType::f8e4m3b11fnuz:
      return 18;
    case DType::i4:
      return 21;
    case DType::u4:
      return 22;
    case DType::i2:
      return 24;
    case DType::u2:
      return 25;
    case DType::f8e8m0fnu:
      return 28;
    case DType::f4e2m1fn:
      return 29;
    case DType::index:
    case DType::semaphore:
    case DType::dma_semaphore:
      return 0;
  }
  return 0;
}

}  // namespace

Result<int> bufferType(DType dtype) {
  if (const int number = typeNumber(dtype)) return number;
  return fail({.code = "SM6809",
               .message = fmt::format("arrays of {} cannot be on a device", name(dtype)),
               .place = {},
               .help = "semaphores and indices are inside kernels only"});
}

}  // namespace smalti::pjrt
