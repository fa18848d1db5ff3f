#include "cpu/jit/LeanCodegen.h"

#include <algorithm>
#include <array>

#include "llvm/IR/OptBisect.h"

namespace smalti::cpu {
namespace {

constexpr std::array<std::string_view, 21> kSkipped{
    // Addresses of our loops are one base and one offset already.
    "Loop Strength Reduction",
    "Canonicalize Freeze Instructions in Loops",
    "x86-optimize-leas",
    "x86-fixup-leas",
    // What the lean pipeline before has done.
    "machine-cse",
    "machine-sink",
    "postra-machine-sink",
    "peephole-opt",
    "consthoist",
    "lrshrink",
    // Copies, spills and blocks of few hot loops: nothing is left to gain.
    "machine-cp",
    "stack-slot-coloring",
    "shrink-wrap",
    "early-tailduplication",
    "early-ifcvt",
    // What our code has none of: string functions, masks in scalar registers, sums of absolute
    // differences, strided vectors.
    "mergeicmps",
    "expand-memcmp",
    "partially-inline-libcalls",
    "interleaved-access",
    "x86-domain-reassignment",
    "x86-partial-reduction",
};

class Gate : public llvm::OptPassGate {
 public:
  bool isEnabled() const override { return true; }
  bool shouldRunPass(llvm::StringRef pass, llvm::StringRef) const override {
    return std::ranges::find(kSkipped, std::string_view(pass)) == kSkipped.end();
  }
};

}  // namespace

std::span<const std::string_view> skippedPasses() { return kSkipped; }

llvm::OptPassGate& leanCodegen() {
  static Gate gate;
  return gate;
}

}  // namespace smalti::cpu
