// fori_loop, while_loop: ops "for" (lower, upper, carries; region of the index and the carries) and "while" (carries;
// regions of the condition and the body). Unrolled iterations are traced once each.
#include <algorithm>

#include <fmt/format.h>

#include "mlir/Dialect/SCF/IR/SCF.h"

#include "base/Text.h"
#include "lang/cost/Cost.h"
#include "lang/lower/DialectLowering.h"
#include "lang/ops/OpRecord.h"
#include "lang/ops/Support.h"
#include "lang/refs/Indexer.h"
#include "lang/trace/HasValue.h"
#include "lang/trace/SourceLocationScope.h"
#include "lang/trace/Trace.h"
#include "lang/transform/ControlFlow.h"
#include "lang/transform/Depth.h"
#include "smalti/control.h"
#include "smalti/ops.h"

namespace smalti::lang {
namespace {

void lowerFor(DialectLowering& l, const Op& op) {
  std::vector<mlir::Value> operands = valuesOf(l, op.operands);
  const auto step = static_cast<double>(std::get<int64_t>(*op.find("step")));
  operands.insert(operands.begin() + 2, l.constant(l.b.getI32Type(), step));
  mlir::Operation* loop = l.create("scf.for", operands, typesOf(l, op.results), {}, 1);
  fillRegion(l, loop->getRegion(0), op.regions[0],
             [&](mlir::Block*, const auto& results) { mlir::scf::YieldOp::create(l.b, l.loc, results); });
  for (size_t i = 0; i < op.results.size(); ++i) l.set(op.results[i], loop->getResult(i));
}

void lowerWhile(DialectLowering& l, const Op& op) {
  mlir::Operation* loop = l.create("scf.while", valuesOf(l, op.operands), typesOf(l, op.results), {}, 2);
  fillRegion(l, loop->getRegion(0), op.regions[0], [&](mlir::Block* block, const auto& results) {
    mlir::scf::ConditionOp::create(l.b, l.loc, results[0], block->getArguments());
  });
  fillRegion(l, loop->getRegion(1), op.regions[1],
             [&](mlir::Block*, const auto& results) { mlir::scf::YieldOp::create(l.b, l.loc, results); });
  for (size_t i = 0; i < op.results.size(); ++i) l.set(op.results[i], loop->getResult(i));
}

/// Bounds i32[], then the carries.
std::string forTypes(const TypedOp& op) {
  if (op.numOperands() != op.numResults() + 2) return "has not two bounds and an operand for each result";
  for (int i = 0; i < 2; ++i)
    if (op.operand(i) != ArrayType{DType::i32, {}}) return fmt::format("has the bound {}", op.operand(i).str());
  for (int i = 0; i < op.numResults(); ++i)
    if (op.operand(i + 2) != op.result(i))
      return fmt::format("turns {} into {}", op.operand(i + 2).str(), op.result(i).str());
  return "";
}

/// Times the trip count if the bounds are known. The bounds are the first operands; the index advances by the step.
CostEstimate costOfFor(CostCounter& counter, const Op& op) {
  CostEstimate cost = counter.ops(op.regions[0].ops);
  const auto lower = counter.constant(op.operands[0]), upper = counter.constant(op.operands[1]);
  if (!lower || !upper) return cost;
  const auto step = std::max<int64_t>(std::get<int64_t>(*op.find("step")), 1);
  const int64_t iterations = std::max<int64_t>((*upper - *lower + step - 1) / step, 0);
  cost.flops = costTimes(cost.flops, iterations);
  cost.transcendentals = costTimes(cost.transcendentals, iterations);
  return cost;
}

Array number(int64_t n) { return Operand(n).array().with_weak_type(false); }

std::vector<Array> runFor(const OpCall& call) {
  for (const Array& a : call.operands) checkConcrete(a);
  const int32_t upper = *call.operands[1].as<int32_t>();
  const auto step = call.attribute<int64_t>("step");
  std::vector<Array> values(call.operands.begin() + 1, call.operands.end());
  for (int64_t i = *call.operands[0].as<int32_t>(); i < upper; i += step) {
    values[0] = number(i);
    std::vector<Array> next = call.regions[0].body(values);
    std::move(next.begin(), next.end(), values.begin() + 1);
  }
  return {values.begin() + 1, values.end()};
}

std::vector<Array> runWhile(const OpCall& call) {
  std::vector<Array> carry(call.operands.begin(), call.operands.end());
  for (;;) {
    const Array go = call.regions[0].body(carry)[0];
    checkConcrete(go);
    if (!*go.as<uint8_t>()) return carry;
    carry = call.regions[1].body(carry);
  }
}

std::vector<Array> expandFor(const OpCall&);

constexpr OpTable kLoopOps{
    OpRecord{.name = "for",
             .types = forTypes,
             .run = runFor,
             .expand = expandFor,
             .lower = lowerFor,
             .cost = costOfFor,
             .control = &kForRules},
    OpRecord{.name = "while", .run = runWhile, .lower = lowerWhile, .control = &kWhileRules},
};
const OpFamily kLoopFamily(kLoopOps);

/// A while that carries the index and its end.
std::vector<Array> expandFor(const OpCall& call) {
  const auto step = call.attribute<int64_t>("step");
  std::vector<ArrayType> types;
  for (const Array& a : call.operands) types.push_back(a.type());
  const Region regions[] = {
      {types, [](std::span<const Array> v) { return std::vector<Array>{less(v[0], v[1])}; }},
      {types,
       [&](std::span<const Array> v) {
         std::vector<Array> inside{v.begin() + 1, v.end()};
         inside[0] = v[0];
         std::vector<Array> next = call.regions[0].body(inside);
         next.insert(next.begin(), {add(v[0], number(step)), v[1]});
         return next;
       }},
  };
  const Location at = call.location();
  std::vector<Array> results = bindRegions(kLoopOps["while"], call.operands, types, regions, at);
  results.erase(results.begin(), results.begin() + 2);
  return results;
}

}  // namespace
}  // namespace smalti::lang

