// Arrays as tensors of DLPack, in any memory.
#pragma once

#include <memory>

#include "smalti/dlpack_interop.h"

namespace smalti::dlpack {

inline constexpr int32_t kCpu = 1, kCuda = 2;  ///< DLDeviceType of dlpack.h

template <class Managed>
struct Release {
  void operator()(Managed* t) const {
    if (t && t->deleter) t->deleter(t);
  }
};

/// The array, whose data() is an address of the device, as a tensor of either kind; the caller sets the version and the
/// flags. SM6308.
template <class Managed>
Result<Managed*> lend(const Array&, Device);
extern template Result<ManagedTensor*> lend(const Array&, Device);
extern template Result<VersionedTensor*> lend(const Array&, Device);

/// The same with the version and flags, for a consumer that understands versions up to `newest`.
Result<VersionedTensor*> lendVersioned(const Array&, Device, Version newest, uint64_t flags);

/// An Array of the tensor's elements, which `owner` keeps alive; `deviceType`: that of accepted tensors. Elements that
/// cannot be shared are copied if they are in the CPU's memory, and otherwise refused (SM6308).
Result<Array> taken(const Tensor&, std::shared_ptr<void> owner, int32_t deviceType, bool mayShare);

/// SM6308 for versions whose layout is unknown.
Status checkVersion(const VersionedTensor&);

}  // namespace smalti::dlpack
