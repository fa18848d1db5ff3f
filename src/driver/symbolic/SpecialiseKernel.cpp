// Kernels with symbolic dimensions. JAX writes them with a number near 2^31 in the place of each
// ("On Export Placeholders" in its lowering of Pallas), and two attributes of the module per number: the dimensions of
// operands that it depends on, and a program that computes it from them.
#include <map>

#include <fmt/format.h>

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Verifier.h"

#include "driver/symbolic/Specialise.h"
#include "interop/CapturedDiagnostics.h"
#include "interop/Interop.h"
#include "interop/bytecode/BytecodeLimits.h"
#include "ir/TpuOpsShape.h"
#include "ir/facts/SymbolicDims.h"
#include "ir/program/PlainOps.h"
#include "plain/PlainEvaluators.h"

namespace smalti::driver {
namespace {

using Sizes = std::map<int64_t, int64_t>;  ///< by the number that stands for a dimension

Diagnostic malformed(const KernelPackage& kernel, std::string what) {
  return {.code = "SM2016",
          .message = fmt::format("kernel '{}': {}", kernel.name, what),
          .place = {},
          .help = "export the module again"};
}

/// The sizes that `indices` names: of a dimension of an operand, or (dimension -1) the value of a grid bound.
Result<std::vector<Array>> sizesNamed(const KernelPackage& kernel, mlir::ArrayAttr indices,
                                      std::span<const std::optional<Array>> known, const Function& main) {
  std::vector<Array> sizes;
  if (!indices || indices.size() != main.arguments.size())
    return fail(malformed(kernel, "a symbolic dimension does not say what it depends on"));
  for (size_t i = 0; i < indices.size(); ++i) {
    const auto entry = mlir::dyn_cast<mlir::DictionaryAttr>(indices[static_cast<unsigned>(i)]);
    const auto operand = entry ? entry.getAs<mlir::IntegerAttr>("operand_index") : mlir::IntegerAttr();
    const auto dim = entry ? entry.getAs<mlir::IntegerAttr>("dimension_index") : mlir::IntegerAttr();
    const int64_t o = operand ? operand.getInt() : -1, d = dim ? dim.getInt() : -2;
    if (o < 0 || o >= static_cast<int64_t>(kernel.operands.size()))
      return fail(malformed(kernel, "a symbolic dimension depends on an operand that there is not"));
    const ArrayType& type = kernel.operands[static_cast<size_t>(o)];
    const auto& value = known[static_cast<size_t>(o)];
    int64_t size = 0;
    if (d >= 0 && d < static_cast<int64_t>(type.shape.size()))
      size = type.shape[static_cast<size_t>(d)];
    else if (d == -1 && value && value->elements() == 1 && is_integer(value->dtype()))
      size = plain::indexAt(*value, 0);
    else
      return fail(malformed(kernel, "a symbolic dimension depends on a size that is not known"));
    const ArrayType wanted = main.values[static_cast<size_t>(main.arguments[i])];
    auto scalar = Array::allocate({wanted.dtype, {}});
    if (!scalar) return fail(scalar.error());
    if (wanted == ArrayType{DType::i32, {}} && size <= INT32_MAX)
      *scalar->as<int32_t>() = static_cast<int32_t>(size);
    else if (wanted == ArrayType{DType::i64, {}})
      *scalar->as<int64_t>() = size;
    else
      return fail(malformed(kernel, fmt::format("a symbolic dimension is computed from {}", wanted.str())));
    sizes.push_back(std::move(*scalar));
  }
  return sizes;
}

Result<Sizes> sizesOf(const KernelPackage& kernel, std::span<const std::optional<Array>> known) {
  Sizes sizes;
  for (const mlir::NamedAttribute& attribute : (*kernel.module)->getAttrs()) {
    const auto number = symbolicDimOf(attribute.getName().getValue(), kDimModule);
    if (!number) continue;
    const auto text = mlir::dyn_cast<mlir::StringAttr>(attribute.getValue());
    if (!text) return fail(malformed(kernel, "a symbolic dimension has no program that computes it"));
    auto program = interop::importStableHlo(text.getValue().str(), fmt::format("{}:dimension", kernel.name),
                                            interop::Shapes::symbolic);
    if (!program) return fail(std::move(program.error()));
    const auto indices = (*kernel.module)->getAttrOfType<mlir::ArrayAttr>(fmt::format("{}{}", kDimIndices, *number));
    auto arguments = sizesNamed(kernel, indices, known, program->functions[static_cast<size_t>(program->main)]);
    if (!arguments) return fail(std::move(arguments.error()));
    auto results = computeSizes(*program, *arguments);
    if (!results) return fail(std::move(results.error()));
    if (results->size() != 1 || (*results)[0].elements() != 1 || !is_integer((*results)[0].dtype()))
      return fail(malformed(kernel, "the program of a symbolic dimension does not return one number"));
    sizes[*number] = plain::indexAt((*results)[0], 0);
    if (sizes[*number] < 0 || sizes[*number] > INT32_MAX - kMaxSymbolicDims)
      return fail(malformed(kernel, fmt::format("a dimension has size {}", sizes[*number])));
  }
  return sizes;
}

/// Replaces the numbers in types and attributes; in constants only where JAX writes a dimension as a value.
class Replacer {
 public:
  explicit Replacer(const Sizes& sizes) : sizes_(sizes) {
    types_.addReplacement([this](mlir::VectorType t) -> std::optional<mlir::Type> {
      if (llvm::is_contained(shape(t.getShape()), 0)) {
        hasEmptyVectors_ = true;  // which there are not
        return t;
      }
      return mlir::VectorType::get(shape(t.getShape()), t.getElementType());
    });
    types_.addReplacement([this](mlir::MemRefType t) -> std::optional<mlir::Type> {
      return mlir::MemRefType::get(shape(t.getShape()), t.getElementType(), t.getLayout(), t.getMemorySpace());
    });
    types_.addReplacement([this](mlir::DenseElementsAttr a) -> std::optional<mlir::Attribute> {
      if (!a.isSplat()) return std::nullopt;
      return mlir::DenseElementsAttr::get(mlir::cast<mlir::ShapedType>(types_.replace(mlir::Type(a.getType()))),
                                          a.getSplatValue<mlir::Attribute>());
    });
    types_.addReplacement([this](mlir::DenseI64ArrayAttr a) -> std::optional<mlir::Attribute> {
      return mlir::DenseI64ArrayAttr::get(a.getContext(), shape(a.asArrayRef()));
    });
    types_.addReplacement([this](mlir::IntegerAttr a) -> std::optional<mlir::Attribute> {
      return mlir::IntegerAttr::get(a.getType(), number(a.getValue().getSExtValue()));
    });
  }

