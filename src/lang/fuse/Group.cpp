#include "lang/fuse/Group.h"

#include <algorithm>
#include <numeric>

#include "lang/ops/OpRecord.h"
#include "lang/transform/rules/Support.h"

namespace smalti::lang {
namespace {

bool isKernelType(DType t) { return t == DType::f32 || t == DType::bf16 || t == DType::i32 || t == DType::pred; }

int64_t elementsIn(std::span<const int64_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
}

}  // namespace

bool isElementwise(const Op& op) {
  const OpRecord* record = findOp(op.name);
  return record && record->lower && op.regions.empty() && !op.operands.empty() &&
         (record->batch == &batchElementwise || op.name == "select");
}

std::string reductionOf(const Op& op) {
  if (op.name != "reduce" || op.operands.size() != 2 || op.regions[0].ops.size() != 2) return "";
  const std::string& step = op.regions[0].ops[0].name;
  return step == "add" ? "reduce_sum" : step == "maximum" ? "reduce_max" : step == "minimum" ? "reduce_min" : "";
}

std::optional<Shape> domainOf(const Op& op, const std::vector<ArrayType>& types) {
  if (isElementwise(op)) return types[op.results[0]].shape;
  if (!reductionOf(op).empty()) return types[op.operands[0]].shape;
  if (op.name == "broadcast_in_dim") return types[op.results[0]].shape;
  return std::nullopt;
}

std::pair<int64_t, int64_t> Group::rowsAndColumns() const {
  if (split_) {
    return {elementsIn({domain_.data(), *split_}), elementsIn({domain_.data() + *split_, domain_.size() - *split_})};
  }
  // Any will do: rows of a few thousand elements.
  constexpr int64_t kMax = 8192;
  const int64_t all = elementsIn(domain_);
  if (all <= kMax) return {1, all};
  for (int64_t columns = kMax; columns >= 64; --columns)
    if (all % columns == 0) return {all / columns, columns};
  return {1, all};
}

bool Group::isPerRow(const Shape& shape, std::optional<size_t> split) const {
  if (!split || shape.size() < *split || (shape.size() != *split && shape.size() != domain_.size())) return false;
  for (size_t i = 0; i < shape.size(); ++i)
    if (shape[i] != (i < *split ? domain_[i] : 1)) return false;
  return true;
}

bool Group::fitElementwise(const Op& op, const std::vector<ArrayType>& types, Fit& fit) const {
  const Shape& shape = types[op.results[0]].shape;
  for (const ValueId v : op.operands)
    if (types[v].shape != shape) return false;
  if (shape == domain_)
    fit.result = Form::full;
  else if (isPerRow(shape, split_))
    fit.result = Form::perRow;
  else
    return false;
  for (const ValueId v : op.operands) {
    const auto known = made_.find(v);
    if (known == made_.end())
      fit.taken.emplace_back(v, fit.result);
    else if (known->second != fit.result)
      return false;
  }
  return true;
}

bool Group::fitBroadcast(const Op& op, const std::vector<ArrayType>& types, Fit& fit) const {
  const ValueId x = op.operands[0];
  const Shape &from = types[x].shape, &to = types[op.results[0]].shape;
  const auto& dims = std::get<std::vector<int64_t>>(*op.find("broadcast_dimensions"));
  if (to == domain_)
    fit.result = Form::full;
  else if (isPerRow(to, split_))
    fit.result = Form::perRow;
  else
    return false;
  if (const auto known = made_.find(x); known != made_.end() && known->second == fit.result) return from == to;
  if (elementsIn(from) == 1) {
    if (!makes(x)) fit.taken.emplace_back(x, Form::scalar);
    return !makes(x);
  }
  if (fit.result != Form::full) return false;
  // The operand with a size for each axis of the domain: 1 where it is the same along it.
  Shape spread(domain_.size(), 1);
  for (size_t i = 0; i < dims.size(); ++i) spread[dims[i]] = from[i];
  if (!std::is_sorted(dims.begin(), dims.end())) return false;
  size_t leading = 0, trailing = domain_.size();
  while (leading < spread.size() && spread[leading] == domain_[leading]) ++leading;
  while (trailing > 0 && spread[trailing - 1] == domain_[trailing - 1]) --trailing;
  const auto onesFrom = [&](size_t first, size_t last) {
    return std::all_of(spread.begin() + static_cast<ptrdiff_t>(first), spread.begin() + static_cast<ptrdiff_t>(last),
                       [](int64_t n) { return n == 1; });
  };
  const auto takes = [&](size_t split, Form form) {
    if (split_ && *split_ != split) return false;
    fit.split = split;
    if (const auto known = made_.find(x); known != made_.end()) return known->second == form;
    fit.taken.emplace_back(x, form);
    return true;
  };
  for (size_t split = split_.value_or(1); split < domain_.size(); ++split) {
    if (split <= leading && onesFrom(split, spread.size())) return takes(split, Form::perRow);
    if (split >= trailing && onesFrom(0, split)) return takes(split, Form::perColumn);
    if (split_) break;
  }
  return false;
}

bool Group::fitReduce(const Op& op, const std::vector<ArrayType>& types, Fit& fit) const {
  const ValueId x = op.operands[0];
  auto axes = std::get<std::vector<int64_t>>(*op.find("dimensions"));
  std::sort(axes.begin(), axes.end());
  const size_t split = domain_.size() - axes.size();
  for (size_t i = 0; i < axes.size(); ++i)
    if (axes[i] != static_cast<int64_t>(split + i)) return false;
  if (types[x].shape != domain_ || split == 0 || (split_ && *split_ != split)) return false;
  if (const auto known = made_.find(x); known == made_.end())
    fit.taken.emplace_back(x, Form::full);
  else if (known->second != Form::full)
    return false;
  fit.split = split;
  fit.result = Form::perRow;
  return true;
}

std::optional<Group::Fit> Group::fit(const Op& op, const std::vector<ArrayType>& types) const {
  for (const ValueId v : op.results)
    if (!isKernelType(types[v].dtype)) return std::nullopt;
  Fit fit;
  fit.split = split_;
  bool fits = false;
  if (isElementwise(op))
    fits = fitElementwise(op, types, fit);
  else if (op.name == "broadcast_in_dim")
    fits = fitBroadcast(op, types, fit);
  else if (!reductionOf(op).empty())
    fits = fitReduce(op, types, fit);
  else if (op.name == "reshape" && makes(op.operands[0])) {
    fit.result = made_.at(op.operands[0]);
    fits = fit.result == Form::perRow && isPerRow(types[op.results[0]].shape, split_);
  }
  if (!fits) return std::nullopt;
  for (const auto& [v, form] : fit.taken) {
    if (!isKernelType(types[v].dtype) || types[v].dtype == DType::pred) return std::nullopt;
    const auto before = taken_.find(v);
    if (before != taken_.end() && before->second != form) return std::nullopt;
  }
  return fit;
}

bool Group::take(const Op& op, const std::vector<ArrayType>& types) {
  const auto fits = fit(op, types);
  if (!fits) return false;
  split_ = fits->split;
  ops_.push_back(&op);
  for (const auto& [v, form] : fits->taken) taken_[v] = form;
  made_[op.results[0]] = fits->result;
  return true;
}

}  // namespace smalti::lang
