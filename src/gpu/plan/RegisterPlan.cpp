#include "gpu/plan/RegisterPlan.h"

#include <algorithm>
#include <utility>

#include "base/Arithmetic.h"
#include "cpu/nest/Reduction.h"
#include "cpu/ops/NativeOps.h"
#include "gpu/device/Primitives.h"
#include "ir/KernelArguments.h"
#include "ir/TpuOpsMemory.h"
#include "ir/TpuOpsMxu.h"
#include "ir/Types.h"
#include "ir/facts/Attributes.h"
#include "ir/facts/Branches.h"
#include "ir/facts/Constants.h"
#include "ir/facts/DotDimensions.h"
#include "ir/facts/Liveness.h"
#include "ir/facts/OpFamilies.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Matchers.h"

namespace smalti::gpu {
namespace {

/// Whether f32 products need not be exact.
bool requestsBf16(mlir::Operation& matmul) {
  const auto precision = matmul.getAttrOfType<tpu::ContractPrecisionAttr>("precision");
  return precision && precision.getValue() == tpu::ContractPrecision::bf16;
}

/// The bits of an f32 are those of three bf16.
constexpr int kBf16OfF32 = 3;

/// The shape of a product whose operands can be staged in shared memory; each batch is a product of its own.
std::optional<ProductShape> productShape(mlir::Operation& op, const Architecture& architecture) {
  if (!llvm::isa<tpu::MatmulOp>(op)) return std::nullopt;
  DType in = elementDType(op.getOperand(0).getType());
  const DType out = elementDType(op.getResult(0).getType());
  int parts = 1;
  const DType right = elementDType(op.getOperand(1).getType());
  if (in == DType::f32 && right == DType::bf16) in = right, parts = kBf16OfF32;
  const bool exact = in == DType::f32 && !requestsBf16(op);
  if (in != right || !(exact || isForTensorCores(in, architecture)) ||
      (in == DType::i8 ? out != DType::i32 : !is_float(out)))
    return std::nullopt;
  const DotDimensions d = dotDimensionsOf(op);
  if (d.lhsFree.size() != 1 || d.rhsFree.size() != 1 || d.lhsContracting.size() != 1) return std::nullopt;
  const Shape lhs = shapeOf(op.getOperand(0).getType()), rhs = shapeOf(op.getOperand(1).getType());
  const auto last = [](const Shape& s) { return static_cast<int64_t>(s.size()) - 1; };
  // A matrix must contain the last dimension, whose elements are neighbours. In a batched operand, it may be the batch.
  if (std::max(d.lhsFree[0], d.lhsContracting[0]) != last(lhs) ||
      std::max(d.rhsFree[0], d.rhsContracting[0]) != last(rhs))
    return std::nullopt;
  const bool turns = !exact && storage_bytes(in) != 2;
  return ProductShape{.dtype = in,
                      .exact = exact,
                      .parts = parts,
                      .m = lhs[static_cast<size_t>(d.lhsFree[0])],
                      .n = rhs[static_cast<size_t>(d.rhsFree[0])],
                      .k = lhs[static_cast<size_t>(d.lhsContracting[0])],
                      .lhsDepthInner = turns || d.lhsContracting[0] == last(lhs),
                      .rhsDepthInner = turns || d.rhsContracting[0] == last(rhs)};
}

/// Whether a load or store accesses the whole ref, without strides, mask or addition.
bool isWhole(mlir::Operation& op, mlir::Value ref, mlir::Type value) {
  if (boolAttribute(op, "add") || shapeOf(ref.getType()) != shapeOf(value)) return false;
  for (const int64_t step : integersAttribute(op, "strides"))
    if (step != 1) return false;
  if (const auto segments = integersAttribute(op, "operandSegmentSizes"); segments.size() == 4 && segments[3] != 0)
    return false;
  for (mlir::Value operand : op.getOperands())
    if (operand.getType().isIndex() && !mlir::matchPattern(operand, mlir::m_Zero())) return false;
  return true;
}

bool isVectorLoad(mlir::Operation& op) { return llvm::isa<mlir::vector::LoadOp>(op); }
bool isVectorStore(mlir::Operation& op) { return llvm::isa<tpu::VectorStoreOp, mlir::vector::StoreOp>(op); }

/// The most registers of a thread for all values that stay in registers: 208 of 255 with up to 256 threads. Gradients
/// of attention with head dimension 128 need that many; ptxas then spills nothing on sm_90a and 64 to 176 bytes on
/// sm_80. Otherwise their scores would go through memory. Warps have 192 if more than 96 of these change in every step,
/// `changing`: the results of products and left operands. Scores of 256 keys with head dimension 128 need 200, of which
/// 136 change: warp groups spill 108 to 144 bytes then, warps more than 1 KiB.
int64_t mostKept(int64_t changing, int threads, const Architecture& architecture) {
  const bool isWide = !architecture.hasWgmma && changing > mostSums(threads) * 3 / 4;
  return mostSums(threads) * (isWide ? 12 : 13) / 8;
}

class RegisterPlanner {
 public:
  /// `threads`: per block; absent: as many as the products need. `mostStages`: of each product.
  /// `refused`: products that must not be planned.
  RegisterPlanner(const KernelPackage& package, const Architecture& architecture, WarpGrid grid,
                  std::optional<int> threads, int mostStages, const llvm::DenseSet<mlir::Operation*>& refused)
      : arguments_(package),
        architecture_(architecture),
        grid_(grid),
        threads_(threads),
        mostStages_(mostStages),
        refused_(refused) {}

