#include "lang/transform/Batch.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "lang/ops/Support.h"
#include "lang/trace/SourceLocationScope.h"
#include "lang/transform/BatchKernel.h"
#include "lang/transform/ControlFlow.h"
#include "lang/transform/Custom.h"
#include "smalti/ops/shape.h"

namespace smalti::lang {
namespace {

struct BatchValue : TracedValue {
  Array examples;
  int64_t axis = 0;  ///< batch axis; moved to the front where a rule requires it
};

class BatchTracer : public Tracer {
 public:
  explicit BatchTracer(int64_t size) : size_(size) {}

  Array wrap(const Array& examples, int64_t axis = 0) const {
    auto value = std::make_shared<BatchValue>();
    value->tracer = serial_;
    value->examples = examples;
    value->axis = axis;
    ArrayType type = examples.type();
    type.shape.erase(type.shape.begin() + axis);
    return Array::traced(std::move(type), std::move(value)).with_weak_type(examples.weak_type());
  }
  BatchValue* valueOf(const Array& a) const {
    if (!a.is_traced() || !a.tracer()) return nullptr;
    auto* value = static_cast<TracedValue*>(a.tracer().get());
    return value->tracer == serial_ ? static_cast<BatchValue*>(value) : nullptr;
  }
  /// The array with the examples along axis 0, under the tracer below.
  const Array* examplesOf(const Array& a) const {
    BatchValue* value = valueOf(a);
    if (!value) return nullptr;
    value->examples = moveAxis(value->examples, value->axis, 0);
    value->axis = 0;
    return &value->examples;
  }

  std::vector<Array> bind(OpCall call) override {
    if (!call.regions.empty()) return bindClosed(closeRegions(call));
    if (call.kernel) return bindKernelCall(std::move(call));
    std::vector<Array> operands;
    Mask mask;
    const TracerScope below(outer());
    const bool any = open(call.operands, operands, mask);
    call.operands = operands;
    if (!any) return outer().bind(std::move(call));
    std::vector<Array> results;
    if (call.custom)
      results = call.custom->batch(call, mask, size_);
    else if (call.op.batch)
      results = call.op.batch(call, mask, size_);
    else
      refuseBatch(call.op);
    for (Array& r : results) r = wrap(r);
    return results;
  }

 private:
  /// Kernels take examples along any axis.
  std::vector<Array> bindKernelCall(OpCall call) const {
    std::vector<Array> operands;
    BatchAxes axes;
    bool any = false;
    for (const Array& a : call.operands) {
      const BatchValue* value = valueOf(a);
      operands.push_back(value ? value->examples : a);
      axes.push_back(value ? std::optional(value->axis) : std::nullopt);
      any = any || value;
    }
    call.operands = operands;
    const TracerScope below(outer());
    if (!any) return outer().bind(std::move(call));
    std::vector<Array> results = batchKernel(call, axes, size_);
    for (Array& r : results) r = wrap(r);
    return results;
  }
  bool open(std::span<const Array> values, std::vector<Array>& examples, Mask& mask) const {
    bool any = false;
    for (const Array& a : values) {
      const Array* batched = examplesOf(a);
      examples.push_back(batched ? batched->with_weak_type(a.weak_type()) : a);
      mask.push_back(batched != nullptr);
      any = any || batched;
    }
    return any;
  }
  [[noreturn]] static void refuseBatch(const OpRecord& op) {
    refuse({.code = "SM7103",
            .message = fmt::format("'{}' cannot be batched: {}", op.shownName(),
                                   op.noBatch.empty() ? "it has no rule for it" : op.noBatch),
            .place = {},
            .need = "ops that vmap has a rule for",
            .have = std::string(op.shownName()),
            .help = "call the function for each example, or write the batched form by hand"});
  }
  std::vector<Array> bindClosed(ClosedCall call) const {
    std::vector<Array> inputs;
    Mask mask;
    const TracerScope below(outer());
    const bool any = open(call.inputs, inputs, mask);
    call.inputs = std::move(inputs);
    if (!any) return bindAgain(call, call.inputs);
    if (!call.op->control) refuseBatch(*call.op);
    ControlRules::Batched made = call.op->control->batch(call, mask, size_);
    for (size_t i = 0; i < made.results.size(); ++i)
      if (made.isBatched[i]) made.results[i] = wrap(made.results[i]);
    return std::move(made.results);
  }

  int64_t size_;
};

}  // namespace

BatchResults batch(const Functional& f, std::span<const Array> arguments, const Mask& isBatched, int64_t size) {
  BatchAxes axes;
  for (const bool is : isBatched) axes.push_back(is ? std::optional<int64_t>(0) : std::nullopt);
  return batch(f, arguments, axes, size);
}

BatchResults batch(const Functional& f, std::span<const Array> arguments, const BatchAxes& axes, int64_t size) {
  BatchTracer tracer(size);
  std::vector<Array> inside;
  for (size_t i = 0; i < arguments.size(); ++i)
    inside.push_back(axes[i] ? tracer.wrap(arguments[i], *axes[i]) : arguments[i]);
  BatchResults made;
  {
    const TracerScope scope(tracer);
    made.results = f(inside);
  }
  for (Array& r : made.results) {
    const Array* examples = tracer.examplesOf(r);
    made.isBatched.push_back(examples != nullptr);
    if (examples) r = *examples;
  }
  return made;
}

ArrayType batchedType(const ArrayType& type, int64_t size) {
  ArrayType batched = type;
  batched.shape.insert(batched.shape.begin(), size);
  return batched;
}

Array spread(const Array& a, int64_t size) { return broadcastTo(a, batchedType(a.type(), size).shape); }

std::vector<Array> allBatched(BatchResults made, int64_t size) {
  for (size_t i = 0; i < made.results.size(); ++i)
    if (!made.isBatched[i]) made.results[i] = spread(made.results[i], size);
  return std::move(made.results);
}

Array moveAxis(const Array& a, int64_t from, int64_t to) {
  if (from == to) return a;
  std::vector<int64_t> order(a.rank());
  std::iota(order.begin(), order.end(), 0);
  order.erase(order.begin() + from);
  order.insert(order.begin() + to, from);
  return transpose(a, std::move(order));
}

}  // namespace smalti::lang
