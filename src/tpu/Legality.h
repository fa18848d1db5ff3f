// Whether a TPU's compiler accepts a valid kernel on a chip, and if not, why.
// The rules are in src/tpu/rules, derived from the verdicts of libtpu 0.0.50.1 on thousands of kernels.
#pragma once

#include <span>
#include <string_view>

#include "ir/KernelPackage.h"
#include "tpu/chip/Chip.h"

namespace smalti::tpu {

/// One reason to refuse kernels. docs/tpu_legality.md lists them all.
struct Reason {
  std::string_view id;        ///< stable: "unaligned-index"
  std::string_view code;      ///< of its diagnostic: "SM6612"
  std::string_view compiler;  ///< how the compiler words it
  int stage;                  ///< of several reasons, the compiler says the one of the lowest stage
};

struct Refusal {
  const Reason* reason = nullptr;
  Diagnostic diagnostic;
};

enum class Fits : uint8_t { yes, no, uncertain };
std::string_view name(Fits);

/// The compiler's verdict on one kernel and chip.
struct Verdict {
  std::vector<Refusal> refusals;  ///< the compiler stops at the first; equal ones of one line are one
  Fits fits = Fits::yes;          ///< into VMEM
  int64_t vmemBytes = 0;          ///< windows, scratch and what the compiler adds
  bool accepted() const { return refusals.empty(); }
  const Reason* reason() const { return refusals.empty() ? nullptr : refusals.front().reason; }
};

Verdict judge(const KernelPackage&, const Chip&);
std::span<const Reason> reasons();

/// What Pallas itself does not lower for any TPU: SM6601 blocks of rank 2 and more, SM6602 of rank 1, SM6603 of rank 0,
/// SM6604 windows of ANY and HBM, SM6608 DMAs of bool. Each names the rule, the block and the chip.
std::vector<Diagnostic> notLowered(const KernelPackage&);

/// All that the compilers of these chips (names, files, "all") refuse. SM6609: there is no such chip.
Result<std::vector<Diagnostic>> refusalsOf(const KernelPackage&, std::string_view chips);

/// Fails with the first broken rule, the others `related`: of the compiler of that chip (a name or a file, or several),
/// or, without one, of Pallas. SM6609: there is no such chip.
Status checkLegal(const KernelPackage&, std::string_view chips = {});

}  // namespace smalti::tpu
