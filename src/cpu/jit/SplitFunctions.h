// Divides functions that are so large that code generation takes too long.
#pragma once

namespace llvm {
class Module;
}

namespace smalti::cpu {

/// Kernels whose loops were unrolled by hand can have 100,000 instructions in one function, for which register
/// allocation and the analyses before it take time that grows faster than their number. In such a function, each loop
/// of moderate size becomes a function of its own, and so do pieces of what is between them; equal ones become one.
void splitLargeFunctions(llvm::Module&);

}  // namespace smalti::cpu
