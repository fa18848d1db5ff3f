// The module around the body: kernel function, index maps, attributes, the call's signature.
#include <algorithm>

#include <fmt/format.h>

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"

#include "base/process/ThreadLasting.h"
#include "ir/GpuParams.h"
#include "ir/Tpu.h"
#include "ir/TpuOpsMemory.h"
#include "ir/TpuOpsSync.h"
#include "lang/lower/DialectLowering.h"
#include "lang/lower/Lower.h"
#include "lang/trace/SourceLocationScope.h"

namespace smalti::lang {
namespace {

/// One context per thread: making one takes milliseconds.
std::shared_ptr<mlir::MLIRContext> context() {
  thread_local constinit ThreadLasting<const std::shared_ptr<mlir::MLIRContext>> shared;
  return shared.get(makeContext);
}

std::string symbol(std::string name) {
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) ? "k_" + name : name;
}

template <class Is>
bool hasOp(const KernelPackage& package, const Is& is) {
  return package.module
      ->walk([&](mlir::Operation* op) { return is(op) ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance(); })
      .wasInterrupted();
}

/// Whether the kernel communicates with other devices or uses the barrier semaphore, which the compiler must know.
bool communicates(const KernelPackage& package) {
  return hasOp(package, [](mlir::Operation* op) {
    if (auto copy = mlir::dyn_cast<tpu::EnqueueDMAOp>(op)) return static_cast<bool>(copy.getDeviceId());
    if (auto signal = mlir::dyn_cast<tpu::SemSignalOp>(op)) return static_cast<bool>(signal.getDeviceId());
    return mlir::isa<tpu::SemBarrierOp>(op);
  });
}

/// An id without a barrier would reserve a barrier semaphore needlessly; JAX also refuses it (E-A9).
void checkCollectiveId(const KernelPackage& package) {
  if (!package.config.collectiveId || hasOp(package, [](auto* op) { return mlir::isa<tpu::SemBarrierOp>(op); })) return;
  refuse({.code = "SM6236",
          .message = "collective_id has to be unspecified when a kernel does not use its barrier",
          .place = {},
          .need = "get_barrier_semaphore() in the kernel, or no collective_id",
          .have = fmt::format("collective_id = {}", *package.config.collectiveId),
          .help = "leave it out: a kernel without a barrier of its own begins with one of all devices"});
}

class KernelLowering {
 public:
  explicit KernelLowering(const TracedKernel& kernel)
      : kernel_(kernel), context_(context()), b_(context_.get()), i32_(b_.getI32Type()) {}

  KernelPackage run() {
    KernelPackage package;
    package.context = context_;
    package.module = mlir::ModuleOp::create(locationOf(*context_, kernel_.place));
    b_.setInsertionPointToEnd(package.module->getBody());
    kernelFunction();
    for (size_t i = 0; i < kernel_.operands.size(); ++i)
      if (kernel_.operands[i].indexMap) indexMap(i, *kernel_.operands[i].indexMap);
    package.name = symbol(kernel_.name);
    for (int i = 0; i < kernel_.numDynamicBounds(); ++i) package.operands.push_back({DType::i32, {}});
    package.operands.insert(package.operands.end(), kernel_.prefetch.begin(), kernel_.prefetch.end());
    for (size_t i = 0; i < kernel_.operands.size(); ++i)
      (static_cast<int>(i) < kernel_.numInputs ? package.operands : package.results)
          .push_back(kernel_.operands[i].array);
    for (auto* types : {&package.operands, &package.results})
      for (ArrayType& t : *types)
        if (t.dtype == DType::pred) t.dtype = DType::i32;  // as memory holds it
    package.aliases = kernel_.aliases;
    if (!kernel_.metadata.empty()) package.frontendAttributes["kernel_metadata"] = metadataJson(kernel_.metadata);
    if (const std::string text = gpuParamsText(kernel_.params.gpu); !text.empty()) {
      if (const auto possible = readGpuParams(text); !possible) refuse(possible.error());
      package.frontendAttributes[kGpuParams] = text;
    }
    package.hasSideEffect = kernel_.params.has_side_effects;
    configure(package);
    if (auto ok = finish(package); !ok) refuse(std::move(ok.error()));
    return package;
  }

