// Nested structures of arrays, for transformations and control flow: an Array; vectors, std::arrays,
// pairs and tuples of such; and structs that list their members in `visit`:
//
//   struct Layer {
//     pl::Array w, b;
//     template <class F> void visit(F&& f) { f(w, b); }
//   };
//
// Members that are numbers, enums or strings may be listed, too: they are static, and part of the structure.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <source_location>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "smalti/array.h"

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

/// A listed member that holds no arrays.
template <class T>
concept StaticMember = std::is_arithmetic_v<std::remove_const_t<T>> || std::is_enum_v<std::remove_const_t<T>> ||
                       std::is_same_v<std::remove_const_t<T>, std::string>;

/// Calls f with each array, in order.
template <class T, class F>
void visit_leaves(T& tree, const F& f) {
  if constexpr (std::is_same_v<T, Array>) {
    f(tree);
  } else if constexpr (StaticMember<T>) {
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
template <class T>
void append_static(const T& value, std::vector<size_t>& sizes) {
  if constexpr (std::is_same_v<T, std::string>) {
    sizes.push_back(value.size());
    for (const char c : value) sizes.push_back(static_cast<unsigned char>(c));
  } else if constexpr (std::is_floating_point_v<T>) {
    sizes.push_back(std::bit_cast<uint64_t>(static_cast<double>(value)));
  } else {
    sizes.push_back(static_cast<size_t>(value));
  }
}
/// Sizes of all vectors in a tree and its static members, depth first: with the types they identify its structure.
template <class T>
void append_sizes(T& tree, std::vector<size_t>& sizes) {
  if constexpr (std::is_same_v<std::remove_const_t<T>, Array>) {
  } else if constexpr (StaticMember<T>) {
    append_static(tree, sizes);
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

/// Throws Error SM7115.
[[noreturn]] void trees_differ(size_t need, size_t have, const std::source_location& at);
template <class T, class F, class... More>
T mapped_tree(const std::source_location& at, const F& f, const T& tree, const More&... others) {
  std::vector<Array> leaves, made;
  append_leaves(tree, leaves);
  std::array<std::vector<Array>, sizeof...(More)> more;
  [[maybe_unused]] auto next = more.begin();
  (append_leaves(others, *next++), ...);
  for (const std::vector<Array>& m : more)
    if (m.size() != leaves.size()) trees_differ(leaves.size(), m.size(), at);
  for (size_t i = 0; i < leaves.size(); ++i)
    made.push_back([&]<size_t... k>(std::index_sequence<k...>) -> Array {
      return f(leaves[i], more[k][i]...);
    }(std::index_sequence_for<More...>()));
  const Array* leaf = made.data();
  return with_leaves(tree, leaf);
}
template <class T>
concept Tree = IsTree<T>::value;

}  // namespace smalti::detail

namespace smalti {

/// jax.tree.leaves: the arrays of a structure, in order.
template <detail::Tree T>
std::vector<Array> tree_leaves(const T& tree) {
  std::vector<Array> leaves;
  detail::append_leaves(tree, leaves);
  return leaves;
}

/// jax.tree.map: a structure with the results of `f`, called with each array and those at the same places of up to
/// three other structures: `tree_map([](const Array& w, const Array& g) { return w - 0.1 * g; }, weights, gradients)`.
/// Error SM7115: structures of different numbers of arrays.
template <class F, detail::Tree T>
T tree_map(const F& f, const T& tree, std::source_location at = std::source_location::current()) {
  return detail::mapped_tree(at, f, tree);
}
template <class F, detail::Tree T, detail::Tree U>
T tree_map(const F& f, const T& tree, const U& second, std::source_location at = std::source_location::current()) {
  return detail::mapped_tree(at, f, tree, second);
}
template <class F, detail::Tree T, detail::Tree U, detail::Tree V>
T tree_map(const F& f, const T& tree, const U& second, const V& third,
           std::source_location at = std::source_location::current()) {
  return detail::mapped_tree(at, f, tree, second, third);
}
template <class F, detail::Tree T, detail::Tree U, detail::Tree V, detail::Tree W>
T tree_map(const F& f, const T& tree, const U& second, const V& third, const W& fourth,
           std::source_location at = std::source_location::current()) {
  return detail::mapped_tree(at, f, tree, second, third, fourth);
}

}  // namespace smalti
