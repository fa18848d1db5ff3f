#include "gpu/plan/StreamPlan.h"

#include <algorithm>
#include <set>

#include "gpu/device/Primitives.h"
#include "ir/KernelArguments.h"
#include "ir/Types.h"
#include "ir/facts/Attributes.h"
#include "ir/facts/DotDimensions.h"
#include "ir/facts/GridScalars.h"
#include "ir/facts/IndexMaps.h"
#include "ir/facts/OpFamilies.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

namespace smalti::gpu {
namespace {

/// The dimension of `block` for each dimension of `shape`, ignoring unit dimensions. Absent: the shapes differ.
std::optional<std::vector<size_t>> dimensionsIn(const Shape& block, const Shape& shape) {
  std::vector<size_t> at(shape.size());
  size_t w = block.size();
  for (size_t d = shape.size(); d-- > 0;) {
    while (w > 0 && block[w - 1] != shape[d] && block[w - 1] == 1) --w;
    if (w == 0 || block[w - 1] != shape[d]) return std::nullopt;
    at[d] = --w;
  }
  while (w > 0 && block[w - 1] == 1) --w;
  return w == 0 ? std::optional(std::move(at)) : std::nullopt;
}

bool addsOrDropsUnits(mlir::Operation& op) {
  if (!llvm::isa<mlir::vector::ShapeCastOp>(op)) return false;
  return dimensionsIn(shapeOf(op.getOperand(0).getType()), shapeOf(op.getResult(0).getType())) ||
         dimensionsIn(shapeOf(op.getResult(0).getType()), shapeOf(op.getOperand(0).getType()));
}

class StreamPlanner {
 public:
  StreamPlanner(const KernelPackage& package, const cpu::GridPlan& grid) : arguments_(package), grid_(grid) {}

  std::optional<StreamedProduct> product(mlir::Operation& op, const PlannedProduct& planned) const {
    // If the sums are in registers, each chunk is multiplied exactly once.
    if (planned.result == ProductResult::memory) return std::nullopt;
    StreamedProduct made{.product = &op, .tile = planned.tile};
    if (op.getBlock() != body()) {
      auto branch = llvm::dyn_cast<mlir::scf::IfOp>(op.getParentOp());
      if (!branch || branch->getBlock() != body() || op.getBlock() != &branch.getThenRegion().front() ||
          !isOfGrid(arguments_, branch.getCondition()))
        return std::nullopt;
      made.condition = branch.getCondition();
    }
    const DotDimensions d = dotDimensionsOf(op);
    if (!d.lhsBatch.empty()) return std::nullopt;
    if (!planned.lhsInRegisters) {
      made.lhs = operand(op, 0, d.lhsFree[0], d.lhsContracting[0]);
      if (!made.lhs) return std::nullopt;
    }
    const auto rhs = operand(op, 1, d.rhsFree[0], d.rhsContracting[0]);
    if (!rhs) return std::nullopt;
    made.rhs = *rhs;
    made.chunks = planned.chunks;
    return made;
  }

  /// Whether the operand's block only depends on the grid axes whose points are shared, and there are other axes.
  bool isSameInAllSteps(const StreamedOperand& o) const {
    const IndexMapFacts map(arguments_.indexMap(*arguments_.windowOf(o.block)), arguments_.gridRank());
    const auto first = static_cast<size_t>(grid_.sharedAxes);
    if (first == arguments_.gridRank()) return false;
    for (size_t axis = first; axis < arguments_.gridRank(); ++axis)
      if (map.uses(axis)) return false;
    return true;
  }

  /// Whether the operand's block only moves by its size along the last grid axis, so that nothing has to be computed or
  /// looked up; sets the dimensions in which it moves.
  bool stepsAlongLastAxis(StreamedOperand& o) const {
    const Window& window = *arguments_.windowOf(o.block);
    const IndexMapFacts map(arguments_.indexMap(window), arguments_.gridRank());
    const size_t last = arguments_.gridRank() - 1;
    o.alongLastAxis.clear();
    if (!map.uses(last)) return true;
    if (window.elementIndexed || !map.onlyReturns(last)) return false;
    for (size_t d = 0; d < map.coordinates().size(); ++d)
      if (map.coordinates()[d].axes[last]) o.alongLastAxis.push_back(d);
    return true;
  }

