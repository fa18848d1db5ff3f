#include "lang/fuse/Fuse.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "lang/fuse/DotKernel.h"
#include "lang/fuse/FusedKernel.h"
#include "lang/print/Print.h"

namespace smalti::lang {
namespace {

/// Groups of fewer elements stay: computing them costs as little as calling a kernel.
constexpr int64_t kFewest = 512;

/// The ops of one block as units, each a group or a single op, that run one after the other.
class Units {
 public:
  Units(const std::vector<Op>& ops, const std::vector<ArrayType>& types) : types_(types) {
    for (const Op& op : ops) add(op);
  }
  struct Unit {
    std::vector<const Op*> ops;
    std::optional<Group> group;
    std::set<size_t> needs;  ///< units whose results it takes
  };

  /// In an order in which each comes after what it needs: that of their first ops, where that is free.
  std::vector<const Unit*> ordered() const {
    std::vector<const Unit*> list;
    std::vector<bool> done(units_.size());
    for (size_t i = 0; i < units_.size(); ++i) visit(i, done, list);
    return list;
  }

 private:
  void add(const Op& op) {
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
  }

  void collect(const Op& op, std::set<size_t>& needs) const {
    for (const ValueId v : op.operands)
      if (const auto made = madeBy_.find(v); made != madeBy_.end()) needs.insert(made->second);
    for (const Block& block : op.regions)
      for (const Op& inner : block.ops) collect(inner, needs);
  }

  /// Whether one of `from`, but for the unit itself, needs the unit, over others too.
  bool leadsTo(const std::set<size_t>& from, size_t unit) const {
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

  void visit(size_t i, std::vector<bool>& done, std::vector<const Unit*>& list) const {
    if (done[i]) return;
    done[i] = true;
    for (const size_t n : units_[i].needs) visit(n, done, list);
    list.push_back(&units_[i]);
  }

  const std::vector<ArrayType>& types_;
  std::vector<Unit> units_;
  std::map<ValueId, size_t> madeBy_;
};

class Fusion {
 public:
  explicit Fusion(TracedFunction traced) : traced_(std::move(traced)) { countUses(traced_.function.ops); }

  TracedFunction run() {
    traced_.function.ops = block(traced_.function.ops);
    return std::move(traced_);
  }

 private:
  void countUses(const std::vector<Op>& ops) {
    for (const Op& op : ops) {
      for (const ValueId v : op.operands) ++uses_[v];
      if (op.name == "constant") {
        const Array& value = std::get<Array>(*op.find("value"));
        if (value.rank() == 0) constants_[op.results[0]] = value;
      }
      for (const Block& b : op.regions) countUses(b.ops);
    }
  }

  std::vector<Op> block(const std::vector<Op>& ops) {
    std::vector<Op> made;
    const std::vector<ArrayType> types = traced_.function.values;
    const Units units(ops, types);
    for (const Units::Unit* unit : units.ordered()) {
      if (unit->group && emit(*unit, made)) continue;
      for (const Op* op : unit->ops) {
        if (emitProduct(*op, made)) continue;
        made.push_back(*op);
        if (op->name == "while" || op->name == "if" || op->name == "case")
          for (Block& b : made.back().regions) b.ops = block(b.ops);
      }
    }
    return made;
  }

  ValueId newValue(ArrayType type) {
    traced_.function.values.push_back(std::move(type));
    traced_.refs.emplace_back();
    return static_cast<ValueId>(traced_.function.values.size()) - 1;
  }
  const ArrayType& type(ValueId v) const { return traced_.function.values[v]; }

  /// The value as an array of rows and columns.
  ValueId reshaped(ValueId v, const Shape& shape, std::vector<Op>& made) {
    if (type(v).shape == shape) return v;
    const ValueId r = newValue({type(v).dtype, shape});
    made.push_back({.name = "reshape", .operands = {v}, .results = {r}});
    return r;
  }

  /// What the group makes and others use.
  std::vector<ValueId> resultsOf(const Units::Unit& unit) const {
    std::map<ValueId, int> inside;
    for (const Op* op : unit.ops)
      for (const ValueId v : op->operands) ++inside[v];
    std::vector<ValueId> results;
    for (const auto& [v, form] : unit.group->made())
      if (uses_.count(v) && uses_.at(v) > inside[v]) results.push_back(v);
    return results;
  }

  bool emit(const Units::Unit& unit, std::vector<Op>& made) {
    const Group& group = *unit.group;
    const auto computes = [](const Op* op) { return isElementwise(*op) || !reductionOf(*op).empty(); };
    const auto [rows, columns] = group.sizes();
    if (rows * columns < kFewest || std::none_of(unit.ops.begin(), unit.ops.end(), computes)) return false;
    const std::vector<ValueId> results = resultsOf(unit);
    if (results.empty()) return true;
    for (const ValueId v : results)
      if (type(v).dtype == DType::pred) return false;
    const auto kernel = fusedKernel(group, results, traced_.function.values, constants_);
    if (!kernel) return false;
    Op call{.name = "kernel_call", .place = unit.ops[0]->place};
    for (const auto& [v, form] : group.taken())
      if (!constants_.count(v)) call.operands.push_back(reshaped(v, shapeIn(group, form), made));
    std::vector<Op> after;
    for (const ValueId v : results) {
      const Shape shape = shapeIn(group, group.made().at(v));
      if (type(v).shape == shape) {
        call.results.push_back(v);
        continue;
      }
      call.results.push_back(newValue({type(v).dtype, shape}));
      after.push_back({.name = "reshape", .operands = {call.results.back()}, .results = {v}});
    }
    call.kernel = number(kernel, group.taken());
    made.push_back(std::move(call));
    std::move(after.begin(), after.end(), std::back_inserter(made));
    return true;
  }

  bool emitProduct(const Op& op, std::vector<Op>& made) {
    const DotKernel dot = dotKernel(op, traced_.function.values);
    if (!dot.kernel) return false;
    Op call{.name = "kernel_call", .place = op.place};
    call.operands = {reshaped(op.operands[0], dot.lhs, made), reshaped(op.operands[1], dot.rhs, made)};
    call.kernel = number(dot.kernel, {});
    const ValueId result = op.results[0];
    const bool same = type(result).shape == dot.result;
    call.results = {same ? result : newValue({type(result).dtype, dot.result})};
    made.push_back(call);
    if (!same) made.push_back({.name = "reshape", .operands = call.results, .results = {result}});
    return true;
  }

  /// Equal kernels are one.
  int number(const std::shared_ptr<const CalledKernel>& kernel, const std::map<ValueId, Form>& taken) {
    std::string key = print(kernel->traced());
    for (const TracedOperand& o : kernel->traced().operands) key += o.array.str();
    for (const auto& [v, form] : taken)
      if (const auto constant = constants_.find(v); constant != constants_.end())
        key.append(reinterpret_cast<const char*>(constant->second.data()), constant->second.type().bytes());
    const auto [known, isNew] = numbers_.emplace(std::move(key), static_cast<int>(traced_.kernels.size()));
    if (isNew) traced_.kernels.push_back(kernel);
    return known->second;
  }

  TracedFunction traced_;
  std::map<ValueId, int> uses_;
  std::map<ValueId, Array> constants_;
  std::map<std::string, int> numbers_;
};

}  // namespace

TracedFunction fused(const TracedFunction& traced) { return Fusion(traced).run(); }

}  // namespace smalti::lang
