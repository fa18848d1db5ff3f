#include "gpu/emit/ops/ReduceInRegisters.h"

#include "cpu/ops/NativeOps.h"
#include "gpu/emit/ops/Shuffled.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace smalti::gpu {

std::optional<RegisterReduction> reductionInRegisters(const GpuLowering& l, mlir::Operation& op) {
  if (!llvm::isa<mlir::vector::MultiDimReductionOp>(op)) return std::nullopt;
  const auto kind = cpu::nativeReductionKind(op);
  const mlir::Value source = op.getOperand(0);
  if (!kind || l.distributionUnder(source)) return std::nullopt;
  RegisterReduction r{.kind = *kind, .dtype = elementDType(source.getType()), .shape = shapeOf(source.getType())};
  const auto dims = integersAttribute(op, "reduction_dims");
  size_t last = r.shape.size();
  while (last > 0 && r.shape[last - 1] == 1) --last;
  bool lastIsReduced = false;
  for (size_t d = 0; d < r.shape.size(); ++d) {
    if (llvm::is_contained(dims, static_cast<int64_t>(d))) {
      lastIsReduced |= d + 1 == last;
      continue;
    }
    r.kept.push_back(static_cast<int64_t>(d));
    r.results *= r.shape[d];
  }
  r.share = shareElements(r.shape, l.plan.threads, l.plan.longestRun);
  if (!lastIsReduced || !r.share.inRegisters || r.results > GpuLowering::kKnownElements) return std::nullopt;
  // With several results, all threads must be in the same row at a time.
  if (r.results > 1 && r.shape[last - 1] / r.share.run % r.share.threads != 0) return std::nullopt;
  return r;
}

namespace {

/// Combines pairwise, so that as many operations as possible are independent.
Reg combineAll(Builder& b, const RegisterReduction& r, std::vector<Reg> elements) {
  while (elements.size() > 1) {
    std::vector<Reg> next;
    for (size_t i = 0; i + 1 < elements.size(); i += 2)
      next.push_back(cpu::combine(b, r.kind, r.dtype, elements[i], elements[i + 1]));
    if (elements.size() % 2 != 0) next.push_back(elements.back());
    elements = std::move(next);
  }
  return elements.front();
}

/// The partial results of the warps.
struct Parts {
  DType dtype;
  Shape shape;
};

Parts partsOf(const GpuLowering& l, const RegisterReduction& r) {
  return {cpu::isNarrowFloat(r.dtype) ? DType::f32 : r.dtype, Shape{r.results, l.plan.threads / kWarp}};
}

View roomFor(GpuLowering& l, mlir::Operation& op, const Parts& parts) {
  const auto found = l.reductionBuffers.find(&op);
  if (found == l.reductionBuffers.end()) return l.allocate(parts.dtype, parts.shape);
  View room = found->second;
  Reg number = l.b.CreateLoad(l.b.getInt64Ty(), l.reductionBufferHalf);
  room.base = cpu::elementPointer(l.b, room, ElementIndex{number, l.index(0), l.index(0)});
  room.shape = parts.shape;
  room.strides = cpu::denseStrides(l.b, parts.shape);
  return room;
}

}  // namespace

MemorySet allocateReductionBuffers(GpuLowering& l, mlir::Block& body) {
  constexpr size_t kMaxReductions = 8;  // chosen, not measured
  MemorySet memories;
  for (mlir::Operation& op : body) {
    const auto reduction = reductionInRegisters(l, op);
    if (!reduction || memories.size() == kMaxReductions) continue;
    const Parts parts = partsOf(l, *reduction);
    View both = l.allocate(parts.dtype, Shape{2, parts.shape[0], parts.shape[1]});
    memories.insert(both.memory);
    l.reductionBuffers[&op] = std::move(both);
  }
  return memories;
}

NativeResult reduceInRegisters(GpuLowering& l, mlir::Operation& op, const RegisterReduction& r) {
  Builder& b = l.b;
  const mlir::Value source = op.getOperand(0), acc = op.getOperand(1), result = op.getResult(0);
  const int64_t warps = l.plan.threads / kWarp;
  const View between = roomFor(l, op, partsOf(l, r));
  MemorySet reads = l.reads(source);
  const MemorySet more = l.reads(acc);
  reads.insert(more.begin(), more.end());
  l.touch(reads, {between.memory});
  std::vector<std::vector<Reg>> own(static_cast<size_t>(r.results));
  for (const ElementIndex& at : l.elementsInRegisters(r.share, r.shape)) {
    int64_t number = 0;
    for (const int64_t d : r.kept)
      number = number * r.shape[static_cast<size_t>(d)] + constantOf(at[static_cast<size_t>(d)]).value_or(0);
    own[static_cast<size_t>(number)].push_back(l.element(source, at));
    if (!own[static_cast<size_t>(number)].back()) return l.status;
  }
  Reg lane = b.CreateURem(l.thread, b.getInt32(kWarp));
  Reg warp = b.CreateZExt(b.CreateUDiv(l.thread, b.getInt32(kWarp)), b.getInt64Ty());
  std::vector<Reg> ofWarp;
  for (const auto& elements : own) {
    Reg all = combineAll(b, r, elements);
    for (int step = kWarp / 2; step > 0; step /= 2) all = cpu::combine(b, r.kind, r.dtype, all, shuffled(l, all, step));
    ofWarp.push_back(all);
  }
  l.when(b.CreateICmpEQ(lane, b.getInt32(0)), [&] {
    for (int64_t i = 0; i < r.results; ++i)
      cpu::storeElements(b, between.dtype, ofWarp[static_cast<size_t>(i)],
                         cpu::elementPointer(b, between, ElementIndex{l.index(i), warp}), 1);
  });
  l.touch({between.memory}, {});
  std::vector<Reg> results;
  for (int64_t i = 0; i < r.results; ++i) {
    std::vector<Reg> parts;
    for (int64_t w = 0; w < warps; ++w)
      parts.push_back(cpu::loadElements(b, between.dtype,
                                        cpu::elementPointer(b, between, ElementIndex{l.index(i), l.index(w)}), 1));
    ElementIndex place;
    int64_t rest = i;
    for (size_t k = r.kept.size(); k-- > 0;) {
      const int64_t size = r.shape[static_cast<size_t>(r.kept[k])];
      place.insert(place.begin(), l.index(rest % size));
      rest /= size;
    }
    Reg start = l.element(acc, isVector(acc) ? place : ElementIndex{});
    if (!start) return l.status;
    results.push_back(
        cpu::roundTo(b, r.dtype, cpu::combine(b, r.kind, r.dtype, start, combineAll(b, r, std::move(parts)))));
  }
  if (!l.reductionBuffers.contains(&op)) l.hazards.markReusable(between.memory);
  if (isVector(result))
    l.setKnown(result, std::move(results));
  else
    l.setScalar(result, results.front());
  return l.status;
}

}  // namespace smalti::gpu
