#include "lang/fuse/Fuse.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "lang/fuse/DotKernel.h"
#include "lang/fuse/FusedKernel.h"
#include "lang/fuse/LoopKernel.h"
#include "lang/fuse/Recompute.h"
#include "lang/fuse/Units.h"
#include "lang/print/Print.h"
#include "smalti/ops/create.h"

namespace smalti::lang {
namespace {

/// Smaller groups are not fused: computing them costs as little as calling a kernel.
constexpr int64_t kMinElements = 512;
constexpr size_t kMinOps = 4;
/// Products with fewer multiply-adds, or longer sums, stay ops.
constexpr int64_t kMinMultiplyAdds = 32768, kMaxContracted = 4096;
class Fusion {
 public:
  explicit Fusion(TracedFunction traced) : traced_(std::move(traced)) { countUses(traced_.function.ops); }

  TracedFunction run() {
    traced_.function.ops = block(traced_.function.ops);
    removeDead(traced_);  // slices that kernels read in place
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
      if (op.name == "slice") {
        const auto integers = [&](const char* name) { return std::get<std::vector<int64_t>>(*op.find(name)); };
        if (std::ranges::all_of(integers("strides"), [](int64_t stride) { return stride == 1; }))
          views_[op.results[0]] = {op.operands[0], integers("start_indices")};
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
        if (emitProduct(*op, made) || emitLoop(*op, made)) continue;
        made.push_back(*op);
        // Devices with divergent control flow do not reach a kernel together.
        const bool isControl = op->name == "while" || op->name == "if" || op->name == "case";
        const bool isMapped = op->name == "manual_computation";
        if (!isMapped && (!isControl || onDevices_)) continue;
        onDevices_ += isMapped;
        for (Block& b : made.back().regions) b.ops = block(b.ops);
        onDevices_ -= isMapped;
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

  /// The group's values that are used outside it.
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
    Group group = *unit.group;
    chooseSplit(group, traced_.function.values, views_);
    const auto computes = [](const Op* op) { return isElementwise(*op) || !reductionOf(*op).empty(); };
    const auto [rows, columns] = group.rowsAndColumns();
    if (rows * columns < kMinElements && unit.ops.size() < kMinOps) return false;
    if (std::none_of(unit.ops.begin(), unit.ops.end(), computes)) return false;
    const std::vector<ValueId> results = resultsOf(unit);
    if (results.empty()) return true;
    for (const ValueId v : results)
      if (type(v).dtype == DType::pred) return false;
    const FusedCall fused = fusedKernel(group, results, traced_.function.values, constants_, views_);
    if (!fused.kernel) return false;
    Op call{.name = "kernel_call", .place = unit.ops[0]->place};
    for (const FusedCall::Operand& o : fused.operands) call.operands.push_back(reshaped(o.value, o.shape, made));
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
    call.kernel = number(fused.kernel, group.taken());
    made.push_back(std::move(call));
    std::move(after.begin(), after.end(), std::back_inserter(made));
    return true;
  }

  bool emitProduct(const Op& op, std::vector<Op>& made) {
    const std::optional<DotForm> form = dotForm(op, traced_.function.values);
    if (!form || form->multiplyAdds() < kMinMultiplyAdds || form->lhs.contracted > kMaxContracted) return false;
    const std::shared_ptr<const CalledKernel> kernel = dotKernel(*form);
    if (!kernel) return false;
    Op call{.name = "kernel_call", .place = op.place};
    call.operands = {reshaped(op.operands[0], form->lhs.shape(), made),
                     reshaped(op.operands[1], form->rhs.shape(), made)};
    call.kernel = number(kernel, {});
    const ValueId result = op.results[0];
    const bool same = type(result).shape == form->resultShape();
    call.results = {same ? result : newValue({type(result).dtype, form->resultShape()})};
    made.push_back(call);
    if (!same) made.push_back({.name = "reshape", .operands = call.results, .results = {result}});
    return true;
  }

  bool emitLoop(const Op& op, std::vector<Op>& made) {
    if (op.name != "while") return false;
    const LoopKernel loop = loopKernel(op, traced_.function.values, constants_);
    if (!loop.kernel) return false;
    Op call{.name = "kernel_call", .place = op.place};
    for (const LoopKernel::Operand& o : loop.operands) call.operands.push_back(reshaped(o.value, o.shape, made));
    for (const size_t i : loop.results) call.results.push_back(op.results[i]);
    call.kernel = number(loop.kernel, {});
    made.push_back(std::move(call));
    // The carries that do not change, and the counter's final value.
    const Block& body = op.regions[1];
    for (size_t i = 0; i < op.results.size(); ++i) {
      if (std::find(loop.results.begin(), loop.results.end(), i) != loop.results.end()) continue;
      if (body.ops.back().operands[i] == body.arguments[i])
        made.push_back({.name = "reshape", .operands = {op.operands[i]}, .results = {op.results[i]}});
      else
        made.push_back({.name = "constant",
                        .results = {op.results[i]},
                        .attributes = {{"value", full({}, loop.steps, DType::i32)}}});
    }
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
  Views views_;
  int onDevices_ = 0;  ///< within how many shard_maps
  std::map<std::string, int> numbers_;
};

}  // namespace

TracedFunction fused(const TracedFunction& traced) { return Fusion(recomputed(traced)).run(); }

}  // namespace smalti::lang