  RegisterPlan run() {
    std::vector<std::pair<mlir::Operation*, ProductShape>> products;
    const Liveness liveness(arguments_.function());
    arguments_.function().walk([&](mlir::Operation* op) {
      if (liveness.dead(op)) return;  // its code is not emitted, so that nothing waits for copies of its operands
      if (refused_.contains(op)) return;
      if (auto shape = productShape(*op, architecture_)) products.emplace_back(op, *shape);
    });
    for (const auto& [op, shape] : products)
      plan_.threads = std::max(plan_.threads, threads_.value_or(threadsForProduct(shape, architecture_)));
    for (const auto& [op, shape] : products) {
      if (auto tile = tileFor(shape, plan_.threads, architecture_, true, grid_, mostStages_))
        plan_.products[op].tile = covering_[op] = *tile;
      if (auto tile = tileFor(shape, plan_.threads, architecture_, false, WarpGrid::square, mostStages_))
        plan_.products[op].tile = *tile;
    }
    if (plan_.products.empty()) return RegisterPlan();
    for (size_t i = 0; i < arguments_.numScratch(); ++i) planScratch(arguments_.scratch(i));
    for (const auto& [op, shape] : products) planResult(op);
    for (size_t i = 0; i < arguments_.numScratch(); ++i) planOtherScratch(arguments_.scratch(i));
    for (const auto& [op, shape] : products) planStart(op);
    for (auto& [op, p] : plan_.products)
      p.lhsInRegisters &= p.result != ProductResult::memory && spread_.contains(op->getOperand(0));
    if (scratch() + changing() > mostKept(changing(), plan_.threads, architecture_)) keepNothing();
    plan_.kept = scratch() + changing();
    for (auto& [op, p] : plan_.products)
      if (p.lhsInRegisters) p.tile.lhsBytes = 0;
    for (const auto& [op, shape] : products)
      if (const auto p = plan_.products.find(op); p != plan_.products.end())
        p->second.chunks = ceilDiv(shape.k, p->second.tile.depth());
    return std::move(plan_);
  }

 private:
  using Spread = llvm::DenseMap<mlir::Value, Distribution>;

