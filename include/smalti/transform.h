// Transformations of functions of arrays: jit, jvp, vjp, grad, value_and_grad, vmap, checkpoint, custom_vjp,
// custom_jvp. They take functions of nested structures (leaves.h), return functions, and compose in any order. Error of
// all: SM7106 (a function that calls itself without end). docs/transformations.md: what each op and kernel supports.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "smalti/jit.h"

namespace smalti {
namespace detail {

Leaves run_jvp(const LeafFunction&, const Leaves& primals, const Leaves& tangents, const Location& at);
struct PulledBack {
  Leaves results;
  std::function<Leaves(const Leaves& cotangents, const Location& at)> back;
};
PulledBack run_vjp(const LeafFunction&, const Leaves& primals, const Location& at);
/// Results, then the gradients of the requested leaves.
std::pair<Leaves, Leaves> run_grad(const LeafFunction&, const Leaves& primals, const std::vector<bool>& wanted,
                                   bool hasAux, const Location& at);
using AxesList = std::vector<std::optional<int64_t>>;
Leaves run_vmap(const LeafFunction&, const Leaves&, const std::vector<int>& counts, const AxesList& in,
                const AxesList& out, const Location& at);
Leaves run_checkpoint(const LeafFunction&, const Leaves&, const Location& at);
Leaves run_custom_vjp(const LeafFunction& f, const std::function<std::pair<Leaves, Leaves>(const Leaves&)>& forward,
                      const std::function<Leaves(const Leaves&, const Leaves&)>& backward, const Leaves&,
                      const Location& at);
Leaves run_custom_jvp(const LeafFunction& f,
                      const std::function<std::pair<Leaves, Leaves>(const Leaves&, const Leaves&)>& rule, const Leaves&,
                      const Location& at);

}  // namespace detail

/// jax.jvp: results of f at the primals, and their derivatives along the tangents, which have the primals' types.
/// `jvp(f, std::tuple{x, y}, std::tuple{dx, dy})`. Tangents of integers count as zero. Errors: SM7107 (a tangent of
/// another type), SM7101 (an op without a derivative), SM7104 (a custom_vjp), SM7112 (a pallas_call without a
/// derivative).
template <class F, class... A, class... T>
auto jvp(const F& f, const std::tuple<A...>& primals, const std::tuple<T...>& tangents,
         Location at = Location::current()) {
  static_assert(sizeof...(A) == sizeof...(T), "jvp takes a tangent for each primal");
  return std::apply(
      [&](const A&... a) {
        const detail::Flat<F, A...> flat(f, at, a...);
        detail::Leaves given;
        std::apply([&](const T&... t) { (detail::append_leaves(detail::argument(t, at), given), ...); }, tangents);
        detail::Leaves results =
            detail::run_jvp([&](const detail::Leaves& x) { return flat(x); }, flat.leaves(), given, at);
        const auto middle = results.begin() + static_cast<std::ptrdiff_t>(results.size() / 2);
        return std::pair{flat.rebuild({results.begin(), middle}), flat.rebuild({middle, results.end()})};
      },
      primals);
}

/// jax.vjp: results of f, and a function from their cotangents to those of the arguments, a tuple if there are
/// several. It may be called any number of times. Gradients of integers are zero. Errors: SM7101 (an op without a
/// derivative), SM7102 (what cannot be transposed), SM7105 (a loop whose number of steps is computed), SM7113 (a
/// pallas_call that reverse mode does not go through); of the function SM7107 (a cotangent of another type than its
/// result).
template <class F, class... A>
auto vjp(const F& f, const A&... a) {
  const Location at{};
  auto flat = std::make_shared<detail::Flat<F, A...>>(f, at, a...);
  detail::PulledBack made = detail::run_vjp([flat](const detail::Leaves& x) { return (*flat)(x); }, flat->leaves(), at);
  using Result = typename detail::Flat<F, A...>::Result;
  auto back = [flat, back = std::move(made.back)](const Result& cotangents, Location here = Location::current()) {
    detail::Leaves given;
    detail::append_leaves(cotangents, given);
    auto all = flat->with(back(given, here));
    if constexpr (sizeof...(A) == 1)
      return std::get<0>(std::move(all));
    else
      return all;
  };
  return std::pair{flat->rebuild(made.results), std::move(back)};
}

struct HasAux {};
/// For value_and_grad and grad: the function returns a pair of the loss and auxiliary data.
inline constexpr HasAux has_aux{};

namespace detail {
template <bool withValue, bool withAux, class F, size_t... argnums>
struct Gradient {
  F f;
  Location at;

