// Which of LLVM's passes behind instruction selection are worth their time.
#pragma once

#include <span>
#include <string_view>

namespace llvm {
class OptPassGate;
}

namespace smalti::cpu {

/// The names, as LLVM asks for them, of passes that are left out: they find next to nothing in code that is emitted in
/// its final shape, and take a quarter of the time of code generation.
std::span<const std::string_view> skippedPasses();

/// For LLVMContext::setOptPassGate: all passes but those run.
llvm::OptPassGate& leanCodegen();

}  // namespace smalti::cpu
