// scf.if, scf.for, scf.while, scf.index_switch and tpu.region become jumps in the one list of instructions.
#include <cstring>

#include <fmt/format.h>

#include "machine/flat/ops/Table.h"

namespace smalti::machine::flat {
namespace {

const Instruction* target(const Frame& frame, const Instruction* i) { return frame.program->code.data() + i->n; }

const Instruction* jump(Frame& frame, const Instruction* i) { return target(frame, i); }

[[gnu::noinline]] void undefinedBranch(Frame& frame) {
  if (frame.observer)
    frame.observer->undefinedUse(frame.core->actor(), UndefinedUse::branch, frame.place(), "a condition");
}

/// Goes to `n` when the i1 at `a` is false.
const Instruction* jumpUnless(Frame& frame, const Instruction* i) {
  const Slot& condition = frame.slots[i->a];
  if (condition.mask) [[unlikely]]
    undefinedBranch(frame);
  return (condition.bits & 0xff) != 0 ? i + 1 : target(frame, i);
}

void emitJump(FlatLowering& lowering, int to) { lowering.emit(&jump).n = to; }

/// scf.for: the counter is in `a` (of `dtype`'s width), bound and step in operands.
struct Loop : Payload {
  Operand counter, lower, upper, step;
  bool isUnsigned = false;
  int64_t exit = 0;

