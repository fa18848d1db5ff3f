// jit: functions of arrays as compiled programs.
#pragma once

#include <any>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <typeindex>
#include <vector>

#include "smalti/error.h"
#include "smalti/tree.h"

namespace smalti {
namespace detail {

/// A static argument: part of a signature.
struct Static {
  std::any value;
  bool (*equal)(const std::any&, const std::any&);
};
template <class T>
Static make_static(const T& value) {
  static_assert(requires { value == value; }, "an argument without arrays is static and needs ==");
  return {value, [](const std::any& a, const std::any& b) {
            const T *x = std::any_cast<T>(&a), *y = std::any_cast<T>(&b);
            return x && y && *x == *y;
          }};
}

}  // namespace detail

/// A function of arrays, traced for given operands: a program of plain ops, control flow and kernels.
class TracedProgram {
 public:
  /// The program as one StableHLO module, kernels in it as tpu_custom_calls of this stable_mosaic version.
  Result<std::string> stablehlo(int version = 13) const;
  /// The traced program as text, one op per line.
  std::string text() const;

  struct State;
  explicit TracedProgram(std::shared_ptr<const State> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<const State> state_;
};

namespace detail {

class JitState;
std::shared_ptr<JitState> make_jit(const Location& at);
struct Signature {
  std::type_index types;
  Leaves leaves;
  std::vector<Static> statics;
};
/// Runs the cached program of the signature, or traces it first; `structure` is data from tracing that is kept with it.
Leaves call_jit(const std::shared_ptr<JitState>&, Signature, const LeafFunction&,
                const std::function<std::shared_ptr<const void>()>& structure, std::shared_ptr<const void>& kept);
TracedProgram lower_jit(const std::shared_ptr<JitState>&, const Signature&, const LeafFunction&,
                        const std::function<std::shared_ptr<const void>()>& structure);

}  // namespace detail

/// The result of jit: a function with the signature of f.
template <class F>
class Jitted {
 public:
  Jitted(F f, const Location& at) : f_(std::move(f)), at_(at), state_(detail::make_jit(at)) {}

  /// An argument that is moved into the call, `f(std::move(x))`, is donated: the program frees or reuses its memory
  /// after the last read.
  template <class... A>
  auto operator()(A&&... a) const {
    using Flat = detail::Flat<F, std::decay_t<A>...>;
    Flat flat(f_, at_, std::forward<A>(a)...);
    detail::Signature given = signature(flat);
    flat.release();
    std::shared_ptr<const void> kept;
    const auto leaves = detail::call_jit(
        state_, std::move(given), [&](const detail::Leaves& x) { return flat(x); }, [&] { return flat.structure(); },
        kept);
    return Flat::rebuilt(*static_cast<const typename Flat::Result*>(kept.get()), leaves);
  }
  /// Traces without running anything.
  template <class... A>
  TracedProgram lower(const A&... a) const {
    const detail::Flat<F, A...> flat(f_, at_, a...);
    return detail::lower_jit(
        state_, signature(flat), [&](const detail::Leaves& x) { return flat(x); }, [&] { return flat.structure(); });
  }

 private:
  template <class... A>
  static detail::Signature signature(const detail::Flat<F, A...>& flat) {
    detail::Signature s{typeid(std::tuple<A...>), flat.leaves(), {}};
    std::vector<size_t> sizes;  // of vectors: f may treat the same number of arrays differently in other vectors
    flat.each([&](const auto& a) {
      using Argument = std::decay_t<decltype(a)>;
      if constexpr (!detail::IsTree<Argument>::value) {
        s.statics.push_back(detail::make_static(a));
      } else if constexpr (!std::is_same_v<Argument, Array>) {
        Argument tree = a;  // `visit` need not be const
        detail::append_sizes(tree, sizes);
      }
    });
    if (!sizes.empty()) s.statics.push_back(detail::make_static(sizes));
    return s;
  }
  F f_;
  Location at_;
  std::shared_ptr<detail::JitState> state_;
};

/// jax.jit: f is traced once per signature (shapes, dtypes, static arguments) and runs as a compiled program from then
/// on. Arguments without arrays, except floating-point numbers, are static. Under other transformations it is f.
template <class F>
Jitted<F> jit(F f, Location at = Location::current()) {
  return Jitted<F>(std::move(f), at);
}

}  // namespace smalti
