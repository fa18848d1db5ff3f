// Exchange of arrays with other libraries: DLPack, strided views, single elements.
#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

#include "smalti/array.h"

namespace smalti {

/// DLPack's C structures: a DLManagedTensor* of any library is a ManagedTensor* here, a DLManagedTensorVersioned*
/// (since DLPack 1.0) a VersionedTensor*. Python's `__dlpack__` returns them in capsules named "dltensor" and
/// "dltensor_versioned".
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
/// Version of the layout: another major version has another layout, except for the fields up to `deleter`.
struct Version {
  uint32_t major = 1, minor = 0;
  bool operator==(const Version&) const = default;
};
/// The version of exported tensors, and the newest major version that can be imported.
inline constexpr Version kVersion{1, 0};
inline constexpr uint64_t kReadOnly = 1, kCopied = 2;  ///< flags
struct VersionedTensor {
  Version version;
  void* manager_ctx;
  void (*deleter)(VersionedTensor*);
  uint64_t flags;
  Tensor dl_tensor;
};
}  // namespace dlpack

/// The array's elements for another library, which calls `deleter` once when it is done. Error SM6308 for dtypes that
/// DLPack lacks or packs differently (below a byte), and for traced arrays.
Result<dlpack::ManagedTensor*> to_dlpack(const Array& array);
/// The same with a version, for a consumer that understands up to `newest` (`max_version` of Python's `__dlpack__`):
/// error SM6308 if that is before 1.0; use `to_dlpack` then. `flags`: kReadOnly for elements that the consumer
/// must not write to, kCopied for those without other owners.
Result<dlpack::VersionedTensor*> to_dlpack_versioned(const Array& array, dlpack::Version newest = dlpack::kVersion,
                                                     uint64_t flags = 0);
/// Takes ownership of the tensor: row-major CPU memory is shared, other strides are copied. Its deleter is called when
/// the last Array of it is destroyed, or here if it is copied or refused (SM6308).
Result<Array> from_dlpack(dlpack::ManagedTensor* tensor);
/// The same; refuses newer major versions. The elements of a read-only tensor are copied, unless
/// `share_read_only` promises that the Array is not written (an Executable does not write to its inputs).
Result<Array> from_dlpack(dlpack::VersionedTensor* tensor, bool share_read_only = false);

/// A dense copy of strided memory; strides, one per axis, are in bytes and may be 0 or negative. Error SM6308: another
/// number of strides. SM1009: no memory.
Result<Array> from_strided(ArrayType type, const void* data, const std::vector<int64_t>& byte_strides);

/// The element of an array with one element, converted to T; throws Error (SM6303: several elements; SM6105:
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
