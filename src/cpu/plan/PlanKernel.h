// Makes the complete plan of a kernel's native code. Nothing is emitted, and LLVM's IR is not used.
#pragma once

#include <optional>

#include <tl/expected.hpp>

#include "cpu/Unsupported.h"
#include "cpu/plan/BodyPlan.h"
#include "cpu/plan/KernelPlan.h"
#include "ir/KernelPackage.h"

namespace smalti::cpu {

struct PlanOptions {
  int cores = 1;            ///< that share the call: block sizes depend on it
  bool sharesAxes = true;   ///< threads may share grid axes
  bool streams = true;      ///< results may be written with non-temporal stores
  bool checkBlocks = true;  ///< blocks outside their array are found
  bool devices = false;     ///< other devices run the call at the same time, and rely on the order of its steps
};

/// A kernel and its plan: what emit/Kernel.h needs to emit its code. It refers to the package that it was made for.
struct PlannedKernel {
  const KernelPackage* given = nullptr;
  std::optional<KernelPackage> rewritten;  ///< by rewrite/; nullopt: no pass changed the given one
  KernelPlan plan;                         ///< printable; refers to nothing
  BodyPlan body;                           ///< refers to the ops of package()

  const KernelPackage& package() const { return rewritten ? *rewritten : *given; }
};

tl::expected<PlannedKernel, Unsupported> planKernel(const KernelPackage&, const Processor&, const PlanOptions&);

}  // namespace smalti::cpu
