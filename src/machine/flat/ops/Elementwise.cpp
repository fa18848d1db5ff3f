// Ops that work element by element: arith, math and their like, named as src/eval names them.
#include <array>
#include <cstring>
#include <string>

#include "machine/Shadow.h"
#include "machine/flat/ops/Table.h"

namespace smalti::machine::flat {
namespace {

// ---- masks: an element is defined when the operands' elements are

[[gnu::noinline]] void combineMasks(Frame& frame, const Instruction* i, const uint8_t* a, bool aSplat, const uint8_t* b,
                                    bool bSplat) {
  Slot& out = frame.slots[i->out];
  if ((a && aSplat && i->n != 1 && !*a) || (b && bSplat && i->n != 1 && !*b)) {
    std::memset(frame.newMask(out), 0, static_cast<size_t>(i->n));
    return;
  }
  const uint8_t* first = a && !aSplat ? a : nullptr;
  const uint8_t* second = b && !bSplat ? b : nullptr;
  if (i->n == 1) {  // the only element, splat or not
    const bool defined = (!a || *a) && (!b || *b);
    *frame.newMask(out) = defined;
    if (defined) out.mask = nullptr;
    return;
  }
  if (!first) std::swap(first, second);
  if (!first) {
    out.mask = nullptr;
    return;
  }
  uint8_t* mask = frame.newMask(out);
  if (!second) {
    std::memmove(mask, first, static_cast<size_t>(i->n));
    return;
  }
  for (int64_t k = 0; k < i->n; ++k) mask[k] = first[k] & second[k];
}

const Instruction* runUnary(Frame& frame, const Instruction* i) {
  const Slot& a = frame.slots[i->a];
  Slot& out = frame.slots[i->out];
  i->unary(a.data, out.data, i->n);
  if (a.mask) [[unlikely]]
    combineMasks(frame, i, a.mask, false, nullptr, false);
  else
    out.mask = nullptr;
  return i + 1;
}

const Instruction* runBinary(Frame& frame, const Instruction* i) {
  const Slot& a = frame.slots[i->a];
  const Slot& b = frame.slots[i->b];
  Slot& out = frame.slots[i->out];
  i->binary(a.data, b.data, out.data, i->n, i->splat);
  if (a.mask || b.mask) [[unlikely]]
    combineMasks(frame, i, a.mask, i->splat == eval::Splat::lhs, b.mask, i->splat == eval::Splat::rhs);
  else
    out.mask = nullptr;
  return i + 1;
}

/// arith.andi and arith.ori of bools: a defined operand that decides alone suffices.
struct Logical : Payload {
  Operand a, b, out;
  eval::BinaryKernel kernel = nullptr;
  eval::Splat splat = eval::Splat::none;
  uint8_t decides = 0;  ///< false for andi, true for ori
  void run(Frame& frame) const {
    const Slot &x = frame.slots[a.slot], &y = frame.slots[b.slot];
    const bool masked = x.mask || y.mask;
    // The mask first: `out` may share the memory of an operand, and its mask that of the operand's mask.
    if (masked) [[unlikely]]
      mask(frame, x, y);
    kernel(x.data, y.data, frame.slots[out.slot].data, out.stored(), splat);
    if (!masked) frame.setDefined(out);
  }
  void mask(Frame& frame, const Slot& x, const Slot& y) const {
    const int64_t n = out.stored();
    auto* result = reinterpret_cast<uint8_t*>(frame.temporary(0, n));
    const auto decided = [&](const Slot& slot, int64_t k) {
      return reinterpret_cast<const uint8_t*>(slot.data)[k] == decides;
    };
    for (int64_t k = 0; k < n; ++k) {
      const int64_t i = a.splat ? 0 : k, j = b.splat ? 0 : k;
      const bool xDefined = !x.mask || x.mask[i], yDefined = !y.mask || y.mask[j];
      result[k] = (xDefined && yDefined) || (xDefined && decided(x, i)) || (yDefined && decided(y, j));
    }
    std::memcpy(frame.newMask(out), result, static_cast<size_t>(n));
    frame.tidyMask(out);
  }
};

void emitUnary(FlatLowering& lowering, mlir::Operation& op, eval::UnaryKernel kernel) {
  const Operand a = lowering.operand(op.getOperand(0));
  const Operand out = lowering.define(op.getResult(0), a.splat, op.getOperands());
  Instruction& i = lowering.emit(&runUnary);
  i.unary = kernel;
  i.n = out.stored();
  i.out = out.slot;
  i.a = a.slot;
}

void emitBinary(FlatLowering& lowering, mlir::Operation& op, eval::BinaryKernel kernel) {
  const Operand a = lowering.operand(op.getOperand(0)), b = lowering.operand(op.getOperand(1));
  const bool splat = a.splat && b.splat;
  const Operand out = lowering.define(op.getResult(0), splat, op.getOperands());
  Instruction& i = lowering.emit(&runBinary);
  i.binary = kernel;
  i.n = out.stored();
  i.out = out.slot;
  i.a = a.slot;
  i.b = b.slot;
  if (i.n != 1) i.splat = a.splat ? eval::Splat::lhs : b.splat ? eval::Splat::rhs : eval::Splat::none;
}

Status lowerLogical(FlatLowering& lowering, mlir::Operation& op) {
  if (elementDType(op.getResult(0).getType()) != DType::pred) return lowerElementwise(lowering, op);
  const llvm::StringRef name = op.getName().getStringRef();
  Logical payload;
  payload.kernel = eval::findBinary(std::string_view(name.data(), name.size()), DType::pred);
  if (!payload.kernel) return lowering.refuse(op);
  payload.decides = name == "arith.ori";
  payload.a = lowering.operand(op.getOperand(0));
  payload.b = lowering.operand(op.getOperand(1));
  payload.out = lowering.define(op.getResult(0), payload.a.splat && payload.b.splat, op.getOperands());
  if (payload.out.stored() != 1)
    payload.splat = payload.a.splat ? eval::Splat::lhs : payload.b.splat ? eval::Splat::rhs : eval::Splat::none;
  lowering.emit(std::move(payload));
  return {};
}

// ---- arith.cmpi, arith.cmpf: the predicate is part of the evaluator's name

Status lowerCompare(FlatLowering& lowering, mlir::Operation& op) {
  static constexpr std::array<const char*, 10> kInteger{"eq",  "ne",  "slt", "sle", "sgt",
                                                        "sge", "ult", "ule", "ugt", "uge"};
  static constexpr std::array<const char*, 16> kFloat{"false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord",
                                                      "ueq",   "ugt", "uge", "ult", "ule", "une", "uno", "true"};
  const bool isInteger = op.getName().getStringRef() == "arith.cmpi";
  const auto predicate = static_cast<size_t>(integerAttribute(op, "predicate", -1));
  if (predicate >= (isInteger ? kInteger.size() : kFloat.size())) return lowering.refuse(op, "unknown predicate");
  const std::string name =
      isInteger ? std::string("arith.cmpi.") + kInteger[predicate] : std::string("arith.cmpf.") + kFloat[predicate];
  const eval::BinaryKernel kernel = eval::findBinary(name, elementDType(op.getOperand(0).getType()));
  if (!kernel) return lowering.refuse(op);
  emitBinary(lowering, op, kernel);
  return {};
}

// ---- arith.select

struct Select : Payload {
  Operand condition, a, b, out;
  void run(Frame& frame) const {
    const Slot &c = frame.slots[condition.slot], &x = frame.slots[a.slot], &y = frame.slots[b.slot];
    const auto* choose = reinterpret_cast<const uint8_t*>(c.data);
    const bool masked = c.mask || x.mask || y.mask;
    // The mask first: `out` may share the memory of an operand, and its mask that of the operand's mask.
    if (masked) [[unlikely]]
      selectMask(frame, choose, c.mask, x.mask, y.mask);
    eval::select(choose, condition.splat, x.data, a.splat, y.data, b.splat, frame.slots[out.slot].data, out.stored(),
                 storage_bytes(out.dtype));
    if (!masked) frame.setDefined(out);
  }
  /// A defined condition picks; an undefined one leaves nothing defined.
  void selectMask(Frame& frame, const uint8_t* choose, const uint8_t* c, const uint8_t* x, const uint8_t* y) const {
    const int64_t n = out.stored();
    auto* result = reinterpret_cast<uint8_t*>(frame.temporary(0, n));
    const auto at = [](const uint8_t* mask, bool splat, int64_t k) { return !mask || mask[splat ? 0 : k]; };
    for (int64_t k = 0; k < n; ++k)
      result[k] =
          at(c, condition.splat, k) && (choose[condition.splat ? 0 : k] ? at(x, a.splat, k) : at(y, b.splat, k));
    std::memcpy(frame.newMask(out), result, static_cast<size_t>(n));
    frame.tidyMask(out);
  }
};

/// Picks one of two refs (S-D14): only the picked one's elements are touched.
struct SelectRef : Payload {
  Operand condition;
  int32_t a = -1, b = -1, out = -1;
  void run(Frame& frame) const {
    frame.refs[out] = frame.integerUsed(condition, UndefinedUse::address, "the choice between two refs")
                          ? frame.refs[a]
                          : frame.refs[b];
  }
};

Status lowerSelect(FlatLowering& lowering, mlir::Operation& op) {
  const Operand condition = lowering.operand(op.getOperand(0));
  if (lowering.isRef(op.getResult(0))) {
    SelectRef payload;
    payload.condition = condition;
    payload.a = lowering.ref(op.getOperand(1));
    payload.b = lowering.ref(op.getOperand(2));
    payload.out = lowering.defineRef(op.getResult(0));
    lowering.emit(std::move(payload));
    return {};
  }
  Select payload;
  payload.condition = condition;
  payload.a = lowering.operand(op.getOperand(1));
  payload.b = lowering.operand(op.getOperand(2));
  // A scalar condition picks whole vectors: to the evaluator it is a splat.
  if (condition.shape.empty()) payload.condition.splat = true;
  const bool splat = payload.condition.splat && payload.a.splat && payload.b.splat;
  payload.out = lowering.define(op.getResult(0), splat, op.getOperands().drop_front());
  lowering.emit(std::move(payload));
  return {};
}

// ---- conversions

Status lowerConvert(FlatLowering& lowering, mlir::Operation& op) {
  const DType from = elementDType(op.getOperand(0).getType()), to = elementDType(op.getResult(0).getType());
  const llvm::StringRef name = op.getName().getStringRef();
  const eval::UnaryKernel kernel = eval::findConvert(std::string_view(name.data(), name.size()), from, to);
  if (!kernel) return lowering.refuse(op);
  emitUnary(lowering, op, kernel);
  return {};
}

void reciprocalApprox(const void* in, void* out, int64_t n) {
  eval::reciprocalApprox(static_cast<const float*>(in), static_cast<float*>(out), n);
}

Status lowerReciprocal(FlatLowering& lowering, mlir::Operation& op) {
  if (!boolAttribute(op, "approx") || elementDType(op.getResult(0).getType()) != DType::f32)
    return lowerElementwise(lowering, op);
  emitUnary(lowering, op, &reciprocalApprox);
  return {};
}

Status lowerSame(FlatLowering& lowering, mlir::Operation& op) {
  lowering.alias(op.getResult(0), op.getOperand(0));
  return {};
}

constexpr FlatOpRow kElementwiseTable[] = {
    {"arith.andi", lowerLogical, OpClass::vector},        {"arith.ori", lowerLogical, OpClass::vector},
    {"arith.bitcast", lowerConvert, OpClass::vector},     {"arith.cmpf", lowerCompare, OpClass::vector},
    {"arith.cmpi", lowerCompare, OpClass::vector},        {"arith.extf", lowerConvert, OpClass::vector},
    {"arith.extsi", lowerConvert, OpClass::vector},       {"arith.extui", lowerConvert, OpClass::vector},
    {"arith.fptosi", lowerConvert, OpClass::vector},      {"arith.fptoui", lowerConvert, OpClass::vector},
    {"arith.index_cast", lowerConvert, OpClass::vector},  {"arith.index_castui", lowerConvert, OpClass::vector},
    {"arith.select", lowerSelect, OpClass::vector},       {"arith.sitofp", lowerConvert, OpClass::vector},
    {"arith.truncf", lowerConvert, OpClass::vector},      {"arith.trunci", lowerConvert, OpClass::vector},
    {"arith.uitofp", lowerConvert, OpClass::vector},      {"tpu.assume_multiple", lowerSame, OpClass::scalar},
    {"tpu.reciprocal", lowerReciprocal, OpClass::vector},
};

}  // namespace

std::span<const FlatOpRow> elementwiseTable() { return kElementwiseTable; }

std::vector<int32_t> elementwiseOperands(const Instruction& i) {
  if (i.run == &runUnary) return {i.a};
  if (i.run == &runBinary) return {i.a, i.b};
  if (i.run == &step<Logical>) {
    const auto& logical = *static_cast<const Logical*>(i.payload);
    return {logical.a.slot, logical.b.slot};
  }
  if (i.run != &step<Select>) return {};
  const auto& select = *static_cast<const Select*>(i.payload);
  return {select.condition.slot, select.a.slot, select.b.slot};
}

Status lowerElementwise(FlatLowering& lowering, mlir::Operation& op) {
  if (op.getNumResults() != 1 || op.getNumRegions() != 0 || lowering.isRef(op.getResult(0))) return lowering.refuse(op);
  for (mlir::Value v : op.getOperands())
    if (lowering.isRef(v) || shapeOf(v.getType()) != shapeOf(op.getResult(0).getType())) return lowering.refuse(op);
  const llvm::StringRef text = op.getName().getStringRef();
  const std::string_view name(text.data(), text.size());
  if (op.getNumOperands() == 1) {
    if (const eval::UnaryKernel kernel = eval::findUnary(name, elementDType(op.getOperand(0).getType()))) {
      emitUnary(lowering, op, kernel);
      return {};
    }
  } else if (op.getNumOperands() == 2 && op.getOperand(0).getType() == op.getOperand(1).getType()) {
    if (const eval::BinaryKernel kernel = eval::findBinary(name, elementDType(op.getOperand(0).getType()))) {
      emitBinary(lowering, op, kernel);
      return {};
    }
  }
  return lowering.refuse(op);
}

}  // namespace smalti::machine::flat
