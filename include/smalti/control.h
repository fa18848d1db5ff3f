// Control flow inside kernels (I1–I5), and the position of a program in the grid. Error of all that becomes part of a
// kernel or of a traced function: SM7106 (a function that calls itself without end).
#pragma once

#include <array>
#include <functional>
#include <initializer_list>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "smalti/leaves.h"
#include "smalti/mesh.h"
#include "smalti/ref.h"

namespace smalti {

/// Index of this program along a grid axis, i32 (A5); kernels and their index maps only (else SM6106). Error SM6107,
/// here and below: the grid has no such axis.
Array program_id(int axis, Location at = Location::current());
/// Size of a grid axis, i32.
Array num_programs(int axis, Location at = Location::current());
/// The same by the axis' name: of a named grid (A6), or of the mesh of a shard_map or call. For several mesh axes: the
/// position over them, row-major. Error SM6232: the mesh has no such axis.
Array axis_index(const AxisNames& axis_name, Location at = Location::current());
Array axis_size(const AxisNames& axis_name, Location at = Location::current());

/// Runs `body` if the condition, a scalar, is true or not 0. A C++ bool is decided during tracing (S-I1). Error SM6115:
/// not a scalar.
void when(bool condition, const std::function<void()>& body);
void when(const Operand& condition, const std::function<void()>& body);

namespace detail {
// Carries of loops and results of branches: void, Array, std::array, std::pair, std::tuple or std::vector of Array, and
// structs that list their members (leaves.h).
using Arrays = std::vector<Array>;
/// One function, so that every kind may hold every other.
template <class T>
void flatten(const T& value, Arrays& out) {
  if constexpr (std::is_arithmetic_v<T>) {
    out.push_back(Operand(value).array());
  } else if constexpr (std::is_same_v<T, RefView>) {
    out.push_back(value.value());
  } else if constexpr (std::is_convertible_v<const T&, Array>) {
    out.push_back(value);
  } else if constexpr (HasVisit<T>) {
    append_leaves(value, out);
  } else if constexpr (requires { value.begin(); }) {
    for (const auto& element : value) flatten(element, out);
  } else {
    std::apply([&](const auto&... elements) { (flatten(elements, out), ...); }, value);
  }
}

/// The type of a carry inside the loop: numbers and reads of Refs become Arrays.
template <class T, class = void>
struct Carried {
  using type = Array;
  static type make(const Array*& a, const T&) { return *a++; }
};
template <class T>
struct Carried<std::vector<T>> {
  using type = std::vector<typename Carried<T>::type>;
  static type make(const Array*& a, const std::vector<T>& like) {
    type v;
    for (const T& x : like) v.push_back(Carried<T>::make(a, x));
    return v;
  }
};
template <class T, size_t N>
struct Carried<std::array<T, N>> {
  using type = std::array<typename Carried<T>::type, N>;
  static type make(const Array*& a, const std::array<T, N>& like) {
    type v;
    for (size_t i = 0; i < N; ++i) v[i] = Carried<T>::make(a, like[i]);
    return v;
  }
};
template <class... T>
struct Carried<std::tuple<T...>> {
  using type = std::tuple<typename Carried<T>::type...>;
  static type make(const Array*& a, const std::tuple<T...>& like) {
    return std::apply([&](const T&... x) { return type{Carried<T>::make(a, x)...}; }, like);
  }
};
template <class A, class B>
struct Carried<std::pair<A, B>> {
  using type = std::pair<typename Carried<A>::type, typename Carried<B>::type>;
  static type make(const Array*& a, const std::pair<A, B>& like) {
    return type{Carried<A>::make(a, like.first), Carried<B>::make(a, like.second)};
  }
};
template <HasVisit T>
struct Carried<T> {
  using type = T;
  static type make(const Array*& a, const T& like) { return with_leaves(like, a); }
};
template <class T>
Arrays flat(const T& v) {
  Arrays out;
  flatten(v, out);
  return out;
}
template <class T>
typename Carried<T>::type unflatten(const Arrays& arrays, const T& like) {
  const Array* a = arrays.data();
  return Carried<T>::make(a, like);
}

using LoopBody = std::function<Arrays(const Array& i, const Arrays& carry)>;
using Branch = std::function<Arrays()>;
Arrays fori_loop(const Operand& lower, const Operand& upper, int64_t step, int64_t unroll, const LoopBody&,
                 const Arrays& init, const Location& at);
Arrays while_loop(const std::function<Array(const Arrays&)>& condition,
                  const std::function<Arrays(const Arrays&)>& body, const Arrays& init, const Location& at);
struct ScanOptions {
  std::optional<int64_t> length{};
  bool reverse = false;
};
using ScanBody = std::function<std::pair<Arrays, Arrays>(const Arrays& carry, const Arrays& slices)>;
/// The carries, then the stacked results of the steps.
Arrays scan(const ScanBody&, const Arrays& init, const Arrays& xs, const ScanOptions&, const Location& at);
Arrays branch(const Operand& index, const std::vector<Branch>& branches, bool isPred, const Location& at);
}  // namespace detail

inline constexpr int64_t full_unroll = 0;
struct LoopOptions {
  int64_t step = 1;    ///< not 0; negative: counts down, while i > upper
  int64_t unroll = 1;  ///< steps per iteration of the loop; `full_unroll` needs bounds known when traced (S-I3)
};

/// lax.fori_loop: carry = body(i, carry) for i in [lower, upper); returns the last carry, `init` if there are no steps.
/// i is an i32; bounds are integer scalars, and may be traced: then of a dtype that i32 contains. Refs may be written
/// in `body`. Each carry keeps its shape and dtype; one that starts as a C++ number takes the dtype that `body` returns
/// (S-I2). Errors: SM6121 (a bound that is no integer scalar or no i32, a step of 0 or beyond 32 bits, a negative
/// `unroll`), SM6122 (`body` returns other types, or another number of arrays), SM6123 (`full_unroll` with a traced
/// bound).
template <class Body, class Init>
auto fori_loop(const Operand& lower, const Operand& upper, Body&& body, const Init& init, LoopOptions options = {},
               Location at = Location::current()) {
  const auto results = detail::fori_loop(
      lower, upper, options.step, options.unroll,
      [&](const Array& i, const detail::Arrays& carry) {
        return detail::flat(body(i, detail::unflatten(carry, init)));
      },
      detail::flat(init), at);
  return detail::unflatten(results, init);
}

/// pl.loop: `body(i)` for i in [lower, upper) by step (I2). Errors SM6121, SM6123 as for fori_loop.
template <class Body>
void loop(const Operand& lower, const Operand& upper, Body&& body, LoopOptions options = {},
          Location at = Location::current()) {
  detail::fori_loop(
      lower, upper, options.step, options.unroll,
      [&](const Array& i, const detail::Arrays&) {
        body(i);
        return detail::Arrays{};
      },
      {}, at);
}

/// lax.fori_loop without a carry: `body(i)`.
template <class Body>
void fori_loop(const Operand& lower, const Operand& upper, Body&& body, Location at = Location::current()) {
  loop(lower, upper, body, {}, at);
}

/// lax.while_loop: carry = body(carry) while condition(carry), a scalar pred, which may read Refs (S-I5); returns the
/// last carry. Carries are those of fori_loop. Errors: SM6115 (the condition), SM6122 (`body` returns other types).
template <class Condition, class Body, class Init>
auto while_loop(Condition&& condition, Body&& body, const Init& init, Location at = Location::current()) {
  const auto results = detail::while_loop(
      [&](const detail::Arrays& carry) { return Operand(condition(detail::unflatten(carry, init)), at).array(); },
      [&](const detail::Arrays& carry) { return detail::flat(body(detail::unflatten(carry, init))); },
      detail::flat(init), at);
  return detail::unflatten(results, init);
}

using detail::ScanOptions;

/// lax.scan: `auto [carry, y] = body(carry, x)` for each slice x of the arrays `xs` along axis 0, in this order (or the
/// other way, `reverse`); returns the last carry and the stacked y. Carries, slices and results are Arrays, or arrays,
/// pairs, tuples and vectors of them; without `xs` (an empty vector) a length is needed. Errors: SM6124 (no length, two
/// lengths, one beyond 32 bits, a scalar in `xs`), SM6122 (`body` changes the type of a carry).
template <class Body, class Init, class Xs>
auto scan(Body&& body, const Init& init, const Xs& xs, ScanOptions options = {}, Location at = Location::current()) {
  using Y = std::decay_t<decltype(body(detail::unflatten({}, init), detail::unflatten({}, xs)).second)>;
  std::optional<Y> like;
  const auto numCarry = static_cast<std::ptrdiff_t>(detail::flat(init).size());
  const auto results = detail::scan(
      [&](const detail::Arrays& carry, const detail::Arrays& slices) {
        auto [next, y] = body(detail::unflatten(carry, init), detail::unflatten(slices, xs));
        like = y;
        return std::pair{detail::flat(next), detail::flat(y)};
      },
      detail::flat(init), detail::flat(xs), options, at);
  return std::pair{detail::unflatten({results.begin(), results.begin() + numCarry}, init),
                   detail::unflatten({results.begin() + numCarry, results.end()}, *like)};
}

/// lax.cond: the value of the branch taken; both return the same types. Branches may also return nothing. A predicate
/// known during tracing, such as a C++ bool, chooses the branch that is traced. Errors: SM6115 (a predicate that is not
/// a scalar), SM6116 (branches of a traced predicate that return other shapes or dtypes).
template <class True, class False>
auto cond(const Operand& predicate, True&& ifTrue, False&& ifFalse, Location at = Location::current()) {
  using T = decltype(ifTrue());
  if constexpr (std::is_void_v<T>) {
    const auto run = [](auto& f) {
      return [&f] {
        f();
        return detail::Arrays{};
      };
    };
    detail::branch(predicate, {run(ifFalse), run(ifTrue)}, true, at);
  } else {
    using Form = typename detail::Carried<std::decay_t<T>>::type;
    static_assert(std::is_same_v<Form, typename detail::Carried<std::decay_t<decltype(ifFalse())>>::type>,
                  "the branches of a cond give structures of one form");
    std::optional<Form> like;  // of the branch that has run: vectors know their sizes
    const auto run = [&like](auto& f) {
      return [&f, &like] {
        const auto value = f();
        auto arrays = detail::flat(value);
        like = detail::unflatten(arrays, value);
        return arrays;
      };
    };
    const auto results = detail::branch(predicate, {run(ifFalse), run(ifTrue)}, true, at);
    return detail::unflatten(results, *like);
  }
}

/// lax.switch: the branch of that index, an integer scalar, clamped into range. Errors: SM6117 (another index, no
/// branches), SM6116 as for cond.
inline void switch_(const Operand& index, const std::vector<std::function<void()>>& branches,
                    Location at = Location::current()) {
  std::vector<detail::Branch> run;
  for (const auto& branch : branches)
    run.push_back([&branch] {
      branch();
      return detail::Arrays{};
    });
  detail::branch(index, run, false, at);
}
inline Array switch_(const Operand& index, const std::vector<std::function<Array()>>& branches,
                     Location at = Location::current()) {
  std::vector<detail::Branch> run;
  for (const auto& branch : branches) run.push_back([&branch] { return detail::Arrays{branch()}; });
  return detail::branch(index, run, false, at).at(0);
}
namespace detail {
/// A function that returns an R, and no other: std::function<void()> takes those that return arrays, too.
template <class R>
struct BranchOf : std::function<R()> {
  template <class F>
    requires(std::is_same_v<std::invoke_result_t<F&>, R>)
  BranchOf(F f) : std::function<R()>(std::move(f)) {}
};
}  // namespace detail
/// The same for functions in braces: switch_(i, {[&] { return x; }, [&] { return y; }}).
inline void switch_(const Operand& index, std::initializer_list<detail::BranchOf<void>> branches,
                    Location at = Location::current()) {
  switch_(index, std::vector<std::function<void()>>(branches.begin(), branches.end()), at);
}
inline Array switch_(const Operand& index, std::initializer_list<detail::BranchOf<Array>> branches,
                     Location at = Location::current()) {
  return switch_(index, std::vector<std::function<Array()>>(branches.begin(), branches.end()), at);
}
/// The same for branches that return a structure of arrays.
template <class T>
  requires(!std::is_void_v<T> && !std::is_same_v<T, Array>)
T switch_(const Operand& index, const std::vector<std::function<T()>>& branches, Location at = Location::current()) {
  std::optional<T> like;
  std::vector<detail::Branch> run;
  for (const auto& branch : branches)
    run.push_back([&branch, &like] {
      like = branch();
      return detail::flat(*like);
    });
  const auto results = detail::branch(index, run, false, at);
  return detail::unflatten(results, *like);
}

}  // namespace smalti
