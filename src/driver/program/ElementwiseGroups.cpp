#include "driver/program/ElementwiseGroups.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <ranges>
#include <unordered_map>
#include <unordered_set>

#include "ir/program/Uses.h"

namespace smalti::driver {
namespace {

/// A result of broadcast_in_dim: element i is the operand's (i / inner) % count.
struct Repetition {
  int64_t inner = 1, count = 1;
};

/// nullopt: the dimensions of the operand are not neighbours in the result, or in another order.
std::optional<Repetition> repetition(const TypedOp& op) {
  const Shape &from = op.operand(0).shape, &to = op.result().shape;
  const auto dims = op.integers("broadcast_dimensions");
  std::vector<bool> covered(to.size(), false);
  int64_t last = -1;
  for (size_t k = 0; k < from.size(); ++k) {
    if (from[k] == 1) continue;
    if (dims[k] < last) return std::nullopt;
    last = dims[k];
    covered[static_cast<size_t>(last)] = true;
  }
  Repetition r;
  size_t d = to.size();
  while (d > 0 && !covered[d - 1]) r.inner *= to[--d];
  while (d > 0 && (covered[d - 1] || to[d - 1] == 1)) r.count *= to[--d];
  while (d > 0)
    if (covered[--d]) return std::nullopt;
  return r;
}

/// The element, if all are the same.
std::optional<Array> repeatedElement(const Array& value) {
  const auto bytes = static_cast<size_t>(storage_bytes(value.dtype()));
  if (value.elements() == 0) return std::nullopt;
  const std::byte* const data = value.data();
  if (std::memcmp(data, data + bytes, static_cast<size_t>(value.bytes()) - bytes) != 0) return std::nullopt;
  auto element = Array::allocate({value.dtype(), {}});
  if (!element) return std::nullopt;
  std::memcpy(element->data(), data, bytes);
  return std::move(*element);
}

class Grouping {
 public:
  Grouping(const Function& function, const std::vector<Op>& ops, const std::function<bool(const Op&)>& key,
           const std::function<bool(const Op&)>& hasEffects)
      : function_(function), ops_(ops), key_(key), hasEffects_(hasEffects) {}

  std::vector<StepOps> run() {
    for (const Op& op : ops_) place(op);
    closeAll();
    return steps();
  }

 private:
  /// Ops that run together: one, or those of a group.
  struct Unit {
    std::vector<const Op*> ops;
    bool isGroup = false;
  };
  struct Open {
    int64_t elements = 0;
    bool key = false;
    std::vector<const Op*> ops;
    std::unordered_set<ValueId> made;
  };

  const ArrayType& type(ValueId v) const { return function_.values[v]; }

  bool isElementwise(const Op& op) const {
    if (op.results.size() != 1 || op.operands.empty()) return false;
    const int64_t n = type(op.results[0]).elements();
    return std::ranges::all_of(op.operands,
                               [&](ValueId v) { return type(v).elements() == n || type(v).shape.empty(); }) &&
           plain::KernelList::Builder::has(function_, op);
  }
  /// Whether groups can contain the op without its array.
  bool isRepeated(const Op& op) const {
    if (op.results.size() != 1 || is_complex(type(op.results[0]).dtype)) return false;
    if (op.name == "constant") return constants_.contains(op.results[0]);
    return op.name == "broadcast_in_dim" && repetition({op, function_}).has_value();
  }

  /// Whether the result is the operand's memory, if that is not made by a group.
  bool isView(const Op& op) const { return plain::keepsElements(function_, op) && op.name != "bitcast_convert"; }

  /// Notes a result of one element that is known, or that repeats such an element.
  void findConstant(const Op& op) {
    if (op.results.size() != 1 || is_complex(type(op.results[0]).dtype)) return;
    const auto isKnown = [&](ValueId v) { return constants_.contains(v); };
    if (op.name == "constant") {
      if (auto element = repeatedElement(std::get<Array>(*op.find("value"))))
        constants_.emplace(op.results[0], std::move(*element));
    } else if (op.operands.empty() || !std::ranges::all_of(op.operands, isKnown)) {
      return;
    } else if (op.name == "broadcast_in_dim") {
      constants_.emplace(op.results[0], constants_.at(op.operands[0]));
    } else if (type(op.results[0]).elements() == 1 && plain::KernelList::Builder::has(function_, op)) {
      plain::KernelList::Builder builder(function_);
      for (const ValueId v : op.operands)
        if (!builder.knows(v)) builder.addConstant(v, constants_.at(v).data());
      builder.add(op);
      auto value = Array::allocate(type(op.results[0]));
      if (!value) return;
      std::byte* const to = value->data();
      eval::Scratch scratch;
      builder.finish(op.results).run({}, {&to, 1}, 0, 1, scratch);
      constants_.emplace(op.results[0], std::move(*value));
    }
  }

