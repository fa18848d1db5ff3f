// Arrays from and to other libraries' memory: DLPack, strided views, single elements.
#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

#include "smalti/array.h"

namespace smalti {

/// DLPack's C structures (version 0.8's layout): a DLManagedTensor* of any library is a ManagedTensor* here.
namespace dlpack {
struct Device {
  int32_t device_type = 1;  ///< 1: CPU
  int32_t device_id = 0;
};
struct DataType {
  uint8_t code;  ///< 0 int, 1 uint, 2 float, 4 bfloat, 6 bool, 9, 10, 12, 17: narrow floats
  uint8_t bits;
  uint16_t lanes;
};
struct Tensor {
  void* data;
  Device device;
  int32_t ndim;
  DataType dtype;
  int64_t* shape;
  int64_t* strides;  ///< in elements; null: row-major
  uint64_t byte_offset;
};
struct ManagedTensor {
  Tensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(ManagedTensor*);
};
}  // namespace dlpack

/// The array's elements for another library, which calls `deleter` once when it is done. Error SM6308 for dtypes that
/// DLPack has not or packs otherwise (below a byte), and for traced arrays.
Result<dlpack::ManagedTensor*> to_dlpack(const Array& array);
/// Takes the tensor over: row-major memory of the CPU is shared, other strides are copied. Its deleter is called when
/// the last Array of it goes, or here when it is copied or refused (SM6308).
Result<Array> from_dlpack(dlpack::ManagedTensor* tensor);

/// A dense copy of strided memory; strides are in bytes and may be 0 or negative.
Result<Array> from_strided(ArrayType type, const void* data, const std::vector<int64_t>& byte_strides);

/// The element of an array of one, as T whatever the dtype; errors as an Error (SM6303: several elements; SM6105:
/// traced).
double item_as_double(const Array& array);
int64_t item_as_int(const Array& array);
template <class T>
T item(const Array& array) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(item_as_int(array));
  else
    return static_cast<T>(item_as_double(array));
}

}  // namespace smalti