  /// Whether, for all uses of the value with this distribution, each thread only needs its own elements. `found`: the
  /// values that are computed from it, with their distributions.
  bool staysInPlace(mlir::Value v, const Distribution& d, Spread& found) {
    if (const Distribution* known = distributionOf(v, found)) return known->same(d);
    found[v] = d;
    return llvm::all_of(v.getUses(), [&](mlir::OpOperand& use) { return isUsedInPlace(use, d, found); });
  }
  const Distribution* distributionOf(mlir::Value v, const Spread& found) const {
    for (const Spread* all : {&found, &spread_})
      if (const auto known = all->find(v); known != all->end()) return &known->second;
    return nullptr;
  }
  bool isUsedInPlace(mlir::OpOperand& use, const Distribution& d, Spread& found) {
    mlir::Operation& user = *use.getOwner();
    if (isVectorStore(user)) {
      if (use.getOperandNumber() != 0 || boolAttribute(user, "add")) return false;
      if (isOfAnotherWidth(user.getOperand(1))) return false;
      const auto kept = plan_.scratch.find(user.getOperand(1));
      if (kept != plan_.scratch.end() && !kept->second.same(d)) return false;
      const auto segments = integersAttribute(user, "operandSegmentSizes");
      return segments.size() != 4 || segments[3] == 0;
    }
    if (isAccumulating(user, use.getOperandNumber())) return true;
    if (use.getOperandNumber() == 0 && multipliesFromRegisters(user, d)) return true;
    if (user.getNumResults() != 1 || !llvm::isa<mlir::VectorType>(user.getResult(0).getType())) return false;
    const auto made = distributionOfResult(user, use, d);
    return made && staysInPlace(user.getResult(0), *made, found);
  }

  /// Whether the elements of the ref are not those of its memory.
  static bool isOfAnotherWidth(mlir::Value ref) {
    const auto width = [](mlir::Value v) { return bit_width(elementDType(v.getType())); };
    return width(ref) != width(memoryOf(ref));
  }

  /// The distribution of the op's result if its operand has this one and each thread only uses its own elements;
  /// absent: threads need elements of others.
  std::optional<Distribution> distributionOfResult(mlir::Operation& op, mlir::OpOperand& use,
                                                   const Distribution& d) const {
    if (isElementwise(op)) return d;
    const Shape from = shapeOf(use.get().getType()), to = shapeOf(op.getResult(0).getType());
    if (d.perRow && llvm::isa<mlir::vector::ShapeCastOp>(op))
      return isColumn(from) && isColumn(to) ? std::optional(d) : std::nullopt;
    if (!d.perRow && addsOrDropsUnitDimensions(op)) return d;
    if (d.perRow && llvm::isa<mlir::vector::BroadcastOp>(op)) {
      if (from.size() < 2 || from.back() != 1 || to[to.size() - 2] != from[from.size() - 2] ||
          num_elements(to) != to.back() * to[to.size() - 2])
        return std::nullopt;
      const Distribution wide = d.ofColumns(to.back());
      return wide.tile.sums() <= mostSums(plan_.threads) ? std::optional(wide) : std::nullopt;
    }
    if (llvm::isa<mlir::vector::MultiDimReductionOp>(op)) {
      const auto dims = integersAttribute(op, "reduction_dims");
      const bool ofRows = use.getOperandNumber() == 0 && !d.perRow && d.tile.warpsAcross == 1 && from.size() == 2 &&
                          dims.size() == 1 && dims[0] == 1;
      return ofRows && cpu::nativeReductionKind(op) ? std::optional(d.ofRows()) : std::nullopt;
    }
    return std::nullopt;
  }

