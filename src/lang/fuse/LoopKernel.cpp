#include "lang/fuse/LoopKernel.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string_view>

#include "lang/fuse/FusedKernel.h"
#include "lang/fuse/Group.h"
#include "lang/ops/Support.h"
#include "lang/trace/SourceLocationScope.h"
#include "smalti/control.h"
#include "smalti/ops.h"

namespace smalti::lang {
namespace {

/// The most work of a step on one core: beyond it, parallel ops are faster than one sequential kernel.
constexpr int64_t kMaxElements = 1 << 16, kMaxMultiplications = 1 << 22;

bool isComputed(const Op& op) {
  static constexpr std::array<std::string_view, 6> kMoves{"broadcast_in_dim", "reshape", "transpose", "slice",
                                                          "concatenate",      "convert"};
  return isElementwise(op) || !reductionOf(op).empty() || op.name == "dot_general" ||
         std::ranges::find(kMoves, op.name) != kMoves.end();
}

class Loop {
 public:
  Loop(const Op& loop, const std::vector<ArrayType>& types, const std::map<ValueId, Array>& constants)
      : loop_(loop), types_(types), constants_(constants), body_(loop.regions[1]) {}

  /// Finds out what everything in it is; false where it is no loop over slices.
  bool read() { return findSteps() && findBody(); }
  LoopKernel make();

 private:
  std::optional<int64_t> number(ValueId v) const {
    const auto known = constants_.find(v);
    if (known == constants_.end() || known->second.dtype() != DType::i32 || known->second.rank() != 0)
      return std::nullopt;
    return *known->second.as<int32_t>();
  }
  const std::vector<ValueId>& returned() const { return body_.ops.back().operands; }
  /// The number of the body's argument that is this value; nothing: none is.
  std::optional<size_t> argument(ValueId v) const {
    const auto found = std::find(body_.arguments.begin(), body_.arguments.end(), v);
    if (found == body_.arguments.end()) return std::nullopt;
    return static_cast<size_t>(found - body_.arguments.begin());
  }
  bool isUnchanged(size_t i) const { return returned()[i] == body_.arguments[i]; }
  const Op* maker(ValueId v) const {
    for (const Op& op : body_.ops)
      if (std::find(op.results.begin(), op.results.end(), v) != op.results.end()) return &op;
    return nullptr;
  }
  size_t uses(ValueId v) const {
    size_t count = 0;
    for (const Op& op : body_.ops) count += static_cast<size_t>(std::ranges::count(op.operands, v));
    return count;
  }
  /// The outer value of a body's value that is the same in all steps.
  ValueId outside(ValueId v) const {
    const auto i = argument(v);
    return i ? loop_.operands[*i] : v;
  }

  bool findSteps();
  bool findBody();
  bool isStepIndex(ValueId v);
  bool takesSlice(const Op& op);
  bool putsSlice(const Op& op, size_t& carry) const;
  bool isSliceAt(const Op& op, size_t firstStart, const Shape& sizes, const Shape& whole);

  TracedOperand operand(const Shape& array, DType t, bool perStep, const TracedKernel& k) const;
  /// The value in the kernel's body.
  const Array& value(ValueId) const;
  Array compute(const Op& op) const;

