"""What tests of programs of JAX share: arrays, comparisons, and the ways to call a function."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


def normal(*shape, seed=0, dtype=jnp.float32):
    return jnp.asarray(np.random.default_rng(seed).normal(size=shape), dtype)


def close(got, wanted, tolerance=1e-3):
    jax.tree.map(lambda g, w: np.testing.assert_allclose(np.asarray(g, np.float64), np.asarray(w, np.float64), rtol=tolerance,
                                                         atol=tolerance), got, wanted)


def kinds_of_call(f):
    """As it is, compiled, and once per layer of a scan."""
    def scanned(*arguments):
        _, of_layers = lax.scan(lambda carry, _: (carry, f(*arguments)), 0, None, length=2)
        return jax.tree.map(lambda results: results[1], of_layers)

    return [f, jax.jit(f), jax.jit(scanned)]