 private:
  void kernelFunction() {
    std::vector<mlir::Type> types(kernel_.grid.size(), i32_);
    std::vector<MemRefValue> refs;
    const auto add = [&](const ArrayType& t, MemorySpace space, std::vector<bool> squeezed) {
      types.push_back(memrefType(*context_, t, space));
      refs.push_back({nullptr, std::move(squeezed)});
    };
    for (const ArrayType& t : kernel_.prefetch) add(t, MemorySpace::smem, std::vector<bool>(t.shape.size()));
    for (const TracedOperand& o : kernel_.operands) {
      std::vector<bool> squeezed;
      for (const BlockDim& d : o.block) squeezed.push_back(d.kind == BlockDim::Kind::squeezed);
      add({o.array.dtype, o.blockShape()}, o.space, std::move(squeezed));
    }
    for (const MemoryRef& s : kernel_.scratch) add({s.dtype, s.shape}, s.space, std::vector<bool>(s.shape.size()));

    const auto loc = locationOf(*context_, kernel_.place);
    auto f = mlir::func::FuncOp::create(b_, loc, symbol(kernel_.name), b_.getFunctionType(types, {}));
    attributes(f);
    mlir::Block* entry = f.addEntryBlock();
    const size_t g = kernel_.grid.size();
    for (size_t i = 0; i < refs.size(); ++i) refs[i].memref = entry->getArgument(g + i);

    DialectLowering lowering(mlir::OpBuilder::atBlockEnd(entry), kernel_.body);
    lowering.loc = loc;
    lowering.gridIndices = mlir::ValueRange(entry->getArguments().take_front(g));
    for (size_t i = 0; i < refs.size(); ++i) lowering.setRef(kernel_.body.function.arguments[i], refs[i]);
    lowering.ops(kernel_.body.function.ops);
    mlir::func::ReturnOp::create(lowering.b, loc);
  }

  void attributes(mlir::func::FuncOp f) {
    std::vector<mlir::Attribute> semantics;
    for (size_t i = 0; i < kernel_.grid.size(); ++i) {
      const auto s = i < kernel_.semantics.size() ? kernel_.semantics[i] : DimensionSemantics::arbitrary;
      semantics.push_back(tpu::DimensionSemanticsAttr::get(
          context_.get(), s == DimensionSemantics::parallel        ? tpu::DimensionSemantics::parallel
                          : s == DimensionSemantics::core_parallel ? tpu::DimensionSemantics::core_parallel
                                                                   : tpu::DimensionSemantics::arbitrary));
    }
    f->setAttr("dimension_semantics", b_.getArrayAttr(semantics));
    if (!kernel_.grid.empty()) {
      f->setAttr("iteration_bounds", b_.getDenseI64ArrayAttr(kernel_.grid));
      std::vector<mlir::Attribute> windows;
      for (size_t i = 0; i < kernel_.operands.size(); ++i) windows.push_back(window(i));
      f->setAttr("window_params", b_.getArrayAttr(windows));
    }
    f->setAttr("scalar_prefetch", b_.getI64IntegerAttr(static_cast<int64_t>(kernel_.prefetch.size())));
    f->setAttr("scratch_operands", b_.getI64IntegerAttr(static_cast<int64_t>(kernel_.scratch.size())));
    f->setAttr("tpu.core_type", tpu::CoreTypeAttr::get(context_.get(), tpu::CoreType::tc));
  }

