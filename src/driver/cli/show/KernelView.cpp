#include "driver/cli/show/KernelView.h"

#include "llvm/Support/raw_ostream.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "driver/cli/show/IndexMapText.h"
#include "ir/facts/SymbolicDims.h"

namespace smalti::cli {
namespace {

template <class T>
std::string printed(T thing) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  thing.print(stream);
  return text;
}

/// "#tpu.memory_space<vmem>" → "vmem".
std::string insideAngles(const std::string& text) {
  const size_t open = text.find('<'), close = text.rfind('>');
  if (open == std::string::npos || close == std::string::npos || close < open) return text;
  return text.substr(open + 1, close - open - 1);
}

std::string dims(llvm::ArrayRef<int64_t> shape) {
  std::vector<std::string> sizes;
  for (const int64_t d : shape) sizes.push_back(isSymbolicDim(d) ? "?" : std::to_string(d));
  return fmt::format("[{}]", fmt::join(sizes, ","));
}

std::string refText(mlir::Type type) {
  const auto memref = mlir::dyn_cast<mlir::MemRefType>(type);
  if (!memref) return printed(type);
  return printed(memref.getElementType()) + dims(memref.getShape());
}

std::string spaceText(mlir::Type type) {
  const auto memref = mlir::dyn_cast<mlir::MemRefType>(type);
  if (!memref) return "";
  return memref.getMemorySpace() ? insideAngles(printed(memref.getMemorySpace())) : "vmem";
}

std::string gridText(mlir::func::FuncOp function) {
  const auto bounds = function->getAttrOfType<mlir::DenseI64ArrayAttr>("iteration_bounds");
  if (!bounds) return "";
  std::vector<std::string> parts;
  for (const int64_t b : bounds.asArrayRef())
    parts.push_back(b == kDynamicBound || isSymbolicDim(b) ? "?" : std::to_string(b));
  return fmt::format("{}", fmt::join(parts, " x "));
}

std::string semanticsText(mlir::func::FuncOp function) {
  const auto list = function->getAttrOfType<mlir::ArrayAttr>("dimension_semantics");
  std::vector<std::string> parts;
  if (list)
    for (mlir::Attribute a : list) parts.push_back(insideAngles(printed(a)));
  return fmt::format("{}", fmt::join(parts, ", "));
}

void addWindow(OperandView& view, mlir::DictionaryAttr window, mlir::ModuleOp module) {
  std::vector<std::string> notes;
  if (const auto transform = window.getAs<mlir::FlatSymbolRefAttr>("transform_indices"))
    if (auto function = module.lookupSymbol<mlir::func::FuncOp>(transform.getValue()))
      view.indexMap = indexMapText(function);
  if (const mlir::Attribute kind = window.get("window_kind"))
    notes.push_back("element-indexed " + insideAngles(printed(kind)));
  if (const mlir::Attribute mode = window.get("pipeline_mode")) notes.push_back(insideAngles(printed(mode)));
  view.notes = fmt::format("{}", fmt::join(notes, ", "));
}

int integerAttribute(mlir::func::FuncOp function, const char* name) {
  const auto attribute = function->getAttrOfType<mlir::IntegerAttr>(name);
  return attribute ? static_cast<int>(attribute.getInt()) : 0;
}

std::vector<OperandView> operandViews(const KernelPackage& kernel, mlir::func::FuncOp function) {
  const auto bounds = function->getAttrOfType<mlir::DenseI64ArrayAttr>("iteration_bounds");
  const auto windows = function->getAttrOfType<mlir::ArrayAttr>("window_params");
  const int gridArguments = bounds ? static_cast<int>(bounds.size()) : 0;
  const int prefetch = integerAttribute(function, "scalar_prefetch");
  const int scratch = integerAttribute(function, "scratch_operands");
  const int arguments = static_cast<int>(function.getNumArguments());
  const int windowed = arguments - gridArguments - prefetch - scratch;
  const bool known = !kernel.results.empty() || !kernel.operands.empty();
  const int inputs = windowed - static_cast<int>(kernel.results.size());
  // Operands that are no arguments; a kernel with symbolic shapes has no signature yet.
  const int dynamicBounds = known ? std::max(0, static_cast<int>(kernel.operands.size()) - prefetch - inputs) : 0;
  std::vector<OperandView> views;
  for (int i = gridArguments; i < arguments; ++i) {
    const mlir::Type type = function.getArgument(static_cast<unsigned>(i)).getType();
    OperandView view{
        .role = {}, .space = spaceText(type), .array = {}, .ref = refText(type), .indexMap = {}, .notes = {}};
    const int p = i - gridArguments, w = p - prefetch;
    const auto operandType = [&](int operand) {
      const size_t at = static_cast<size_t>(dynamicBounds + operand);
      return at < kernel.operands.size() ? kernel.operands[at].str() : std::string();
    };
    if (p < prefetch) {
      view.role = fmt::format("prefetch {}", p);
      view.array = operandType(p);
    } else if (w >= windowed) {
      view.role = fmt::format("scratch {}", w - windowed);
    } else if (known && w >= inputs) {
      view.role = fmt::format("output {}", w - inputs);
      view.array = kernel.results[static_cast<size_t>(w - inputs)].str();
    } else {
      view.role = fmt::format("{} {}", known ? "input" : "operand", w);
      view.array = operandType(p);
    }
    if (windows && w >= 0 && w < static_cast<int>(windows.size()))
      if (const auto window = mlir::dyn_cast<mlir::DictionaryAttr>(windows[static_cast<unsigned>(w)]))
        addWindow(view, window, kernel.module.get());
    for (const Alias& alias : kernel.aliases)
      if (p >= 0 && w < inputs && alias.operand == dynamicBounds + p)
        view.notes += fmt::format("{}same array as output {}", view.notes.empty() ? "" : ", ", alias.output);
    views.push_back(std::move(view));
  }
  return views;
}

}  // namespace

std::string gridIndexName(size_t dim) {
  constexpr std::string_view kNames = "ijklmn";
  return dim < kNames.size() ? std::string(1, kNames[dim]) : fmt::format("i{}", dim);
}

KernelView viewKernel(const KernelPackage& kernel) {
  KernelView view;
  view.name = kernel.name;
  mlir::func::FuncOp function = kernel.kernelFunction();
  if (function) {
    if (view.name.empty()) view.name = function.getName().str();
    view.grid = gridText(function);
    view.semantics = semanticsText(function);
    view.operands = operandViews(kernel, function);
  }
  if (mlir::ModuleOp module = kernel.module.get())
    module->walk([&](mlir::Operation* op) {
      if (op != module.getOperation()) ++view.ops[op->getName().getStringRef().str()];
    });
  return view;
}

term::Table operandTable(const KernelView& view) {
  term::Table table({{"operand"}, {"space"}, {"array"}, {"block"}, {"index map"}, {""}});
  for (const OperandView& o : view.operands) table.add({o.role, o.space, o.array, o.ref, o.indexMap, o.notes});
  return table;
}

Json toJson(const KernelView& view) {
  Json operands = Json::array();
  for (const OperandView& o : view.operands)
    operands.push_back({{"operand", o.role},
                        {"space", o.space},
                        {"array", o.array},
                        {"block", o.ref},
                        {"index_map", o.indexMap},
                        {"notes", o.notes}});
  Json ops = Json::object();
  for (const auto& [op, count] : view.ops) ops[op] = count;
  return {{"name", view.name},
          {"grid", view.grid},
          {"dimension_semantics", view.semantics},
          {"operands", operands},
          {"ops", ops}};
}

}  // namespace smalti::cli