  /// False: a vector would have no elements.
  bool run(mlir::ModuleOp module) {
    module->walk([&](mlir::Operation* op) {
      auto constant = mlir::dyn_cast<mlir::arith::ConstantOp>(op);
      const auto value = constant ? mlir::dyn_cast<mlir::IntegerAttr>(constant.getValue()) : mlir::IntegerAttr();
      if (value && !isDimension(constant, value)) return;
      types_.replaceElementsIn(op, /*replaceAttrs=*/true, /*replaceLocs=*/false, /*replaceTypes=*/true);
    });
    return !hasEmptyVectors_;
  }

 private:
  int64_t number(int64_t d) const {
    const auto found = sizes_.find(d);
    return found == sizes_.end() ? d : found->second;
  }
  llvm::SmallVector<int64_t> shape(llvm::ArrayRef<int64_t> dims) const {
    llvm::SmallVector<int64_t> made;
    for (const int64_t d : dims) made.push_back(number(d));
    return made;
  }
  /// The largest i32 is also written for itself: the location says which it is.
  bool isDimension(mlir::arith::ConstantOp constant, mlir::IntegerAttr value) const {
    if (!sizes_.contains(value.getValue().getSExtValue())) return false;
    if (value.getValue().getSExtValue() != INT32_MAX) return true;
    std::string location;
    llvm::raw_string_ostream(location) << constant.getLoc();
    return location.find("dim_as_value") != std::string::npos;
  }