  /// Whether the product can multiply a left operand with this distribution from registers; plans the product if it has
  /// not been planned. Fragments of 16-bit operands have the layout of sums (PTX ISA, "Register Fragments for
  /// wgmma.mma_async.m64nNk16", "Matrix Fragments for mma.m16n8k16"); threads that multiply f32 take elements from
  /// their neighbours.
  bool multipliesFromRegisters(mlir::Operation& op, const Distribution& d) {
    const auto covering = covering_.find(&op);
    if (covering == covering_.end() || d.perRow || d.tile.warpsAcross != 1) return false;
    const ProductTile& tile = covering->second;
    const DotDimensions dims = dotDimensionsOf(op);
    const Shape lhs = shapeOf(op.getOperand(0).getType());
    const bool sameLayout = tile.unit == ProductUnit::threads || storage_bytes(tile.dtype) == 2;
    if (!sameLayout || lhs.size() != 2 || dims.lhsContracting[0] != 1 || lhs[1] != d.tile.columns() ||
        lhs[0] > d.tile.rows() || lhs[1] % tile.depth() != 0 || !d.ofRows().same(Distribution{tile, true}))
      return false;
    planResult(&op);
    PlannedProduct& p = plan_.products[&op];
    if (p.result == ProductResult::memory) return false;
    p.lhsInRegisters = true;
    return true;
  }
  static bool addsOrDropsUnitDimensions(mlir::Operation& op) {
    if (!llvm::isa<mlir::vector::ShapeCastOp>(op)) return false;
    const auto matrix = [](mlir::Value v) {
      Shape shape = shapeOf(v.getType());
      while (shape.size() > 2 && shape.front() == 1) shape.erase(shape.begin());
      return shape;
    };
    return matrix(op.getOperand(0)) == matrix(op.getResult(0));
  }
  /// Whether the ref is a matrix, possibly with leading dimensions of size 1.
  static bool isMatrix(mlir::MemRefType type) {
    return type && type.getRank() >= 2 &&
           type.getNumElements() == type.getDimSize(type.getRank() - 1) * type.getDimSize(type.getRank() - 2);
  }
  /// Whether the shape is [rows], or [1, …, rows, 1].
  static bool isColumn(const Shape& s) {
    if (s.size() == 1) return true;
    return s.back() == 1 && num_elements(s) == s[s.size() - 2];
  }
  bool isAccumulating(mlir::Operation& op, unsigned operand) const {
    constexpr unsigned kAccumulator = 2;
    const auto found = plan_.products.find(&op);
    return operand == kAccumulator && found != plan_.products.end() &&
           found->second.result == ProductResult::accumulated;
  }

  /// The product is added to a whole ref:  store(add(load ref, product), ref), or the load is the product's
  /// accumulator.
  struct Accumulation {
    mlir::Value ref, sum;
  };
  static std::optional<Accumulation> accumulation(mlir::Operation& matmul) {
    const auto onlyUser = [](mlir::Value v) { return v.hasOneUse() ? *v.getUsers().begin() : nullptr; };
    mlir::Value sum = matmul.getResult(0), old = matmul.getOperand(2);
    mlir::Operation* user = onlyUser(sum);
    if (user && isZero(old)) {
      if (!llvm::isa<mlir::arith::AddFOp, mlir::arith::AddIOp>(user)) return std::nullopt;
      old = user->getOperand(user->getOperand(0) == sum ? 1 : 0);
      sum = user->getResult(0);
      user = onlyUser(sum);
    }
    mlir::Operation* load = old.getDefiningOp();
    if (!user || !isVectorStore(*user) || !load || !isVectorLoad(*load) || !onlyUser(old)) return std::nullopt;
    const mlir::Value ref = load->getOperand(0);
    if (user->getOperand(0) != sum || user->getOperand(1) != ref || !isWhole(*user, ref, sum.getType()) ||
        !isWhole(*load, ref, old.getType()) || user->getBlock() != matmul.getBlock() ||
        load->getBlock() != matmul.getBlock())
      return std::nullopt;
    // The ref changes where the product is computed, not where the store is. Therefore nothing else may access the ref
    // from the first of load and product to the store, and no earlier load of this block may be needed later.
    for (mlir::Operation& op : *matmul.getBlock()) {
      if (&op == user) return Accumulation{ref, sum};
      const bool late = load->isBeforeInBlock(&op) || matmul.isBeforeInBlock(&op);
      if (&op != load && isVectorLoad(op) && op.getOperand(0) == ref) return std::nullopt;
      if (late && op.getNumRegions() > 0) return std::nullopt;
      if (late && isVectorStore(op) && op.getOperand(1) == ref) return std::nullopt;
    }
    return std::nullopt;
  }

  /// The branch that clears the whole ref before the product's load, if nothing accesses the ref between the two:
  ///   if c { store(0, ref) }   add(load ref, product)
  static mlir::Operation* clearingBranch(mlir::Operation& matmul, mlir::Value ref) {
    mlir::Operation* last = nullptr;
    for (mlir::Operation& op : *matmul.getBlock()) {
      if (isVectorLoad(op) && op.getOperand(0) == ref) break;
      op.walk([&](mlir::Operation* inner) {
        if (llvm::is_contained(inner->getOperands(), ref)) last = &op;
      });
    }
    auto branch = llvm::dyn_cast_or_null<mlir::scf::IfOp>(last);
    if (!branch || branch.getNumResults() != 0 || !doesNothing(branch.getElseRegion())) return nullptr;
    int stores = 0;
    for (mlir::Operation& op : branch.getThenRegion().front().without_terminator()) {
      if (llvm::isa<mlir::arith::ConstantOp, mlir::vector::BroadcastOp>(op)) continue;
      if (!isVectorStore(op) || op.getOperand(1) != ref || !isZero(op.getOperand(0)) ||
          !isWhole(op, ref, op.getOperand(0).getType()))
        return nullptr;
      ++stores;
    }
    return stores == 1 ? last : nullptr;
  }

