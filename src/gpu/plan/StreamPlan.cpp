#include "gpu/plan/StreamPlan.h"

#include <algorithm>

#include "ir/KernelArguments.h"
#include "ir/Types.h"
#include "ir/facts/Attributes.h"
#include "ir/facts/DotDimensions.h"
#include "ir/facts/IndexMaps.h"
#include "ir/facts/OpFamilies.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

namespace smalti::gpu {
namespace {

/// For each dimension of `shape` the one of `block` that it is: dimensions of 1 come and go. Absent: it is another
/// shape.
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
    // Its sums are in registers, so that each chunk is multiplied once; each step computes it.
    if (planned.result == ProductResult::memory || op.getBlock() != &arguments_.function().getBody().front())
      return std::nullopt;
    const DotDimensions d = dotDimensionsOf(op);
    if (!d.lhsBatch.empty()) return std::nullopt;
    auto lhs = operand(op.getOperand(0), d.lhsFree[0], d.lhsContracting[0]),
         rhs = operand(op.getOperand(1), d.rhsFree[0], d.rhsContracting[0]);
    if (!lhs || !rhs) return std::nullopt;
    const int64_t depth = shapeOf(op.getOperand(0).getType())[static_cast<size_t>(d.lhsContracting[0])];
    return StreamedProduct{&op, *lhs, *rhs, planned.tile, (depth + planned.tile.depth() - 1) / planned.tile.depth()};
  }

  /// Boxes are copied where all operands can be.
  bool planBoxes(StreamPlan& plan) const {
    std::vector<TensorMap> maps;
    for (StreamedProduct& p : plan.products)
      for (StreamedOperand* o : {&p.lhs, &p.rhs}) {
        auto made = map(p, *o, o == &p.lhs);
        if (!made) return false;
        const auto same = std::ranges::find(maps, *made);
        o->map = static_cast<size_t>(same - maps.begin());
        if (same == maps.end()) maps.push_back(std::move(*made));
      }
    plan.maps = std::move(maps);
    return true;
  }

 private:
  std::optional<StreamedOperand> operand(mlir::Value v, int64_t sideDim, int64_t depthDim) const {
    const Shape shape = shapeOf(v.getType());
    while (mlir::Operation* cast = v.getDefiningOp())
      if (addsOrDropsUnits(*cast))
        v = cast->getOperand(0);
      else
        break;
    mlir::Operation* load = v.getDefiningOp();
    if (!load || load->getName().getStringRef() != "vector.load" ||
        load->getBlock() != &arguments_.function().getBody().front())
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
    if (!window || block.access != cpu::BlockAccess::view || !block.maybeOutside.empty() ||
        arguments_.aliasedOutput(*number) || !canLookAhead(*window))
      return std::nullopt;
    const auto at = dimensionsIn(window->bounds, shape);
    if (!at) return std::nullopt;
    return StreamedOperand{*number, (*at)[static_cast<size_t>(sideDim)], (*at)[static_cast<size_t>(depthDim)]};
  }

  /// Whether the block of a later step can be computed early: nothing writes the memory that its index map reads.
  bool canLookAhead(const Window& window) const {
    if (!IndexMapFacts(arguments_.indexMap(window), arguments_.gridRank()).usesScalarPrefetch()) return true;
    for (size_t i = 0; i < arguments_.numScalarPrefetch(); ++i)
      if (mayBeWritten(arguments_.scalarPrefetch(i))) return false;
    return true;
  }

  /// The boxes of an operand; absent: its array or its block is not one that boxes are copied from.
  std::optional<TensorMap> map(const StreamedProduct& p, const StreamedOperand& o, bool isLeft) const {
    const ArrayType& array = arguments_.arrayOf(o.block);
    const int64_t perRow = p.tile.depth(), staged = isLeft ? p.tile.rows() : p.tile.columns();
    const size_t rank = array.shape.size(), inner = std::max(o.sideDim, o.depthDim);
    // Strides are multiples of 16 bytes, less than 2^40 (CUDA Driver API, cuTensorMapEncodeTiled). Blocks of a depth
    // that rows of 128 bytes do not divide into would bring elements of others.
    const bool turned =
        p.tile.unit != ProductUnit::threads && o.depthDim < o.sideDim && storage_bytes(array.dtype) != 2;
    if (turned || rank > TensorMap::kMaxDimensions || inner + 1 != rank || array.bytes() >= int64_t{1} << 40 ||
        array.shape[inner] * storage_bytes(array.dtype) % 16 != 0 ||
        arguments_.windowOf(o.block)->bounds[o.depthDim] % perRow != 0)
      return std::nullopt;
    std::vector<int64_t> box(rank, 1);
    box[inner] = perRow;
    box[std::min(o.sideDim, o.depthDim)] =
        o.depthDim == inner ? std::min((staged + 7) / 8 * 8, TensorMap::kMaxBox) : perRow;
    if (o.depthDim == inner && (staged + 7) / 8 * 8 % box[o.sideDim] != 0) return std::nullopt;
    for (size_t d = 0; d < rank; ++d)
      if (box[d] > array.shape[d]) return std::nullopt;
    TensorMap map{.array = arguments_.inputOperand(o.block),
                  .elementBytes = static_cast<int>(storage_bytes(array.dtype)),
                  .extents = {array.shape.rbegin(), array.shape.rend()},
                  .box = {box.rbegin(), box.rend()}};
    return map;
  }

  KernelArguments arguments_;
  const cpu::GridPlan& grid_;
};

}  // namespace

const StreamedProduct* StreamPlan::find(mlir::Operation* op) const {
  const auto found = std::ranges::find(products, op, &StreamedProduct::product);
  return found == products.end() ? nullptr : &*found;
}

StreamPlan planStream(const KernelPackage& package, const RegisterPlan& registers, const cpu::GridPlan& grid,
                      const Architecture& architecture) {
  StreamPlan plan;
  const StreamPlanner planner(package, grid);
  int64_t others = 0;  // bytes of the stages of products that are not streamed
  for (mlir::Operation& op : mlir::func::FuncOp(package.kernelFunction()).getBody().front())
    if (const auto planned = registers.products.find(&op); planned != registers.products.end())
      if (auto streamed = planner.product(op, planned->second)) plan.products.push_back(std::move(*streamed));
  for (const auto& [op, p] : registers.products)
    if (!plan.find(op)) others = std::max(others, p.tile.stages * p.tile.stageBytes());
  for (const StreamedProduct& p : plan.products) plan.itemBytes = std::max(plan.itemBytes, p.tile.stageBytes());
  if (plan.products.empty()) return plan;
  plan.stages = static_cast<int>(
      std::min<int64_t>(kMaxStages, (architecture.sharedBytes - kOtherSharedBytes - others) / plan.itemBytes));
  if (plan.stages < 2) return {};
  constexpr int kFirstWithBoxes = 90;
  plan.byBoxes = architecture.version >= kFirstWithBoxes && planner.planBoxes(plan);
  const StreamedProduct& first = plan.products.front();
  plan.crossesSteps = plan.byBoxes && plan.products.size() == 1 && first.tile.unit == ProductUnit::warpGroups &&
                      registers.products.size() == 1 &&
                      registers.products.find(first.product)->second.result == ProductResult::accumulated;
  return plan;
}

}  // namespace smalti::gpu