  const Sizes& sizes_;
  mlir::AttrTypeReplacer types_;
  bool hasEmptyVectors_ = false;
};

/// JAX writes the sum of the numbers where vectors of symbolic size are concatenated: no size that there is.
void addJoinedSizes(mlir::ModuleOp module, Sizes& sizes) {
  module->walk([&](tpu::ConcatenateOp op) {
    const auto dim = static_cast<unsigned>(op.getDimension());
    const auto result = mlir::cast<mlir::VectorType>(op.getType());
    if (dim >= result.getRank() || result.getDimSize(dim) <= INT32_MAX) return;
    int64_t joined = 0;
    for (const mlir::Value part : op.getSources()) {
      const auto type = mlir::cast<mlir::VectorType>(part.getType());
      if (dim >= type.getRank()) return;
      const auto size = sizes.find(type.getDimSize(dim));
      joined += size == sizes.end() ? type.getDimSize(dim) : size->second;
    }
    sizes.emplace(result.getDimSize(dim), joined);  // the verifier refuses another concatenation with an equal sum
  });
}

/// Grid bounds of known value become static: their operands are not passed any more.
Status fixBounds(SpecialisedKernel& made, std::span<const std::optional<Array>> known, const Sizes& sizes) {
  KernelPackage& kernel = made.kernel;
  mlir::func::FuncOp f = kernel.kernelFunction();
  const auto given = f ? f->getAttrOfType<mlir::DenseI64ArrayAttr>("iteration_bounds") : mlir::DenseI64ArrayAttr();
  std::vector<bool> dropped(kernel.operands.size());
  if (given) {
    llvm::SmallVector<int64_t> bounds(given.asArrayRef());
    size_t operand = 0;
    for (int64_t& bound : bounds) {
      const bool symbolic = sizes.contains(bound);
      if (!symbolic && bound != kDynamicBound) continue;
      if (operand >= dropped.size()) return fail(malformed(kernel, "operands for grid bounds are missing"));
      const auto& value = known[operand];
      if (value && is_integer(value->dtype()) && value->elements() == 1) {  // i64 with jax_enable_x64
        bound = plain::indexAt(*value, 0);
        if (bound < 0 || bound > INT32_MAX)
          return fail(malformed(kernel, fmt::format("the grid has a bound of {}", bound)));
        dropped[operand] = true;
      } else if (symbolic) {
        return fail(malformed(kernel, "a grid bound depends on elements of arrays"));
      }
      ++operand;
    }
    f->setAttr("iteration_bounds", mlir::DenseI64ArrayAttr::get(f.getContext(), bounds));
  }
  std::vector<ArrayType> kept;
  std::vector<int> indexOf(dropped.size());
  for (size_t i = 0; i < dropped.size(); ++i) {
    indexOf[i] = static_cast<int>(kept.size());
    if (dropped[i]) continue;
    made.operands.push_back(i);
    kept.push_back(kernel.operands[i]);
  }
  for (Alias& alias : kernel.aliases)
    if (alias.operand >= 0 && alias.operand < static_cast<int>(dropped.size()))
      alias.operand = dropped[static_cast<size_t>(alias.operand)] ? -1 : indexOf[static_cast<size_t>(alias.operand)];
  kernel.operands = std::move(kept);
  return {};
}

/// Types are as large as the reader of modules allows, and the module is one again.
Status verifyModule(const KernelPackage& kernel) {
  constexpr auto kMaxElements = static_cast<int64_t>(interop::bytecode::kMaxElements);
  bool fits = true;
  const auto check = [&](mlir::Type type) {
    int64_t elements = 1;
    if (auto shaped = mlir::dyn_cast<mlir::ShapedType>(type); shaped && shaped.hasRank())
      for (const int64_t d : shaped.getShape())
        if (d >= 0 && (__builtin_mul_overflow(elements, d, &elements) || elements > kMaxElements)) fits = false;
  };
  (*kernel.module)->walk([&](mlir::Operation* op) {
    for (const mlir::Type t : op->getResultTypes()) check(t);
    for (mlir::Region& region : op->getRegions())
      for (mlir::Block& block : region)
        for (const mlir::Type t : block.getArgumentTypes()) check(t);
  });
  if (!fits) return fail(malformed(kernel, "an array of these shapes is too large"));
  interop::CapturedDiagnostics captured(*kernel.module->getContext());
  if (mlir::failed(mlir::verify(*kernel.module)))
    return fail(malformed(kernel, fmt::format("is invalid for these shapes: {}", captured.takeMessage())));
  return {};
}

}  // namespace

Result<SpecialisedKernel> specialiseKernel(const KernelPackage& symbolic, std::vector<ArrayType> operands,
                                           std::span<const std::optional<Array>> known,
                                           std::vector<ArrayType> results) {
  SpecialisedKernel made{symbolic.copy(), {}};
  KernelPackage& kernel = made.kernel;
  kernel.operands = std::move(operands);
  kernel.results = std::move(results);
  auto sizes = sizesOf(kernel, known);
  if (!sizes) return fail(sizes.error());
  if (!sizes->empty()) addJoinedSizes(*kernel.module, *sizes);
  if (Status fixed = fixBounds(made, known, *sizes); !fixed) return fail(std::move(fixed.error()));
  if (!sizes->empty()) {
    mlir::ModuleOp module = *kernel.module;
    for (const auto& [number, size] : *sizes)
      for (const std::string_view prefix : {kDimModule, kDimIndices})
        module->removeAttr(fmt::format("{}{}", prefix, number));
    if (!Replacer(*sizes).run(module)) return fail(malformed(kernel, "has vectors without elements for these shapes"));
    if (Status ok = verifyModule(kernel); !ok) return fail(std::move(ok.error()));
  }
  if (Status ok = finish(kernel); !ok) return fail(std::move(ok.error()));
  return made;
}

}  // namespace smalti::driver