  void planScratch(mlir::Value ref) {
    auto type = llvm::dyn_cast<mlir::MemRefType>(ref.getType());
    if (!type || type.getRank() != 2) return;
    std::optional<ProductTile> tile;
    std::vector<std::pair<mlir::Operation*, Accumulation>> adding;
    for (const auto& [op, covering] : covering_) {
      const auto accumulated = accumulation(*op);
      if (!accumulated || accumulated->ref != ref || elementDType(type) != sumOf(covering.dtype)) continue;
      if (tile && *tile != covering) return;
      tile = covering;
      adding.emplace_back(op, *accumulated);
    }
    if (!tile) return;
    for (const auto& [op, accumulated] : adding) {
      PlannedProduct& p = plan_.products[op];
      p = {.tile = *tile, .result = ProductResult::accumulated, .scratch = ref, .sum = accumulated.sum};
    }
    if (everyUseStaysInPlace(ref, {*tile})) {
      plan_.scratch[ref] = {*tile};
      mlir::Operation* const clearing = adding.size() == 1 ? clearingBranch(*adding[0].first, ref) : nullptr;
      if (!clearing) return;
      plan_.zeroInitBranches.insert(clearing);
      plan_.products[adding[0].first].begins = clearing->getOperand(0);
      return;
    }
    for (const auto& [op, accumulated] : adding) plan_.products[op] = {.tile = *tile};
  }
  bool everyUseStaysInPlace(mlir::Value ref, const Distribution& d) {
    Spread found;
    for (mlir::Operation* user : ref.getUsers()) {
      if (isVectorStore(*user)) {
        if (user->getOperand(1) != ref || !isWhole(*user, ref, user->getOperand(0).getType())) return false;
        if (const Distribution* stored = distributionOf(user->getOperand(0), found); stored && !stored->same(d))
          return false;
      } else if (!isVectorLoad(*user) || !isWhole(*user, ref, user->getResult(0).getType()) ||
                 !staysInPlace(user->getResult(0), d, found)) {
        return false;
      }
    }
    spread_.insert(found.begin(), found.end());
    return true;
  }

  void planResult(mlir::Operation* op) {
    const auto covering = covering_.find(op);
    const auto planned = plan_.products.find(op);
    if (covering == covering_.end() || planned == plan_.products.end() ||
        planned->second.result != ProductResult::memory || !tried_.insert(op).second)
      return;
    Spread found;
    auto type = llvm::cast<mlir::VectorType>(op->getResult(0).getType());
    if (type.getRank() != 2 || elementDType(type) != sumOf(covering->second.dtype) ||
        !staysInPlace(op->getResult(0), {covering->second}, found))
      return;
    spread_.insert(found.begin(), found.end());
    PlannedProduct& p = plan_.products[op];
    p.tile = covering->second;
    p.result = ProductResult::registers;
    p.beginsAtZero = p.tile.unit == ProductUnit::warpGroups && isZero(op->getOperand(2));
  }

  /// Keeps scratch in registers if values in registers are stored to it and each thread only needs its own elements:
  /// statistics of rows, and sums that are scaled.
  void planOtherScratch(mlir::Value ref) {
    auto type = llvm::dyn_cast<mlir::MemRefType>(ref.getType());
    if (!isMatrix(type) || elementDType(type) != DType::f32 || plan_.scratch.contains(ref)) return;
    for (mlir::Operation* user : ref.getUsers()) {
      if (!isVectorStore(*user) || user->getOperand(1) != ref) continue;
      const Distribution* stored = distributionOf(user->getOperand(0), Spread());
      if (!stored || stored->perRow != (type.getShape().back() == 1)) continue;
      if (const Distribution d = *stored; everyUseStaysInPlace(ref, d)) plan_.scratch[ref] = d;
      return;
    }
  }

