// Memories of the abstract machine: buffers, and refs (views of buffers) as kernels see them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "eval/Poison.h"
#include "smalti/array.h"
#include "smalti/diagnostic.h"

namespace smalti::machine {

enum class MemoryKind : uint8_t { any, vmem, smem, hbm, cmem, semaphore, vmemShared, host };
std::string_view name(MemoryKind);

/// One allocation: a whole array in HBM, a window or scratch in VMEM or SMEM, a semaphore array.
/// Elements are stored as in Array (one per storage_bytes), row-major. `defined` is the initialisation
/// shadow: one byte (0/1) per element, empty while `allDefined` (then nothing needs to be looked up).
struct Buffer {
  std::string name;  ///< its name for the user: "operand 1", "scratch 0", "output window 0", "run_scoped at f.py:12"
  ArrayType type;
  MemoryKind space = MemoryKind::vmem;
  int device = 0;
  int core = -1;      ///< -1: shared by the device's cores (HBM, host)
  SourcePlace place;  ///< of its allocation, if by the kernel
  Array storage;      ///< owned or a view of the caller's array
  bool allDefined = true;
  std::vector<uint8_t> defined;

  std::byte* data() { return storage.data(); }
  int elementBytes() const { return storage_bytes(type.dtype); }
  /// Makes the shadow explicit (all elements equal to `allDefined`), so that parts of it can be changed.
  void materialiseShadow();
};

/// Reshape or bitcast (or a slice after one) that strides cannot express: applied, in order, to the strided view.
struct RefTransform {
  enum class Kind : uint8_t { reshape, bitcast, slice } kind;
  DType dtype;                  ///< element type after it
  Shape shape;                  ///< shape after it
  std::vector<int64_t> starts;  ///< slice only
};

/// A view: a strided window of a buffer, then (rarely) a chain of transforms.
/// Offsets and strides count elements of `buffer->type.dtype`.
struct Ref {
  Buffer* buffer = nullptr;
  int64_t offset = 0;
  Shape shape;  ///< of the strided window
  Shape strides;
  std::vector<RefTransform> transforms;
  /// Arrays in HBM occupy whole tiles: how far the view may extend past its end in each dimension. Empty: not at all.
  Shape padding;
  /// For a view that does, and one that loads may read outside its ref: the elements present in each dimension, from
  /// its first one on. Empty: all of them.
  Shape present;

  DType dtype() const { return transforms.empty() ? buffer->type.dtype : transforms.back().dtype; }
  const Shape& viewShape() const { return transforms.empty() ? shape : transforms.back().shape; }
  bool strided() const { return transforms.empty(); }
  int64_t elements() const { return num_elements(viewShape()); }
  /// The part of a strided view that is inside the array.
  const Shape& presentShape() const { return present.empty() ? shape : present; }
  /// Bytes a DMA of this view moves: elements × bit width / 8.
  int64_t dmaBytes() const;

  static Ref whole(Buffer&);
  /// Views compose left to right, relative to the previous view (S-D7). Bounds are the caller's to check.
  Ref slice(std::span<const int64_t> starts, std::span<const int64_t> sizes) const;
  Ref squeeze(std::span<const int64_t> newShape) const;
  Ref reshape(std::span<const int64_t> newShape) const;
  Ref bitcast(DType, std::span<const int64_t> newShape) const;
  /// The same view of another buffer of the same type (the peer's, for remote DMA and signals).
  Ref on(Buffer& other) const;

  /// Copies the view to dense memory, `elements()` elements; `mask` (may be null) gets the shadow, and the
  /// result is whether every element is defined. Padding is not copied: it is undefined.
  bool read(std::byte* out, uint8_t* mask) const;
  /// Writes dense elements to the view; `mask` null: all defined. Elements in the padding are dropped.
  void write(const std::byte* in, const uint8_t* mask) const;
  /// The shadow's part of `write`, of a strided view.
  void writeShadow(const uint8_t* mask) const;
};

/// `padding` and `present` of `view`, a slice of the strided `ref`. Starts are inside the array.
void sliceTiles(const Ref& ref, std::span<const int64_t> starts, std::span<const int64_t> sizes, Ref& view);

using eval::Poison;
using eval::poison;

}  // namespace smalti::machine
