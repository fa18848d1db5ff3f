// Grid queries and control flow.
#include <array>
#include <cmath>
#include <limits>

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "lang/lower/Lowering.h"

namespace smalti::lang {
namespace {

void programId(Lowering& l, const Op& op) { l.set(op.results[0], l.gridIndices[std::get<int64_t>(*op.find("axis"))]); }

void numPrograms(Lowering& l, const Op& op) {
  l.set(op.results[0],
        l.create1("tpu.iteration_bound", {}, l.b.getI32Type(),
                  {l.b.getNamedAttr(
                      "dim", l.b.getI32IntegerAttr(static_cast<int32_t>(std::get<int64_t>(*op.find("axis")))))}));
}

/// Two branches: the region of true, then that of false.
void ifElse(Lowering& l, const Op& op) {
  std::vector<mlir::Type> types;
  for (const ValueId v : op.results) types.push_back(l.mlirType(l.typeOf(v)));
  auto branch = mlir::scf::IfOp::create(l.b, l.loc, types, l.value(op.operands[0]), true);
  for (int i = 0; i < 2; ++i) {
    const mlir::OpBuilder::InsertionGuard guard(l.b);
    mlir::Block& block = (i == 0 ? branch.getThenRegion() : branch.getElseRegion()).front();
    if (!block.empty()) block.back().erase();  // the terminator the builder made
    l.b.setInsertionPointToEnd(&block);
    const auto results = l.ops(op.regions[i].ops);
    mlir::scf::YieldOp::create(l.b, l.loc, results);
  }
  for (size_t i = 0; i < op.results.size(); ++i) l.set(op.results[i], branch.getResult(i));
}

std::vector<mlir::Type> typesOf(Lowering& l, std::span<const ValueId> values) {
  std::vector<mlir::Type> types;
  for (const ValueId v : values) types.push_back(l.mlirType(l.typeOf(v)));
  return types;
}
std::vector<mlir::Value> valuesOf(Lowering& l, std::span<const ValueId> ids) {
  std::vector<mlir::Value> values;
  for (const ValueId v : ids) values.push_back(l.value(v));
  return values;
}

/// Puts a block of the trace into a new block of `region`, whose terminator `end` makes of its results.
template <class End>
void fill(Lowering& l, mlir::Region& region, const Block& body, const End& end) {
  const mlir::OpBuilder::InsertionGuard guard(l.b);
  const auto types = typesOf(l, body.arguments);
  mlir::Block* block =
      l.b.createBlock(&region, {}, types, std::vector<mlir::Location>(types.size(), l.b.getUnknownLoc()));
  for (size_t i = 0; i < body.arguments.size(); ++i) l.set(body.arguments[i], block->getArgument(i));
  const auto loc = l.loc;
  const auto results = l.ops(body.ops);
  l.loc = loc;
  end(block, results);
}

void forLoop(Lowering& l, const Op& op) {
  std::vector<mlir::Value> operands = valuesOf(l, op.operands);
  const auto step = static_cast<double>(std::get<int64_t>(*op.find("step")));
  operands.insert(operands.begin() + 2, l.constant(l.b.getI32Type(), step));
  mlir::Operation* loop = l.create("scf.for", operands, typesOf(l, op.results), {}, 1);
  fill(l, loop->getRegion(0), op.regions[0],
       [&](mlir::Block*, const auto& results) { mlir::scf::YieldOp::create(l.b, l.loc, results); });
  for (size_t i = 0; i < op.results.size(); ++i) l.set(op.results[i], loop->getResult(i));
}

void whileLoop(Lowering& l, const Op& op) {
  mlir::Operation* loop = l.create("scf.while", valuesOf(l, op.operands), typesOf(l, op.results), {}, 2);
  fill(l, loop->getRegion(0), op.regions[0], [&](mlir::Block* block, const auto& results) {
    mlir::scf::ConditionOp::create(l.b, l.loc, results[0], block->getArguments());
  });
  fill(l, loop->getRegion(1), op.regions[1],
       [&](mlir::Block*, const auto& results) { mlir::scf::YieldOp::create(l.b, l.loc, results); });
  for (size_t i = 0; i < op.results.size(); ++i) l.set(op.results[i], loop->getResult(i));
}

/// Fills memory with NaN, or the smallest integer. SMEM holds scalars: one store per element, in loops.
void poison(Lowering& l, mlir::Value memory, bool scalars) {
  const auto memref = mlir::cast<mlir::MemRefType>(memory.getType());
  const mlir::Type element = memref.getElementType();
  const double number = mlir::isa<mlir::FloatType>(element)
                            ? std::numeric_limits<double>::quiet_NaN()
                            : -std::ldexp(1.0, static_cast<int>(memref.getElementTypeBitWidth()) - 1);
  std::vector<mlir::Value> indices;
  if (!scalars) {
    const auto vector = mlir::VectorType::get(memref.getShape(), element);
    std::vector<mlir::Value> operands{l.constant(vector, number), memory};
    for (int64_t i = 0; i < memref.getRank(); ++i) operands.push_back(l.index(0));
    l.create("vector.store", operands, {});
    return;
  }
  const mlir::OpBuilder::InsertionGuard guard(l.b);
  for (const int64_t size : memref.getShape()) {
    const mlir::Type i32 = l.b.getI32Type();
    auto loop = mlir::scf::ForOp::create(l.b, l.loc, l.constant(i32, 0), l.constant(i32, static_cast<double>(size)),
                                         l.constant(i32, 1));
    l.b.setInsertionPointToStart(loop.getBody());
    indices.push_back(l.toIndex(loop.getInductionVar()));
  }
  mlir::memref::StoreOp::create(l.b, l.loc, l.constant(element, number), memory, indices);
}

/// New memory or semaphores, here.
void allocate(Lowering& l, const Op& op, ValueId ref) {
  const ArrayType& type = l.typeOf(ref);
  const auto memref = memrefType(*l.b.getContext(), type, l.spaceOf(ref));
  const mlir::Value made = is_semaphore(type.dtype) ? l.create1("tpu.sem_alloc", {}, memref)
                                                    : mlir::Value(mlir::memref::AllocaOp::create(l.b, l.loc, memref));
  if (op.find("poison") && !is_semaphore(type.dtype))
    poison(l, made, l.spaceOf(ref) == MemorySpace::smem || type.shape.empty());
  l.setRef(ref, {made, std::vector<bool>(type.shape.size())});
}

void emptyRef(Lowering& l, const Op& op) { allocate(l, op, op.results[0]); }

void runScoped(Lowering& l, const Op& op) {
  mlir::Operation* region = l.create("tpu.region", {}, typesOf(l, op.results), {}, 1);
  const mlir::OpBuilder::InsertionGuard guard(l.b);
  l.b.createBlock(&region->getRegion(0));
  for (const ValueId ref : op.regions[0].arguments) allocate(l, op, ref);
  const auto loc = l.loc;
  const auto results = l.ops(op.regions[0].ops);
  l.loc = loc;
  l.create("tpu.yield", results, {});
  for (size_t i = 0; i < op.results.size(); ++i) l.set(op.results[i], region->getResult(i));
}

constexpr std::array kControlRules{
    LowerRow{"empty_ref", emptyRef},       LowerRow{"for", forLoop},          LowerRow{"if", ifElse},
    LowerRow{"num_programs", numPrograms}, LowerRow{"program_id", programId}, LowerRow{"run_scoped", runScoped},
    LowerRow{"while", whileLoop},
};

}  // namespace

std::span<const LowerRow> controlRules() { return kControlRules; }

}  // namespace smalti::lang