  mlir::Attribute window(size_t i) {
    const TracedOperand& o = kernel_.operands[i];
    if (!o.windowed) return b_.getDictionaryAttr({});
    std::vector<mlir::NamedAttribute> entries{
        b_.getNamedAttr("transform_indices",
                        mlir::FlatSymbolRefAttr::get(context_.get(), fmt::format("transform_{}", i))),
        b_.getNamedAttr("window_bounds", b_.getDenseI64ArrayAttr(o.blockShape()))};
    const bool elements = std::any_of(o.block.begin(), o.block.end(),
                                      [](const BlockDim& d) { return d.kind == BlockDim::Kind::element; });
    if (elements) {
      std::vector<int64_t> low, high;
      for (const BlockDim& d : o.block) low.push_back(d.padding.first), high.push_back(d.padding.second);
      entries.push_back(b_.getNamedAttr("window_kind", tpu::ElementWindowAttr::get(context_.get(), low, high)));
    }
    if (o.pipelineMode) {
      entries.push_back(b_.getNamedAttr(
          "pipeline_mode", tpu::PipelineModeAttr::get(context_.get(), o.pipelineMode->buffer_count == 1
                                                                          ? tpu::PipelineMode::synchronous
                                                                          : tpu::PipelineMode::double_buffered)));
      if (o.pipelineMode->revisit)
        entries.push_back(b_.getNamedAttr(
            "revisit_mode", tpu::RevisitModeAttr::get(context_.get(), *o.pipelineMode->revisit == RevisitMode::any
                                                                          ? tpu::RevisitMode::any
                                                                          : tpu::RevisitMode::immediate)));
    }
    return b_.getDictionaryAttr(entries);
  }

  void indexMap(size_t operand, const TracedFunction& map) {
    std::vector<mlir::Type> types(kernel_.grid.size(), i32_);
    for (const ArrayType& t : kernel_.prefetch) types.push_back(memrefType(*context_, t, MemorySpace::smem));
    const std::vector<mlir::Type> results(map.function.resultTypes.size(), i32_);
    const auto loc = locationOf(*context_, placeOf(kernel_.operands[operand].at));
    auto f =
        mlir::func::FuncOp::create(b_, loc, fmt::format("transform_{}", operand), b_.getFunctionType(types, results));
    mlir::Block* entry = f.addEntryBlock();
    DialectLowering lowering(mlir::OpBuilder::atBlockEnd(entry), map);
    lowering.loc = loc;
    const size_t g = kernel_.grid.size();
    lowering.gridIndices = mlir::ValueRange(entry->getArguments().take_front(g));
    for (size_t i = 0; i < map.function.arguments.size(); ++i) {
      const ValueId v = map.function.arguments[i];
      if (i < g)
        lowering.set(v, entry->getArgument(i));
      else
        lowering.setRef(v, {entry->getArgument(i), std::vector<bool>(kernel_.prefetch[i - g].shape.size())});
    }
    const auto returned = lowering.ops(map.function.ops);
    mlir::func::ReturnOp::create(lowering.b, loc, returned);
  }

  void configure(KernelPackage& package) const {
    KernelConfig& c = package.config;
    const CompilerParams& p = kernel_.params;
    c.serializationFormat = 1;
    c.needsLayoutPasses = true;
    c.costEstimate = kernel_.cost;
    c.collectiveId = p.collective_id;
    if (communicates(package)) c.hasCommunication = true;
    checkCollectiveId(package);
    c.internalScratchInBytes = p.internal_scratch_in_bytes;
    c.allowInputFusion = p.allow_input_fusion;
    if (p.disable_bounds_checks) c.disableBoundsChecks = true;
    if (p.disable_semaphore_checks) c.disableSemaphoreChecks = true;
    if (p.skip_device_barrier) c.skipDeviceBarrier = true;
    if (p.shape_invariant_numerics) c.shapeInvariantNumerics = true;
    if (p.vmem_limit_bytes) c.scopedMemory.push_back({.memorySpace = 1, .offset = 0, .size = *p.vmem_limit_bytes});
  }

  const TracedKernel& kernel_;
  std::shared_ptr<mlir::MLIRContext> context_;
  mlir::OpBuilder b_;
  mlir::Type i32_;
};

}  // namespace

Shape TracedOperand::blockShape() const {
  Shape shape;
  for (const BlockDim& d : block) shape.push_back(d.kind == BlockDim::Kind::squeezed ? 1 : d.size);
  return shape;
}
Shape TracedOperand::refShape() const {
  Shape shape;
  for (const BlockDim& d : block)
    if (d.kind != BlockDim::Kind::squeezed) shape.push_back(d.size);
  return shape;
}
int TracedKernel::numDynamicBounds() const {
  return static_cast<int>(std::count(grid.begin(), grid.end(), kDynamicBound));
}

KernelPackage lowerKernel(const TracedKernel& kernel) { return KernelLowering(kernel).run(); }

}  // namespace smalti::lang
