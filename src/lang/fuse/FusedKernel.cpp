#include "lang/fuse/FusedKernel.h"

#include <algorithm>

#include <fmt/format.h>

#include "lang/call/DerivedKernel.h"
#include "lang/cost/Cost.h"
#include "lang/lower/Lower.h"
#include "lang/ops/Support.h"
#include "lang/trace/Place.h"
#include "lang/transform/kernel/KernelFunction.h"
#include "smalti/error.h"
#include "smalti/ops.h"

namespace smalti::lang {
namespace {

class FusedKernel : public CalledKernel {
 public:
  FusedKernel(TracedKernel kernel, KernelPackage package) : kernel_(std::move(kernel)), package_(std::move(package)) {}
  const TracedKernel& traced() const override { return kernel_; }
  KernelPackage package() const override { return package_.copy(); }
  std::vector<Array> call(std::span<const Array> operands) const override { return runAsFunction(kernel_, operands); }
  DerivedKernels& derived() const override { return derived_; }
  std::shared_ptr<const ActiveSettings> settings() const override { return nullptr; }

 private:
  TracedKernel kernel_;
  KernelPackage package_;
  mutable DerivedKernels derived_;
};

/// The rows that a program takes: enough work for the call, and enough programs for the cores.
int64_t blockRows(int64_t rows, int64_t columns) {
  constexpr int64_t kElements = 16384, kPrograms = 8;
  int64_t block = std::max<int64_t>(kElements / std::max<int64_t>(columns, 1), 1);
  if (rows * columns >= kElements * 2)
    block = std::min(block, std::max<int64_t>((rows + kPrograms - 1) / kPrograms, 1));
  return std::min(block >= 8 ? block / 8 * 8 : block, std::max<int64_t>(rows, 1));
}

class Builder {
 public:
  Builder(const Group& group, const std::vector<ArrayType>& types, const std::map<ValueId, Array>& constants)
      : group_(group), types_(types), constants_(constants) {
    std::tie(rows_, columns_) = group.sizes();
    block_ = blockRows(rows_, columns_);
  }

  std::shared_ptr<const CalledKernel> kernel(std::span<const ValueId> results) {
    TracedKernel k;
    k.name = "fused";
    k.place = group_.ops()[0]->place;
    k.grid = {(rows_ + block_ - 1) / block_};
    k.semantics = {DimensionSemantics::parallel};
    std::vector<ValueId> operands;
    for (const auto& [v, form] : group_.taken())
      if (!constants_.count(v)) operands.push_back(v);
    k.numInputs = static_cast<int>(operands.size());
    operands.insert(operands.end(), results.begin(), results.end());
    for (size_t i = 0; i < operands.size(); ++i) k.operands.push_back(operand(operands[i], i, k));
    const size_t numInputs = operands.size() - results.size();
    return kernelOf(std::move(k), [&](std::span<const Ref> refs) {
      for (size_t i = 0; i < numInputs; ++i) values_[operands[i]] = refs[i][{Index(_)}];
      for (const Op* op : group_.ops()) {
        const AtRecorded place(op->place);
        values_[op->results[0]] = compute(*op);
      }
      for (size_t i = numInputs; i < operands.size(); ++i) refs[i][{Index(_)}] = values_.at(operands[i]);
    });
  }

 private:
  Form formOf(ValueId v) const {
    const auto made = group_.made().find(v);
    return made != group_.made().end() ? made->second : group_.taken().at(v);
  }
  Shape blockOf(Form form) const {
    return {form == Form::full || form == Form::perRow ? block_ : 1,
            form == Form::full || form == Form::perColumn ? columns_ : 1};
  }
  TracedOperand operand(ValueId v, size_t i, const TracedKernel& k) const {
    const Form form = formOf(v);
    TracedOperand o;
    o.name = fmt::format("operand {}", i);
    o.array = {types_[v].dtype, shapeIn(group_, form)};
    for (const int64_t size : blockOf(form)) o.block.emplace_back(size);
    Trace map("the index map of a fused kernel");
    map.grid = k.grid;
    const Array row = map.addArgument({DType::i32, {}}), zero = full({}, 0, DType::i32);
    o.indexMap = map.finish({form == Form::full || form == Form::perRow ? row : zero, zero});
    return o;
  }
  Array value(ValueId v) const {
    const auto constant = constants_.find(v);
    return constant != constants_.end() ? constant->second : values_.at(v);
  }
  Array compute(const Op& op) const {
    const Shape shape = blockOf(formOf(op.results[0]));
    if (op.name == "broadcast_in_dim") return broadcast_to(value(op.operands[0]), shape);
    if (op.name == "reshape") return value(op.operands[0]);
    const Axes columns{.axes = {1}, .keepdims = true};
    if (const std::string reduction = reductionOf(op); !reduction.empty()) {
      const Array x = value(op.operands[0]);
      return reduction == "reduce_sum"   ? sum(x, columns)
             : reduction == "reduce_max" ? max(x, columns)
                                         : min(x, columns);
    }
    std::vector<Array> operands;
    for (const ValueId v : op.operands) operands.push_back(value(v));
    const ArrayType type{types_[op.results[0]].dtype, shape};
    return bind(*findOp(op.name), operands, {&type, 1}, op.attributes)[0];
  }

  const Group& group_;
  const std::vector<ArrayType>& types_;
  const std::map<ValueId, Array>& constants_;
  int64_t rows_ = 0, columns_ = 0, block_ = 0;
  std::map<ValueId, Array> values_;
};

}  // namespace

Shape shapeIn(const Group& group, Form form) {
  const auto [rows, columns] = group.sizes();
  return {form == Form::full || form == Form::perRow ? rows : 1,
          form == Form::full || form == Form::perColumn ? columns : 1};
}

std::shared_ptr<const CalledKernel> fusedKernel(const Group& group, std::span<const ValueId> results,
                                                const std::vector<ArrayType>& types,
                                                const std::map<ValueId, Array>& constants) {
  return Builder(group, types, constants).kernel(results);
}

std::shared_ptr<const CalledKernel> kernelOf(TracedKernel k, const std::function<void(std::span<const Ref>)>& body) {
  std::shared_ptr<const CalledKernel> made;
  // An op that kernels have, but not for these types, stays as it is.
  (void)attempt([&] {
    Trace trace("kernel '" + k.name + "'");
    trace.grid = k.grid;
    std::vector<Ref> refs;
    for (const TracedOperand& o : k.operands)
      refs.push_back(trace.addRefArgument({o.array.dtype, o.refShape()}, o.space));
    body(refs);
    k.body = trace.finish();
    k.cost = estimateCost(k);
    KernelPackage package = lowerKernel(k);
    made = std::make_shared<FusedKernel>(std::move(k), std::move(package));
  });
  return made;
}

}  // namespace smalti::lang
