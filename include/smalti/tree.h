// Nested structures of arrays, which transformations take and return: an Array; vectors, std::arrays, pairs and tuples
// of such; and structs that list their members:
//
//   struct Layer {
//     pl::Array w, b;
//     template <class F> void visit(F&& f) { f(w, b); }
//   };
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "smalti/pallas_call.h"

namespace smalti::detail {

struct TreeProbe {
  template <class... T>
  void operator()(T&...) const {}
};
template <class T>
concept HasVisit = requires(T& t) { t.visit(TreeProbe{}); };

template <class T>
struct IsTree : std::bool_constant<HasVisit<T>> {};
template <>
struct IsTree<Array> : std::true_type {};
template <class T>
struct IsTree<std::vector<T>> : IsTree<T> {};
template <class T, size_t N>
struct IsTree<std::array<T, N>> : IsTree<T> {};
template <class... T>
struct IsTree<std::tuple<T...>> : std::bool_constant<(IsTree<T>::value && ...)> {};
template <class A, class B>
struct IsTree<std::pair<A, B>> : std::bool_constant<IsTree<A>::value && IsTree<B>::value> {};

/// Calls f with each array, in order.
template <class T, class F>
void visit_leaves(T& tree, const F& f) {
  if constexpr (std::is_same_v<T, Array>) {
    f(tree);
  } else if constexpr (HasVisit<T>) {
    tree.visit([&](auto&... members) { (visit_leaves(members, f), ...); });
  } else if constexpr (requires { tree.begin(); }) {
    for (auto& element : tree) visit_leaves(element, f);
  } else {
    std::apply([&](auto&... elements) { (visit_leaves(elements, f), ...); }, tree);
  }
}
template <class T>
void append_leaves(T tree, std::vector<Array>& leaves) {
  visit_leaves(tree, [&](const Array& a) { leaves.push_back(a); });
}
/// Sizes of all vectors in a tree, depth first; together with the types they determine its structure.
template <class T>
void append_sizes(T& tree, std::vector<size_t>& sizes) {
  if constexpr (std::is_same_v<std::remove_const_t<T>, Array>) {
  } else if constexpr (HasVisit<T>) {
    tree.visit([&](auto&... members) { (append_sizes(members, sizes), ...); });
  } else if constexpr (requires { tree.begin(); }) {
    sizes.push_back(tree.size());
    for (auto& element : tree) append_sizes(element, sizes);
  } else {
    std::apply([&](auto&... elements) { (append_sizes(elements, sizes), ...); }, tree);
  }
}
/// The tree with other arrays.
template <class T>
T with_leaves(T tree, const Array*& leaf) {
  visit_leaves(tree, [&](Array& a) { a = *leaf++; });
  return tree;
}

/// How an argument is passed to a function: floating-point numbers, reads of Refs and results of kernels as Arrays,
/// trees unchanged, anything else (an int, an enum, a string) unchanged as a static argument.
template <class T>
using Argument = std::conditional_t<std::is_floating_point_v<T> || std::is_same_v<T, RefView>, Array,
                                    std::conditional_t<std::is_same_v<T, Results>, std::vector<Array>, T>>;
template <class T>
auto argument(const T& value, const Location& at) {
  if constexpr (std::is_same_v<T, Results>)
    return std::vector<Array>(value.begin(), value.end());
  else if constexpr (std::is_same_v<T, Argument<T>>)
    return value;
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

  Flat(const F& f, const Location& at, const A&... a) : f_(f), at_(at), arguments_(argument(a, at)...) {}

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
    result_ = std::make_shared<Result>(
        std::apply([&](const auto&... a) { return argument<std::decay_t<Returned>>(f_(a...), at_); }, with(inside)));
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
