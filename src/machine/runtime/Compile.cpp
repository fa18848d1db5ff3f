// compileKernel: from a KernelPackage to the runtime's representation.
#include <fmt/format.h>

#include "ir/KernelArguments.h"
#include "ir/Place.h"
#include "ir/facts/GridBounds.h"
#include "ir/facts/OpFamilies.h"
#include "machine/flat/Types.h"
#include "machine/runtime/Compiled.h"
#include "machine/runtime/ProgramText.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace smalti::machine {

int CompiledKernel::numDynamicBounds() const {
  int n = 0;
  for (int64_t bound : grid) n += bound == kDynamicBound;
  return n;
}

int CompiledKernel::numInputs() const { return static_cast<int>(operands.size() - callResults.size()); }

namespace {

/// JAX's functions have no place, their ops do; of several the last, which is the result's.
SourcePlace placeOfMap(mlir::func::FuncOp function) {
  SourcePlace place = placeOf(function.getLoc());
  if (!place.known())
    for (mlir::Operation& op : function.getBody().front())
      if (SourcePlace at = placeOf(op.getLoc()); at.known()) place = std::move(at);
  return isJaxSource(place.file) ? SourcePlace() : place;  // JAX's map of a block spec without one
}

class KernelCompiler {
 public:
  KernelCompiler(const KernelPackage& package, const CompileOptions& options)
      : package_(package), arguments_(package), options_(options), function_(arguments_.function()) {}

  Result<std::shared_ptr<const CompiledKernel>> run() {
    if (!function_) return fail(internal("the module has no kernel function"));
    const KernelSignature& signature = package_.signature;
    kernel_->name = package_.name;
    kernel_->grid = signature.grid;
    if (signature.numDynamicBounds() == 0) kernel_->fixedGridSteps = gridPoints(signature.grid);
    kernel_->dimensionSemantics = signature.dimensionSemantics;
    kernel_->callOperands = package_.operands;
    kernel_->callResults = package_.results;
    kernel_->aliases = package_.aliases;
    kernel_->disablesSemaphoreChecks = package_.config.disableSemaphoreChecks.value_or(false);
    if (auto ok = arguments(); !ok) return fail(std::move(ok.error()));
    aliases();

    auto program = compile(function_, options_);
    if (!program) return fail(withKernel(std::move(program.error())));
    kernel_->program = std::move(*program);
    kernel_->valueBytes = valueBytes(*kernel_->program);

    Communication communication = findCommunication(function_, gridRank());
    kernel_->signalSites = std::move(communication.sites);
    kernel_->usesCommunication = communication.otherDevices;
    package_.module.get().walk([&](mlir::Operation* op) {  // index maps too
      kernel_->usesDeviceNumber |= op->getName().getStringRef() == "tpu.device_id";
    });
    kernel_->coreAxis = coreAxis(communication.otherCores);
    return std::shared_ptr<const CompiledKernel>(std::move(kernel_));
  }

 private:
  int gridRank() const { return static_cast<int>(package_.signature.grid.size()); }

  Diagnostic internal(std::string message) const {
    return withKernel({.code = "SM9001",
                       .message = std::move(message),
                       .place = {},
                       .help = "this is a bug in Smalti, not in the kernel: please report it with the module"});
  }
  Diagnostic withKernel(Diagnostic d) const {
    d.where.insert(d.where.begin(), fmt::format("kernel '{}'", package_.name));
    return d;
  }

  Result<ArgumentPlan> argument(mlir::BlockArgument value, std::string name) {
    auto type = mlir::dyn_cast<mlir::MemRefType>(value.getType());
    const auto dtype = type ? dtypeOf(type.getElementType()) : std::nullopt;
    const auto space = type ? flat::memorySpaceOf(type) : std::nullopt;
    if (!dtype || !space || !type.hasStaticShape())
      return fail(internal(
          fmt::format("argument {} of the kernel has type {}", value.getArgNumber(), typeText(value.getType()))));
    return ArgumentPlan{std::move(name), {*dtype, shapeOf(type)}, *space, mayBeWritten(value)};
  }

  Status arguments() {
    if (function_.getNumArguments() != arguments_.count() ||
        package_.signature.windows.size() != arguments_.numBlocks())
      return fail(internal(fmt::format("the kernel function has {} arguments, its signature says {}",
                                       function_.getNumArguments(), arguments_.count())));
    for (size_t i = 0; i < arguments_.numScalarPrefetch(); ++i) {
      auto plan = argument(arguments_.scalarPrefetch(i), fmt::format("prefetch {}", i));
      if (!plan) return fail(std::move(plan.error()));
      kernel_->prefetch.push_back(std::move(*plan));
    }
    for (size_t i = 0; i < arguments_.numBlocks(); ++i)
      if (auto ok = operand(i); !ok) return ok;
    for (size_t i = 0; i < arguments_.numScratch(); ++i) {
      auto plan = argument(arguments_.scratch(i), fmt::format("scratch {}", i));
      if (!plan) return fail(std::move(plan.error()));
      kernel_->scratch.push_back(std::move(*plan));
    }
    return {};
  }

  Status operand(size_t i) {
    const mlir::BlockArgument value = arguments_.block(i);
    const ArgumentRole role = *arguments_.roleOf(value);
    OperandPlan plan;
    plan.isOutput = role.kind == ArgumentRole::output;
    plan.index = role.index;
    auto base = argument(value, role.str());
    if (!base) return fail(std::move(base.error()));
    static_cast<ArgumentPlan&>(plan) = std::move(*base);
    plan.array = arguments_.arrayOf(i);
    plan.window = arguments_.windowOf(i);
    if (plan.window) {
      const mlir::func::FuncOp function = arguments_.indexMap(*plan.window);
      plan.mapPlace = placeOfMap(function);
      auto map = compileIndexMap(function, gridRank(), options_);
      if (!map) {
        map.error().where.push_back(fmt::format("index map of {}", plan.name));
        return fail(withKernel(std::move(map.error())));
      }
      plan.map = std::move(*map);
    }
    kernel_->operands.push_back(std::move(plan));
    return {};
  }

  void aliases() {
    for (size_t o = 0; o < arguments_.numOutputs(); ++o)
      if (const auto input = arguments_.aliasedInput(o))
        kernel_->operands[arguments_.numInputs() + o].sharedWith = static_cast<int>(*input);
  }

  /// The axis of cores: a core_parallel one; or, for a core mesh, the single parallel axis over whole operands of a
  /// kernel whose cores communicate.
  int coreAxis(bool otherCores) const {
    const auto& semantics = package_.signature.dimensionSemantics;
    for (size_t d = 0; d < semantics.size() && d < package_.signature.grid.size(); ++d)
      if (semantics[d] == DimensionSemantics::core_parallel || semantics[d] == DimensionSemantics::subcore_parallel)
        return static_cast<int>(d);
    bool whole = otherCores && gridRank() == 1 && semantics.size() == 1 && semantics[0] == DimensionSemantics::parallel;
    for (const auto& window : package_.signature.windows) whole &= !window.has_value();
    return whole ? 0 : -1;
  }

  const KernelPackage& package_;
  const KernelArguments arguments_;
  CompileOptions options_;
  mlir::func::FuncOp function_;
  std::shared_ptr<CompiledKernel> kernel_ = std::make_shared<CompiledKernel>();
};

}  // namespace

Result<std::shared_ptr<const CompiledKernel>> compileKernel(const KernelPackage& package, Numerics numerics) {
  return KernelCompiler(package, {.tpuNumerics = numerics == Numerics::tpu}).run();
}

}  // namespace smalti::machine
