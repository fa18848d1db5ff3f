// fori_loop, while_loop: ops "for" (lower, upper, carries; region of the index and the carries) and "while" (carries;
// regions of the condition and the body). What unrolling repeats is traced as often as it runs.
#include <algorithm>

#include <fmt/format.h>

#include "base/Text.h"
#include "lang/ops/Support.h"
#include "lang/refs/Indexer.h"
#include "lang/trace/Place.h"
#include "lang/trace/Trace.h"
#include "smalti/control.h"
#include "smalti/ops.h"

namespace smalti {
namespace {

using detail::Arrays, detail::LoopBody;
using lang::AtPlace, lang::Trace;

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

/// The body gave another type for a weakly typed carry: it is traced again with that type.
struct Retrace {};

/// What the body returned, as the carries need it; error SM6122.
Arrays checked(Carries& carries, Arrays results, const Location& at, bool mayRetrace = true) {
  AtPlace place(at);
  if (results.size() != carries.types.size())
    lang::refuse({.code = "SM6122",
                  .message = "the body of a loop returns another number of values than it carries",
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

/// Traces with the carries' types until they stay.
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

/// A bound: an i32 scalar; error SM6121.
Array bound(const Operand& x, std::string_view which) {
  if (x.rank() != 0 || !is_integer(x.dtype()))
    lang::refuse({.code = "SM6121",
                  .message = fmt::format("the {} bound of a loop is no integer scalar", which),
                  .place = {},
                  .need = "an integer scalar",
                  .have = x.array().type().str(),
                  .help = "convert it with astype(…, i32)"});
  if (const auto known = lang::concreteInteger(x.array())) return number(*known, x.at());
  return lang::convertTo(x.array(), DType::i32).with_weak_type(false);
}

/// One loop of the kernel: `bodies` iterations per trip.
Arrays traceFor(Trace& trace, const Array& lower, const Array& upper, int64_t bodies, const LoopBody& body,
                const Arrays& init, Carries& carries, const Location& at) {
  Block block = settled([&] {
    std::vector<ArrayType> arguments{{DType::i32, {}}};
    arguments.insert(arguments.end(), carries.types.begin(), carries.types.end());
    return trace.block(arguments, [&](std::span<const Array> inside) {
      Arrays carry = carries.typed({inside.begin() + 1, inside.end()});
      for (int64_t k = 0; k < bodies; ++k) {
        Array i = inside[0];
        if (k > 0) {
          AtPlace place(at);
          i = plus(i, number(k, at), at);
        }
        carry = checked(carries, body(i, carry), at);
      }
      return carry;
    });
  });
  AtPlace place(at);
  Arrays operands{lower, upper};
  const Arrays start = carries.converted(init);
  operands.insert(operands.end(), start.begin(), start.end());
  std::vector<Block> regions;
  regions.push_back(std::move(block));
  return carries.typed(trace.record("for", trace.use(operands), carries.types, {{"step", bodies}}, std::move(regions)));
}

/// Iterations one after the other, from `first`. The types are settled on a trace that is thrown away.
Arrays inlined(Trace& trace, int64_t first, int64_t count, const LoopBody& body, const Arrays& init, Carries& carries,
               const Location& at) {
  const auto anyWeak = [&] { return std::find(carries.weak.begin(), carries.weak.end(), true) != carries.weak.end(); };
  if (count > 0 && anyWeak())
    settled([&] {
      return trace.block(carries.types, [&](std::span<const Array> inside) {
        return checked(carries, body(number(first, at), carries.typed({inside.begin(), inside.end()})), at);
      });
    });
  Arrays carry;
  {
    AtPlace place(at);
    carry = carries.converted(init);
  }
  for (int64_t k = 0; k < count; ++k) carry = checked(carries, body(number(first + k, at), carry), at, false);
  return carry;
}

/// fori_loop by 1.
Arrays unitLoop(Trace& trace, const Array& lower, const Array& upper, int64_t unroll, const LoopBody& body,
                const Arrays& init, const Location& at) {
  Carries carries(init);
  if (!lower.is_traced() && !upper.is_traced()) {
    const int64_t first = value(lower), count = std::max<int64_t>(value(upper) - first, 0);
    if (unroll == full_unroll || (unroll > 1 && unroll >= count))
      return inlined(trace, first, count, body, init, carries, at);
    const int64_t main = count / unroll * unroll;
    const Arrays results = traceFor(trace, lower, number(first + main, at), unroll, body, init, carries, at);
    if (main == count) return results;
    return inlined(trace, first + main, count - main, body, results, carries, at);
  }
  if (unroll == full_unroll) {
    AtPlace place(at);
    lang::refuse({.code = "SM6123",
                  .message = "Cannot fully unroll loop with dynamic number of steps",
                  .place = {},
                  .need = "bounds known when the kernel is traced",
                  .have = "a traced bound",
                  .help = "unroll by a number, or use C++ integers as bounds"});
  }
  if (unroll == 1) return traceFor(trace, lower, upper, 1, body, init, carries, at);
  Array middle;
  {
    AtPlace place(at);
    const Array steps = maximum(subtract(Operand(upper, at), Operand(lower, at)), 0);
    const Array trips = div(Operand(steps, at), Operand(number(unroll, at), at));
    middle = plus(lower, multiply(Operand(trips, at), Operand(number(unroll, at), at)), at);
  }
  const Arrays results = traceFor(trace, lower, middle, unroll, body, init, carries, at);
  return traceFor(trace, middle, upper, 1, body, results, carries, at);
}

/// Outside kernels the loop runs now.
Arrays runFor(int64_t lower, int64_t upper, int64_t step, const LoopBody& body, const Arrays& init,
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
  Trace* trace = Trace::current();
  Array first, last;
  bool isStatic = false;
  {
    AtPlace place(at);
    first = bound(lower, "lower"), last = bound(upper, "upper");
    isStatic = !first.is_traced() && !last.is_traced();
    if (step == 0 || unroll < 0)
      lang::refuse({.code = "SM6121",
                    .message = step == 0 ? "the step of a loop is zero" : "a loop is unrolled by a negative number",
                    .place = {},
                    .need = step == 0 ? "a step other than 0" : "unroll >= 1, or full_unroll",
                    .have = fmt::format("{}", step == 0 ? step : unroll),
                    .help = "leave the option out for 1"});
  }
  if (!trace) return runFor(value(first), value(last), step, body, init, at);
  if (step == 1) return unitLoop(*trace, first, last, unroll, body, init, at);
  // Counts trips: i = lower + k * step, k < cdiv(upper - lower, step).
  Array trips;
  {
    AtPlace place(at);
    if (isStatic) {
      const int64_t span = value(last) - value(first), away = step > 0 ? step - 1 : step + 1;
      trips = number(std::max<int64_t>((span + away) / step, 0), at);
    } else {
      const Array span = subtract(Operand(last, at), Operand(first, at));
      const Array away = plus(span, number(step > 0 ? step - 1 : step + 1, at), at);
      trips = div(Operand(away, at), Operand(number(step, at), at)).with_weak_type(false);
    }
  }
  const auto scaled = [&](const Array& k, const Arrays& carry) {
    Array i;
    {
      AtPlace place(at);
      i = k.is_traced() || first.is_traced() ? plus(first, multiply(Operand(k, at), Operand(number(step, at), at)), at)
                                             : number(value(first) + value(k) * step, at);
    }
    return body(i, carry);
  };
  return unitLoop(*trace, number(0, at), trips, unroll, scaled, init, at);
}

Arrays detail::while_loop(const std::function<Array(const Arrays&)>& condition,
                          const std::function<Arrays(const Arrays&)>& body, const Arrays& init, const Location& at) {
  Trace* trace = Trace::current();
  Carries carries(init);
  const auto predicate = [&](const Arrays& carry) {
    const Array c = condition(carry);
    AtPlace place(at);
    if (c.rank() != 0 || c.dtype() != DType::pred)
      lang::refuse({.code = "SM6115",
                    .message = "the condition of a while_loop is no scalar pred",
                    .place = {},
                    .need = "pred[]",
                    .have = c.type().str(),
                    .help = "compare scalars; reduce vectors with any or all first"});
    return c;
  };
  if (!trace)
    return settled([&] {
      Arrays carry = carries.converted(init);
      while (*predicate(carry).as<uint8_t>()) carry = checked(carries, body(carry), at);
      return carry;
    });
  std::vector<Block> regions = settled([&] {
    std::vector<Block> blocks;
    blocks.push_back(trace->block(carries.types, [&](std::span<const Array> inside) {
      return Arrays{predicate(carries.typed({inside.begin(), inside.end()}))};
    }));
    blocks.push_back(trace->block(carries.types, [&](std::span<const Array> inside) {
      return checked(carries, body(carries.typed({inside.begin(), inside.end()})), at);
    }));
    return blocks;
  });
  AtPlace place(at);
  return carries.typed(
      trace->record("while", trace->use(carries.converted(init)), carries.types, {}, std::move(regions)));
}

}  // namespace smalti