  /// Sets StreamPlan::copiedBytes and blockBytes.
  void countBytes(StreamPlan& plan) const {
    for (const StreamedProduct& one : plan.products) {
      int64_t copied = 0, ofBlocks = 0;
      std::set<size_t> blocks;
      for (const StreamedProduct& p : plan.products) {
        if (p.condition && one.condition && p.condition != one.condition) continue;
        for (const size_t side : {0, 1}) {
          copied += p.chunks * p.stagedBytes(side);
          const StreamedOperand* o = p.operand(side);
          if (!o || o->resident || !blocks.insert(o->block).second) continue;
          const mlir::Type block = arguments_.block(o->block).getType();
          ofBlocks += num_elements(shapeOf(block)) * storage_bytes(elementDType(block));
        }
      }
      if (copied > plan.copiedBytes) plan.copiedBytes = copied, plan.blockBytes = ofBlocks;
    }
  }

  /// Plans the tensor maps. False: not all operands can be copied as boxes.
  bool planBoxes(StreamPlan& plan) const {
    std::vector<TensorMap> maps;
    for (StreamedProduct& p : plan.products)
      for (StreamedOperand* o : {p.lhs ? &*p.lhs : nullptr, &p.rhs}) {
        if (!o) continue;
        auto made = map(p, *o, o != &p.rhs);
        if (!made) return false;
        const auto same = std::ranges::find(maps, *made);
        o->map = static_cast<size_t>(same - maps.begin());
        if (same == maps.end()) maps.push_back(std::move(*made));
      }
    plan.maps = std::move(maps);
    return true;
  }

 private:
  mlir::Block* body() const { return &arguments_.function().getBody().front(); }

  std::optional<StreamedOperand> operand(mlir::Operation& product, unsigned which, int64_t sideDim,
                                         int64_t depthDim) const {
    mlir::Value v = product.getOperand(which);
    const Shape shape = shapeOf(v.getType());
    while (mlir::Operation* cast = v.getDefiningOp())
      if (addsOrDropsUnits(*cast))
        v = cast->getOperand(0);
      else
        break;
    mlir::Operation* load = v.getDefiningOp();
    if (!load || !llvm::isa<mlir::vector::LoadOp>(load) ||
        (load->getBlock() != body() && load->getBlock() != product.getBlock()))
      return std::nullopt;
    for (mlir::Value index : load->getOperands().drop_front())
      if (!mlir::matchPattern(index, mlir::m_Zero())) return std::nullopt;
    const mlir::Value ref = load->getOperand(0);
    const auto number = arguments_.blockNumber(ref);
    if (!number || *number >= arguments_.numInputs() || shapeOf(ref.getType()) != shapeOf(v.getType()) ||
        elementDType(ref.getType()) != elementDType(v.getType()))
      return std::nullopt;
    const cpu::BlockPlan& block = grid_.blocks[*number];
    const auto& window = arguments_.windowOf(*number);
    // If a block is outside the array, the step that would read it ends the call.
    if (!window || block.access != cpu::BlockAccess::view || arguments_.aliasedOutput(*number) ||
        !canLookAhead(*window))
      return std::nullopt;
    const auto at = dimensionsIn(window->bounds, shape);
    if (!at) return std::nullopt;
    StreamedOperand made{*number, (*at)[static_cast<size_t>(sideDim)], (*at)[static_cast<size_t>(depthDim)]};
    made.isAligned = isAligned(made, *window);
    return made;
  }

