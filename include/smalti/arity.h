// How many arguments a callable takes: kernels, index maps and functions of devices are stored once per count.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

namespace smalti::detail {

inline constexpr size_t kMaxMapArguments = 12;
inline constexpr size_t kMaxKernelArguments = 24;

template <class Arg, size_t>
using Repeat = const Arg&;

/// Whether F can be called with N arguments of type Arg.
template <class F, class Arg, size_t... I>
constexpr bool takes(std::index_sequence<I...>) {
  return std::is_invocable_v<const F&, Repeat<Arg, I>...>;
}

/// Parameters of a member function, -1 for anything else.
template <class M>
inline constexpr int kParameters = -1;
template <class C, class R, class... A>
inline constexpr int kParameters<R (C::*)(A...) const> = sizeof...(A);
template <class C, class R, class... A>
inline constexpr int kParameters<R (C::*)(A...) const noexcept> = sizeof...(A);

/// The only count that F takes, or -1: generic lambdas, overloads and default arguments take several. This saves
/// `kMaxKernelArguments` instantiations per lambda.
template <class Arg, class F>
constexpr int onlyCount() {
  if constexpr (requires { &F::operator(); }) {
    constexpr int n = kParameters<decltype(&F::operator())>;
    if constexpr (n == 0) {
      return 0;
    } else if constexpr (n > 0) {
      if constexpr (takes<F, Arg>(std::make_index_sequence<n>{}) && !takes<F, Arg>(std::make_index_sequence<n - 1>{}))
        return n;
    }
  }
  return -1;
}

template <class F, class Arg, size_t N, class Visit>
constexpr bool visitIfTaken(Visit& visit) {
  if constexpr (takes<F, Arg>(std::make_index_sequence<N>{})) {
    visit(std::make_index_sequence<N>{});
    return true;
  }
  return false;
}

/// Calls `visit(std::make_index_sequence<N>{})` for every N up to Most such that F takes N arguments of type Arg;
/// returns whether there is one.
template <class Arg, size_t Most, class F, class Visit>
constexpr bool forEachCount(Visit visit) {
  constexpr int only = onlyCount<Arg, F>();
  if constexpr (only >= 0 && only <= static_cast<int>(Most)) {
    visit(std::make_index_sequence<static_cast<size_t>(only)>{});
    return true;
  } else {
    return [&]<size_t... N>(std::index_sequence<N...>) {
      return (int{visitIfTaken<F, Arg, N>(visit)} | ...) != 0;
    }(std::make_index_sequence<Most + 1>{});
  }
}

template <class Arg, size_t Most, class F>
inline constexpr bool kTakesSomeCount = forEachCount<Arg, Most, F>([](auto) {});

}  // namespace smalti::detail