  bool less(int64_t a, int64_t b) const {
    if (!isUnsigned) return a < b;
    const uint64_t mask = bit_width(counter.dtype) == 64 ? ~uint64_t{0} : (uint64_t{1} << bit_width(counter.dtype)) - 1;
    return (static_cast<uint64_t>(a) & mask) < (static_cast<uint64_t>(b) & mask);
  }
  void set(Frame& frame, int64_t value) const {
    frame.slots[counter.slot].bits = static_cast<uint64_t>(value);
    const bool undefined = frame.undefined(lower) || frame.undefined(step);
    if (undefined)
      frame.setUndefined(counter);
    else
      frame.setDefined(counter);
  }
};

const Instruction* enterLoop(Frame& frame, const Instruction* i) {
  const auto& loop = *static_cast<const Loop*>(i->payload);
  const int64_t first = frame.integer(loop.lower), step = frame.integer(loop.step);
  if (frame.undefined(loop.lower) || frame.undefined(loop.upper) || frame.undefined(loop.step)) undefinedBranch(frame);
  if (step <= 0) {
    frame.fail({.code = "SM4012",
                .message = "a fori_loop (scf.for) needs a positive step",
                .place = {},
                .need = "step ≥ 1",
                .have = fmt::format("step {}", step)});
    return nullptr;
  }
  loop.set(frame, first);
  return loop.less(first, frame.integer(loop.upper)) ? i + 1 : frame.program->code.data() + loop.exit;
}

/// At the end of the body: counts on and goes back to `n`, or leaves the loop.
const Instruction* nextIteration(Frame& frame, const Instruction* i) {
  const auto& loop = *static_cast<const Loop*>(i->payload);
  const int64_t now = frame.integer(loop.counter), bound = frame.integer(loop.upper);
  int64_t next = 0;
  if (__builtin_add_overflow(now, frame.integer(loop.step), &next)) return i + 1;
  if (bit_width(loop.counter.dtype) <= 32 && loop.isUnsigned) next = static_cast<int32_t>(next);
  const bool wraps = loop.isUnsigned && loop.less(next, now);
  if (wraps || !loop.less(next, bound)) return i + 1;
  loop.set(frame, next);
  return target(frame, i);
}

Status lowerFor(FlatLowering& lowering, mlir::Operation& op) {
  mlir::Block& body = op.getRegion(0).front();
  mlir::Operation& yield = body.back();
  const auto inits = op.getOperands().drop_front(3);
  const auto carried = body.getArguments().drop_front(1);
  if (carried.size() != inits.size() || yield.getNumOperands() != inits.size()) return lowering.refuse(op);
  auto loop = std::make_unique<Loop>();
  loop->lower = lowering.operand(op.getOperand(0));
  loop->upper = lowering.operand(op.getOperand(1));
  loop->step = lowering.operand(op.getOperand(2));
  loop->isUnsigned = op.hasAttr("unsignedCmp");
  loop->counter = lowering.define(body.getArgument(0));
  for (mlir::BlockArgument argument : carried) lowering.defineMerged(argument);
  lowering.moveAll(inits, carried);
  lowering.emit(&enterLoop).payload = loop.get();
  const int first = lowering.here();
  for (auto [value, argument] : llvm::zip(yield.getOperands(), carried)) lowering.requestCoalescing(value, argument);
  if (Status s = lowering.lowerBody(body); !s) return s;
  lowering.moveAll(yield.getOperands(), carried);
  Instruction& back = lowering.emit(&nextIteration);
  back.payload = loop.get();
  back.n = first;
  loop->exit = lowering.here();
  lowering.closeLoop(first - 1);
  lowering.keep(std::move(loop));
  for (auto [result, argument] : llvm::zip(op.getResults(), carried)) lowering.alias(result, argument);
  return {};
}

Status lowerWhile(FlatLowering& lowering, mlir::Operation& op) {
  mlir::Block &before = op.getRegion(0).front(), &after = op.getRegion(1).front();
  mlir::Operation &condition = before.back(), &yield = after.back();
  const auto passed = condition.getOperands().drop_front(1);
  if (before.getNumArguments() != op.getNumOperands() || passed.size() != after.getNumArguments() ||
      passed.size() != op.getNumResults() || yield.getNumOperands() != op.getNumOperands())
    return lowering.refuse(op);
  for (mlir::BlockArgument argument : before.getArguments()) lowering.defineMerged(argument);
  lowering.moveAll(op.getOperands(), before.getArguments());
  const int first = lowering.here();
  for (auto [value, argument] : llvm::zip(yield.getOperands(), before.getArguments()))
    lowering.requestCoalescing(value, argument);
  if (Status s = lowering.lowerBody(before); !s) return s;
  const int test = lowering.here();
  lowering.emit(&jumpUnless).a = lowering.operand(condition.getOperand(0)).slot;
  // The values that the condition passes on stay in place: for the loop's body and, at the end, as the loop's results.
  for (auto [value, argument] : llvm::zip(passed, after.getArguments())) lowering.alias(argument, value);
  for (auto [value, result] : llvm::zip(passed, op.getResults())) lowering.alias(result, value);
  if (Status s = lowering.lowerBody(after); !s) return s;
  lowering.moveAll(yield.getOperands(), before.getArguments());
  emitJump(lowering, first);
  lowering.at(test).n = lowering.here();
  lowering.closeLoop(first);
  return {};
}

/// One branch: its ops, and its yielded values moved to the op's results.
Status lowerBranch(FlatLowering& lowering, mlir::Operation& op, mlir::Region& region) {
  if (region.empty()) return {};
  mlir::Block& block = region.front();
  mlir::Operation& yield = block.back();
  if (yield.getNumOperands() != op.getNumResults()) return lowering.refuse(op);
  for (auto [value, result] : llvm::zip(yield.getOperands(), op.getResults()))
    lowering.requestCoalescing(value, result);
  if (Status s = lowering.lowerBody(block); !s) return s;
  lowering.moveAll(yield.getOperands(), op.getResults());
  return {};
}

Status lowerIf(FlatLowering& lowering, mlir::Operation& op) {
  for (mlir::Value result : op.getResults()) lowering.defineMerged(result);
  const int test = lowering.here();
  lowering.emit(&jumpUnless).a = lowering.operand(op.getOperand(0)).slot;
  if (Status s = lowerBranch(lowering, op, op.getRegion(0)); !s) return s;
  const bool hasElse =
      !op.getRegion(1).empty() && (op.getNumResults() != 0 || !llvm::hasSingleElement(op.getRegion(1).front()));
  if (hasElse) {
    const int over = lowering.here();
    emitJump(lowering, 0);
    lowering.at(test).n = lowering.here();
    if (Status s = lowerBranch(lowering, op, op.getRegion(1)); !s) return s;
    lowering.at(over).n = lowering.here();
  } else {
    lowering.at(test).n = lowering.here();
  }
  for (mlir::Value result : op.getResults()) lowering.settleMerged(result);
  return {};
}

struct Switch : Payload {
  Operand value;
  std::vector<int64_t> cases;
  std::vector<int64_t> targets;  ///< per case, then the default's
};

const Instruction* jumpToCase(Frame& frame, const Instruction* i) {
  const auto& table = *static_cast<const Switch*>(i->payload);
  const int64_t value = frame.integerUsed(table.value, UndefinedUse::branch, "the value of a switch");
  size_t k = 0;
  while (k < table.cases.size() && table.cases[k] != value) ++k;
  return frame.program->code.data() + table.targets[k];
}

/// Regions: the default, then one per case.
Status lowerIndexSwitch(FlatLowering& lowering, mlir::Operation& op) {
  auto table = std::make_unique<Switch>();
  table->value = lowering.operand(op.getOperand(0));
  table->cases = integersAttribute(op, "cases");
  if (table->cases.size() + 1 != op.getNumRegions()) return lowering.refuse(op);
  for (mlir::Value result : op.getResults()) lowering.defineMerged(result);
  lowering.emit(&jumpToCase).payload = table.get();
  std::vector<int> overs;
  for (unsigned k = 0; k < op.getNumRegions(); ++k) {
    table->targets.push_back(lowering.here());
    if (Status s = lowerBranch(lowering, op, op.getRegion((k + 1) % op.getNumRegions())); !s) return s;
    overs.push_back(lowering.here());
    emitJump(lowering, 0);
  }
  for (int over : overs) lowering.at(over).n = lowering.here();
  lowering.keep(std::move(table));
  for (mlir::Value result : op.getResults()) lowering.settleMerged(result);
  return {};
}

/// run_scoped: its allocations end with it.
Status lowerRegion(FlatLowering& lowering, mlir::Operation& op) {
  if (!llvm::hasSingleElement(op.getRegion(0))) return lowering.refuse(op);
  for (mlir::Value result : op.getResults()) lowering.defineMerged(result);
  lowering.openScope();
  if (Status s = lowerBranch(lowering, op, op.getRegion(0)); !s) return s;
  lowering.closeScope();
  for (mlir::Value result : op.getResults()) lowering.settleMerged(result);
  return {};
}

Status lowerTerminator(FlatLowering& lowering, mlir::Operation& op) {
  return lowering.refuse(op, "it does not end a block");
}

/// Structured ops are lowered only when every region is one block that ends in a terminator.
template <Status (*Lower)(FlatLowering&, mlir::Operation&)>
Status structured(FlatLowering& lowering, mlir::Operation& op) {
  for (mlir::Region& region : op.getRegions())
    if (!region.empty() && (!llvm::hasSingleElement(region) || region.front().empty()))
      return lowering.refuse(op, "a region has several blocks");
  return Lower(lowering, op);
}

constexpr FlatOpRow kControlTable[] = {
    {"scf.condition", lowerTerminator, OpClass::control},
    {"scf.for", structured<lowerFor>, OpClass::control},
    {"scf.if", structured<lowerIf>, OpClass::control},
    {"scf.index_switch", structured<lowerIndexSwitch>, OpClass::control},
    {"scf.while", structured<lowerWhile>, OpClass::control},
    {"scf.yield", lowerTerminator, OpClass::control},
    {"tpu.region", structured<lowerRegion>, OpClass::control},
};

}  // namespace

std::span<const FlatOpRow> controlTable() { return kControlTable; }

}  // namespace smalti::machine::flat