  /// Whether the rows of all blocks begin at multiples of 16 bytes, as arrays do.
  bool isAligned(const StreamedOperand& o, const Window& window) const {
    constexpr int64_t kBytes = 16;
    const ArrayType& array = arguments_.arrayOf(o.block);
    const size_t rank = array.shape.size(), inner = std::max(o.sideDim, o.depthDim);
    if (inner + 1 != rank) return false;
    int64_t stride = storage_bytes(array.dtype);  // in bytes, of dimension d
    for (size_t d = rank; d-- > 0; stride *= array.shape[d]) {
      const int64_t step = window.elementIndexed ? 1 : window.bounds[d];
      if (stride * step % kBytes != 0 || (d == std::min(o.sideDim, o.depthDim) && stride % kBytes != 0)) return false;
    }
    return true;
  }

  /// Whether the index map can be evaluated for later steps, since nothing writes the memory that it reads.
  bool canLookAhead(const Window& window) const {
    if (!IndexMapFacts(arguments_.indexMap(window), arguments_.gridRank()).usesScalarPrefetch()) return true;
    for (size_t i = 0; i < arguments_.numScalarPrefetch(); ++i)
      if (mayBeWritten(arguments_.scalarPrefetch(i))) return false;
    return true;
  }

  /// The tensor map of an operand; absent: TMA cannot copy its blocks.
  std::optional<TensorMap> map(const StreamedProduct& p, const StreamedOperand& o, bool isLeft) const {
    const ArrayType& array = arguments_.arrayOf(o.block);
    const int64_t perRow = p.tile.depth(), staged = isLeft ? p.tile.rows() : p.tile.columns();
    const size_t rank = array.shape.size(), inner = std::max(o.sideDim, o.depthDim);
    // Strides must be multiples of 16 bytes and less than 2^40 (CUDA Driver API, cuTensorMapEncodeTiled). If the depth
    // were not a multiple of a row of 128 bytes, boxes would contain elements of other blocks.
    const bool isTransposed =
        p.tile.unit != ProductUnit::threads && o.depthDim < o.sideDim && storage_bytes(array.dtype) != 2;
    if (isTransposed || rank > TensorMap::kMaxDimensions || inner + 1 != rank || array.bytes() >= int64_t{1} << 40 ||
        array.shape[inner] * storage_bytes(array.dtype) % 16 != 0 ||
        arguments_.windowOf(o.block)->bounds[o.depthDim] % perRow != 0)
      return std::nullopt;
    std::vector<int64_t> box(rank, 1);
    box[inner] = perRow;
    box[std::min(o.sideDim, o.depthDim)] =
        o.depthDim == inner ? std::min((staged + 7) / 8 * 8, TensorMap::kMaxBox) : perRow;
    if (o.depthDim == inner && (staged + 7) / 8 * 8 % box[o.sideDim] != 0) return std::nullopt;
    // Rows beyond the end of the array become 0 in shared memory.
    for (size_t d = 0; d < rank; ++d)
      if (box[d] > array.shape[d] && d != o.sideDim) return std::nullopt;
    TensorMap map{.array = arguments_.inputOperand(o.block),
                  .elementBytes = static_cast<int>(storage_bytes(array.dtype)),
                  .extents = {array.shape.rbegin(), array.shape.rend()},
                  .box = {box.rbegin(), box.rend()}};
    return map;
  }

