#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"
#include "mlir/IR/MLIRContext.h"

#include "ir/KernelPackage.h"
#include "pjrt/Refusals.h"

namespace smalti::pjrt {

SourcePlace placeOfLocation(std::string_view text) {
  constexpr size_t kLongestBytes = 1 << 14;  // the parser recurses with the text's nesting
  if (!text.starts_with("loc(") || text.size() > kLongestBytes) return {};
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  const mlir::ScopedDiagnosticHandler silent(&context, [](mlir::Diagnostic&) { return mlir::success(); });
  const mlir::Attribute attribute = mlir::parseAttribute({text.data(), text.size()}, &context);
  const auto location = mlir::dyn_cast_or_null<mlir::LocationAttr>(attribute);
  return location ? placeOf(mlir::Location(location)) : SourcePlace{};
}

}  // namespace smalti::pjrt
