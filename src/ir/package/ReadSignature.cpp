#include <fmt/format.h>

#include "mlir/IR/BuiltinAttributes.h"

#include "ir/Tpu.h"
#include "ir/package/Checks.h"

namespace smalti::package {
namespace {

std::string text(mlir::Attribute attribute) {
  std::string s;
  llvm::raw_string_ostream(s) << attribute;
  if (s.size() > 80) s = s.substr(0, 77) + "...";
  return s;
}

class SignatureReader {
 public:
  SignatureReader(mlir::func::FuncOp function, Violations& violations) : function_(function), violations_(violations) {}

  KernelSignature read() {
    readGrid();
    readSemantics();
    signature_.numScalarPrefetch = count("scalar_prefetch");
    signature_.numScratch = count("scratch_operands");
    readWindows();
    return std::move(signature_);
  }

 private:
  void malformed(llvm::StringRef attribute, std::string need, mlir::Attribute have) {
    violations_.add({.code = "SM3002",
                     .message = fmt::format("the kernel's attribute '{}' is malformed", attribute.str()),
                     .need = std::move(need),
                     .have = have ? text(have) : "none"});
  }

  void readGrid() {
    mlir::Attribute attribute = function_->getAttr("iteration_bounds");
    if (!attribute) return;
    auto bounds = mlir::dyn_cast<mlir::DenseI64ArrayAttr>(attribute);
    if (!bounds) return malformed("iteration_bounds", "array<i64: one bound per grid dimension>", attribute);
    for (int64_t bound : bounds.asArrayRef())
      if (bound < 0 && bound != kDynamicBound)
        return malformed("iteration_bounds", fmt::format("bounds of 0 or more ({} where dynamic)", kDynamicBound),
                         attribute);
    signature_.grid.assign(bounds.asArrayRef().begin(), bounds.asArrayRef().end());
  }

  void readSemantics() {
    const size_t rank = signature_.grid.size();
    mlir::Attribute attribute = function_->getAttr("dimension_semantics");
    signature_.dimensionSemantics.assign(rank, DimensionSemantics::arbitrary);
    if (!attribute) return;
    auto list = mlir::dyn_cast<mlir::ArrayAttr>(attribute);
    if (!list || !llvm::all_of(list, llvm::IsaPred<tpu::DimensionSemanticsAttr>))
      return malformed("dimension_semantics", "[#tpu.dimension_semantics<...>, ...]", attribute);
    if (violations_.has("SM3002")) return;
    if (list.size() != rank)
      return violations_.add({.code = "SM3005",
                              .message = "dimension_semantics does not fit the grid",
                              .need = fmt::format("one per grid dimension: {}", rank),
                              .have = fmt::format("{}", list.size())});
    for (size_t i = 0; i < rank; ++i)
      signature_.dimensionSemantics[i] = ours(mlir::cast<tpu::DimensionSemanticsAttr>(list[i]).getValue());
  }

  static DimensionSemantics ours(tpu::DimensionSemantics semantics) {
    switch (semantics) {
      case tpu::DimensionSemantics::parallel:
        return DimensionSemantics::parallel;
      case tpu::DimensionSemantics::arbitrary:
        return DimensionSemantics::arbitrary;
      case tpu::DimensionSemantics::core_parallel:
        return DimensionSemantics::core_parallel;
      case tpu::DimensionSemantics::subcore_parallel:
        return DimensionSemantics::subcore_parallel;
    }
    return DimensionSemantics::arbitrary;
  }

  int count(llvm::StringRef name) {
    mlir::Attribute attribute = function_->getAttr(name);
    if (!attribute) return 0;
    auto integer = mlir::dyn_cast<mlir::IntegerAttr>(attribute);
    const int most = static_cast<int>(function_.getNumArguments());
    if (!integer || !integer.getType().isSignlessInteger() || integer.getValue().getSignificantBits() > 32 ||
        integer.getInt() < 0 || integer.getInt() > most) {
      malformed(name, fmt::format("an integer from 0 to {}, the number of the kernel's arguments", most), attribute);
      return 0;
    }
    return static_cast<int>(integer.getInt());
  }

