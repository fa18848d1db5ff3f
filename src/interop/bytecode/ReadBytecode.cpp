#include "mlir/IR/Verifier.h"

#include <fmt/format.h>

#include "interop/Interop.h"
#include "interop/bytecode/AttrTypeReader.h"
#include "interop/bytecode/BuildModule.h"
#include "interop/bytecode/Model.h"
#include "ir/KernelPackage.h"
#include "ir/Upgrade.h"

namespace smalti::interop {

using namespace bytecode;

Result<mlir::OwningOpRef<mlir::ModuleOp>> readBytecode(std::string_view bytes, mlir::MLIRContext& context,
                                                       const std::string& fileName) {
  ReadState state(fileName);
  const BodyModel model = parseBody(bytes, state);
  if (!state.ok()) return fail(state.take());
  CapturedDiagnostics captured(context);
  AttrTypeReader reader(model, context, state, captured);
  mlir::OwningOpRef<mlir::ModuleOp> module = buildModule(model, context, state, reader);
  if (!state.ok()) return fail(state.take());
  if (mlir::failed(mlir::verify(*module))) {
    Diagnostic d{.code = "SM2109", .message = "the kernel is invalid"};
    if (captured.first()) {
      d.message = fmt::format("the kernel is invalid: {}", captured.first()->message);
      d.place = placeOf(captured.first()->location);
    }
    state.fail(std::move(d));
    return fail(state.take());
  }
  tpu::upgradeLegacyOps(*module);
  return module;
}

}  // namespace smalti::interop
