// A function of one array under compositions of transformations, with the same in JAX.
#pragma once

#include "Cases.h"

namespace smalti::ops::test {

/// The text with `f` for each "@f".
inline std::string with(std::string text, const std::string& f) {
  for (size_t at = 0; (at = text.find("@f", at)) != std::string::npos;) text.replace(at, 2, f);
  return text;
}

template <class F>
void compositions(std::vector<Case>& cases, const std::string& f, const F& ours, const Array& x,
                  double tolerance = 2e-5) {
  const auto add = [&](const char* jax, std::function<Array(const Inputs&)> op) {
    cases.push_back({with(jax, f), {x}, std::move(op), tolerance, false});
  };
  const auto total = [=](const Array& x) { return sum(ours(x)); };
  add("jax.grad(lambda x: jnp.sum(@f(x)))(a)", [=](auto& in) { return grad(total)(in[0]); });
  add("jax.jvp(@f, (a,), (jnp.cos(a),))[1]",
      [=](auto& in) { return jvp(ours, std::tuple{in[0]}, std::tuple{cos(in[0])}).second; });
  add("jax.grad(lambda x: jnp.sum(jax.grad(lambda x: jnp.sum(@f(x)))(x) ** 2))(a)",
      [=](auto& in) { return grad([=](const Array& x) { return sum(square(grad(total)(x))); })(in[0]); });
  add("jax.jvp(jax.grad(lambda x: jnp.sum(@f(x))), (a,), (jnp.ones_like(a),))[1]",
      [=](auto& in) { return jvp(grad(total), std::tuple{in[0]}, std::tuple{ones_like(in[0])}).second; });
  add("jax.vmap(jax.grad(lambda x: jnp.sum(@f(x))))(jnp.stack([a, -a, 2 * a]))",
      [=](auto& in) { return vmap(grad(total))(stack({in[0], -in[0], 2 * in[0]})); });
  add("jax.grad(lambda m: jnp.sum(jax.vmap(@f)(m)))(jnp.stack([a, -a, 2 * a]))", [=](auto& in) {
    return grad([=](const Array& m) { return sum(vmap(ours)(m)); })(stack({in[0], -in[0], 2 * in[0]}));
  });
  add("jax.vmap(jax.vmap(@f))(jnp.stack([jnp.stack([a, -a]), jnp.stack([3 * a, a])]))",
      [=](auto& in) { return vmap(vmap(ours))(stack({stack({in[0], -in[0]}), stack({3 * in[0], in[0]})})); });
  add("jax.grad(lambda x: jnp.sum(jax.checkpoint(@f)(x)))(a)",
      [=](auto& in) { return grad([=](const Array& x) { return sum(checkpoint(ours)(x)); })(in[0]); });
}

}  // namespace smalti::ops::test