  void place(const Op& op) {
    findConstant(op);
    if (isElementwise(op) && (!isView(op) || isMadeByOurs(op))) return join(op);
    const bool isSmall = op.regions.empty() && op.results.size() == 1 && op.name != "call" && op.kernel < 0 &&
                         type(op.results[0]).elements() == 1;
    if (op.name == "transpose") transposed_.emplace(op.results[0], &op);
    if (isRepeated(op))
      repeated_.emplace(op.results[0], &op);
    else if (!isSmall && !isView(op))
      closeAll();
    closeMakersOf(op, nullptr);
    units_.push_back({{&op}, false});
  }

  /// The group that the op may join; the end if there is none.
  std::vector<Open>::iterator oursOf(const Op& op) {
    return std::ranges::find_if(open_, [&, n = type(op.results[0]).elements(), key = key_(op)](const Open& group) {
      return group.elements == n && group.key == key;
    });
  }
  bool isMadeByOurs(const Op& op) {
    const auto ours = oursOf(op);
    return ours != open_.end() && ours->made.contains(op.operands[0]);
  }

  void join(const Op& op) {
    auto ours = oursOf(op);
    closeMakersOf(op, ours == open_.end() ? nullptr : &*ours);
    ours = oursOf(op);
    if (ours == open_.end())
      ours = open_.insert(open_.end(),
                          Open{.elements = type(op.results[0]).elements(), .key = key_(op), .ops = {}, .made = {}});
    ours->ops.push_back(&op);
    ours->made.insert(op.results[0]);
  }

  /// Groups that make an operand of the op run before it.
  void closeMakersOf(const Op& op, const Open* except) {
    for (size_t g = 0; g < open_.size();) {
      const bool makes =
          &open_[g] != except && std::ranges::any_of(op.operands, [&](ValueId v) { return open_[g].made.contains(v); });
      if (!makes) {
        ++g;
        continue;
      }
      if (except > &open_[g]) --except;
      close(open_[g]);
      open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(g));
    }
  }
  void closeAll() {
    for (Open& group : open_) close(group);
    open_.clear();
  }
  void close(Open& group) { units_.push_back({std::move(group.ops), true}); }

  /// From the last unit to the first, so that all users of a value are known.
  std::vector<StepOps> steps() {
    std::vector<StepOps> steps;
    std::unordered_set<ValueId> needed;
    for (auto unit = units_.rbegin(); unit != units_.rend(); ++unit) {
      const Op& op = *unit->ops.back();
      if (unit->isGroup) {
        auto group = made(*unit, needed);
        if (group->results.empty()) continue;
        needed.insert(group->operands.begin(), group->operands.end());
        std::vector<ValueId> operands = group->operands;
        steps.push_back({&op, std::move(group), std::move(operands)});
        continue;
      }
      const bool isNeeded = std::ranges::any_of(op.results, [&](ValueId v) { return needed.contains(v); });
      if (!isNeeded && op.name != "return" && !hasEffects_(op)) continue;
      StepOps step{&op, nullptr, op.operands};
      if (op.name == "dot_general") readBeforeTranspose(step);
      needed.insert(step.operands.begin(), step.operands.end());
      for (const Block& block : op.regions) needed.merge(valuesUsedBy(block.ops));
      steps.push_back(std::move(step));
    }
    std::ranges::reverse(steps);
    return steps;
  }

  /// A product reads its operands in any order of their dimensions.
  void readBeforeTranspose(StepOps& step) const {
    for (size_t i = 0; i < step.operands.size(); ++i) {
      const auto found = transposed_.find(step.operands[i]);
      if (found == transposed_.end()) continue;
      const auto permutation = TypedOp{*found->second, function_}.integers("permutation");
      step.permutations.resize(step.operands.size());
      step.permutations[i].assign(permutation.begin(), permutation.end());
      step.operands[i] = found->second->operands[0];
    }
  }

