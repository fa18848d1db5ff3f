#include "lang/transform/kernel/VjpKernel.h"

#include <algorithm>

#include "lang/call/CalledKernel.h"
#include "lang/trace/SourceLocationScope.h"
#include "lang/transform/Batch.h"
#include "lang/transform/Custom.h"
#include "lang/transform/kernel/KernelFunction.h"
#include "smalti/error.h"

namespace smalti::lang {
namespace {

using Arrays = std::vector<Array>;

[[noreturn]] void refuseReverse(const TracedKernel& kernel, const std::string& why, std::string need) {
  refuse({.code = "SM7113",
          .message = "reverse mode does not go through this pallas_call: " + why,
          .place = {},
          .need = std::move(need),
          .have = "kernel '" + kernel.name + "'",
          .help = "write the backward kernel and give both to custom_vjp"});
}

void checkFunction(const TracedKernel& kernel, std::span<const Array> operands) {
  const std::string why = whyNoFunction(kernel, operands);
  if (!why.empty()) refuseReverse(kernel, why, "blocks, scratch, copies on the device, arithmetic and control flow");
}

/// The code of the error of a loop with an unknown number of steps.
constexpr std::string_view kUnknownSteps = "SM7105";

/// The tangents of a kernel's results, from its operands and the tangents of those that are flagged.
class KernelTangents : public CustomFunction {
 public:
  KernelTangents(std::shared_ptr<const CalledKernel> kernel, Mask has, Mask floats)
      : kernel_(std::move(kernel)), has_(std::move(has)), floats_(std::move(floats)) {}

  Arrays run(std::span<const Array> given) const override {
    std::vector<MaybeZero> tangents;
    auto next = given.begin() + static_cast<ptrdiff_t>(has_.size());
    for (const bool has : has_) tangents.push_back(has ? MaybeZero(*next++) : std::nullopt);
    const Differentiated d = lang::jvp(results(), given.first(has_.size()), tangents);
    Arrays made;
    for (size_t i = 0; i < floats_.size(); ++i)
      if (floats_[i]) made.push_back(instantiated(d.tangents[i], d.results[i].type()));
    return made;
  }
  Differentiated jvp(const OpCall& call, std::span<const MaybeZero> tangents) const override {
    return lang::jvp(again(), call.operands, tangents);
  }
  Arrays batch(const OpCall& call, const Mask& isBatched, int64_t size) const override {
    return allBatched(lang::batch(again(), call.operands, isBatched, size), size);
  }
  Arrays linearize(Linearizer& linearizer, const OpCall& call, const Mask& isLinear) const override {
    const size_t n = has_.size();
    Arrays operands(call.operands.begin(), call.operands.begin() + static_cast<ptrdiff_t>(n)), linear;
    Mask wanted;  // of the operands of the kernel: whose tangent is linear here
    size_t next = n;
    for (const bool has : has_) {
      wanted.push_back(has && isLinear[next]);
      if (wanted.back()) linear.push_back(call.operands[next]);
      if (has) ++next;
    }
    return linearizer.note(linear, call.results,
                           [*this, operands = std::move(operands), wanted](std::span<const MaybeZero> cotangents) {
                             return transposed(operands, wanted, cotangents);
                           });
  }

 private:
  Functional results() const {
    return [kernel = kernel_](std::span<const Array> x) { return runAsFunction(kernel->traced(), x); };
  }
  Functional again() const {
    return [*this](std::span<const Array> x) { return run(x); };
  }
  std::vector<MaybeZero> transposed(const Arrays& operands, const Mask& wanted,
                                    std::span<const MaybeZero> cotangents) const {
    Arrays some;
    for (size_t i = 0; i < wanted.size(); ++i)
      if (wanted[i]) some.push_back(operands[i]);
    const Functional partial = [&](std::span<const Array> inside) {
      Arrays all = operands;
      size_t next = 0;
      for (size_t i = 0; i < wanted.size(); ++i)
        if (wanted[i]) all[i] = inside[next++];
      return runAsFunction(kernel_->traced(), all);
    };
    std::vector<MaybeZero> of;
    size_t next = 0;
    for (const bool isFloat : floats_) of.push_back(isFloat ? cotangents[next++] : std::nullopt);
    try {
      return lang::vjp(partial, some).back(of);
    } catch (const Error& error) {
      // Its advice is for loops outside kernels.
      if (error.diagnostic().code != kUnknownSteps) throw;
      const RecordedLocationScope place(kernel_->traced().place);
      refuseReverse(kernel_->traced(), "a loop in it computes how many steps it takes",
                    "loops whose number of steps is known before the kernel runs");
    }
  }

  std::shared_ptr<const CalledKernel> kernel_;
  Mask has_, floats_;
};

}  // namespace

Differentiated linearizedKernel(const OpCall& call, std::span<const MaybeZero> tangents) {
  const TracedKernel& kernel = call.kernel->traced();
  checkFunction(kernel, call.operands);
  Arrays given(call.operands.begin(), call.operands.end());
  for (const MaybeZero& t : tangents)
    if (t) given.push_back(*t);
  Mask floats;
  std::vector<ArrayType> types;
  for (const ArrayType& t : call.results) {
    floats.push_back(is_float(t.dtype));
    if (floats.back()) types.push_back(t);
  }
  Differentiated d;
  d.results = bindKernel(call.kernel, call.operands, call.results);
  const Arrays made =
      bindCustom(std::make_shared<KernelTangents>(call.kernel, nonzero(tangents), floats), given, types);
  size_t next = 0;
  for (const bool isFloat : floats) d.tangents.push_back(isFloat ? MaybeZero(made[next++]) : std::nullopt);
  return d;
}

std::vector<Array> linearKernel(const OpCall& call) {
  checkFunction(call.kernel->traced(), call.operands);
  return runAsFunction(call.kernel->traced(), call.operands);
}

}  // namespace smalti::lang