  const Op& loop_;
  const std::vector<ArrayType>& types_;
  const std::map<ValueId, Array>& constants_;
  const Block& body_;
  size_t counter_ = 0;
  int64_t steps_ = 0;
  std::set<ValueId> indices_;          ///< the step's number, or its number from the end
  std::optional<bool> reverse_;        ///< whether slices are taken and put from the end
  std::map<ValueId, ValueId> slices_;  ///< of an array outside: the slice of this step
  std::map<size_t, ValueId> stacked_;  ///< by carry: what a step puts in its slice
  std::vector<size_t> carries_;
  std::vector<ValueId> whole_;  ///< arrays outside that a step uses whole
  std::map<ValueId, Array> values_;
};

bool Loop::findSteps() {
  const Block& condition = loop_.regions[0];
  if (condition.ops.size() != 2 || condition.ops[0].name != "compare") return false;
  const Op& compare = condition.ops[0];
  const Attribute* direction = compare.find("comparison_direction");
  if (!direction || std::get<std::string>(*direction) != "LT") return false;
  const auto at = std::find(condition.arguments.begin(), condition.arguments.end(), compare.operands[0]);
  if (at == condition.arguments.end()) return false;
  counter_ = static_cast<size_t>(at - condition.arguments.begin());
  ValueId limit = compare.operands[1];
  if (const auto i = std::find(condition.arguments.begin(), condition.arguments.end(), limit);
      i != condition.arguments.end()) {
    const auto which = static_cast<size_t>(i - condition.arguments.begin());
    if (!isUnchanged(which)) return false;
    limit = loop_.operands[which];
  }
  const auto first = number(loop_.operands[counter_]), last = number(limit);
  if (first != 0 || !last || *last < 2) return false;
  steps_ = *last;
  const Op* next = maker(returned()[counter_]);
  return next && next->name == "add" && next->operands[0] == body_.arguments[counter_] &&
         number(next->operands[1]) == 1;
}

/// The step's number, or steps - 1 minus it.
bool Loop::isStepIndex(ValueId v) {
  bool reverse = false;
  if (v != body_.arguments[counter_]) {
    const Op* op = maker(v);
    if (!op || op->name != "subtract" || number(outside(op->operands[0])) != steps_ - 1 ||
        op->operands[1] != body_.arguments[counter_])
      return false;
    reverse = true;
  }
  if (reverse_.value_or(reverse) != reverse) return false;
  reverse_ = reverse;
  if (reverse) indices_.insert(v);
  return true;
}

bool Loop::isSliceAt(const Op& op, size_t firstStart, const Shape& sizes, const Shape& whole) {
  if (whole.empty() || whole[0] != steps_ || sizes[0] != 1 ||
      !std::equal(sizes.begin() + 1, sizes.end(), whole.begin() + 1))
    return false;
  for (size_t a = 1; a < whole.size(); ++a)
    if (number(outside(op.operands[firstStart + a])) != 0) return false;
  return isStepIndex(op.operands[firstStart]);
}

bool Loop::takesSlice(const Op& op) {
  const auto i = argument(op.operands[0]);
  if (i && !isUnchanged(*i)) return false;
  if (!i && maker(op.operands[0])) return false;
  if (!isSliceAt(op, 1, types_[op.results[0]].shape, types_[op.operands[0]].shape)) return false;
  slices_[op.results[0]] = outside(op.operands[0]);
  return true;
}

bool Loop::putsSlice(const Op& op, size_t& carry) const {
  const auto i = argument(op.operands[0]);
  if (!i || returned()[*i] != op.results[0] || uses(op.operands[0]) != 1 || uses(op.results[0]) != 1) return false;
  carry = *i;
  return true;
}

bool Loop::findBody() {
  int64_t elements = 0, multiplications = 0;
  for (const Op& op : body_.ops) {
    if (op.name == "return") continue;
    if (op.results.empty()) return false;
    if (op.results[0] == returned()[counter_]) continue;
    if (op.name == "constant" && constants_.contains(op.results[0])) continue;
    if (op.name == "dynamic_slice" && takesSlice(op)) continue;
    if (size_t carry = 0; op.name == "dynamic_update_slice" && putsSlice(op, carry)) {
      if (!isSliceAt(op, 2, types_[op.operands[1]].shape, types_[op.operands[0]].shape)) return false;
      stacked_[carry] = op.operands[1];
      continue;
    }
    if (op.name == "subtract" && indices_.contains(op.results[0])) continue;
    if (op.name == "subtract" && types_[op.results[0]].shape.empty() && isStepIndex(op.results[0])) continue;
    if (!isComputed(op)) return false;
    elements += types_[op.results[0]].elements();
    if (op.name == "dot_general") {
      const auto& axes = std::get<std::vector<int64_t>>(*op.find("lhs_contracting_dimensions"));
      int64_t depth = 1;
      for (const int64_t a : axes) depth *= types_[op.operands[0]].shape[a];
      multiplications += types_[op.results[0]].elements() * depth;
    }
  }
  if (elements > kMaxElements || multiplications > kMaxMultiplications) return false;
  for (size_t i = 0; i < loop_.operands.size(); ++i) {
    if (i == counter_ || isUnchanged(i) || stacked_.contains(i)) continue;
    if (types_[loop_.operands[i]].shape.empty()) return false;  // numbers, which blocks are not made of
    carries_.push_back(i);
  }
  // Any other value from outside.
  std::set<ValueId> inside;
  for (const Op& op : body_.ops) inside.insert(op.results.begin(), op.results.end());
  std::vector<ValueId> used;
  for (const Op& op : body_.ops) {
    if (op.name == "return" || slices_.contains(op.results[0]) || op.name == "dynamic_update_slice" ||
        op.results[0] == returned()[counter_] || indices_.contains(op.results[0]))
      continue;
    used.insert(used.end(), op.operands.begin(), op.operands.end());
  }
  for (const size_t i : carries_) used.push_back(returned()[i]);
  for (const auto& [i, v] : stacked_) used.push_back(v);
  for (const ValueId v : used) {
    const auto i = argument(v);
    if (inside.contains(v) || (i && (*i == counter_ || !isUnchanged(*i)))) continue;
    const ValueId from = outside(v);
    if (constants_.contains(from)) continue;
    if (types_[from].shape.empty()) return false;
    if (std::find(whole_.begin(), whole_.end(), from) == whole_.end()) whole_.push_back(from);
  }
  const auto isBlock = [&](ValueId v) {
    const DType t = types_[v].dtype;
    return t == DType::f32 || t == DType::bf16 || t == DType::i32;
  };
  for (const size_t i : carries_)
    if (!isBlock(loop_.operands[i])) return false;
  for (const auto& [i, v] : stacked_)
    if (!isBlock(v) || types_[v].shape.size() < 2) return false;
  for (const auto& [v, from] : slices_)
    if (!isBlock(v) || types_[v].shape.size() < 2) return false;
  return std::ranges::all_of(whole_, isBlock) && (!carries_.empty() || !stacked_.empty());
}

TracedOperand Loop::operand(const Shape& array, DType t, bool perStep, const TracedKernel& k) const {
  TracedOperand o;
  o.name = "operand";
  o.array = {t, array};
  Trace map("the index map of a loop's kernel");
  map.grid = k.grid;
  const Array step = map.addArgument({DType::i32, {}}), zero = full({}, 0, DType::i32);
  std::vector<Array> indices(array.size(), zero);
  for (const int64_t size : array) o.block.emplace_back(size);
  if (perStep) {
    o.block[0] = 1;
    indices[0] = reverse_.value_or(false) ? subtract(static_cast<int32_t>(steps_ - 1), step) : step;
  }
  o.indexMap = map.finish(std::move(indices));
  return o;
}

const Array& Loop::value(ValueId v) const {
  const auto constant = constants_.find(v);
  return constant == constants_.end() ? values_.at(v) : constant->second;
}

Array Loop::compute(const Op& op) const {
  const ArrayType& type = types_[op.results[0]];
  if (const std::string reduction = reductionOf(op); !reduction.empty()) {
    const Axes axes{.axes = std::get<std::vector<int64_t>>(*op.find("dimensions"))};
    const Array& x = value(op.operands[0]);
    return reduction == "reduce_sum" ? sum(x, axes) : reduction == "reduce_max" ? max(x, axes) : min(x, axes);
  }
  std::vector<Array> operands;
  for (const ValueId v : op.operands) operands.push_back(value(v));
  return bind(*findOp(op.name), operands, {&type, 1}, op.attributes)[0];
}

LoopKernel Loop::make() {
  LoopKernel made{.steps = steps_};
  TracedKernel k;
  k.name = "loop";
  k.place = loop_.place;
  k.grid = {steps_};
  k.semantics = {DimensionSemantics::arbitrary};
  const auto takes = [&](ValueId v, bool perStep) {
    made.operands.push_back({v, types_[v].shape});
    k.operands.push_back(operand(types_[v].shape, types_[v].dtype, perStep, k));
  };
  std::map<ValueId, size_t> sliceRef;  // by array outside
  for (const auto& [v, from] : slices_)
    if (sliceRef.emplace(from, made.operands.size()).second) takes(from, true);
  const size_t firstWhole = made.operands.size();
  for (const ValueId v : whole_) takes(v, false);
  const size_t firstStart = made.operands.size();
  for (const size_t i : carries_) takes(loop_.operands[i], false);
  k.numInputs = static_cast<int>(made.operands.size());
  const size_t firstResult = made.operands.size();
  for (const size_t i : carries_) {
    const ArrayType& type = types_[loop_.operands[i]];
    k.operands.push_back(operand(type.shape, type.dtype, false, k));
    made.results.push_back(i);
  }
  for (const auto& [i, v] : stacked_) {
    const ArrayType& type = types_[loop_.operands[i]];
    k.operands.push_back(operand(type.shape, type.dtype, true, k));
    made.results.push_back(i);
  }
  made.kernel = kernelOf(std::move(k), [&](std::span<const Ref> refs) {
    const Array step = program_id(0);
    when(step == 0, [&] {
      for (size_t c = 0; c < carries_.size(); ++c) refs[firstResult + c][{Index(_)}] = refs[firstStart + c][{Index(_)}];
    });
    values_[body_.arguments[counter_]] = step;
    for (const ValueId v : indices_) values_[v] = subtract(static_cast<int32_t>(steps_ - 1), step);
    for (const auto& [v, from] : slices_) values_[v] = refs[sliceRef.at(from)][{Index(_)}];
    for (size_t w = 0; w < whole_.size(); ++w) {
      values_[whole_[w]] = refs[firstWhole + w][{Index(_)}];
      for (size_t i = 0; i < loop_.operands.size(); ++i)
        if (isUnchanged(i) && loop_.operands[i] == whole_[w]) values_[body_.arguments[i]] = values_[whole_[w]];
    }
    for (size_t i = 0; i < loop_.operands.size(); ++i)
      if (const auto constant = constants_.find(loop_.operands[i]); isUnchanged(i) && constant != constants_.end())
        values_[body_.arguments[i]] = constant->second;
    for (size_t c = 0; c < carries_.size(); ++c)
      values_[body_.arguments[carries_[c]]] = refs[firstResult + c][{Index(_)}];
    for (const Op& op : body_.ops) {
      if (op.name == "return" || op.name == "constant" || slices_.contains(op.results[0]) ||
          op.name == "dynamic_update_slice" || op.results[0] == returned()[counter_] ||
          indices_.contains(op.results[0]))
        continue;
      const RecordedLocationScope place(op.place);
      values_[op.results[0]] = compute(op);
    }
    size_t ref = firstResult;
    for (const size_t i : carries_) refs[ref++][{Index(_)}] = value(returned()[i]);
    for (const auto& [i, v] : stacked_) refs[ref++][{Index(_)}] = value(v);
  });
  return made;
}

}  // namespace

LoopKernel loopKernel(const Op& op, const std::vector<ArrayType>& types, const std::map<ValueId, Array>& constants) {
  Loop loop(op, types, constants);
  return loop.read() ? loop.make() : LoopKernel{};
}

}  // namespace smalti::lang
