#include "lang/fuse/Recompute.h"

#include <algorithm>
#include <set>

#include "lang/fuse/Units.h"

namespace smalti::lang {
namespace {

/// The most ops recomputed for one group: more would cost more than reading the arrays.
constexpr size_t kMaxOps = 64;

class Recomputation {
 public:
  explicit Recomputation(TracedFunction& traced) : traced_(traced), ops_(traced.function.ops) {}

  void run() {
    const Units units(ops_, traced_.function.values);
    const std::vector<const Units::Unit*> all = units.ordered();
    for (const Units::Unit* to : all)
      for (const Units::Unit* from : all)
        if (to != from && to->group && from->group && to->group->domain() == from->group->domain()) plan(*from, *to);
    std::vector<Op> made;
    for (const Op& op : ops_) {
      made.push_back(op);
      if (const auto changed = changed_.find(&op); changed != changed_.end()) made.back().operands = changed->second;
      for (Op& again : after_[&op]) made.push_back(std::move(again));
    }
    ops_ = std::move(made);
  }

 private:
  /// The bytes of arrays; numbers cost nothing.
  int64_t bytes(const std::set<ValueId>& values) const {
    int64_t total = 0;
    for (const ValueId v : values)
      if (const ArrayType& type = traced_.function.values[v]; type.elements() > 1) total += type.bytes();
    return total;
  }

  /// The ops of the group that compute the values, in order; nothing if one of them is not element-wise.
  static std::vector<const Op*> makersOf(const Units::Unit& from, std::set<ValueId> values, std::set<ValueId>& taken) {
    std::vector<const Op*> makers;
    for (auto op = from.ops.rbegin(); op != from.ops.rend(); ++op) {
      if (!values.contains((*op)->results[0])) continue;
      if (!isElementwise(**op) && (*op)->name != "broadcast_in_dim") return {};
      makers.push_back(*op);
      for (const ValueId v : (*op)->operands) (from.group->makes(v) ? values : taken).insert(v);
    }
    std::reverse(makers.begin(), makers.end());
    return makers;
  }

  void plan(const Units::Unit& from, const Units::Unit& to) {
    std::set<ValueId> wanted, needed;
    for (const auto& [v, form] : to.group->taken())
      if (form == Form::full && from.group->makes(v)) wanted.insert(v);
    if (wanted.size() < 2) return;
    const std::vector<const Op*> makers = makersOf(from, wanted, needed);
    if (makers.empty() || makers.size() > kMaxOps) return;
    const auto isMask = [&](ValueId v) { return traced_.function.values[v].dtype == DType::pred; };
    if (std::ranges::any_of(needed, isMask)) return;  // kernels take none
    std::erase_if(needed, [&](ValueId v) { return to.group->taken().contains(v); });
    if (2 * bytes(needed) > bytes(wanted) || to.group->taken().size() + needed.size() > kMaxTaken) return;
    const Op* last = makers.back();
    std::map<ValueId, ValueId> again;
    for (const Op* op : makers) {
      Op copy = *op;
      for (ValueId& v : copy.operands)
        if (const auto other = again.find(v); other != again.end()) v = other->second;
      copy.results[0] = again[op->results[0]] = newValue(traced_.function.values[op->results[0]]);
      after_[last].push_back(std::move(copy));
    }
    for (const Op* op : to.ops) {
      if (op < last) continue;
      auto& operands = changed_.try_emplace(op, op->operands).first->second;
      for (ValueId& v : operands)
        if (wanted.contains(v)) v = again.at(v);
    }
  }

  ValueId newValue(ArrayType type) {
    traced_.function.values.push_back(std::move(type));
    traced_.refs.emplace_back();
    return static_cast<ValueId>(traced_.function.values.size()) - 1;
  }

  TracedFunction& traced_;
  std::vector<Op>& ops_;
  std::map<const Op*, std::vector<ValueId>> changed_;  ///< operands of ops that take what is computed again
  std::map<const Op*, std::vector<Op>> after_;         ///< ops that come after an op
};

}  // namespace

TracedFunction recomputed(TracedFunction traced) {
  Recomputation(traced).run();
  return traced;
}

}  // namespace smalti::lang