  std::shared_ptr<const ElementwiseGroup> made(const Unit& unit, const std::unordered_set<ValueId>& needed) const {
    auto group = std::make_shared<ElementwiseGroup>();
    group->elements = type(unit.ops[0]->results[0]).elements();
    plain::KernelList::Builder builder(function_);
    std::unordered_set<ValueId> usedInside;
    const auto isUsed = [&](const Op* op) {
      return needed.contains(op->results[0]) || usedInside.contains(op->results[0]);
    };
    for (const Op* op : unit.ops | std::views::reverse)
      if (isUsed(op)) usedInside.insert(op->operands.begin(), op->operands.end());
    for (const Op* op : unit.ops) {
      if (!isUsed(op)) continue;
      for (const ValueId v : op->operands)
        if (!builder.knows(v)) addOperand(v, *group, builder);
      builder.add(*op);
      group->form.ops.push_back(op);
      if (needed.contains(op->results[0])) group->results.push_back(op->results[0]);
    }
    group->kernels = builder.finish(group->results);
    group->form.elements = group->elements;
    group->form.results = group->results;
    return group;
  }

  void addOperand(ValueId v, ElementwiseGroup& group, plain::KernelList::Builder& builder) const {
    if (const auto constant = constants_.find(v); constant != constants_.end()) {
      group.form.constants.emplace(v, constant->second);
      return builder.addConstant(v, constant->second.data());
    }
    const auto found = repeated_.find(v);
    const auto add = [&](ValueId array, Repetition r) {
      group.operands.push_back(array);
      group.form.operands.push_back({v, type(v).dtype, r.inner, r.count});
    };
    if (found != repeated_.end()) {
      const Repetition r = *repetition({*found->second, function_});
      add(found->second->operands[0], r);
      return builder.addRepeated(v, r.inner, r.count);
    }
    if (type(v).elements() == group.elements) {
      add(v, {1, group.elements});
      return builder.addArgument(v);
    }
    add(v, {group.elements, 1});  // a scalar
    builder.addRepeated(v, group.elements, 1);
  }

  const Function& function_;
  const std::vector<Op>& ops_;
  const std::function<bool(const Op&)>&key_, &hasEffects_;
  std::vector<Unit> units_;
  std::vector<Open> open_;  ///< groups that the next ops may join
  std::unordered_map<ValueId, const Op*> repeated_, transposed_;
  std::unordered_map<ValueId, Array> constants_;  ///< by a value all of whose elements are known to be this one
};

}  // namespace

std::vector<StepOps> groupElementwise(const Function& function, const std::vector<Op>& ops,
                                      const std::function<bool(const Op&)>& key,
                                      const std::function<bool(const Op&)>& hasEffects) {
  return Grouping(function, ops, key, hasEffects).run();
}

plain::PlainResults ElementwiseGroup::run(std::vector<Array>& arrays, std::span<const ArrayType> types,
                                          const plain::ShareWork& share, const std::atomic<bool>* stop) const {
  std::vector<const std::byte*> arguments;
  for (const Array& array : arrays) arguments.push_back(array.data());
  std::vector<Array> made;
  std::vector<std::byte*> to;
  for (size_t r = 0; r < types.size(); ++r) {
    const auto replaced = std::ranges::find_if(arrays, [&](const Array& array) {
      const auto a = static_cast<size_t>(&array - arrays.data());
      return array.type() == types[r] && array.unique() && kernels.mayReplace(a, r);
    });
    auto array = replaced != arrays.end() ? Result<Array>(std::move(*replaced)) : Array::allocate(types[r]);
    if (!array) return fail(std::move(array.error()));
    to.push_back(array->data());
    made.push_back(std::move(*array));
  }
  constexpr int64_t kPiece = 16 << 10;  // elements: a multiple of a cache line, and of what a list of kernels runs on
  plain::shareInPieces(share, elements, kPiece, elements * kernels.kernels(), [&](int64_t first, int64_t last) {
    static thread_local constinit eval::ThreadScratch scratch;
    for (int64_t at = first; at < last; at += kPiece) {
      if (stop && stop->load(std::memory_order_relaxed)) return;
      kernels.run(arguments, to, at, std::min(at + kPiece, last), scratch);
    }
  });
  return made;
}

}  // namespace smalti::driver
