// The passes that rewrite kernels for this target, in order.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cpu/Processor.h"
#include "ir/KernelPackage.h"

namespace smalti::cpu {

/// The machine that kernels are rewritten for.
struct RewriteTarget {
  const Processor& processor;
  int cores = 1;
  bool devices = false;  ///< other devices run the call at the same time
};

/// One rewrite. It returns a kernel that computes the same from the same arrays; nullopt if it has nothing to change.
struct RewritePass {
  std::string_view name;     ///< "retile-matmul-grid"
  std::string_view summary;  ///< one line
  std::optional<KernelPackage> (*run)(const KernelPackage&, const RewriteTarget&);
  /// Consecutive passes with the same number are alternatives: only the first one that changes the kernel runs. 0: the
  /// pass has no alternative.
  int alternative = 0;
  /// Whether it also rewrites kernels that communicate with other devices, which rely on the order of accesses.
  bool suitsDevices = false;
};

/// All passes, in the order in which they run.
std::span<const RewritePass> rewritePasses();
/// Null if there is no pass of that name.
const RewritePass* findRewritePass(std::string_view name);

/// The kernel after all passes; nullopt: no pass changed it. `applied`: receives the names of the passes that changed
/// it; may be null.
std::optional<KernelPackage> runRewritePasses(const KernelPackage&, const RewriteTarget&,
                                              std::vector<std::string>* applied = nullptr);

}  // namespace smalti::cpu
