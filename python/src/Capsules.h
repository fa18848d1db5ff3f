// Tensors of DLPack in Python's capsules.
#pragma once

#include <string_view>

#include <nanobind/nanobind.h>

#include "smalti/dlpack_interop.h"

namespace smalti::python {

/// The tensor of a capsule of that name, which gets the name of used ones; null: the capsule has another name.
template <class Tensor>
Tensor* takeTensor(const nanobind::object& capsule, const char* name, const char* used) {
  if (!PyCapsule_IsValid(capsule.ptr(), name)) return nullptr;
  auto* tensor = static_cast<Tensor*>(PyCapsule_GetPointer(capsule.ptr(), name));
  PyCapsule_SetName(capsule.ptr(), used);
  return tensor;
}

/// `use` takes ownership of the tensor in what `__dlpack__` has returned: a VersionedTensor* or a ManagedTensor*.
template <class Use>
auto takeTensor(const nanobind::object& capsule, Use&& use) {
  if (auto* t = takeTensor<dlpack::VersionedTensor>(capsule, "dltensor_versioned", "used_dltensor_versioned"))
    return use(t);
  if (auto* t = takeTensor<dlpack::ManagedTensor>(capsule, "dltensor", "used_dltensor")) return use(t);
  throw nanobind::type_error("__dlpack__ gave no capsule named 'dltensor' or 'dltensor_versioned'");
}

}  // namespace smalti::python
