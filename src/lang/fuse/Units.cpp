#include "lang/fuse/Units.h"

#include <algorithm>

namespace smalti::lang {

Units::Units(const std::vector<Op>& ops, const std::vector<ArrayType>& types) : types_(types) {
  for (const Op& op : ops) add(op);
}

std::vector<const Units::Unit*> Units::ordered() const {
  std::vector<const Unit*> list;
  std::vector<bool> done(units_.size());
  for (size_t i = 0; i < units_.size(); ++i) visit(i, done, list);
  return list;
}

void Units::add(const Op& op) {
  std::set<size_t> needs;
  collect(op, needs);
  std::optional<size_t> joined;
  // The latest group first: it has seen most.
  for (auto unit = needs.rbegin(); unit != needs.rend() && !joined; ++unit)
    if (units_[*unit].group && !leadsTo(needs, *unit) && units_[*unit].group->take(op, types_)) joined = *unit;
  if (!joined) {
    joined = units_.size();
    units_.emplace_back();
    if (const auto domain = domainOf(op, types_); domain && !domain->empty()) {
      Group group(*domain);
      if (group.take(op, types_)) units_.back().group = std::move(group);
    }
  }
  Unit& unit = units_[*joined];
  unit.ops.push_back(&op);
  needs.erase(*joined);
  unit.needs.insert(needs.begin(), needs.end());
  for (const ValueId v : op.results) madeBy_[v] = *joined;
  if (!units_[*joined].group) return;
  for (const size_t other : needs)
    if (units_[other].group) merge(*joined, other);
}

void Units::merge(size_t into, size_t from) {
  Unit &unit = units_[into], &other = units_[from];
  if (unit.group->domain() != other.group->domain() || leadsTo(unit.needs, from) || leadsTo(other.needs, into)) return;
  if (unit.group->taken().size() + other.group->taken().size() > kMaxTaken) return;
  std::vector<const Op*> ops = unit.ops;
  ops.insert(ops.end(), other.ops.begin(), other.ops.end());
  std::sort(ops.begin(), ops.end());  // of one list: in its order
  Group both(unit.group->domain());
  for (const Op* op : ops)
    if (!both.take(*op, types_)) return;
  unit.group = std::move(both);
  unit.ops = std::move(ops);
  unit.needs.insert(other.needs.begin(), other.needs.end());
  unit.needs.erase(into);
  other = {};
  for (Unit& u : units_)
    if (u.needs.erase(from) > 0 && &u != &unit) u.needs.insert(into);
  for (auto& [v, made] : madeBy_)
    if (made == from) made = into;
}

void Units::collect(const Op& op, std::set<size_t>& needs) const {
  for (const ValueId v : op.operands)
    if (const auto made = madeBy_.find(v); made != madeBy_.end()) needs.insert(made->second);
  for (const Block& block : op.regions)
    for (const Op& inner : block.ops) collect(inner, needs);
}

bool Units::leadsTo(const std::set<size_t>& from, size_t unit) const {
  std::vector<size_t> open(from.begin(), from.end());
  std::set<size_t> seen(from.begin(), from.end());
  while (!open.empty()) {
    const size_t u = open.back();
    open.pop_back();
    if (u == unit) continue;
    for (const size_t n : units_[u].needs) {
      if (n == unit) return true;
      if (seen.insert(n).second) open.push_back(n);
    }
  }
  return false;
}

void Units::visit(size_t i, std::vector<bool>& done, std::vector<const Unit*>& list) const {
  if (done[i]) return;
  done[i] = true;
  for (const size_t n : units_[i].needs) visit(n, done, list);
  list.push_back(&units_[i]);
}

}  // namespace smalti::lang
