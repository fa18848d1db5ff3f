// Ops of Pallas that run only on SparseCores (I6): each of these throws Error SM6402, which names an alternative.
#pragma once

#include "smalti/control.h"
#include "smalti/ref.h"

namespace smalti {

/// A Ref, or an indexed Ref.
struct AnyRef {
  AnyRef(const Ref&) {}
  AnyRef(const RefView&) {}
};

/// plsc.fetch_and_add.
Array fetch_and_add(const AnyRef& ref, const Operand& value);
/// jax.ref.addupdate, plsc.addupdate.
void addupdate(const AnyRef& ref, const Operand& value);

namespace detail {
[[noreturn]] void parallel_loop(const Location& at);
}
/// plsc.parallel_loop.
template <class Body>
void parallel_loop(const Operand&, const Operand&, Body&&, LoopOptions = {}, Location at = Location::current()) {
  detail::parallel_loop(at);
}

}  // namespace smalti