  template <class... A>
  auto operator()(const A&... a) const {
    const Flat<F, A...> flat(f, at, a...);
    std::vector<bool> wanted;
    const std::vector<int> counts = flat.counts();
    constexpr size_t numbers[] = {argnums...};
    static_assert(((argnums < sizeof...(A)) && ...), "grad of an argument that the function does not have");
    for (size_t i = 0; i < counts.size(); ++i) {
      bool is = false;
      for (const size_t n : numbers) is = is || n == i;
      wanted.insert(wanted.end(), static_cast<size_t>(std::max(counts[i], 0)), is);
    }
    const auto [results, grads] =
        run_grad([&](const Leaves& x) { return flat(x); }, flat.leaves(), wanted, withAux, at);
    const Array* next = grads.data();
    std::vector<const Array*> starts(counts.size());
    for (size_t i = 0; i < counts.size(); ++i) {
      bool is = false;
      for (const size_t n : numbers) is = is || n == i;
      starts[i] = next;
      if (is) next += std::max(counts[i], 0);
    }
    const auto gradientOf = [&](const auto& like, size_t i) {
      const Array* from = starts[i];
      return with_leaves(like, from);
    };
    auto gradients = [&] {
      if constexpr (sizeof...(argnums) == 1)
        return (gradientOf(std::get<argnums>(flat.arguments()), argnums), ...);
      else
        return std::tuple{gradientOf(std::get<argnums>(flat.arguments()), argnums)...};
    }();
    if constexpr (withValue)
      return std::pair{flat.rebuild(results), std::move(gradients)};
    else if constexpr (withAux)
      return std::pair{std::move(gradients), flat.rebuild(results).second};
    else
      return gradients;
  }
};
}  // namespace detail

/// jax.grad: the gradient of a function that returns one floating-point scalar, with respect to argument 0, or to the
/// given arguments: `grad<0, 2>(f)` returns a tuple. Gradients have the types of their arguments. Errors: SM7108 (an
/// argument with integers), SM7109 (a result that is no scalar float), and those of vjp.
template <size_t... argnums, class F>
auto grad(F f, Location at = Location::current()) {
  if constexpr (sizeof...(argnums) == 0)
    return detail::Gradient<false, false, F, 0>{std::move(f), at};
  else
    return detail::Gradient<false, false, F, argnums...>{std::move(f), at};
}
/// jax.value_and_grad: a pair of the value and the gradient.
template <size_t... argnums, class F>
auto value_and_grad(F f, Location at = Location::current()) {
  if constexpr (sizeof...(argnums) == 0)
    return detail::Gradient<true, false, F, 0>{std::move(f), at};
  else
    return detail::Gradient<true, false, F, argnums...>{std::move(f), at};
}
/// f returns a pair of the loss and auxiliary data; the result is (gradient, auxiliary data).
template <size_t... argnums, class F>
auto grad(F f, HasAux, Location at = Location::current()) {
  if constexpr (sizeof...(argnums) == 0)
    return detail::Gradient<false, true, F, 0>{std::move(f), at};
  else
    return detail::Gradient<false, true, F, argnums...>{std::move(f), at};
}
/// ((loss, auxiliary data), gradient).
template <size_t... argnums, class F>
auto value_and_grad(F f, HasAux, Location at = Location::current()) {
  if constexpr (sizeof...(argnums) == 0)
    return detail::Gradient<true, true, F, 0>{std::move(f), at};
  else
    return detail::Gradient<true, true, F, argnums...>{std::move(f), at};
}

/// No batch axis: `vmap(f, {.in_axes = {0, none}})`.
inline constexpr std::nullopt_t none = std::nullopt;

/// The batch axis of arguments and of results; negative axes count from the end. One per argument (or one per array in
/// them), one per array of the results; a single one applies to all. Empty: axis 0 of all.
struct VmapOptions {
  std::vector<std::optional<int64_t>> in_axes{};
  std::vector<std::optional<int64_t>> out_axes{};
};

/// jax.vmap: f on each example, all at once. A result that does not depend on the examples is repeated for each.
/// Errors: SM7110 (axes that do not fit; `none` for a result that depends on the examples), SM7111 (examples of
/// different numbers, or no batch axis), SM7103 (an op that cannot be batched).
template <class F>
auto vmap(F f, VmapOptions options = {}, Location at = Location::current()) {
  return [f = std::move(f), options = std::move(options), at](const auto&... a) {
    const detail::Flat<F, std::decay_t<decltype(a)>...> flat(f, at, a...);
    const auto results = detail::run_vmap([&](const detail::Leaves& x) { return flat(x); }, flat.leaves(),
                                          flat.counts(), options.in_axes, options.out_axes, at);
    return flat.rebuild(results);
  };
}

/// jax.checkpoint: reverse mode stores only the arguments of f and recomputes it, instead of storing its residuals.
template <class F>
auto checkpoint(F f, Location at = Location::current()) {
  return [f = std::move(f), at](const auto&... a) {
    const detail::Flat<F, std::decay_t<decltype(a)>...> flat(f, at, a...);
    return flat.rebuild(detail::run_checkpoint([&](const detail::Leaves& x) { return flat(x); }, flat.leaves(), at));
  };
}

/// jax.custom_vjp: f with a custom derivative. `forward(arguments…)` returns a pair of f's results and residuals;
/// `backward(residuals, cotangents)` returns the cotangents of arguments with arrays, a tuple if there are several;
/// an Array() represents zero. Errors: SM7107 (cotangents of other types or of another number, results of `forward` of
/// other types than those of f), SM7104 (forward mode).
template <class F, class Forward, class Backward>
auto custom_vjp(F f, Forward forward, Backward backward, Location at = Location::current()) {
  return [=](const auto&... a) {
    using Calls = detail::Flat<F, std::decay_t<decltype(a)>...>;
    using Result = typename Calls::Result;
    const auto flat = std::make_shared<Calls>(f, at, a...);
    const auto ahead = std::make_shared<detail::Flat<Forward, std::decay_t<decltype(a)>...>>(forward, at, a...);
    using Pair = typename std::decay_t<decltype(*ahead)>::Result;
    const auto like = std::make_shared<std::optional<Pair>>();
    const auto split = [ahead, like](const detail::Leaves& x) {
      (*ahead)(x);
      *like = *ahead->structure();
      detail::Leaves results, residuals;
      detail::append_leaves((*like)->first, results);
      detail::append_leaves((*like)->second, residuals);
      return std::pair{results, residuals};
    };
    const auto back = [backward, like](const detail::Leaves& residuals, const detail::Leaves& cotangents) {
      const Array *r = residuals.data(), *c = cotangents.data();
      const auto kept = detail::with_leaves((*like)->second, r);
      const Result given = detail::with_leaves(Result((*like)->first), c);
      detail::Leaves all;
      detail::append_leaves(backward(kept, given), all);
      return all;
    };
    const auto results =
        detail::run_custom_vjp([flat](const detail::Leaves& x) { return (*flat)(x); }, split, back, flat->leaves(), at);
    return flat->rebuild(results);
  };
}

/// jax.custom_jvp: `rule(primals, tangents)`, both tuples of all arguments (which hold arrays), returns a pair of f's
/// results and their tangents, linear in the tangents. Errors: SM7107 (results of other types than those of f, tangents
/// of other types than the results), SM7102 (a rule that is not linear, in reverse mode).
template <class F, class Rule>
auto custom_jvp(F f, Rule rule, Location at = Location::current()) {
  return [=](const auto&... a) {
    const auto flat = std::make_shared<detail::Flat<F, std::decay_t<decltype(a)>...>>(f, at, a...);
    const auto both = [flat, rule](const detail::Leaves& x, const detail::Leaves& t) {
      const auto [results, tangents] = rule(flat->with(x), flat->with(t));
      detail::Leaves first, second;
      detail::append_leaves(results, first);
      detail::append_leaves(tangents, second);
      return std::pair{first, second};
    };
    const auto results =
        detail::run_custom_jvp([flat](const detail::Leaves& x) { return (*flat)(x); }, both, flat->leaves(), at);
    return flat->rebuild(results);
  };
}

}  // namespace smalti
