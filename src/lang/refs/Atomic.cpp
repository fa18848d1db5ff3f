// Atomic updates of Refs (D8): one op of the trace, "atomic", which returns the elements before the update.
#include "smalti/atomic.h"

#include <fmt/format.h>

#include "ir/facts/Atomics.h"
#include "lang/lower/DialectLowering.h"
#include "lang/ops/OpRecord.h"
#include "lang/refs/Fit.h"
#include "lang/refs/SpaceText.h"
#include "lang/trace/KernelOnly.h"
#include "lang/trace/SourceLocationScope.h"
#include "lang/trace/Trace.h"

namespace smalti::lang {
namespace {

void lowerAtomic(DialectLowering& l, const Op& op) {
  const MemorySpace space = l.spaceOf(op.operands[0]);
  const auto& kind = std::get<std::string>(*op.find("kind"));
  if (space != MemorySpace::any && space != MemorySpace::hbm)
    refuseOp(op, fmt::format("an atomic update of a Ref in {}", spaceText(space)),
             "a Ref in ANY or HBM, which all programs share", fmt::format("a Ref in {}", spaceText(space)),
             "programs do not share it: read, compute and write it, or give its BlockSpec .memory_space = any");
  std::vector<mlir::Value> operands{unsqueezed(l, op.operands[0])};
  for (size_t i = 1; i < op.operands.size(); ++i) operands.push_back(l.value(op.operands[i]));
  const mlir::Type type = l.mlirType(l.typeOf(op.results[0]));
  l.set(op.results[0], l.create1("tpu.atomic", operands, type, {l.b.getNamedAttr("kind", l.b.getStringAttr(kind))}));
}

constexpr OpTable kAtomicOps{
    OpRecord{.name = "atomic",
             .types = oneResult,
             .lower = lowerAtomic,
             .effect = true,
             .noJvp = "the order of atomic updates is not defined, so that they have no derivative",
             .noBatch = "all examples of the batch would update the same memory"},
};
const OpFamily kAtomicFamily(kAtomicOps);

Array atomic(std::string_view function, AtomicKind kind, const AtomicRef& to, const Operand& value,
             const Operand* expected = nullptr) {
  SourceLocationScope place(value.at());
  Trace& trace = kernelTrace(function);
  const Ref ref = to.ref();
  const ArrayType type{ref.dtype(), ref.shape()};
  const bool onlyBits = kind == AtomicKind::bitAnd || kind == AtomicKind::bitOr || kind == AtomicKind::bitXor;
  const bool fits = type.dtype == DType::i32 || type.dtype == DType::u32 || (type.dtype == DType::f32 && !onlyBits);
  if (!fits)
    refuse({.code = "SM6302",
            .message = fmt::format("'{}' of a Ref of {}", function, name(type.dtype)),
            .place = {},
            .need = onlyBits ? "i32 or u32" : "f32, i32 or u32",
            .have = std::string(name(type.dtype)),
            .help = "update an array with elements of 32 bits, and convert it afterwards"});
  if (type.dtype == DType::u32 && kind == AtomicKind::max) kind = AtomicKind::unsignedMax;
  if (type.dtype == DType::u32 && kind == AtomicKind::min) kind = AtomicKind::unsignedMin;
  std::vector<ValueId> ids{trace.use(ref), trace.use(fit(value, type))};
  if (expected) ids.push_back(trace.use(fit(*expected, type)));
  return trace.record(kAtomicOps["atomic"], std::move(ids), {&type, 1}, {{"kind", std::string(smalti::name(kind))}})[0];
}

}  // namespace
}  // namespace smalti::lang

namespace smalti {

using lang::atomic;

Array atomic_add(const AtomicRef& r, const Operand& v) { return atomic("atomic_add", AtomicKind::add, r, v); }
Array atomic_max(const AtomicRef& r, const Operand& v) { return atomic("atomic_max", AtomicKind::max, r, v); }
Array atomic_min(const AtomicRef& r, const Operand& v) { return atomic("atomic_min", AtomicKind::min, r, v); }
Array atomic_and(const AtomicRef& r, const Operand& v) { return atomic("atomic_and", AtomicKind::bitAnd, r, v); }
Array atomic_or(const AtomicRef& r, const Operand& v) { return atomic("atomic_or", AtomicKind::bitOr, r, v); }
Array atomic_xor(const AtomicRef& r, const Operand& v) { return atomic("atomic_xor", AtomicKind::bitXor, r, v); }
Array atomic_xchg(const AtomicRef& r, const Operand& v) { return atomic("atomic_xchg", AtomicKind::exchange, r, v); }
Array atomic_cas(const AtomicRef& r, const Operand& compare, const Operand& v) {
  return atomic("atomic_cas", AtomicKind::compareExchange, r, v, &compare);
}

}  // namespace smalti
