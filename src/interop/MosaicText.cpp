#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include <fmt/format.h>

#include "interop/CapturedDiagnostics.h"
#include "interop/Interop.h"
#include "interop/serde/Serde.h"
#include "interop/text/Scan.h"
#include "ir/KernelOps.h"
#include "ir/KernelPackage.h"
#include "ir/Upgrade.h"

namespace smalti::interop {
namespace {

constexpr size_t kLongestMessage = 400;

Diagnostic fromMlir(const char* code, const char* what, CapturedDiagnostics& captured, const std::string& fileName) {
  Diagnostic d{.code = code, .message = what, .place = {.file = fileName}};
  if (!captured.first()) return d;
  std::string message = captured.first()->message;
  message = message.substr(0, message.find(". If this is intended"));  // a hint for users of mlir-opt
  if (message.size() > kLongestMessage) message = message.substr(0, kLongestMessage) + "...";
  d.message = fmt::format("{}: {}", what, message);
  if (SourcePlace place = placeOf(captured.first()->location); place.known()) d.place = place;
  return d;
}

/// Ops named "stable_mosaic.…" are unregistered; they may exist only while they are read.
class AllowUnregistered {
 public:
  AllowUnregistered(mlir::MLIRContext& context, bool allow) : context_(context) {
    context.allowUnregisteredDialects(allow);
  }
  ~AllowUnregistered() { context_.allowUnregisteredDialects(false); }

 private:
  mlir::MLIRContext& context_;
};

Status checkVocabulary(mlir::ModuleOp module) {
  std::optional<Diagnostic> refused;
  module->walk([&](mlir::Operation* op) {
    const std::string name = op->getName().getStringRef().str();
    if (isKernelOp(name)) return mlir::WalkResult::advance();
    refused = refuseOp(name, placeOf(op->getLoc()));
    return mlir::WalkResult::interrupt();
  });
  if (refused) return fail(std::move(*refused));
  return {};
}

}  // namespace

Result<mlir::OwningOpRef<mlir::ModuleOp>> readMosaicText(std::string_view text, mlir::MLIRContext& context,
                                                         const std::string& fileName) {
  auto scanned = text::scan(text, fileName);
  if (!scanned) return fail(std::move(scanned.error()));
  CapturedDiagnostics captured(context);
  mlir::OwningOpRef<mlir::ModuleOp> module;
  {
    AllowUnregistered allow(context, scanned->isStable);
    module = mlir::parseSourceString<mlir::ModuleOp>(
        scanned->text, mlir::ParserConfig(&context, /*verifyAfterParse=*/false), fileName.empty() ? "-" : fileName);
    if (!module) {
      Diagnostic d = fromMlir("SM2202", "the text cannot be read", captured, fileName);
      d.help = "a newer MLIR may print another syntax: give the generic form (print_generic_op_form=True)";
      return fail(std::move(d));
    }
    if (scanned->isStable)
      if (Status status = upgradeModule(*module); !status) return fail(std::move(status.error()));
  }
  if (Status status = checkVocabulary(*module); !status) return fail(std::move(status.error()));
  if (mlir::failed(mlir::verify(*module))) return fail(fromMlir("SM2203", "the kernel is invalid", captured, fileName));
  tpu::upgradeLegacyOps(*module);
  return module;
}

std::string exportMosaicText(const KernelPackage& kernel, bool generic) {
  std::string text;
  if (!kernel.module) return text;
  llvm::raw_string_ostream stream(text);
  mlir::OpPrintingFlags flags;
  if (generic) flags.printGenericOpForm();
  kernel.module.get().getOperation()->print(stream, flags);
  if (!text.ends_with('\n')) text += '\n';
  return text;
}

}  // namespace smalti::interop
