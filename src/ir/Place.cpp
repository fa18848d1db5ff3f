#include "ir/Place.h"

#include "llvm/ADT/STLExtras.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"

#include "base/Text.h"
#include "ir/KernelPackage.h"

namespace smalti {
namespace {

constexpr int kMaxNested = 64;

// The more informative of two places for the kernel's author.
int usefulness(llvm::StringRef file) {
  if (file.empty() || file == "-") return 0;
  if (isJaxSource({file.data(), file.size()}) || file.contains("site-packages/") || file.starts_with("<")) return 1;
  return isPythonSource({file.data(), file.size()}) ? 3 : 2;
}

// JAX lowers an op once and reuses the result with the location loc(""(callsite(first use at this use))), or, since
// 0.10.2, with the op's name twice at the end of the name: loc("get/get"(callsite(first use at this use))).
bool isUseOfCachedLowering(mlir::NameLoc named) {
  const auto [before, last] = named.getName().getValue().rsplit('/');
  const bool twice = !last.empty() && (before == last || before.ends_with(("/" + last).str()));
  return (named.getName().empty() || twice) && mlir::isa<mlir::CallSiteLoc>(named.getChildLoc());
}

// Inner places come first: of equally useful ones the first stays.
void visit(mlir::LocationAttr location, int depth, mlir::FileLineColLoc& best) {
  if (!location || depth > kMaxNested) return;
  if (auto file = mlir::dyn_cast<mlir::FileLineColLoc>(location)) {
    if (!best || usefulness(file.getFilename().strref()) > usefulness(best.getFilename().strref())) best = file;
  } else if (auto named = mlir::dyn_cast<mlir::NameLoc>(location)) {
    if (isUseOfCachedLowering(named))
      visit(mlir::cast<mlir::CallSiteLoc>(named.getChildLoc()).getCaller(), depth + 1, best);
    visit(named.getChildLoc(), depth + 1, best);
  } else if (auto call = mlir::dyn_cast<mlir::CallSiteLoc>(location)) {
    visit(call.getCallee(), depth + 1, best);
    visit(call.getCaller(), depth + 1, best);
  } else if (auto fused = mlir::dyn_cast<mlir::FusedLoc>(location)) {
    for (mlir::Location part : fused.getLocations()) visit(part, depth + 1, best);
  } else if (auto opaque = mlir::dyn_cast<mlir::OpaqueLoc>(location)) {
    visit(opaque.getFallbackLocation(), depth + 1, best);
  }
}

}  // namespace

bool isJaxSource(std::string_view file) { return file.find("jax/_src/") != file.npos; }

bool isPythonSource(std::string_view file) { return file.ends_with(".py") || file.starts_with("<"); }

SourcePlace placeIn(std::string_view file, int line, int column) {
  return {.file = printable(file), .line = line, .column = isPythonSource(file) ? column + 1 : column};
}

SourcePlace placeOf(mlir::Location location) {
  mlir::FileLineColLoc best;
  visit(location, 0, best);
  if (!best) return {};
  return placeIn(best.getFilename().strref(), static_cast<int>(best.getLine()), static_cast<int>(best.getColumn()));
}

}  // namespace smalti
