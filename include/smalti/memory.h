// Memory inside a kernel with the lifetime of a scope (E4 – E6).
//
//   pl::run_scoped([&](pl::Ref buffer, pl::Ref sem) { … }, pl::vmem({8, 128}, pl::f32), pl::semaphore_type::dma());
#pragma once

#include <functional>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "smalti/control.h"
#include "smalti/specs.h"

namespace smalti {

namespace detail {
Arrays run_scoped(const std::vector<MemoryRef>& types, const std::function<Arrays(const Ref*)>& body);

template <class Body, size_t... I>
decltype(auto) callWithRefs(Body&& body, const Ref* refs, std::index_sequence<I...>) {
  return body(refs[I]...);
}
}  // namespace detail

/// Allocates memory and semaphores while `body` runs, which gets a Ref to each. Returns the result of `body`:
/// nothing, an Array, or a tuple, pair, array or vector of Arrays. The memory is undefined at first. Errors: SM6106
/// (outside kernels), SM6120 (another space than VMEM, SMEM and semaphores); at run time SM1009 (out of memory), SM9002
/// (the setting memory-limit-mib); a chip's VMEM is checked with the setting `chip`.
template <class Body, class... Types, class = std::enable_if_t<(std::is_same_v<Types, MemoryRef> && ...)>>
auto run_scoped(Body&& body, const Types&... types) {
  const std::make_index_sequence<sizeof...(Types)> indices;
  using Result = decltype(detail::callWithRefs(body, std::declval<const Ref*>(), indices));
  if constexpr (std::is_void_v<Result>) {
    detail::run_scoped({types...}, [&](const Ref* refs) {
      detail::callWithRefs(body, refs, indices);
      return detail::Arrays{};
    });
  } else {
    std::optional<std::decay_t<Result>> inside;
    const detail::Arrays results = detail::run_scoped({types...}, [&](const Ref* refs) {
      inside.emplace(detail::callWithRefs(body, refs, indices));
      return detail::flat(*inside);
    });
    return detail::unflatten(results, *inside);
  }
}

/// The same for any number of allocations: `body` takes one `const std::vector<Ref>&` and returns nothing.
inline void run_scoped(const std::function<void(const std::vector<Ref>&)>& body, const std::vector<MemoryRef>& types) {
  detail::run_scoped(types, [&](const Ref* refs) {
    body(std::vector<Ref>(refs, refs + types.size()));
    return detail::Arrays{};
  });
}

/// pl.with_scoped: `with_scoped(types…)(body)` is a function that runs `body(arguments…, refs…)`.
template <class... Types>
auto with_scoped(const Types&... types) {
  return [=](auto body) {
    return [=](const auto&... arguments) {
      return run_scoped(
          [&](const std::conditional_t<true, Ref, Types>&... refs) { return body(arguments..., refs...); }, types...);
    };
  };
}

/// Memory for the rest of the enclosing scope: the kernel, the body of a loop or branch, a run_scoped (E6). Errors as
/// for run_scoped.
Ref empty_ref(const MemoryRef& type);
/// The same with shape, dtype and memory space of another Ref; VMEM if that is in ANY or HBM (D12).
Ref empty_ref_like(const Ref& x, Location at = Location::current());

}  // namespace smalti
