// Nested structures of arrays: what transformations take and give. An Array; vectors, std::arrays, pairs and tuples of
// such; and structs that show their members:
//
//   struct Layer {
//     pl::Array w, b;
//     template <class F> void visit(F&& f) { f(w, b); }
//   };
#pragma once

#include <array>
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
/// The tree with other arrays.
template <class T>
T with_leaves(T tree, const Array*& leaf) {
  visit_leaves(tree, [&](Array& a) { a = *leaf++; });
  return tree;
}

/// How an argument reaches a function: floating-point numbers, reads of Refs and results of kernels as Arrays, trees as
/// they are, anything else (an int, an enum, a string) as it is, which is called static.
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

}  // namespace smalti::detail