  KernelArguments arguments_;
  const cpu::GridPlan& grid_;
};

/// Plans the copying threads. All threads of a block begin with the same number of registers, which does not suffice
/// for many sums. If a whole warp group is added for copying, it releases registers that it does not need, and the warp
/// groups that multiply acquire them (PTX ISA, setmaxnreg: by warp groups, in units of 8, at least 24). 256 + 128
/// threads begin with 168 registers each; then the first have 240 and the others 24.
void planThreads(StreamPlan& plan, const RegisterPlan& registers, const Architecture& architecture) {
  // Registers per block and per thread (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability").
  constexpr int kOfBlock = 64 << 10, kMostOfThread = 255, kUnit = 8, kGroup = 4 * kWarp, kCopying = 24;
  // Up to this many sums, equal shares suffice, and two blocks may fit on a multiprocessor. Chosen, not measured.
  // Multiply-adds of f32 also have operands in registers: with 64 sums, 12 bytes spill in equal shares.
  constexpr int64_t kFewSums = 64, kOperands = 16;
  plan.copyThreads = kWarp;
  const int threads = registers.threads, all = threads + kGroup, equal = kOfBlock / all / kUnit * kUnit;
  const bool byThreads =
      std::ranges::any_of(plan.products, [](const StreamedProduct& p) { return p.tile.unit == ProductUnit::threads; });
  if (!architecture.hasWgmma || threads % kGroup != 0 || equal > kMostOfThread ||
      registers.kept + (byThreads ? kOperands : 0) <= kFewSums)
    return;
  plan.copyThreads = kGroup;
  plan.registers = {.copying = kCopying, .computing = (equal * all - kCopying * kGroup) / threads / kUnit * kUnit};
}

/// The operands that are the same block in all steps of a point. They occupy buffers, but no part of the stages.
void planResidents(StreamPlan& plan, const StreamPlanner& planner) {
  for (size_t i = 0; i < plan.products.size(); ++i)
    for (const size_t side : {0, 1}) {
      StreamedOperand* o = plan.products[i].operand(side);
      if (!o || !planner.isSameInAllSteps(*o)) continue;
      const auto isSame = [&](const ResidentOperand& r) {
        const StreamedProduct& p = plan.products[r.product];
        const StreamedOperand& known = *p.operand(r.side);
        return known.block == o->block && known.map == o->map && known.depthDim == o->depthDim &&
               p.chunks == plan.products[i].chunks && p.chunkBytes(r.side) == plan.products[i].chunkBytes(side);
      };
      const auto found = std::ranges::find_if(plan.residents, isSame);
      o->resident = static_cast<size_t>(found - plan.residents.begin());
      if (found != plan.residents.end()) continue;
      plan.residents.push_back({i, side, plan.residentBytes});
      plan.residentBytes += plan.products[i].chunks * plan.products[i].chunkBytes(side);
    }
}
void dropResidents(StreamPlan& plan) {
  plan.residents.clear();
  plan.residentBytes = 0;
  for (StreamedProduct& p : plan.products)
    for (const size_t side : {0, 1})
      if (StreamedOperand* o = p.operand(side)) o->resident.reset();
}

/// Plans as many stages as fit, up to a limit. `others`: bytes of other products' stages.
void planStages(StreamPlan& plan, const Architecture& architecture, int64_t others, const GpuParams& params) {
  // If registers limit a multiprocessor to one block, it may have all of the shared memory. Chosen, not measured.
  constexpr int64_t kMostStages = 8, kMostBytes = 192 << 10;
  plan.stageBytes = 0;
  for (const StreamedProduct& p : plan.products) plan.stageBytes = std::max(plan.stageBytes, p.stagedBytes());
  if (plan.stageBytes == 0) return;
  const int64_t left =
      architecture.sharedBytes - kOtherSharedBytes - others - plan.residentBuffers() * plan.residentBytes;
  const int64_t most = params.num_stages ? *params.num_stages
                       : plan.registers.computing
                           ? std::clamp<int64_t>(kMostBytes / plan.stageBytes, kMaxStages, kMostStages)
                           : kMaxStages;
  plan.stages = static_cast<int>(std::clamp<int64_t>(left / plan.stageBytes, 0, most));
}

/// The most chunks of a warp group's turn, or 0 if there are no turns. It begins with a product whose left operand the
/// group has computed, contains the following ones of this kind, and ends with the next product of the other kind,
/// usually in the next step.
int64_t chunksOfTurn(const StreamPlan& plan) {
  int64_t run = 0, longest = 0, computed = 0, others = 0;
  bool isContinued = false;  // a turn may go on with a product of another branch
  const mlir::Value* last = nullptr;
  for (const StreamedProduct& p : plan.products) {
    if (p.lhs) {
      others = std::max(others, p.chunks);
      run = 0;
    } else {
      computed += p.chunks;
      longest = std::max(longest, run += p.chunks);
      isContinued |= !last || *last != p.condition;
    }
    last = &p.condition;
  }
  return longest > 0 && others > 0 ? (isContinued ? computed : longest) + others : 0;
}

/// Warp groups take turns if a step computes something with registers between two products. All chunks of a turn must
/// fit into the stages, since other warp groups only read them in their turns.
int turnsOf(const StreamPlan& plan, const RegisterPlan& registers) {
  if (!plan.usesTma) return 0;
  for (const StreamedProduct& p : plan.products)
    if (p.tile.unit != ProductUnit::warpGroups) return 0;
  const int64_t chunks = chunksOfTurn(plan);
  const int groups = registers.threads / (4 * kWarp);
  return groups > 1 && chunks > 0 && chunks <= plan.stages && plan.products.size() == registers.products.size() ? groups
                                                                                                                : 0;
}

StreamPlan planStream(const KernelPackage& package, const RegisterPlan& registers, const cpu::GridPlan& grid,
                      bool hasRuns, const Architecture& architecture, const GpuParams& params, bool usesTma) {
  StreamPlan plan;
  const StreamPlanner planner(package, grid);
  int64_t others = 0;  // bytes of the stages of products that are not streamed
  mlir::func::FuncOp(package.kernelFunction()).walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation* op) {
    if (const auto planned = registers.products.find(op); planned != registers.products.end())
      if (auto streamed = planner.product(*op, planned->second)) plan.products.push_back(std::move(*streamed));
  });
  for (const auto& [op, p] : registers.products)
    if (!plan.find(op)) others = std::max(others, p.tile.stages * p.tile.stageBytes());
  if (plan.products.empty()) return plan;
  plan.usesTma = usesTma && planner.planBoxes(plan);
  if (plan.usesTma) planThreads(plan, registers, architecture);
  if (!hasRuns) planResidents(plan, planner);
  plan.stepsAlongLastAxis = plan.usesTma && static_cast<size_t>(grid.sharedAxes) < package.signature.grid.size();
  for (StreamedProduct& p : plan.products)
    for (const size_t side : {0, 1})
      if (StreamedOperand* o = p.operand(side))
        plan.stepsAlongLastAxis = plan.stepsAlongLastAxis && !p.condition && planner.stepsAlongLastAxis(*o);
  planStages(plan, architecture, others, params);
  if (!plan.residents.empty() && plan.stages < params.num_stages.value_or(kMaxStages)) {
    dropResidents(plan);
    planStages(plan, architecture, others, params);
  }
  if (plan.stages < 2) return {};
  planner.countBytes(plan);
  if (params.turns.value_or(true)) plan.turns = turnsOf(plan, registers);
  const StreamedProduct& first = plan.products.front();
  plan.pendingAcrossSteps = plan.usesTma && plan.products.size() == 1 && first.tile.unit == ProductUnit::warpGroups &&
                            registers.products.size() == 1 && !first.condition && plan.residents.empty() &&
                            registers.products.find(first.product)->second.result == ProductResult::accumulated;
  return plan;
}

}  // namespace

const StreamedProduct* StreamPlan::find(mlir::Operation* op) const {
  const auto found = std::ranges::find(products, op, &StreamedProduct::product);
  return found == products.end() ? nullptr : &*found;
}

StreamPlan planStream(const KernelPackage& package, const RegisterPlan& registers, const cpu::GridPlan& grid,
                      bool hasRuns, const Architecture& architecture, const GpuParams& params) {
  if (architecture.hasBoxes() && params.copies != GpuCopies::threads)
    if (StreamPlan plan = planStream(package, registers, grid, hasRuns, architecture, params, true); plan.usesTma)
      return plan;
  return planStream(package, registers, grid, hasRuns, architecture, params, false);
}

}  // namespace smalti::gpu