  /// If a product is added to a value in registers, its sums begin with that value. The product is then computed where
  /// the addition is, so that no op between the two may change memory that it reads, or be a product.
  void planStart(mlir::Operation* op) {
    const auto planned = plan_.products.find(op);
    if (planned == plan_.products.end()) return;
    PlannedProduct& p = planned->second;
    mlir::Value product = op->getResult(0);
    if (p.result != ProductResult::registers || !isZero(op->getOperand(2)) || !product.hasOneUse()) return;
    mlir::Operation* sum = *product.getUsers().begin();
    if (!llvm::isa<mlir::arith::AddFOp, mlir::arith::AddIOp>(sum) || sum->getBlock() != op->getBlock() ||
        plan_.sums.contains(sum))
      return;
    for (mlir::Operation* between = op->getNextNode(); between != sum; between = between->getNextNode())
      if (between->getNumRegions() > 0 || plan_.products.contains(between) ||
          (isVectorStore(*between) ? !plan_.scratch.contains(between->getOperand(1)) : mayChangeMemory(*between)))
        return;
    p.start = sum->getOperand(sum->getOperand(0) == product ? 1 : 0);
    p.sum = sum->getResult(0);
    p.beginsAtZero = false;
    plan_.sums[sum] = op;
  }

  /// Registers of a thread for scratch.
  int64_t scratch() const {
    int64_t kept = 0;
    for (const auto& [ref, d] : plan_.scratch) kept += d.elements();
    return kept;
  }
  /// The most at once for the results of products and left operands: in the body and in one branch, since only one
  /// branch runs at a time.
  int64_t changing() const {
    int64_t most = 0;
    mlir::Block* const body = &arguments_.function().getBody().front();
    llvm::DenseSet<mlir::Block*> blocks;
    for (const auto& [op, p] : plan_.products)
      if (op->getBlock() != body && blocks.insert(op->getBlock()).second)
        most = std::max(most, mostIn(*op->getBlock()));
    return mostIn(*body) + most;
  }
  int64_t mostIn(mlir::Block& block) const {
    int64_t most = 0;
    for (const auto& [at, planned] : plan_.products) {
      if (at->getBlock() != &block) continue;
      int64_t live = wordsOfLeft(at, planned);
      for (const auto& [op, p] : plan_.products)
        if (p.result == ProductResult::registers && !p.start && op->getBlock() == &block) {
          llvm::DenseSet<mlir::Value> seen;
          if (op == at || (op->isBeforeInBlock(at) && isNeededAfter(op->getResult(0), *at, planned, seen)))
            live += p.tile.sums();
        }
      most = std::max(most, live);
    }
    return most;
  }
  /// Two elements of 16 bits are a word; f32 are multiplied from where they are.
  static int64_t wordsOfLeft(mlir::Operation* op, const PlannedProduct& p) {
    if (!p.lhsInRegisters || p.tile.unit == ProductUnit::threads) return 0;
    return 2 * p.tile.fragmentsM * shapeOf(op->getOperand(0).getType())[1] / ProductTile::kColumns * p.tile.parts;
  }
  /// Whether the product's result is needed when this later product has read its left operand. Values that are computed
  /// element by element are computed where they are needed.
  bool isNeededAfter(mlir::Value v, mlir::Operation& product, const PlannedProduct& planned,
                     llvm::DenseSet<mlir::Value>& seen) const {
    if (!seen.insert(v).second) return false;
    return llvm::any_of(v.getUses(), [&](mlir::OpOperand& use) {
      mlir::Operation* user = use.getOwner();
      if (user == &product && use.getOperandNumber() == 0 && wordsOfLeft(&product, planned) > 0) return false;
      const bool computes = user->getNumResults() == 1 && user->getNumRegions() == 0 && !isVectorLoad(*user) &&
                            !plan_.products.contains(user) && !llvm::isa<mlir::vector::MultiDimReductionOp>(user);
      if (computes && isNeededAfter(user->getResult(0), product, planned, seen)) return true;
      mlir::Operation* at = product.getBlock()->findAncestorOpInBlock(*user);
      return !computes && (!at || !at->isBeforeInBlock(&product));
    });
  }
  void keepNothing() {
    plan_.scratch.clear();
    plan_.zeroInitBranches.clear();
    plan_.sums.clear();
    for (auto& [op, p] : plan_.products) p = {.tile = p.tile};
  }

