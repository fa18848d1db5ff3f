#include "machine/runtime/Inbox.h"

#include <fmt/format.h>

#include "ir/Types.h"
#include "machine/flat/Program.h"
#include "machine/runtime/Runtime.h"

namespace smalti::machine {
namespace {

/// An invalid message: no run of the same kernel would send it.
tl::unexpected<Diagnostic> refuse(std::string what) {
  return fail({.code = "SM4058",
               .message = "a message from another device does not fit this one: " + std::move(what),
               .place = {},
               .need = "the same kernel with the same types on every device",
               .help = "start all processes with the same program, inputs and options"});
}

bool fits(int64_t first, std::span<const int64_t> shape, std::span<const int64_t> strides, int64_t elements) {
  if (shape.size() != strides.size()) return false;
  int64_t low = first, high = first;
  for (size_t d = 0; d < shape.size(); ++d) {
    int64_t reach = 0;
    if (shape[d] < 0 || __builtin_mul_overflow(shape[d] - 1, strides[d], &reach)) return false;
    if (shape[d] == 0) return true;
    if (__builtin_add_overflow(reach < 0 ? low : high, reach, reach < 0 ? &low : &high)) return false;
  }
  return low >= 0 && high < elements;
}

/// Each view of the chain is inside the one before it.
bool fits(const Address& a) {
  DType dtype = a.type.dtype;
  Shape shape = a.shape;
  for (const RefTransform& t : a.transforms) {
    const int64_t elements = checkedElements(shape), after = checkedElements(t.shape);
    if (elements < 0 || after < 0) return false;
    if (t.kind == RefTransform::Kind::slice) {
      if (t.starts.size() != shape.size() || t.shape.size() != shape.size() || t.dtype != dtype) return false;
      for (size_t d = 0; d < shape.size(); ++d)
        if (t.starts[d] < 0 || t.starts[d] > shape[d] || t.shape[d] > shape[d] - t.starts[d]) return false;
    } else if (elements * bit_width(dtype) != after * bit_width(t.dtype)) {
      return false;
    }
    dtype = t.dtype;
    shape = t.shape;
  }
  return checkedElements(shape) >= 0;
}

Allocation* at(const std::vector<std::unique_ptr<Allocation>>& all, int index) {
  return index >= 0 && static_cast<size_t>(index) < all.size() ? all[static_cast<size_t>(index)].get() : nullptr;
}

}  // namespace

Result<Allocation*> Inbox::find(const Address& address) {
  const AllocationId& id = address.allocation;
  const auto nothing = [&] { return refuse(fmt::format("it names memory that device {} has not", id.device)); };
  if (id.device < 0 || id.device >= runtime_.numDevices) return nothing();
  DeviceMemory& device = runtime_.devices[static_cast<size_t>(id.device)];
  Allocation* found = nullptr;
  if (id.kind == AllocationKind::array) {
    if (id.index >= 0 && static_cast<size_t>(id.index) < device.arrays.size())
      found = device.arrays[static_cast<size_t>(id.index)];
  } else {
    if (id.core < 0 || static_cast<size_t>(id.core) >= device.cores.size()) return nothing();
    const CoreMemory& core = device.cores[static_cast<size_t>(id.core)];
    switch (id.kind) {
      case AllocationKind::window:
        found = at(core.windows, id.index);
        break;
      case AllocationKind::prefetch:
        found = at(core.prefetch, id.index);
        break;
      case AllocationKind::scratch:
        found = at(core.scratch, id.index);
        break;
      case AllocationKind::barrier:
        found = core.barrier.get();
        break;
      default: {
        const flat::AllocationSite* site = nullptr;
        for (const flat::AllocationSite& s : runtime_.kernel.program->sites)
          if (s.identity == id.index) site = &s;
        if (!site) return nothing();
        auto region = runtime_.region(id.device, id.core, site->identity, site->type, site->space, site->place);
        if (!region) return region;
        found = *region;
        if (!found->live) found->touchedByPeer = true;
      }
    }
  }
  if (!found) return nothing();
  if (found->type != address.type)
    return refuse(fmt::format("{} is {} there and {} here", found->name, address.type.str(), found->type.str()));
  return found;
}

Result<Ref> Inbox::resolve(const Address& address) {
  auto found = find(address);
  if (!found) return fail(std::move(found.error()));
  for (size_t d = 0; d < address.present.size(); ++d)
    if (d >= address.shape.size() || address.present[d] > address.shape[d])
      return refuse(fmt::format("it reaches outside of {}", (*found)->name));
  const Shape& within = address.present.empty() ? address.shape : address.present;
  if (!fits(address.offset, within, address.strides, (*found)->type.elements()) || !fits(address))
    return refuse(fmt::format("it reaches outside of {}", (*found)->name));
  return Ref{*found,          address.offset, address.shape, address.strides, address.transforms,
             address.padding, address.present};
}

Result<Ref> Inbox::semaphore(const Address& address) {
  auto ref = resolve(address);
  if (ref && !(ref->strided() && ref->elements() == 1 && is_semaphore(ref->buffer->type.dtype)))
    return refuse(fmt::format("{} is not one semaphore", ref->buffer->name));
  return ref;
}

Status Inbox::deliver(const PutMessage& m) {
  auto target = resolve(m.target);
  if (!target) return fail(std::move(target.error()));
  auto raised = semaphore(m.semaphore);
  if (!raised) return fail(std::move(raised.error()));
  const auto n = static_cast<size_t>(target->elements());
  if (m.data.size() != n * static_cast<size_t>(storage_bytes(target->dtype())) ||
      (!m.mask.empty() && m.mask.size() != n))
    return refuse(fmt::format("{} bytes for {} elements of {}", m.data.size(), n, target->buffer->name));
  target->write(m.data.data(), m.mask.empty() || !runtime_.tracks ? nullptr : m.mask.data());
  semaphoreCount(*raised) += m.credit;
  runtime_.recordSignal(semaphoreIdOf(*raised), m.sender, true);
  return {};
}

Status Inbox::deliver(const SignalMessage& m) {
  auto raised = semaphore(m.semaphore);
  if (!raised) return fail(std::move(raised.error()));
  semaphoreCount(*raised) += m.amount;
  runtime_.recordSignal(semaphoreIdOf(*raised), m.sender, false);
  return {};
}

}  // namespace smalti::machine