namespace smalti {
namespace {

using detail::Arrays, detail::LoopBody;
using lang::SourceLocationScope, lang::Region;

/// Types of a loop's carries. Weakly typed inits take the dtype that the body gives (S-I2).
struct Carries {
  std::vector<ArrayType> types;
  std::vector<bool> weak;

  explicit Carries(const Arrays& init) {
    for (const Array& a : init) {
      types.push_back(a.type());
      weak.push_back(a.weak_type());
    }
  }
  Arrays typed(Arrays values) const {
    for (size_t i = 0; i < values.size(); ++i) values[i] = values[i].with_weak_type(weak[i]);
    return values;
  }
  Arrays converted(Arrays values) const {
    for (size_t i = 0; i < values.size(); ++i)
      if (values[i].dtype() != types[i].dtype) values[i] = lang::convertTo(values[i], types[i].dtype);
    return typed(std::move(values));
  }
};

/// The body returned a different type for a weakly typed carry: it is traced again with that type.
struct Retrace {};

/// The body's results, converted to the types of the carries; error SM6122.
Arrays checked(Carries& carries, Arrays results, const Location& at, bool mayRetrace = true) {
  SourceLocationScope place(at);
  if (results.size() != carries.types.size())
    lang::refuse({.code = "SM6122",
                  .message = "the body of a loop returns a different number of values than it carries",
                  .place = {},
                  .need = counted(carries.types.size(), "value"),
                  .have = fmt::format("{}", results.size()),
                  .help = "return one value for each that the loop started with"});
  bool again = false;
  for (size_t i = 0; i < results.size(); ++i) {
    const ArrayType& type = carries.types[i];
    const Operand carried(carries.typed({Array::traced(type, nullptr)})[0]), result(results[i]);
    const bool sameShape = results[i].shape() == type.shape;
    if (sameShape && carries.weak[i] && !results[i].weak_type() && mayRetrace) {
      again = true;
      carries.types[i].dtype = results[i].dtype();
      carries.weak[i] = false;
    } else if (sameShape && results[i].weak_type() && results[i].dtype() != type.dtype &&
               lang::promote("fori_loop", {&carried, &result}).dtype == type.dtype) {
      results[i] = lang::convertTo(results[i], type.dtype);
    } else if (results[i].type() != type) {
      lang::refuse({.code = "SM6122",
                    .message = fmt::format("the body of a loop changes the type of carry {}", i),
                    .place = {},
                    .need = type.str(),
                    .have = results[i].type().str(),
                    .help = "start the loop with the type that the body returns, or convert with astype"});
    }
  }
  if (again) throw Retrace{};
  return results;
}

/// Traces repeatedly until the carries' types are stable.
template <class F>
auto settled(const F& trace) {
  for (;;) try {
      return trace();
    } catch (const Retrace&) {
    }
}

int64_t value(const Array& a) { return *lang::concreteInteger(a); }
Array number(int64_t n, const Location& at) { return Operand(n, at).array().with_weak_type(false); }
Array plus(const Array& a, const Array& b, const Location& at) {
  return add(Operand(a, at), Operand(b, at)).with_weak_type(false);
}

/// Whether i32 contains all numbers of the dtype.
bool fitsIndex(DType t) { return bit_width(t) < (is_unsigned_integer(t) ? 32 : 33); }

/// A bound: an i32 scalar; error SM6121.
Array bound(const Operand& x, std::string_view which) {
  if (x.rank() != 0 || !is_integer(x.dtype()))
    lang::refuse({.code = "SM6121",
                  .message = fmt::format("the {} bound of a loop is not an integer scalar", which),
                  .place = {},
                  .need = "an integer scalar",
                  .have = x.array().type().str(),
                  .help = "convert it with astype(…, i32)"});
  const auto known = lang::concreteInteger(x.array());
  if (known ? *known < INT32_MIN || *known > INT32_MAX : !fitsIndex(x.dtype()))
    lang::refuse({.code = "SM6121",
                  .message = fmt::format("the {} bound of a loop is not a number of i32", which),
                  .place = {},
                  .need = fmt::format("at least {} and at most {}", INT32_MIN, INT32_MAX),
                  .have = known ? fmt::format("{}", *known) : x.array().type().str(),
                  .help = known ? "count from 0, and add the start to the index in the body"
                                : "convert it with astype(…, i32), which wraps larger numbers"});
  if (known) return number(*known, x.at());
  return lang::convertTo(x.array(), DType::i32).with_weak_type(false);
}

/// One loop: `bodies` iterations per trip.
Arrays traceFor(const Array& lower, const Array& upper, int64_t bodies, const LoopBody& body, const Arrays& init,
                Carries& carries, const Location& at) {
  return carries.typed(settled([&] {
    Arrays operands{lower, upper};
    {
      SourceLocationScope place(at);
      const Arrays start = carries.converted(init);
      operands.insert(operands.end(), start.begin(), start.end());
    }
    const auto trip = [&](std::span<const Array> inside) {
      Arrays carry = carries.typed({inside.begin() + 1, inside.end()});
      for (int64_t k = 0; k < bodies; ++k) {
        Array i = inside[0];
        if (k > 0) {
          SourceLocationScope place(at);
          i = plus(i, number(k, at), at);
        }
        carry = checked(carries, body(i, carry), at);
      }
      return carry;
    };
    Region region{{{DType::i32, {}}}, trip};
    region.arguments.insert(region.arguments.end(), carries.types.begin(), carries.types.end());
    return lang::bindRegions(lang::kLoopOps["for"], operands, carries.types, {&region, 1}, at, {{"step", bodies}});
  }));
}

/// Iterations one after the other, from `first`. The types are settled on a trace that is thrown away.
Arrays inlined(int64_t first, int64_t count, const LoopBody& body, const Arrays& init, Carries& carries,
               const Location& at) {
  const auto anyWeak = [&] { return std::find(carries.weak.begin(), carries.weak.end(), true) != carries.weak.end(); };
  if (count > 0 && anyWeak())
    settled([&] {
      const auto once = [&](std::span<const Array> inside) {
        return checked(carries, body(number(first, at), carries.typed({inside.begin(), inside.end()})), at);
      };
      if (lang::Trace* trace = lang::Trace::current())
        trace->block(carries.types, once);
      else
        once(carries.converted(init));
    });
  Arrays carry;
  {
    SourceLocationScope place(at);
    carry = carries.converted(init);
  }
  for (int64_t k = 0; k < count; ++k) carry = checked(carries, body(number(first + k, at), carry), at, false);
  return carry;
}

/// fori_loop by 1.
Arrays unitLoop(const Array& lower, const Array& upper, int64_t unroll, const LoopBody& body, const Arrays& init,
                const Location& at) {
  Carries carries(init);
  if (!lower.is_traced() && !upper.is_traced()) {
    const int64_t first = value(lower), count = std::max<int64_t>(value(upper) - first, 0);
    if (unroll == full_unroll || (unroll > 1 && unroll >= count)) return inlined(first, count, body, init, carries, at);
    const int64_t main = count / unroll * unroll;
    const Arrays results = traceFor(lower, number(first + main, at), unroll, body, init, carries, at);
    if (main == count) return results;
    return inlined(first + main, count - main, body, results, carries, at);
  }
  if (unroll == full_unroll) {
    SourceLocationScope place(at);
    lang::refuse({.code = "SM6123",
                  .message = "Cannot fully unroll loop with dynamic number of steps",
                  .place = {},
                  .need = "bounds known when the kernel is traced",
                  .have = "a traced bound",
                  .help = "unroll by a number, or use C++ integers as bounds"});
  }
  if (unroll == 1) return traceFor(lower, upper, 1, body, init, carries, at);
  Array middle;
  {
    SourceLocationScope place(at);
    const Array steps = maximum(subtract(Operand(upper, at), Operand(lower, at)), 0);
    const Array iterations = div(Operand(steps, at), Operand(number(unroll, at), at));
    middle = plus(lower, multiply(Operand(iterations, at), Operand(number(unroll, at), at)), at);
  }
  const Arrays results = traceFor(lower, middle, unroll, body, init, carries, at);
  return traceFor(middle, upper, 1, body, results, carries, at);
}

/// Outside traces the loop runs immediately.
Arrays loopNow(int64_t lower, int64_t upper, int64_t step, const LoopBody& body, const Arrays& init,
               const Location& at) {
  Carries carries(init);
  return settled([&] {
    Arrays carry = carries.converted(init);
    for (int64_t i = lower; step > 0 ? i < upper : i > upper; i += step)
      carry = checked(carries, body(number(i, at), carry), at);
    return carry;
  });
}

}  // namespace

Arrays detail::fori_loop(const Operand& lower, const Operand& upper, int64_t step, int64_t unroll, const LoopBody& body,
                         const Arrays& init, const Location& at) {
  Array first, last;
  bool isStatic = false;
  {
    SourceLocationScope place(at);
    first = bound(lower, "lower"), last = bound(upper, "upper");
    isStatic = !first.is_traced() && !last.is_traced();
    if (step < INT32_MIN || step > INT32_MAX)
      lang::refuse({.code = "SM6121",
                    .message = "the step of a loop is not a number of 32 bits",
                    .place = {},
                    .need = fmt::format("at least {} and at most {}", INT32_MIN, INT32_MAX),
                    .have = fmt::format("{}", step),
                    .help = "indices of loops are i32"});
    if (step == 0 || unroll < 0)
      lang::refuse({.code = "SM6121",
                    .message = step == 0 ? "the step of a loop is zero" : "a loop is unrolled by a negative number",
                    .place = {},
                    .need = step == 0 ? "a step other than 0" : "unroll >= 1, or full_unroll",
                    .have = fmt::format("{}", step == 0 ? step : unroll),
                    .help = "leave the option out for 1"});
  }
  if (lang::Tracer::isEager()) return loopNow(value(first), value(last), step, body, init, at);
  const lang::Depth depth(at, lang::Depth::Of::control);
  if (step == 1) return unitLoop(first, last, unroll, body, init, at);
  // Counts iterations: i = lower + k * step, k < cdiv(upper - lower, step).
  Array iterations;
  {
    SourceLocationScope place(at);
    if (isStatic) {
      const int64_t span = value(last) - value(first), away = step > 0 ? step - 1 : step + 1;
      iterations = number(std::max<int64_t>((span + away) / step, 0), at);
    } else {
      const Array span = subtract(Operand(last, at), Operand(first, at));
      const Array away = plus(span, number(step > 0 ? step - 1 : step + 1, at), at);
      iterations = div(Operand(away, at), Operand(number(step, at), at)).with_weak_type(false);
    }
  }
  const auto scaled = [&](const Array& k, const Arrays& carry) {
    Array i;
    {
      SourceLocationScope place(at);
      i = k.is_traced() || first.is_traced() ? plus(first, multiply(Operand(k, at), Operand(number(step, at), at)), at)
                                             : number(value(first) + value(k) * step, at);
    }
    return body(i, carry);
  };
  return unitLoop(number(0, at), iterations, unroll, scaled, init, at);
}

Arrays detail::while_loop(const std::function<Array(const Arrays&)>& condition,
                          const std::function<Arrays(const Arrays&)>& body, const Arrays& init, const Location& at) {
  Carries carries(init);
  const auto predicate = [&](const Arrays& carry) {
    const Array c = condition(carry);
    SourceLocationScope place(at);
    if (c.rank() != 0 || c.dtype() != DType::pred)
      lang::refuse({.code = "SM6115",
                    .message = "the condition of a while_loop is not a scalar pred",
                    .place = {},
                    .need = "pred[]",
                    .have = c.type().str(),
                    .help = "compare scalars; reduce vectors with any or all first"});
    return c;
  };
  if (lang::Tracer::isEager())
    return settled([&] {
      Arrays carry = carries.converted(init);
      while (*predicate(carry).as<uint8_t>()) carry = checked(carries, body(carry), at);
      return carry;
    });
  const lang::Depth depth(at, lang::Depth::Of::control);
  return carries.typed(settled([&] {
    Arrays start;
    {
      SourceLocationScope place(at);
      start = carries.converted(init);
    }
    const auto typed = [&](std::span<const Array> inside) { return carries.typed({inside.begin(), inside.end()}); };
    const Region regions[] = {
        {carries.types, [&](std::span<const Array> inside) { return Arrays{predicate(typed(inside))}; }},
        {carries.types, [&](std::span<const Array> inside) { return checked(carries, body(typed(inside)), at); }},
    };
    return lang::bindRegions(lang::kLoopOps["while"], start, carries.types, regions, at);
  }));
}

}  // namespace smalti
