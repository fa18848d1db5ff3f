#include "cpu/rewrite/Passes.h"

#include <algorithm>

#include "cpu/rewrite/DropEdgeMasks.h"
#include "cpu/rewrite/LaneBroadcastElimination.h"
#include "cpu/rewrite/NarrowFloatMoves.h"
#include "cpu/rewrite/RetileMatmulGrid.h"
#include "cpu/rewrite/RetileWithoutPadding.h"

namespace smalti::cpu {
namespace {

std::optional<KernelPackage> eliminateBroadcasts(const KernelPackage& package, const RewriteTarget&) {
  return eliminateLaneBroadcasts(package);
}

std::optional<KernelPackage> moveNarrow(const KernelPackage& package, const RewriteTarget&) {
  return moveNarrowFloats(package);
}

/// Without masks only where the sum is one step, whose blocks are whole.
std::optional<KernelPackage> retileMaskedGrid(const KernelPackage& package, const RewriteTarget& target) {
  const auto unmasked = dropEdgeMasks(package);
  if (!unmasked) return std::nullopt;
  auto made = retileMatmulGrid(*unmasked, target.processor, target.cores);
  if (!made || made->signature.grid.back() != 1) return std::nullopt;
  return made;
}

std::optional<KernelPackage> retileGrid(const KernelPackage& package, const RewriteTarget& target) {
  return retileMatmulGrid(package, target.processor, target.cores);
}

std::optional<KernelPackage> retilePadding(const KernelPackage& package, const RewriteTarget&) {
  return retileWithoutPadding(package);
}

constexpr int kRetiling = 1;
constexpr RewritePass kPasses[] = {
    {"eliminate-lane-broadcasts", "computes what has the same value in all lanes once per row", eliminateBroadcasts},
    {"move-narrow-floats", "moves narrow floats as what they are, not as wider ones or words", moveNarrow},
    {"retile-masked-matmul-grid", "drops the masks of a product's last block, and makes its sum one step",
     retileMaskedGrid, kRetiling},
    {"retile-matmul-grid", "makes a product's sum one step, in blocks for this processor's caches and cores",
     retileGrid, kRetiling},
    {"retile-without-padding", "gives independent steps blocks that divide their arrays", retilePadding, kRetiling},
};

}  // namespace

std::span<const RewritePass> rewritePasses() { return kPasses; }

const RewritePass* findRewritePass(std::string_view name) {
  const auto* found = std::ranges::find(kPasses, name, &RewritePass::name);
  return found == std::end(kPasses) ? nullptr : found;
}

std::optional<KernelPackage> optimizeGrid(const KernelPackage& package, const RewriteTarget& target,
                                          std::vector<std::string>* applied) {
  std::optional<KernelPackage> now;
  int done = 0;
  for (const RewritePass& pass : kPasses) {
    if (pass.alternative != 0 && pass.alternative == done) continue;
    auto made = pass.run(now ? *now : package, target);
    if (!made) continue;
    now = std::move(made);
    done = pass.alternative;
    if (applied) applied->emplace_back(pass.name);
  }
  return now;
}

}  // namespace smalti::cpu
