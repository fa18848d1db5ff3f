#pragma once

namespace smalti {

/// How far results of a function may be from the exact ones: |got - exact| ≤ atol + rtol · |exact|, as
/// jax.lax.Tolerance. Results of infinite arguments and NaN stay exact. Where a kernel replaces arguments whose results
/// are within atol of 0 by others, as in `where(x < bound, other, x)`, they may stay as they are. Without a tolerance,
/// or with 0, functions are as exact as docs/values.md says.
struct Tolerance {
  double atol = 0;
  double rtol = 0;
};

}  // namespace smalti
