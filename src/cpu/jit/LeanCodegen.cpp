#include "cpu/jit/LeanCodegen.h"

#include <algorithm>

#include "base/Lasting.h"
#include "llvm/IR/OptBisect.h"
#include "llvm/Pass.h"
#include "llvm/PassInfo.h"

namespace smalti::cpu {
namespace {

/// The names of micro-kernels (product/gemm/MicroKernel.h) for floats begin with this.
constexpr llvm::StringLiteral kKernelPrefix = "smalti_kernel_0_";

constexpr std::string_view kSkipped[] = {
    // Addresses in emitted loops already are one base plus one offset.
    "loop-reduce",
    "canon-freeze",
    "x86-optimize-leas",
    "x86-fixup-leas",
    // Already done by the lean pipeline.
    "machine-cse",
    "machine-sink",
    "postra-machine-sink",
    "peephole-opt",
    "consthoist",
    "lrshrink",
    "replace-with-veclib",
    // Copies, spills and block placement of a few hot loops: nothing to gain.
    "machine-cp",
    "machine-combiner",
    "machine-latecleanup",
    "stack-slot-coloring",
    "shrink-wrap",
    "early-tailduplication",
    "early-ifcvt",
    "regallocscoringpass",
    // Unused in emitted code: string functions, masks in scalar registers, sums of absolute differences, strided
    // vectors, tiles, collected garbage, exceptions, indirect jumps.
    "mergeicmps",
    "expand-memcmp",
    "partially-inline-libcalls",
    "interleaved-access",
    "x86-domain-reassignment",
    "x86-partial-reduction",
    "x86-lower-amx-intrinsics",
    "x86-lower-amx-type",
    "tilepreconfig",
    "x86-tile-config",
    "x86-lower-tile-copy",
    "gc-lowering",
    "shadow-stack-gc-lowering",
    "gc-analysis",
    "fixup-statepoint-caller-saved",
    "dwarf-eh-prepare",
    "funclet-layout",
    "indirectbr-expand",
    "callbrprepare",
    "objc-arc-contract",
    "remove-loads-into-fake-uses",
    // Not needed: variables for debuggers, probes, hardening.
    "removeredundantdebugvalues",
    "livedebugvalues",
    "stackmap-liveness",
    "stack-frame-layout",
    "post-inline-ee-instrument",
    "fentry-insert",
    "xray-instrumentation",
    "patchable-function",
    "pseudo-probe-inserter",
    "machine-sanmd",
    "safe-stack",
    "kcfi",
    "x86-slh",
    "x86-seses",
    "x86-lvi-load",
    "x86-lvi-ret",
    "x86-return-thunks",
    "x86-suppress-apx-for-relocation",
};

/// Keeps the machine scheduler away from product loops, whose loads are emitted where it would place them.
class Gate : public llvm::OptPassGate {
 public:
  bool isEnabled() const override { return true; }
  bool shouldRunPass(llvm::StringRef pass, llvm::StringRef unit) const override {
    return pass != "machine-scheduler" || !unit.contains(kKernelPrefix);
  }
};

}  // namespace

llvm::OptPassGate& leanGate() {
  static constinit Lasting<Gate> gate;
  return gate.get();
}

std::span<const std::string_view> skippedPasses() { return kSkipped; }

bool isSkipped(const llvm::Pass& pass) {
  const llvm::PassInfo* known = llvm::Pass::lookupPassInfo(pass.getPassID());
  return known && std::ranges::find(kSkipped, std::string_view(known->getPassArgument())) != std::end(kSkipped);
}

void LeanPassManager::add(llvm::Pass* pass) {
  if (isSkipped(*pass))
    delete pass;
  else
    PassManager::add(pass);
}

}  // namespace smalti::cpu
