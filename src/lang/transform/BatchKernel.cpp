#include "lang/transform/BatchKernel.h"

#include <algorithm>

#include <fmt/format.h>

#include "lang/call/DerivedKernel.h"
#include "lang/control/Scan.h"
#include "lang/cost/Cost.h"
#include "lang/ops/Support.h"
#include "smalti/ops/create.h"

namespace smalti::lang {
namespace {

/// Not cut into blocks where a call has no grid.
bool isPassedWhole(MemorySpace space) {
  return space == MemorySpace::any || space == MemorySpace::hbm || space == MemorySpace::host ||
         space == MemorySpace::semaphore;
}

/// Shifts the axes of program_id and num_programs of the body, since the new axis precedes them.
void shiftGridAxes(std::vector<Op>& ops) {
  for (Op& op : ops) {
    if (op.name == "program_id" || op.name == "num_programs")
      for (auto& [key, value] : op.attributes)
        if (key == "axis") value = std::get<int64_t>(value) + 1;
    for (Block& block : op.regions) shiftGridAxes(block.ops);
  }
}

/// One more argument, the first; where the array has an axis of examples, it is the index along it.
void batchIndexMap(TracedFunction& map, std::optional<int64_t> axis) {
  Function& f = map.function;
  const auto example = static_cast<ValueId>(f.values.size());
  f.values.push_back({DType::i32, {}});
  map.refs.emplace_back();
  f.arguments.insert(f.arguments.begin(), example);
  shiftGridAxes(f.ops);
  if (!axis) return;
  auto& results = f.ops.back().operands;
  results.insert(results.begin() + *axis, example);
  f.resultTypes.insert(f.resultTypes.begin(), {DType::i32, {}});
}

/// The map of an operand that was passed whole: a block for each example, the first along all other axes.
TracedFunction mapOfExamples(const TracedKernel& kernel, const TracedOperand& o, std::optional<int64_t> axis) {
  Trace trace(fmt::format("the index map of {} in kernel '{}'", o.name, kernel.name));
  const Array example = trace.addArgument({DType::i32, {}});
  for (const ArrayType& t : kernel.prefetch) trace.addRefArgument(t, MemorySpace::smem);
  std::vector<Array> indices(o.array.shape.size(), full({}, 0, DType::i32));
  if (axis) indices[*axis] = example;
  return trace.finish(std::move(indices));
}

TracedKernel batched(const TracedKernel& kernel, const BatchAxes& axes, int64_t size) {
  TracedKernel k = kernel;
  const bool hadGrid = !kernel.grid.empty();
  k.semantics.resize(kernel.grid.size(), DimensionSemantics::arbitrary);
  k.semantics.insert(k.semantics.begin(), DimensionSemantics::parallel);
  k.grid.insert(k.grid.begin(), size);
  shiftGridAxes(k.body.function.ops);
  const size_t first = k.numDynamicBounds() + k.prefetch.size();
  for (size_t i = 0; i < k.operands.size(); ++i) {
    TracedOperand& o = k.operands[i];
    const std::optional<int64_t> axis = static_cast<int>(i) < k.numInputs ? axes[first + i] : 0;
    if (axis) {
      o.array.shape.insert(o.array.shape.begin() + *axis, size);
      o.block.insert(o.block.begin() + *axis, squeezed);
    }
    if (o.indexMap) {
      batchIndexMap(*o.indexMap, axis);
    } else if (!hadGrid && !isPassedWhole(o.space)) {
      o.windowed = true;
      o.indexMap = mapOfExamples(k, o, axis);
    }
  }
  if (k.costIsGiven) {
    k.cost.flops = costTimes(k.cost.flops, size);
    k.cost.transcendentals = costTimes(k.cost.transcendentals, size);
    k.cost.bytes_accessed = costTimes(k.cost.bytes_accessed, size);
  } else {
    k.cost = estimateCost(k);
  }
  return k;
}

/// One call for each example.
std::vector<Array> loopOverExamples(const OpCall& call, const BatchAxes& axes, int64_t size) {
  std::vector<Array> examples;
  std::vector<ArrayType> slices, results;
  for (size_t i = 0; i < axes.size(); ++i)
    if (axes[i]) {
      examples.push_back(moveAxis(call.operands[i], *axes[i], 0));
      slices.push_back(examples.back().type());
      slices.back().shape.erase(slices.back().shape.begin());
    }
  for (const ArrayType& t : call.results) results.push_back(batchedType(t, size));
  const Region region{slices, [&](std::span<const Array> inside) {
                        std::vector<Array> operands(call.operands.begin(), call.operands.end());
                        size_t next = 0;
                        for (size_t i = 0; i < operands.size(); ++i)
                          if (axes[i]) operands[i] = inside[next++];
                        return bindKernel(call.kernel, operands, call.results);
                      }};
  return bindScan(examples, 0, size, false, results, region, call.location());
}

/// Whether examples differ in what is not a block: grid sizes, scalar prefetch, memory that the kernel copies from
/// itself.
bool needsLoop(const TracedKernel& k, const BatchAxes& axes) {
  const size_t first = k.numDynamicBounds() + k.prefetch.size();
  if (std::any_of(axes.begin(), axes.begin() + static_cast<ptrdiff_t>(first), [](auto a) { return a.has_value(); }))
    return true;
  for (size_t i = 0; i < k.operands.size(); ++i) {
    const bool isBatched = static_cast<int>(i) >= k.numInputs || axes[first + i];
    if (isBatched && isPassedWhole(k.operands[i].space)) return true;
  }
  return false;
}

Array withoutExamples(const Array& a, int64_t axis) {
  Shape shape = a.shape();
  shape.erase(shape.begin() + axis);
  return reshapeTo(a, shape);
}

}  // namespace

std::vector<Array> batchKernel(const OpCall& call, const BatchAxes& given, int64_t size) {
  const TracedKernel& kernel = call.kernel->traced();
  std::vector<Array> operands(call.operands.begin(), call.operands.end());
  BatchAxes axes = given;
  if (size == 1) {
    for (size_t i = 0; i < operands.size(); ++i)
      if (axes[i]) operands[i] = withoutExamples(operands[i], *axes[i]);
    std::vector<Array> results = bindKernel(call.kernel, operands, call.results);
    for (Array& r : results) r = reshapeTo(r, batchedType(r.type(), 1).shape);
    return results;
  }
  if (size == 0) {
    std::vector<Array> results;
    for (const ArrayType& t : call.results) results.push_back(zeros(batchedType(t, 0).shape, t.dtype));
    return results;
  }
  if (needsLoop(kernel, axes)) return loopOverExamples(call, axes, size);
  for (const Alias& alias : kernel.aliases) {  // the result is there for each example, so its memory has to be
    Array& input = operands[alias.operand];
    std::optional<int64_t>& axis = axes[alias.operand];
    input = axis ? moveAxis(input, *axis, 0) : spread(input, size);
    axis = 0;
  }
  std::string key = fmt::format("vmap {}", size);
  for (const auto& axis : axes) key += axis ? fmt::format(" {}", *axis) : " none";
  const auto derived = call.kernel->derived().get(*call.kernel, key, [&] { return batched(kernel, axes, size); });
  return bindKernel(derived, operands, resultsOf(derived->traced()));
}

}  // namespace smalti::lang