  void readWindows() {
    mlir::Attribute attribute = function_->getAttr("window_params");
    if (!attribute) return;
    auto list = mlir::dyn_cast<mlir::ArrayAttr>(attribute);
    if (!list || !llvm::all_of(list, llvm::IsaPred<mlir::DictionaryAttr>))
      return malformed("window_params", "a list of dictionaries, one per input and output", attribute);
    for (mlir::Attribute entry : list) signature_.windows.push_back(window(mlir::cast<mlir::DictionaryAttr>(entry)));
  }

  // {} is an operand passed whole; so is one of a core map, whose transform is a constant map instead of a function.
  std::optional<Window> window(mlir::DictionaryAttr entry) {
    const size_t index = signature_.windows.size();
    auto wrong = [&](const char* key, std::string need) -> std::optional<Window> {
      malformed(fmt::format("window_params[{}].{}", index, key), std::move(need), entry.get(key));
      return std::nullopt;
    };
    mlir::Attribute transform = entry.get("transform_indices");
    if (!transform && !entry.get("window_bounds")) return std::nullopt;
    if (auto map = mlir::dyn_cast_or_null<mlir::AffineMapAttr>(transform)) {
      for (mlir::AffineExpr result : map.getValue().getResults())
        if (auto constant = mlir::dyn_cast<mlir::AffineConstantExpr>(result); !constant || constant.getValue() != 0)
          return wrong("transform_indices", "a map to zeros, or the symbol of an index map function");
      return std::nullopt;
    }
    Window w;
    auto symbol = mlir::dyn_cast_or_null<mlir::FlatSymbolRefAttr>(transform);
    if (!symbol) return wrong("transform_indices", "the symbol of an index map function");
    w.transform = symbol.getValue().str();
    auto bounds = mlir::dyn_cast_or_null<mlir::DenseI64ArrayAttr>(entry.get("window_bounds"));
    if (!bounds) return wrong("window_bounds", "array<i64: block shape>");
    w.bounds.assign(bounds.asArrayRef().begin(), bounds.asArrayRef().end());
    if (mlir::Attribute kind = entry.get("window_kind")) {
      auto element = mlir::dyn_cast<tpu::ElementWindowAttr>(kind);
      auto fits = [&](llvm::ArrayRef<int64_t> pad) {
        return pad.size() == w.bounds.size() && llvm::all_of(pad, [](int64_t p) { return p >= 0; });
      };
      if (!element || !fits(element.getPadLow()) || !fits(element.getPadHigh()))
        return wrong("window_kind",
                     fmt::format("#tpu.element_window with {} paddings of 0 or more on each side", w.bounds.size()));
      w.elementIndexed = true;
      w.padLow = element.getPadLow().vec();
      w.padHigh = element.getPadHigh().vec();
    }
    if (mlir::Attribute mode = entry.get("pipeline_mode")) {
      auto known = mlir::dyn_cast<tpu::PipelineModeAttr>(mode);
      if (!known) return wrong("pipeline_mode", "#tpu.pipeline_mode<synchronous> or <double_buffered>");
      w.pipelineMode =
          known.getValue() == tpu::PipelineMode::synchronous ? PipelineMode::synchronous : PipelineMode::doubleBuffered;
    }
    if (mlir::Attribute mode = entry.get("revisit_mode")) {
      auto known = mlir::dyn_cast<tpu::RevisitModeAttr>(mode);
      if (!known) return wrong("revisit_mode", "#tpu.revisit_mode<immediate> or <any>");
      w.revisitMode = known.getValue() == tpu::RevisitMode::any ? RevisitMode::any : RevisitMode::immediate;
    }
    return w;
  }

  mlir::func::FuncOp function_;
  Violations& violations_;
  KernelSignature signature_;
};

}  // namespace

KernelSignature readSignature(mlir::func::FuncOp function, Violations& violations) {
  return SignatureReader(function, violations).read();
}

}  // namespace smalti::package
