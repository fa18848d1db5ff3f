// run_scoped, empty_ref: ops "run_scoped", whose region takes Refs to new memory, and "empty_ref".
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "lang/debug/Debug.h"
#include "lang/lower/DialectLowering.h"
#include "lang/ops/OpRecord.h"
#include "lang/trace/KernelOnly.h"
#include "lang/trace/SourceLocationScope.h"
#include "lang/trace/Trace.h"
#include "lang/transform/Depth.h"
#include "smalti/memory.h"

namespace smalti::lang {
namespace {

/// Fills memory with NaN, or the smallest integer. SMEM holds scalars: one store per element, in loops.
void poison(DialectLowering& l, mlir::Value memory, bool scalars) {
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
void allocate(DialectLowering& l, const Op& op, ValueId ref) {
  const ArrayType& type = l.typeOf(ref);
  const auto memref = memrefType(*l.b.getContext(), type, l.spaceOf(ref));
  const mlir::Value made = is_semaphore(type.dtype) ? l.create1("tpu.sem_alloc", {}, memref)
                                                    : mlir::Value(mlir::memref::AllocaOp::create(l.b, l.loc, memref));
  if (op.find("poison") && !is_semaphore(type.dtype))
    poison(l, made, l.spaceOf(ref) == MemorySpace::smem || type.shape.empty());
  l.setRef(ref, {made, std::vector<bool>(type.shape.size())});
}

void lowerEmptyRef(DialectLowering& l, const Op& op) { allocate(l, op, op.results[0]); }

void lowerRunScoped(DialectLowering& l, const Op& op) {
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

constexpr OpTable kScopedOps{
    OpRecord{.name = "empty_ref", .types = oneResult, .lower = lowerEmptyRef},
    OpRecord{.name = "run_scoped", .types = anyResults, .lower = lowerRunScoped},
};
const OpFamily kScopedFamily(kScopedOps);

}  // namespace
}  // namespace smalti::lang

namespace smalti {
namespace {

using lang::SourceLocationScope, lang::Trace;

/// The memory space; error SM6120 if a kernel cannot allocate there.
MemorySpace checkedSpace(const MemoryRef& type) {
  const MemorySpace space = type.space == MemorySpace::unspecified ? MemorySpace::vmem : type.space;
  const bool semaphores = space == MemorySpace::semaphore;
  const bool possible = space == MemorySpace::vmem || space == MemorySpace::smem || semaphores;
  if (!possible || semaphores != is_semaphore(type.dtype))
    lang::refuse({.code = "SM6120",
                  .message = fmt::format("Cannot allocate {}{}", ArrayType{type.dtype, type.shape}.str(),
                                         possible                    ? ""
                                         : space == MemorySpace::hbm ? " in HBM"
                                         : space == MemorySpace::any ? " in ANY"
                                                                     : " in host memory"),
                  .place = {},
                  .need = "VMEM or SMEM for arrays, semaphore_type for semaphores",
                  .help = possible ? "write semaphore_type::dma() or semaphore_type::regular()"
                                   : "give the kernel an output of its own as work space, in any_space"});
  return space;
}

/// "poison" stands on what is filled before it is used (E8).
lang::Attributes poisoned() {
  if (!lang::poisonBuffersEnabled()) return {};
  return {{"poison", true}};
}

}  // namespace

detail::Arrays detail::run_scoped(const std::vector<MemoryRef>& types, const std::function<Arrays(const Ref*)>& body) {
  const Location at = types.empty() ? Location() : types[0].at;
  std::vector<std::pair<ArrayType, MemorySpace>> refs;
  Trace* trace = nullptr;
  {
    SourceLocationScope place(at);
    trace = &lang::kernelTrace("run_scoped");
  }
  const lang::Depth depth(at, lang::Depth::Of::control);
  for (const MemoryRef& t : types) {
    SourceLocationScope place(t.at);
    refs.emplace_back(ArrayType{t.dtype, t.shape}, checkedSpace(t));
  }
  std::vector<ArrayType> results;
  std::vector<bool> weak;
  lang::Attributes attributes = poisoned();
  Block block = trace->refBlock(refs, [&](std::span<const Ref> inside) {
    Arrays values = body(inside.data());
    for (const Array& v : values) {
      results.push_back(v.type());
      weak.push_back(v.weak_type());
    }
    return values;
  });
  SourceLocationScope place(at);
  std::vector<Block> regions;
  regions.push_back(std::move(block));
  Arrays values = trace->record(lang::kScopedOps["run_scoped"], {}, results, std::move(attributes), std::move(regions));
  for (size_t i = 0; i < values.size(); ++i) values[i] = values[i].with_weak_type(weak[i]);
  return values;
}

Ref empty_ref(const MemoryRef& type) {
  SourceLocationScope place(type.at);
  Trace& trace = lang::kernelTrace("empty_ref");
  const MemorySpace space = checkedSpace(type);
  return trace.recordRef(lang::kScopedOps["empty_ref"], {}, {type.dtype, type.shape}, space, poisoned());
}

Ref empty_ref_like(const Ref& x, Location at) {
  const MemorySpace space = x.memory_space();
  const bool here = space == MemorySpace::smem || space == MemorySpace::semaphore;
  return empty_ref({x.shape(), x.dtype(), here ? space : MemorySpace::vmem, at});
}

}  // namespace smalti
