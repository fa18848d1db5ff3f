#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/MaxDimensions.h"
#include "base/RowMajor.h"
#include "lang/arrays/DlpackTensors.h"

namespace smalti {
namespace {

using dlpack::ManagedTensor;
using dlpack::VersionedTensor;

struct Row {
  DType dtype;
  uint8_t code;
};
/// Widths are the dtypes' own; elements below a byte are packed in DLPack and not here, so they are missing.
constexpr std::array kTypes{
    Row{DType::pred, 6},       Row{DType::i8, 0},      Row{DType::i16, 0},       Row{DType::i32, 0},
    Row{DType::i64, 0},        Row{DType::u8, 1},      Row{DType::u16, 1},       Row{DType::u32, 1},
    Row{DType::u64, 1},        Row{DType::f16, 2},     Row{DType::f32, 2},       Row{DType::f64, 2},
    Row{DType::bf16, 4},       Row{DType::f8e5m2, 12}, Row{DType::f8e4m3fn, 10}, Row{DType::f8e4m3b11fnuz, 9},
    Row{DType::f8e8m0fnu, 14}, Row{DType::c64, 5},     Row{DType::c128, 5},
};
int bitsOf(DType t) { return t == DType::pred ? 8 : bit_width(t); }

Diagnostic refused(std::string message, std::string need, std::string have) {
  return {.code = "SM6308",
          .message = std::move(message),
          .place = {},
          .need = std::move(need),
          .have = std::move(have),
          .help = "copy the elements to a CPU tensor of a dtype that both have"};
}

// The layout of dlpack.h 1.0 on machines with 64-bit pointers.
static_assert(sizeof(dlpack::Tensor) == 48 && offsetof(dlpack::Tensor, device) == 8 &&
              offsetof(dlpack::Tensor, ndim) == 16 && offsetof(dlpack::Tensor, dtype) == 20 &&
              offsetof(dlpack::Tensor, shape) == 24 && offsetof(dlpack::Tensor, strides) == 32 &&
              offsetof(dlpack::Tensor, byte_offset) == 40);
static_assert(sizeof(ManagedTensor) == 64 && offsetof(ManagedTensor, manager_ctx) == 48 &&
              offsetof(ManagedTensor, deleter) == 56);
static_assert(sizeof(VersionedTensor) == 80 && offsetof(VersionedTensor, manager_ctx) == 8 &&
              offsetof(VersionedTensor, deleter) == 16 && offsetof(VersionedTensor, flags) == 24 &&
              offsetof(VersionedTensor, dl_tensor) == 32);

/// The data that an exported tensor keeps alive.
template <class Managed>
struct Lent {
  Array array;
  Shape shape, strides;
  Managed tensor{};
};

/// Whether elements are contiguous; strides of axes of size 1 do not matter.
bool isDense(const Shape& shape, const Shape& strides) {
  const Shape dense = rowMajorStrides(shape);
  for (size_t d = 0; d < shape.size(); ++d)
    if (shape[d] != 1 && strides[d] != dense[d]) return num_elements(shape) == 0;
  return true;
}

bool hasShape(const dlpack::Tensor& t) {
  if (t.ndim < 0 || t.ndim > kMaxDimensions || (t.ndim > 0 && !t.shape)) return false;
  int64_t bits = 64;  // of an element, at most
  for (int32_t d = 0; d < t.ndim; ++d)
    if (t.shape[d] < 0 || __builtin_mul_overflow(bits, std::max<int64_t>(t.shape[d], 1), &bits)) return false;
  return true;
}

bool isAligned(const std::byte* data, DType dtype) {
  return reinterpret_cast<uintptr_t>(data) % static_cast<uintptr_t>(storage_bytes(dtype)) == 0;
}

}  // namespace

namespace dlpack {

template <class Managed>
Result<Managed*> lend(const Array& array, Device device) {
  const auto row = std::find_if(kTypes.begin(), kTypes.end(), [&](const Row& r) { return r.dtype == array.dtype(); });
  if (array.is_traced()) return fail(refused("a traced array has no memory", "a computed array", array.type().str()));
  if (row == kTypes.end())
    return fail(refused(fmt::format("DLPack has no {}", name(array.dtype())), "a dtype of whole bytes",
                        std::string(name(array.dtype()))));
  auto lent = std::make_unique<Lent<Managed>>(Lent<Managed>{array, array.shape(), rowMajorStrides(array.shape())});
  lent->tensor.dl_tensor = {.data = lent->array.data(),
                            .device = device,
                            .ndim = static_cast<int32_t>(array.rank()),
                            .dtype = {row->code, static_cast<uint8_t>(bitsOf(row->dtype)), 1},
                            .shape = lent->shape.data(),
                            .strides = lent->strides.data(),
                            .byte_offset = 0};
  lent->tensor.manager_ctx = lent.get();
  lent->tensor.deleter = [](Managed* t) { delete static_cast<Lent<Managed>*>(t->manager_ctx); };
  return &lent.release()->tensor;
}

template Result<ManagedTensor*> lend(const Array&, Device);
template Result<VersionedTensor*> lend(const Array&, Device);

Result<VersionedTensor*> lendVersioned(const Array& array, Device device, Version newest, uint64_t flags) {
  if (newest.major < kVersion.major)
    return fail({.code = "SM6308",
                 .message = "the consumer does not understand versioned tensors",
                 .place = {},
                 .need = "DLPack 1.0 or later",
                 .have = fmt::format("at most {}.{}", newest.major, newest.minor),
                 .help = "give it a DLManagedTensor: to_dlpack"});
  auto lent = lend<VersionedTensor>(array, device);
  if (!lent) return lent;
  (*lent)->version = kVersion;
  (*lent)->flags = flags;
  return lent;
}

Result<Array> taken(const Tensor& t, std::shared_ptr<void> owner, int32_t deviceType, bool mayShare) {
  const bool onCpu = deviceType == kCpu;
  const auto no = [&](std::string message, std::string need, std::string have) {
    Diagnostic d = refused(std::move(message), std::move(need), std::move(have));
    if (!onCpu) d.help = "copy the elements to a row-major tensor on the GPU, of a dtype that both have";
    return fail(std::move(d));
  };
  if (t.device.device_type != deviceType)
    return no(onCpu ? "the tensor is not in the CPU's memory" : "the tensor is not in a GPU's memory",
              onCpu ? "device type 1 (CPU)" : "device type 2 (CUDA)",
              fmt::format("device type {}", t.device.device_type));
  const auto row = std::find_if(kTypes.begin(), kTypes.end(), [&](const Row& r) {
    return r.code == t.dtype.code && bitsOf(r.dtype) == t.dtype.bits && t.dtype.lanes == 1;
  });
  if (row == kTypes.end())
    return no("the tensor's dtype is not supported", "integers, floats, bfloat or bool, one lane",
              fmt::format("code {}, {} bits, {} lanes", t.dtype.code, t.dtype.bits, t.dtype.lanes));
  if (!hasShape(t))
    return no("the tensor has no shape",
              fmt::format("at most {} axes, of sizes of 0 or more whose product 64 bits hold", kMaxDimensions),
              fmt::format("{} axes", t.ndim));
  const ArrayType type{row->dtype, Shape(t.shape, t.shape + t.ndim)};
  if (!t.data && type.elements() > 0)
    return no("the tensor has no memory", fmt::format("{} bytes", type.bytes()), "a null pointer");
  auto* data = static_cast<std::byte*>(t.data) + t.byte_offset;
  const Shape strides = t.strides ? Shape(t.strides, t.strides + t.ndim) : rowMajorStrides(type.shape);
  if (mayShare && isDense(type.shape, strides) && isAligned(data, type.dtype))
    return Array::view(type, data, std::move(owner));
  if (!onCpu)
    return no("the tensor cannot be used in place", "row-major elements, aligned to their size",
              fmt::format("strides [{}] of {}, address {:#x}", fmt::join(strides, ", "), type.str(),
                          reinterpret_cast<uintptr_t>(data)));
  Shape bytes = strides;
  for (int64_t& s : bytes) s *= storage_bytes(type.dtype);
  return from_strided(type, data, bytes);
}

Status checkVersion(const VersionedTensor& tensor) {
  if (tensor.version.major <= kVersion.major) return {};
  return fail({.code = "SM6308",
               .message = "the tensor uses a newer version of DLPack with a different layout",
               .place = {},
               .need = fmt::format("major version {}", kVersion.major),
               .have = fmt::format("version {}.{}", tensor.version.major, tensor.version.minor),
               .help = "ask the producer for an older one: __dlpack__(max_version=(1, 0))"});
}

}  // namespace dlpack

Result<ManagedTensor*> to_dlpack(const Array& array) { return dlpack::lend<ManagedTensor>(array, {dlpack::kCpu, 0}); }

Result<VersionedTensor*> to_dlpack_versioned(const Array& array, dlpack::Version newest, uint64_t flags) {
  return dlpack::lendVersioned(array, {dlpack::kCpu, 0}, newest, flags);
}

Result<Array> from_dlpack(ManagedTensor* tensor) {
  if (!tensor) return fail(refused("there is no tensor", "a DLManagedTensor", "null"));
  const std::shared_ptr<ManagedTensor> owner(tensor, dlpack::Release<ManagedTensor>{});
  return dlpack::taken(tensor->dl_tensor, owner, dlpack::kCpu, true);
}

Result<Array> from_dlpack(VersionedTensor* tensor, bool share_read_only) {
  if (!tensor) return fail(refused("there is no tensor", "a DLManagedTensorVersioned", "null"));
  const std::shared_ptr<VersionedTensor> owner(tensor, dlpack::Release<VersionedTensor>{});
  if (Status ok = dlpack::checkVersion(*tensor); !ok) return fail(std::move(ok.error()));
  return dlpack::taken(tensor->dl_tensor, owner, dlpack::kCpu,
                       share_read_only || (tensor->flags & dlpack::kReadOnly) == 0);
}

}  // namespace smalti
