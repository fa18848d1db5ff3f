#include "plain/RegionPlan.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "eval/Shape.h"

namespace smalti::plain {

class RegionPlan::Builder {
 public:
  Builder(const PlainCall& call, const Block& region) : call_(call), region_(region) {}

  std::optional<RegionPlan> build() {
    for (size_t i = 0; i < region_.arguments.size(); ++i) {
      if (!isScalar(region_.arguments[i])) return std::nullopt;
      const int slot = addSlot(region_.arguments[i]);
      plan_.slots_[slot].argument = static_cast<int>(i);
    }
    for (const Op& op : region_.ops)
      if (!add(op)) return std::nullopt;
    return std::move(plan_);
  }

 private:
  bool isScalar(ValueId v) const { return call_.function.values[v].shape.empty(); }
  DType dtype(ValueId v) const { return call_.function.values[v].dtype; }

  int addSlot(ValueId v) {
    const int slot = static_cast<int>(plan_.slots_.size());
    plan_.slots_.push_back({.bytes = storage_bytes(dtype(v))});
    slotOf_.emplace(v, slot);
    return slot;
  }
  int addBuffer(ValueId v) {
    const int slot = addSlot(v);
    plan_.slots_[slot].buffer.resize(static_cast<size_t>(kElements * plan_.slots_[slot].bytes));
    return slot;
  }
  /// A buffer with the scalar in each element.
  int addScalar(ValueId v, const Array& scalar) {
    const int slot = addBuffer(v);
    eval::fill(plan_.slots_[slot].buffer.data(), scalar.data(), kElements, plan_.slots_[slot].bytes);
    return slot;
  }
  int slot(ValueId v) {
    const auto found = slotOf_.find(v);
    return found != slotOf_.end() ? found->second : addScalar(v, call_.outer(v));
  }

  bool add(const Op& op) {
    if (!op.regions.empty() || !std::ranges::all_of(op.operands, [this](ValueId v) { return isScalar(v); }))
      return false;
    if (op.name == "return") {
      for (const ValueId v : op.operands) plan_.returned_.push_back(buffered(v));
      return true;
    }
    if (op.results.size() != 1 || !isScalar(op.results[0])) return false;
    if (op.name == "constant") return addConstant(op);
    if (op.operands.empty() || op.operands.size() > 3) return false;
    const DType t = dtype(op.operands[0]), result = dtype(op.results[0]);
    if (is_complex(t) || is_complex(result)) return false;
    Step step;
    if (op.name == "select") {
      step.kind = Step::Kind::select;
    } else if (op.operands.size() == 1) {
      step.kind = Step::Kind::unary;
      step.unary =
          op.name == "convert" ? eval::findArrayConvert(t, result) : eval::findUnary(kernelOpName(op.name, t), t);
      if (!step.unary) return false;
    } else {
      const std::string name =
          op.name == "compare" ? compareKernelName({op, call_.function}, t) : std::string(kernelOpName(op.name, t));
      step.kind = Step::Kind::binary;
      step.binary = op.operands.size() == 2 ? eval::findBinary(name, t) : nullptr;
      if (!step.binary) return false;
    }
    for (size_t i = 0; i < op.operands.size(); ++i) step.operands[i] = slot(op.operands[i]);
    step.result = addBuffer(op.results[0]);
    plan_.steps_.push_back(step);
    return true;
  }

  int buffered(ValueId v) {
    const int from = slot(v);
    if (plan_.slots_[from].argument < 0) return from;
    const int to = addBuffer(v);
    plan_.steps_.push_back({.operands = {from}, .result = to});
    return to;
  }

  bool addConstant(const Op& op) {
    std::vector<Array> none;
    const ArrayType type{dtype(op.results[0]), {}};
    PlainCall call{op, call_.function, none, {&type, 1}, call_.device, call_.numerics, call_.outer};
    const auto constant = findEvaluator(op.name)(call);
    if (!constant) return false;
    addScalar(op.results[0], (*constant)[0]);
    return true;
  }

  const PlainCall& call_;
  const Block& region_;
  RegionPlan plan_;
  std::unordered_map<ValueId, int> slotOf_;
};

std::optional<RegionPlan> RegionPlan::of(const PlainCall& call, const Block& region) {
  return Builder(call, region).build();
}

void RegionPlan::run(std::span<const std::byte* const> arguments, std::span<std::byte* const> results, int64_t n) {
  for (int64_t first = 0; first < n; first += kElements) {
    const int64_t count = std::min(kElements, n - first);
    const auto at = [&](int slot) {
      const Slot& s = slots_[slot];
      return s.argument < 0 ? s.buffer.data() : arguments[s.argument] + first * s.bytes;
    };
    for (const Step& step : steps_) {
      Slot& result = slots_[step.result];
      const auto operand = [&](int i) { return at(step.operands[i]); };
      std::byte* to = result.buffer.data();
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
          std::memcpy(to, operand(0), static_cast<size_t>(count * result.bytes));
      }
    }
    for (size_t r = 0; r < results.size(); ++r) {
      const Slot& returned = slots_[returned_[r]];
      std::memcpy(results[r] + first * returned.bytes, returned.buffer.data(),
                  static_cast<size_t>(count * returned.bytes));
    }
  }
}

}  // namespace smalti::plain