  KernelArguments arguments_;
  const Architecture& architecture_;
  WarpGrid grid_;
  std::optional<int> threads_;
  int mostStages_;
  const llvm::DenseSet<mlir::Operation*>& refused_;
  RegisterPlan plan_;
  llvm::DenseMap<mlir::Operation*, ProductTile> covering_;
  Spread spread_;                           ///< values in registers
  llvm::DenseSet<mlir::Operation*> tried_;  ///< products whose results have been considered
};

}  // namespace

Distribution Distribution::ofColumns(int64_t columns) const {
  Distribution d{tile, false};
  d.tile.fragmentsN =
      (columns + ProductTile::kColumns * tile.warpsAcross - 1) / (ProductTile::kColumns * tile.warpsAcross);
  return d;
}

bool Distribution::same(const Distribution& o) const {
  return perRow == o.perRow && tile.warpsDown == o.tile.warpsDown && tile.warpsAcross == o.tile.warpsAcross &&
         tile.fragmentsM == o.tile.fragmentsM && (perRow || tile.fragmentsN == o.tile.fragmentsN);
}

namespace {

bool hasExactProducts(const KernelPackage& package, const Architecture& architecture) {
  mlir::func::FuncOp function = package.kernelFunction();
  return function
      .walk([&](mlir::Operation* op) {
        const auto shape = productShape(*op, architecture);
        return shape && shape->exact ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance();
      })
      .wasInterrupted();
}

/// Whether multiply-adds of f32, which also need registers for operands, leave too few of them, and twice as many warps
/// would all have rows.
bool canShareRows(const RegisterPlan& plan) {
  // With 128 values, nothing spills in gradients of attention; with 160, 76 bytes do.
  constexpr int64_t kMostKept = 144;
  return plan.kept > kMostKept && llvm::all_of(plan.products, [](const auto& each) {
           const ProductTile& tile = each.second.tile;
           return tile.unit == ProductUnit::threads && tile.fragmentsM > 1;
         });
}

bool hasLeftOperandInRegisters(const RegisterPlan& plan) {
  return llvm::any_of(plan.products, [](const auto& each) { return each.second.lhsInRegisters; });
}

}  // namespace

RegisterPlan planRegisters(const KernelPackage& package, const Architecture& architecture, const GpuParams& params) {
  std::optional<int> wanted;
  if (params.num_warps) wanted = static_cast<int>(*params.num_warps) * kWarp;
  const auto planned = [&](WarpGrid grid, std::optional<int> threads) {
    const int mostStages = static_cast<int>(params.num_stages.value_or(kMaxStages));
    llvm::DenseSet<mlir::Operation*> refused;
    while (true) {
      RegisterPlan plan = RegisterPlanner(package, architecture, grid, threads, mostStages, refused).run();
      const size_t before = refused.size();
      for (const auto& [op, p] : plan.products)
        if (p.tile.parts > 1 && !p.lhsInRegisters) refused.insert(op);
      if (refused.size() == before) return plan;
    }
  };
  RegisterPlan square = planned(WarpGrid::square, wanted);
  // Warp groups have whole rows anyway.
  if (architecture.hasWgmma && (hasLeftOperandInRegisters(square) || !hasExactProducts(package, architecture)))
    return square;
  // The fewer warps, the more products each computes with an operand that it has loaded.
  RegisterPlan rows = planned(WarpGrid::rows, wanted.value_or(4 * kWarp));
  if (!wanted && (!hasLeftOperandInRegisters(rows) || canShareRows(rows)))
    if (RegisterPlan more = planned(WarpGrid::rows, 8 * kWarp); hasLeftOperandInRegisters(more)) return more;
  return hasLeftOperandInRegisters(rows) ? rows : square;
}

}  // namespace smalti::gpu
