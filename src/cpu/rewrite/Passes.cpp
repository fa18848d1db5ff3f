#include "cpu/rewrite/Passes.h"

#include <algorithm>

#include "cpu/rewrite/ApproximateExponentials.h"
#include "cpu/rewrite/DivideMoves.h"
#include "cpu/rewrite/HoistAboveProducts.h"
#include "cpu/rewrite/LaneBroadcastElimination.h"
#include "cpu/rewrite/MatrixUnitProducts.h"
#include "cpu/rewrite/MultiplyNarrowFloats.h"
#include "cpu/rewrite/NarrowFloatMoves.h"
#include "cpu/rewrite/RoundInProducts.h"
#include "cpu/rewrite/UnwrittenLoads.h"
#include "cpu/rewrite/grid/AddGrid.h"
#include "cpu/rewrite/grid/DropEdgeMasks.h"
#include "cpu/rewrite/grid/FoldGridBounds.h"
#include "cpu/rewrite/grid/RetileMatmulGrid.h"
#include "cpu/rewrite/grid/RetileWithoutPadding.h"

namespace smalti::cpu {
namespace {

std::optional<KernelPackage> foldBounds(const KernelPackage& package, const RewriteTarget&) {
  return foldGridBounds(package);
}

std::optional<KernelPackage> eliminateBroadcasts(const KernelPackage& package, const RewriteTarget&) {
  return eliminateLaneBroadcasts(package);
}

std::optional<KernelPackage> hoistOps(const KernelPackage& package, const RewriteTarget&) {
  return hoistAboveProducts(package);
}

std::optional<KernelPackage> multiply(const KernelPackage& package, const RewriteTarget&) {
  return multiplyWithoutUnits(package);
}

std::optional<KernelPackage> moveNarrow(const KernelPackage& package, const RewriteTarget&) {
  return moveNarrowFloats(package);
}

std::optional<KernelPackage> divideStores(const KernelPackage& package, const RewriteTarget&) {
  return divideMoves(package);
}

std::optional<KernelPackage> multiplyNarrow(const KernelPackage& package, const RewriteTarget&) {
  return multiplyNarrowFloats(package);
}

std::optional<KernelPackage> approximate(const KernelPackage& package, const RewriteTarget&) {
  return approximateExponentials(package);
}

std::optional<KernelPackage> divideSingleStep(const KernelPackage& package, const RewriteTarget& target) {
  return addGrid(package, target.cores);
}

/// Masks may be dropped only if the reduction becomes one step, whose blocks are whole.
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

std::optional<KernelPackage> roundRight(const KernelPackage& package, const RewriteTarget& target) {
  return roundInProducts(package, target.processor);
}

std::optional<KernelPackage> markLoads(const KernelPackage& package, const RewriteTarget&) {
  return markUnwrittenLoads(package);
}

constexpr int kRetiling = 1;
constexpr RewritePass kPasses[] = {
    {"fold-grid-bounds", "replaces the bounds of grid axes, for which a kernel asks, by constants", foldBounds, 0,
     true},
    {"multiply-without-units", "replaces products computed step by step on a matrix unit by products", multiply},
    {"eliminate-lane-broadcasts", "computes values that are equal in all lanes once per row", eliminateBroadcasts},
    {"move-narrow-floats", "moves narrow floats without widening or unpacking them", moveNarrow},
    {"divide-moves", "stores concatenations part by part, and loads parts of vectors alone", divideStores, 0, true},
    {"multiply-narrow-floats", "multiplies bf16 that a kernel has widened to f32 as bf16", multiplyNarrow, 0, true},
    {"approximate-exponentials", "lets the weights of a softmax be less exact where they are rounded to 16 bits",
     approximate, 0, true},
    {"add-grid", "divides a kernel without a grid into steps that threads share", divideSingleStep},
    {"retile-masked-matmul-grid",
     "drops the masks of a product's partial block, and merges its reduction into one step", retileMaskedGrid,
     kRetiling},
    {"retile-matmul-grid",
     "merges a product's reduction into one step, in blocks for this processor's caches and cores", retileGrid,
     kRetiling},
    {kRetileWithoutPadding, "gives independent steps blocks that divide their arrays", retilePadding, kRetiling},
    {"hoist-above-products", "moves ops between a product and its store before the product", hoistOps, 0, true},
    {"round-in-products", "lets skinny products round their right operand to bf16 as they read it", roundRight, 0,
     true},
    {"mark-unwritten-loads", "lets ops that select or reshape elements read inputs in place", markLoads},
};

}  // namespace

std::span<const RewritePass> rewritePasses() { return kPasses; }

const RewritePass* findRewritePass(std::string_view name) {
  const auto* found = std::ranges::find(kPasses, name, &RewritePass::name);
  return found == std::end(kPasses) ? nullptr : found;
}

std::optional<KernelPackage> runRewritePasses(const KernelPackage& package, const RewriteTarget& target,
                                              std::vector<std::string>* applied) {
  std::optional<KernelPackage> now;
  int done = 0;
  for (const RewritePass& pass : kPasses) {
    if (target.devices && !pass.suitsDevices) continue;
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
