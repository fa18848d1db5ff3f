// How functions of nested structures of arrays (leaves.h) become functions of their arrays.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "smalti/leaves.h"
#include "smalti/pallas_call.h"

namespace smalti::detail {

/// How an argument is passed to a function: floating-point numbers, reads of Refs and results of kernels as Arrays,
/// trees unchanged, anything else (an int, an enum, a string) unchanged as a static argument.
template <class T>
using Argument = std::conditional_t<std::is_floating_point_v<T> || std::is_same_v<T, RefView>, Array,
                                    std::conditional_t<std::is_same_v<T, Results>, std::vector<Array>, T>>;
template <class Given>
auto argument(Given&& value, const Location& at) {
  using T = std::decay_t<Given>;
  if constexpr (std::is_same_v<T, Results>)
    return std::vector<Array>(value.begin(), value.end());
  else if constexpr (std::is_same_v<T, Argument<T>>)
    return T(std::forward<Given>(value));
  else
    return Operand(value, at).array();
}
template <class T>
inline constexpr bool is_static = !IsTree<Argument<T>>::value;

using Leaves = std::vector<Array>;
using LeafFunction = std::function<Leaves(const Leaves&)>;

/// A call of a function of trees as a function of their arrays.
template <class F, class... A>
class Flat {
  using Returned = std::invoke_result_t<const F&, const Argument<A>&...>;
  static_assert(!std::is_void_v<Returned>, "a function that is transformed returns arrays");

 public:
  using Result = Argument<std::decay_t<Returned>>;
  static_assert(IsTree<Result>::value, "a function that is transformed returns arrays, or structures of them");

  template <class... Given>
  Flat(const F& f, const Location& at, Given&&... a)
      : f_(f), at_(at), arguments_(argument(std::forward<Given>(a), at)...) {}

  Leaves leaves() const {
    Leaves all;
    each([&](const auto& a) {
      if constexpr (IsTree<std::decay_t<decltype(a)>>::value) append_leaves(a, all);
    });
    return all;
  }
  /// For each argument, the number of its arrays; -1: it is static.
  std::vector<int> counts() const {
    std::vector<int> all;
    each([&](const auto& a) {
      if constexpr (IsTree<std::decay_t<decltype(a)>>::value) {
        Leaves mine;
        append_leaves(a, mine);
        all.push_back(static_cast<int>(mine.size()));
      } else {
        all.push_back(-1);
      }
    });
    return all;
  }
  std::tuple<Argument<A>...> with(const Leaves& inside) const {
    const Array* next = inside.data();
    auto given = arguments_;
    std::apply(
        [&](auto&... a) {
          const auto replace = [&](auto& x) {
            if constexpr (IsTree<std::decay_t<decltype(x)>>::value) x = with_leaves(x, next);
          };
          (replace(a), ...);
        },
        given);
    return given;
  }
  Leaves operator()(const Leaves& inside) const {
    result_ =
        std::make_shared<Result>(std::apply([&](const auto&... a) { return argument(f_(a...), at_); }, with(inside)));
    Leaves all;
    append_leaves(*result_, all);
    return all;
  }
  Result rebuild(const Leaves& leaves) const { return rebuilt(*result_, leaves); }
  static Result rebuilt(const Result& like, const Leaves& leaves) {
    const Array* next = leaves.data();
    return with_leaves(like, next);
  }
  const std::shared_ptr<Result>& structure() const { return result_; }
  const std::tuple<Argument<A>...>& arguments() const { return arguments_; }
  /// Releases the arrays; their structure is kept.
  void release() {
    std::apply(
        [](auto&... a) {
          const auto empty = [](auto& x) {
            if constexpr (IsTree<std::decay_t<decltype(x)>>::value)
              visit_leaves(x, [](Array& leaf) { leaf = Array(); });
          };
          (empty(a), ...);
        },
        arguments_);
  }
  template <class Visit>
  void each(const Visit& visit) const {
    std::apply([&](const auto&... a) { (visit(a), ...); }, arguments_);
  }

 private:
  std::decay_t<F> f_;
  Location at_;
  std::tuple<Argument<A>...> arguments_;
  mutable std::shared_ptr<Result> result_;  ///< of the last call
};

}  // namespace smalti::detail
