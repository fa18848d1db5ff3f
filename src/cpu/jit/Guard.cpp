#include "cpu/jit/Guard.h"

#include <csetjmp>

#include "llvm/IR/DiagnosticHandler.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/raw_ostream.h"

namespace smalti::cpu {
namespace {

struct Guard {
  std::jmp_buf back;
  std::string reason;
};
thread_local Guard* innermost = nullptr;

/// LLVM has no exceptions, so the only way out of a function that must not return is a jump: as libclang does. Outside
/// of a guard this returns, and LLVM ends the process as usual.
void onFatalError(void*, const char* reason, bool) {
  if (!innermost) return;
  innermost->reason = reason;
  std::longjmp(innermost->back, 1);
}

class ErrorCollector : public llvm::DiagnosticHandler {
 public:
  ErrorCollector(std::string& errors, int64_t* frameBytes) : errors_(errors), frameBytes_(frameBytes) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
    if (const auto* frame = llvm::dyn_cast<llvm::DiagnosticInfoStackSize>(&info); frame && frameBytes_)
      *frameBytes_ += static_cast<int64_t>(frame->getStackSize());
    if (info.getSeverity() != llvm::DS_Error) return true;
    llvm::raw_string_ostream stream(errors_);
    if (!errors_.empty()) stream << '\n';
    llvm::DiagnosticPrinterRawOStream printer(stream);
    info.print(printer);
    return true;
  }

 private:
  std::string& errors_;
  int64_t* frameBytes_;
};

}  // namespace

std::optional<std::string> guardedFromFatalErrors(const std::function<void()>& work) {
  static const bool installed = [] {
    llvm::remove_fatal_error_handler();
    llvm::install_fatal_error_handler(onFatalError);
    return true;
  }();
  (void)installed;
  Guard guard;
  Guard* const outer = innermost;
  innermost = &guard;
  if (setjmp(guard.back) == 0) {
    work();
    innermost = outer;
    return std::nullopt;
  }
  innermost = outer;
  return std::move(guard.reason);
}

void collectErrors(llvm::LLVMContext& context, std::string& errors, int64_t* frameBytes) {
  context.setDiagnosticHandler(std::make_unique<ErrorCollector>(errors, frameBytes), /*RespectFilters=*/false);
}

}  // namespace smalti::cpu
