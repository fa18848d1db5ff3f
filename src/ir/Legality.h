// What a TPU's compiler wants of a kernel beyond what makes it a kernel. Targets that only compute do not ask;
// exporters do.
#pragma once

#include <span>
#include <string_view>

#include "ir/KernelPackage.h"

namespace smalti {

/// A generation of TPUs, as far as legality goes.
struct Chip {
  std::string_view name;
  int64_t defaultVmemBytes;   ///< limit of a kernel's VMEM unless it sets vmem_limit_bytes
  int64_t vmemCapacityBytes;  ///< what there is, whatever the limit
  bool narrowMatmul;          ///< 8-bit and 4-bit operands in the matrix unit
};
std::span<const Chip> chips();
/// Null when there is no such chip.
const Chip* findChip(std::string_view name);

/// What Pallas itself does not lower for any TPU: SM6601 blocks of rank 2 and more, SM6602 of rank 1, SM6603 of rank 0,
/// SM6604 windows of ANY and HBM, SM6608 DMAs of bool. Each names the rule, the block and the chip.
std::vector<Diagnostic> notLowered(const KernelPackage&);
/// The same, and what the chip's compiler refuses: SM6605 VMEM, SM6606 operands of a matrix product, SM6607 vectors of
/// f16.
std::vector<Diagnostic> illegalOn(const Chip& chip, const KernelPackage&);

/// Fails with the first broken rule, the others `related`: of that chip, or, without one, of Pallas.
/// SM6609: there is no such chip.
Status checkLegal(const KernelPackage&, std::string_view chip = {});

/// Bytes of VMEM that the windows and scratch of a kernel take at least, tiles and second buffers included.
int64_t vmemBytesAtLeast(const KernelPackage&);

}  // namespace smalti
