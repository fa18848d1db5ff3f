// Returns LLVM's errors as text: nothing is printed, nothing aborts.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace llvm {
class LLVMContext;
}

namespace smalti::cpu {

/// Runs `work`; the text of LLVM's report_fatal_error if it ended so ("Cannot select …"), absent if it returned. Then
/// the stack below was left without running destructors: what `work` made is lost to the process (a leak), and what
/// it changed of its surroundings must not be used again. A crash (a signal) is not caught.
std::optional<std::string> guardedFromFatalErrors(const std::function<void()>& work);

/// The errors of a context's diagnostics are appended to `errors` (one line each) instead of printed; warnings and
/// remarks are dropped. The sizes of the stack frames of functions with the attribute `warn-stack-size` are added to
/// `frameBytes`. Both must outlive the context's use.
void collectErrors(llvm::LLVMContext&, std::string& errors, int64_t* frameBytes = nullptr);

}  // namespace smalti::cpu
