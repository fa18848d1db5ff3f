// How much VMEM a kernel takes: windows × buffers, scratch, and what the compiler adds.
#pragma once

#include <string>
#include <vector>

#include "ir/KernelPackage.h"
#include "tpu/Legality.h"
#include "tpu/Temporaries.h"
#include "tpu/chip/Chip.h"

namespace smalti::tpu {

struct VmemPart {
  enum Kind : uint8_t { window, scratch, temporary } kind;
  std::string what;  ///< "input 0"
  ArrayType array;   ///< the block
  int64_t buffers = 1;
  int64_t bytes = 0;  ///< all buffers, padded to tiles
  SourcePlace place;  ///< of the kernel's first use
  /// Elements that are in the array, in bytes: the rest of a buffer is padding.
  int64_t usefulBytes() const;
};

/// Bytes of VMEM that the compiler allots to a part of this size: a multiple of 1 KiB.
int64_t allottedBytes(int64_t bytes);

struct VmemMap {
  std::vector<VmemPart> parts;
  Temporaries temporaries;
  int64_t limitBytes = 0;            ///< of this kernel on this chip
  std::vector<std::string> removed;  ///< scratch that uses no VMEM
  /// Windows and scratch, exactly.
  int64_t declaredBytes() const;
  /// Including the bytes that the compiler most likely adds.
  int64_t bytes() const { return declaredBytes() + temporaries.likely; }
  Fits fits() const;
};

VmemMap vmemOf(const KernelPackage&, const Chip&);

}  // namespace smalti::tpu
