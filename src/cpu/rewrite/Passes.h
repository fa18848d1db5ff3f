// Kernels as this target would rather have them: the passes that change a kernel, in order.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cpu/Processor.h"
#include "ir/KernelPackage.h"

namespace smalti::cpu {

/// What rewrites are made for.
struct RewriteTarget {
  const Processor& processor;
  int cores = 1;
};

/// One rewrite: a kernel that computes the same from the same arrays; nullopt where it has nothing to do.
struct RewritePass {
  std::string_view name;     ///< "retile-matmul-grid"
  std::string_view summary;  ///< what it does, in a line
  std::optional<KernelPackage> (*run)(const KernelPackage&, const RewriteTarget&);
  /// Of passes that follow each other with the same number, only the first that has something to do runs; 0: its own.
  int alternative = 0;
};

/// In the order in which they run.
std::span<const RewritePass> rewritePasses();
/// Null when there is none of that name.
const RewritePass* findRewritePass(std::string_view name);

/// The kernel after all passes; nullopt: it is good as it is. `applied`: gets the names of those that had something to
/// do; may be null.
std::optional<KernelPackage> optimizeGrid(const KernelPackage&, const RewriteTarget&,
                                          std::vector<std::string>* applied = nullptr);

}  // namespace smalti::cpu
