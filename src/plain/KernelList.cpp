#include "plain/KernelList.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "eval/FloatFormats.h"
#include "eval/Shape.h"
#include "plain/PlainEvaluators.h"

namespace smalti::plain {
bool keepsElements(const Function& function, const Op& op) {
  if (op.operands.size() != 1 || op.results.size() != 1) return false;
  if (op.name == "reshape" || op.name == "optimization_barrier") return true;
  const DType from = function.values[op.operands[0]].dtype, to = function.values[op.results[0]].dtype;
  if (op.name == "convert") return from == to;
  return op.name == "bitcast_convert" && bit_width(from) == bit_width(to) && storage_bytes(from) == storage_bytes(to) &&
         bit_width(from) >= 8;
}

int KernelList::Builder::addSlot(DType t, Slot::Kind kind) {
  list_.slots_.push_back({.kind = kind, .bytes = storage_bytes(t)});
  return static_cast<int>(list_.slots_.size()) - 1;
}

void KernelList::Builder::addArgument(ValueId v) {
  const int slot = addSlot(function_.values[v].dtype, Slot::Kind::argument);
  list_.slots_[slot].argument = arguments_++;
  slotOf_.emplace(v, slot);
}

void KernelList::Builder::addRepeated(ValueId v, int64_t inner, int64_t count) {
  const int slot = addSlot(function_.values[v].dtype, Slot::Kind::repeated);
  list_.slots_[slot].argument = arguments_++;
  list_.slots_[slot].inner = inner;
  list_.slots_[slot].count = count;
  slotOf_.emplace(v, slot);
}

void KernelList::Builder::addConstant(ValueId v, const std::byte* element) {
  slotOf_.emplace(v, constantOf(function_.values[v].dtype, element));
}

int KernelList::Builder::constantOf(DType t, const std::byte* element) {
  const int slot = addSlot(t, Slot::Kind::constant);
  Slot& s = list_.slots_[slot];
  s.elements.resize(static_cast<size_t>(kElements * s.bytes));
  eval::fill(s.elements.data(), element, kElements, s.bytes);
  return slot;
}

int KernelList::Builder::constant(DType t, double value) {
  std::array<std::byte, 8> element{};
  eval::elementFromDouble(t, value, element.data());
  return constantOf(t, element.data());
}

int KernelList::Builder::step(Step step, DType result) {
  step.result = addSlot(result, Slot::Kind::buffer);
  list_.steps_.push_back(step);
  return step.result;
}

int KernelList::Builder::binary(std::string_view kernel, DType operands, int a, int b, DType result) {
  const auto found = kernel.empty() ? nullptr : eval::findBinary(kernel, operands);
  if (!found) return -1;
  return step({.kind = Step::Kind::binary, .binary = found, .operands = {a, b}, .operandCount = 2}, result);
}

int KernelList::Builder::select(int condition, int yes, int no, DType result) {
  return step({.kind = Step::Kind::select, .operands = {condition, yes, no}, .operandCount = 3}, result);
}

/// Zeros of either sign, and NaN, are their own sign.
int KernelList::Builder::sign(DType t, int x) {
  if (t == DType::f8e8m0fnu) {  // it has neither 0 nor negative numbers
    const int isNumber = binary("arith.cmpf.oeq", t, x, x, DType::pred);
    return isNumber < 0 ? -1 : select(isNumber, constant(t, 1), x, t);
  }
  const std::string_view above = is_float(t)            ? "arith.cmpf.ogt"
                                 : is_signed_integer(t) ? "arith.cmpi.sgt"
                                                        : "arith.cmpi.ugt";
  const int zero = constant(t, 0), isAbove = binary(above, t, x, zero, DType::pred);
  if (isAbove < 0) return -1;
  if (is_unsigned_integer(t)) return select(isAbove, constant(t, 1), x, t);
  const int isBelow = binary(above, t, zero, x, DType::pred);
  return select(isAbove, constant(t, 1), select(isBelow, constant(t, -1), x, t), t);
}

/// Of words whose first bit is a sign: the others are flipped where it is set, and the words compared as integers.
int KernelList::Builder::compareInTotalOrder(const TypedOp& op, DType t, int x, int y) {
  const DType word = t == DType::f32 ? DType::i32 : t == DType::f64 ? DType::i64 : DType::i16;
  if (t != DType::f32 && t != DType::f64 && t != DType::bf16 && t != DType::f16) return -1;
  const int64_t magnitude = std::numeric_limits<int64_t>::max() >> (64 - bit_width(t));
  const auto key = [&](int slot) {
    const int signs = binary("arith.shrsi", word, slot, constant(word, bit_width(t) - 1), word);
    const int flipped = signs < 0 ? -1
                                  : binary("arith.andi", word, signs,
                                           constantOf(word, reinterpret_cast<const std::byte*>(&magnitude)), word);
    return flipped < 0 ? -1 : binary("arith.xori", word, slot, flipped, word);
  };
  const int a = key(x), b = a < 0 ? -1 : key(y);
  return b < 0 ? -1 : binary(compareKernelName(op, word), word, a, b, DType::pred);
}

int KernelList::Builder::unary(eval::UnaryKernel kernel, int a, DType result) {
  return kernel ? step({.kind = Step::Kind::unary, .unary = kernel, .operands = {a}}, result) : -1;
}

int KernelList::Builder::resultOf(const Op& op) {
  const auto dtype = [&](ValueId v) { return function_.values[v].dtype; };
  const auto operand = [&](size_t i) { return slotOf_.at(op.operands[i]); };
  const DType t = dtype(op.operands[0]), result = dtype(op.results[0]);
  if (is_complex(t) || is_complex(result)) return -1;
  if (keepsElements(function_, op)) return operand(0);
  const std::string_view name = op.name;
  const size_t n = op.operands.size();
  if (name == "select" && n == 3) return select(operand(0), operand(1), operand(2), result);
  if (name == "sign") return sign(t, operand(0));
  if (name == "is_finite") return unary(eval::findUnary("math.isfinite", t), operand(0), result);
  if (name == "clamp" && n == 3) {
    const int low = binary(kernelOpName("maximum", t), t, operand(1), operand(0), result);
    return low < 0 ? -1 : binary(kernelOpName("minimum", t), t, low, operand(2), result);
  }
  if (name == "convert") return unary(eval::findArrayConvert(t, result), operand(0), result);
  if (name == "compare" && n == 2) {
    const std::string kernel = compareKernelName({op, function_}, t);
    if (!kernel.empty()) return binary(kernel, t, operand(0), operand(1), result);
    return compareInTotalOrder({op, function_}, t, operand(0), operand(1));
  }
  if (name == "square") return binary(kernelOpName("multiply", t), t, operand(0), operand(0), result);
  if (name == "negate" && is_integer(t)) return binary("arith.subi", t, constant(t, 0), operand(0), result);
  if (name == "not" && (t == DType::pred || (is_integer(t) && bit_width(t) >= 8))) {
    std::array<std::byte, 8> allBits;
    allBits.fill(std::byte{0xff});
    const int ones = t == DType::pred ? constant(t, 1) : constantOf(t, allBits.data());
    return binary("arith.xori", t, operand(0), ones, result);
  }
  if (name == "logistic" && is_float(t)) {
    const int one = constant(t, 1), minus = unary(eval::findUnary("arith.negf", t), operand(0), t);
    const int exp = minus < 0 ? -1 : unary(eval::findUnary("math.exp", t), minus, t);
    const int sum = exp < 0 ? -1 : binary("arith.addf", t, exp, one, t);
    return sum < 0 ? -1 : binary("arith.divf", t, one, sum, t);
  }
  const std::string_view kernel = kernelOpName(name, t);
  if (kernel.empty()) return -1;
  if (n == 1) return unary(eval::findUnary(kernel, t), operand(0), result);
  return n == 2 ? binary(kernel, t, operand(0), operand(1), result) : -1;
}

bool KernelList::Builder::add(const Op& op) {
  if (!op.regions.empty() || op.results.size() != 1 || op.operands.empty()) return false;
  const int slot = resultOf(op);
  if (slot >= 0) slotOf_.emplace(op.results[0], slot);
  return slot >= 0;
}

bool KernelList::Builder::has(const Function& function, const Op& op) {
  Builder trial(function);
  for (const ValueId v : op.operands)
    if (!trial.knows(v)) trial.addArgument(v);
  return trial.add(op);
}

KernelList KernelList::Builder::finish(std::span<const ValueId> results) {
  for (const ValueId v : results) {
    int slot = slotOf_.at(v);
    if (list_.slots_[slot].kind != Slot::Kind::buffer || list_.slots_[slot].result >= 0)
      slot = step({.operands = {slot}}, function_.values[v].dtype);
    list_.slots_[slot].result = static_cast<int>(list_.results_.size());
    list_.results_.push_back(slot);
  }
  placeBuffers();
  return std::move(list_);
}

/// Values that are not alive at the same time share memory.
void KernelList::Builder::placeBuffers() {
  std::vector<Slot>& slots = list_.slots_;
  std::vector<int> lastUse(slots.size(), -1);
  list_.lastRead_.assign(static_cast<size_t>(arguments_), -1);
  list_.storedBy_.assign(list_.results_.size(), -1);
  const int steps = static_cast<int>(list_.steps_.size());
  for (int i = 0; i < steps; ++i) {
    const Step& s = list_.steps_[i];
    for (int k = 0; k < s.operandCount; ++k) {
      const Slot& operand = slots[s.operands[k]];
      lastUse[s.operands[k]] = i;
      // What is repeated is read at places that the results may have overwritten.
      if (operand.argument >= 0) list_.lastRead_[operand.argument] = operand.kind == Slot::Kind::repeated ? steps : i;
    }
    if (const int r = slots[s.result].result; r >= 0) list_.storedBy_[r] = i;
  }
  for (const int r : list_.results_) lastUse[r] = steps;  // until the block is stored
  std::unordered_map<int, std::vector<int64_t>> free;     // by bytes of an element: offsets
  const auto place = [&](Slot& slot) {
    std::vector<int64_t>& candidates = free[slot.bytes];
    if (!candidates.empty()) {
      slot.offset = candidates.back();
      candidates.pop_back();
      return;
    }
    slot.offset = list_.bufferBytes_;
    list_.bufferBytes_ += kElements * slot.bytes;
  };
  for (Slot& slot : slots)
    if (slot.kind == Slot::Kind::repeated) place(slot);
  for (int i = 0; i < steps; ++i) {
    const Step& s = list_.steps_[i];
    place(slots[s.result]);
    for (int k = 0; k < s.operandCount; ++k) {
      Slot& operand = slots[s.operands[k]];
      if (operand.kind != Slot::Kind::buffer || lastUse[s.operands[k]] != i) continue;
      lastUse[s.operands[k]] = steps;  // freed once, where it is an operand twice
      free[operand.bytes].push_back(operand.offset);
    }
  }
  list_.isOneKernel_ = list_.results_.size() == 1 && steps == 1 && list_.steps_[0].kind == Step::Kind::binary &&
                       slots[list_.steps_[0].operands[0]].kind == Slot::Kind::argument &&
                       slots[list_.steps_[0].operands[1]].kind == Slot::Kind::argument;
}

bool KernelList::mayReplace(size_t argument, size_t result) const { return lastRead_[argument] <= storedBy_[result]; }

void KernelList::repeat(const Slot& slot, const std::byte* argument, int64_t first, int64_t count,
                        std::byte* to) const {
  for (int64_t i = 0; i < count;) {
    const int64_t element = (first + i) / slot.inner, at = element % slot.count;
    // A run of one element, or of neighbours.
    const int64_t left = slot.inner > 1 ? (element + 1) * slot.inner - (first + i) : slot.count - at;
    const int64_t length = std::min(left, count - i);
    if (slot.inner > 1)
      eval::fill(to + i * slot.bytes, argument + at * slot.bytes, length, slot.bytes);
    else
      std::memcpy(to + i * slot.bytes, argument + at * slot.bytes, static_cast<size_t>(length * slot.bytes));
    i += length;
  }
}

void KernelList::run(std::span<const std::byte* const> arguments, std::span<std::byte* const> results, int64_t begin,
                     int64_t end, eval::Scratch& scratch, bool aside) const {
  if (isOneKernel_) {
    const Step& step = steps_[0];
    const auto argument = [&](int i) {
      const Slot& slot = slots_[step.operands[i]];
      return arguments[slot.argument] + begin * slot.bytes;
    };
    std::byte* to = results[0] + begin * slots_[step.result].bytes;
    return step.binary(argument(0), argument(1), to, end - begin, eval::Splat::none);
  }
  std::byte* buffers = scratch.get<std::byte>(bufferBytes_);
  for (int64_t first = begin; first < end; first += kElements) {
    const int64_t count = std::min(kElements, end - first);
    for (const Slot& slot : slots_)
      if (slot.kind == Slot::Kind::repeated && (first == begin || slot.count > 1))
        repeat(slot, arguments[slot.argument], first, count, buffers + slot.offset);
    const auto at = [&](int i) -> const std::byte* {
      const Slot& slot = slots_[i];
      if (slot.kind == Slot::Kind::argument) return arguments[slot.argument] + first * slot.bytes;
      if (slot.kind == Slot::Kind::constant) return slot.elements.data();
      return slot.result >= 0 && !aside ? results[slot.result] + first * slot.bytes : buffers + slot.offset;
    };
    for (const Step& step : steps_) {
      const Slot& result = slots_[step.result];
      const auto operand = [&](int i) { return at(step.operands[i]); };
      auto* to = const_cast<std::byte*>(at(step.result));
      switch (step.kind) {
        case Step::Kind::unary:
          step.unary(operand(0), to, count);
          break;
        case Step::Kind::binary:
          step.binary(operand(0), operand(1), to, count, eval::Splat::none);
          break;
        case Step::Kind::select:
          eval::select(reinterpret_cast<const uint8_t*>(operand(0)), false, operand(1), false, operand(2), false, to,
                       count, result.bytes);
          break;
        case Step::Kind::copy:
          std::memmove(to, operand(0), static_cast<size_t>(count * result.bytes));
      }
    }
    if (!aside) continue;
    for (size_t r = 0; r < results.size(); ++r) {
      const Slot& slot = slots_[results_[r]];
      std::memcpy(results[r] + first * slot.bytes, buffers + slot.offset, static_cast<size_t>(count * slot.bytes));
    }
  }
}

}  // namespace smalti::plain
