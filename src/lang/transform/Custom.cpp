#include "lang/transform/Custom.h"

#include <fmt/format.h>

#include "base/Text.h"
#include "lang/trace/SourceLocationScope.h"
#include "lang/trace/Trace.h"
#include "lang/transform/Batch.h"
#include "smalti/ops/reduce.h"

namespace smalti::lang {
namespace {

constexpr OpTable kCustomOps{OpRecord{.name = "custom_function",
                                      .jaxName = "custom_vjp_call",
                                      .types = anyResults,
                                      .lower = lowerCustomFunction,
                                      .noJvp = "its function brings the rule",
                                      .noBatch = "its function brings the rule"}};
const OpFamily kCustomFamily(kCustomOps);

std::vector<ArrayType> batchedTypes(std::span<const ArrayType> types, int64_t size) {
  std::vector<ArrayType> batched;
  for (const ArrayType& t : types) batched.push_back(batchedType(t, size));
  return batched;
}

template <class T>
std::vector<T> joined(std::vector<T> a, const std::vector<T>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

[[noreturn]] void refuseForward(const Location& at) {
  const SourceLocationScope place(at);
  refuse({.code = "SM7104",
          .message = "can't apply forward-mode differentiation (jvp) to a custom_vjp function",
          .place = {},
          .need = "a rule for tangents",
          .have = "one for cotangents",
          .help = "use grad or vjp, or give the function a custom_jvp"});
}

/// The tangents of a custom_vjp's results: linear in the tangents of its operands, known by its transposition.
class LinearPart : public CustomFunction {
 public:
  LinearPart(size_t residuals, std::vector<size_t> operandOf, Backward backward, const Location& at)
      : residuals_(residuals), operandOf_(std::move(operandOf)), backward_(std::move(backward)), at_(at) {}

  std::vector<Array> run(std::span<const Array>) const override { refuseForward(at_); }
  Differentiated jvp(const OpCall&, std::span<const MaybeZero>) const override { refuseForward(at_); }
  std::vector<Array> batch(const OpCall&, const Mask&, int64_t) const override { refuseForward(at_); }

  std::vector<Array> linearize(Linearizer& linearizer, const OpCall& call, const Mask& isLinear) const override {
    const std::vector<Array> residuals(call.operands.begin(), call.operands.begin() + residuals_);
    std::vector<Array> linear;
    std::vector<size_t> operandOf;
    for (size_t i = residuals_; i < call.operands.size(); ++i)
      if (isLinear[i]) {
        linear.push_back(call.operands[i]);
        operandOf.push_back(operandOf_[i - residuals_]);
      }
    const std::vector<ArrayType> types(call.results.begin(), call.results.end());
    const SourceLocationScope place(at_);
    return linearizer.note(linear, types, [=, backward = backward_](std::span<const MaybeZero> cotangents) {
      std::vector<Array> given;
      for (size_t i = 0; i < types.size(); ++i) given.push_back(instantiated(cotangents[i], types[i]));
      const std::vector<MaybeZero> all = backward(residuals, given);
      std::vector<MaybeZero> of;
      for (const size_t i : operandOf) of.push_back(all[i]);
      return of;
    });
  }

 private:
  size_t residuals_;
  std::vector<size_t> operandOf_;  ///< of each tangent
  Backward backward_;
  Location at_;
};

/// Error SM7107: a rule computes the function's results with other types than the function does.
void checkResults(std::string_view rule, std::span<const Array> results, std::span<const ArrayType> types,
                  const Location& at) {
  const SourceLocationScope place(at);
  if (results.size() != types.size())
    refuse({.code = "SM7107",
            .message = fmt::format("the {} gives another number of results than the function", rule),
            .place = {},
            .need = counted(types.size(), "result"),
            .have = fmt::format("{}", results.size()),
            .help = "compute in it what the function computes"});
  for (size_t i = 0; i < types.size(); ++i)
    if (results[i].type() != types[i])
      refuse({.code = "SM7107",
              .message = fmt::format("the {} gives another type than the function in result {}", rule, i),
              .place = {},
              .need = types[i].str(),
              .have = results[i].type().str(),
              .help = "compute in it what the function computes"});
}

[[noreturn]] void refuseNotLinear() {
  refuse({.code = "SM7102",
          .message = "a custom function cannot be transposed, which reverse mode needs",
          .place = {},
          .need = "a rule for tangents that is linear in them",
          .have = "a call of a custom_vjp or custom_jvp function on tangents",
          .help = "use plain ops on tangents"});
}

class CustomVjp : public CustomFunction {
 public:
  CustomVjp(Functional f, Forward forward, Backward backward, const Location& at)
      : f_(std::move(f)), forward_(std::move(forward)), backward_(std::move(backward)), at_(at) {}

  std::vector<Array> run(std::span<const Array> operands) const override { return f_(operands); }

  Differentiated jvp(const OpCall& call, std::span<const MaybeZero> tangents) const override {
    auto [results, residuals] = forward_(call.operands);
    checkResults("forward function of a custom_vjp", results, call.results, at_);
    std::vector<Array> operands = residuals;
    std::vector<size_t> operandOf;
    for (size_t i = 0; i < tangents.size(); ++i)
      if (tangents[i]) {
        operands.push_back(*tangents[i]);
        operandOf.push_back(i);
      }
    const std::vector<Array> made = bindCustom(
        std::make_shared<LinearPart>(residuals.size(), std::move(operandOf), backward_, at_), operands, call.results);
    return {std::move(results), {made.begin(), made.end()}};
  }

  std::vector<Array> linearize(Linearizer&, const OpCall&, const Mask&) const override { refuseNotLinear(); }

  std::vector<Array> batch(const OpCall& call, const Mask& isBatched, int64_t size) const override {
    const Functional f = [f = f_, isBatched, size](std::span<const Array> x) {
      return allBatched(lang::batch(f, x, isBatched, size), size);
    };
    const Forward forward = [forward = forward_, isBatched, size](std::span<const Array> x) {
      size_t count = 0;
      const Functional both = [&](std::span<const Array> inside) {
        auto [results, residuals] = forward(inside);
        count = results.size();
        return joined(std::move(results), residuals);
      };
      const std::vector<Array> all = allBatched(lang::batch(both, x, isBatched, size), size);
      const auto middle = all.begin() + static_cast<ptrdiff_t>(count);
      return std::pair{std::vector<Array>(all.begin(), middle), std::vector<Array>(middle, all.end())};
    };
    const Backward backward = [backward = backward_, isBatched, size](std::span<const Array> residuals,
                                                                      std::span<const Array> cotangents) {
      std::vector<Array> inputs(residuals.begin(), residuals.end());
      inputs.insert(inputs.end(), cotangents.begin(), cotangents.end());
      const size_t count = residuals.size();
      Mask has;
      const Functional both = [&](std::span<const Array> inside) {
        const std::vector<MaybeZero> made = backward(inside.first(count), inside.subspan(count));
        has = nonzero(made);
        std::vector<Array> given;
        for (const MaybeZero& m : made)
          if (m) given.push_back(*m);
        return given;
      };
      const std::vector<Array> made = allBatched(lang::batch(both, inputs, Mask(inputs.size(), true), size), size);
      auto next = made.begin();
      std::vector<MaybeZero> all;
      for (size_t i = 0; i < has.size(); ++i)
        all.push_back(!has[i] ? std::nullopt : isBatched[i] ? MaybeZero(*next++) : MaybeZero(sum(*next++, 0)));
      return all;
    };
    return bindCustom(std::make_shared<CustomVjp>(f, forward, backward, at_), call.operands,
                      batchedTypes(call.results, size));
  }

 private:
  Functional f_;
  Forward forward_;
  Backward backward_;
  Location at_;
};

class CustomJvp : public CustomFunction {
 public:
  CustomJvp(Functional f, Tangential rule, const Location& at) : f_(std::move(f)), rule_(std::move(rule)), at_(at) {}

  std::vector<Array> run(std::span<const Array> operands) const override { return f_(operands); }
  Differentiated jvp(const OpCall& call, std::span<const MaybeZero> tangents) const override {
    std::vector<Array> given;
    for (size_t i = 0; i < tangents.size(); ++i) given.push_back(instantiated(tangents[i], call.operands[i].type()));
    auto [results, made] = rule_(call.operands, given);
    checkResults("rule of a custom_jvp", results, call.results, at_);
    return {std::move(results), {made.begin(), made.end()}};
  }
  std::vector<Array> linearize(Linearizer&, const OpCall&, const Mask&) const override { refuseNotLinear(); }
  std::vector<Array> batch(const OpCall& call, const Mask& isBatched, int64_t size) const override {
    const Functional f = [f = f_, isBatched, size](std::span<const Array> x) {
      return allBatched(lang::batch(f, x, isBatched, size), size);
    };
    const Tangential rule = [rule = rule_, isBatched, size](std::span<const Array> x, std::span<const Array> t) {
      std::vector<Array> inputs(x.begin(), x.end());
      inputs.insert(inputs.end(), t.begin(), t.end());
      const size_t n = x.size();
      size_t count = 0;
      const Functional both = [&](std::span<const Array> inside) {
        auto [results, tangents] = rule(inside.first(n), inside.subspan(n));
        count = results.size();
        return joined(std::move(results), tangents);
      };
      const std::vector<Array> all = allBatched(lang::batch(both, inputs, joined(isBatched, isBatched), size), size);
      const auto middle = all.begin() + static_cast<ptrdiff_t>(count);
      return std::pair{std::vector<Array>(all.begin(), middle), std::vector<Array>(middle, all.end())};
    };
    return bindCustom(std::make_shared<CustomJvp>(f, rule, at_), call.operands, batchedTypes(call.results, size));
  }

 private:
  Functional f_;
  Tangential rule_;
  Location at_;
};

/// The types of its results are those of a run that nothing computes.
std::vector<ArrayType> resultTypes(const Functional& f, std::span<const Array> operands, const Location& at) {
  const Tracer& transformation = Tracer::current();
  std::vector<ArrayType> types;
  Trace trace("a function with a custom derivative", Trace::Kind::function);
  std::vector<Array> inside;
  for (const Array& a : operands) inside.push_back(trace.addArgument(a.type()).with_weak_type(a.weak_type()));
  for (const Array& r : f(inside)) types.push_back(r.type());
  const SourceLocationScope place(at);
  for (const Array& a : trace.captures())
    if (transformation.owns(a))
      refuse({.code = "SM6105",
              .message = fmt::format(
                  "a function with a custom derivative uses a value {} of the vmap or grad around it", a.type().str()),
              .place = {},
              .need = "values of the transformation as arguments only",
              .help = "pass the value to the function as an argument"});
  return types;
}

/// Without a transformation, the call is its function.
std::vector<Array> callCustom(const std::shared_ptr<const CustomFunction>& custom, std::span<const Array> operands,
                              const Location& at) {
  const Trace* trace = Trace::current();
  const bool isRecorded = trace && trace == &Tracer::current();
  if (Tracer::isEager() || (isRecorded && trace->kind() == Trace::Kind::program)) return custom->run(operands);
  if (isRecorded && trace->kind() == Trace::Kind::kernel) return bindCustom(custom, operands, {});
  const Functional f = [&](std::span<const Array> x) { return custom->run(x); };
  return bindCustom(custom, operands, resultTypes(f, operands, at));
}

}  // namespace

std::vector<Array> bindCustom(std::shared_ptr<const CustomFunction> custom, std::span<const Array> operands,
                              std::span<const ArrayType> results) {
  return Tracer::current().bind(
      {.op = kCustomOps["custom_function"], .operands = operands, .results = results, .custom = std::move(custom)});
}

std::vector<Array> callCustomVjp(Functional f, Forward forward, Backward backward, std::span<const Array> operands,
                                 const Location& at) {
  return callCustom(std::make_shared<CustomVjp>(std::move(f), std::move(forward), std::move(backward), at), operands,
                    at);
}

std::vector<Array> callCustomJvp(Functional f, Tangential rule, std::span<const Array> operands, const Location& at) {
  return callCustom(std::make_shared<CustomJvp>(std::move(f), std::move(rule), at), operands, at);
}

Array withSlope(const Operand& x, Array (*f)(const Array&), Array (*slope)(const Array&, const Array&, const Array&)) {
  if (!is_float(x.dtype())) return f(x.array());
  const Array operand = x.array();
  return callCustomJvp([f](std::span<const Array> v) { return std::vector{f(v[0])}; },
                       [f, slope](std::span<const Array> v, std::span<const Array> t) {
                         const Array y = f(v[0]);
                         return std::pair{std::vector{y}, std::vector{slope(t[0], v[0], y)}};
                       },
                       {&operand, 1}, x.at())[0];
}

}  // namespace smalti::lang
