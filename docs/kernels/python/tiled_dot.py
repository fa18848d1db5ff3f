"""The Python twin of kernels/TiledDot.cpp."""

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl


def tiled_dot(x, y, accumulator, *, block, copied=True, **kwargs):
    n = x.size

    def kernel(x, y, accumulator, o):
        if copied:
            @pl.when(pl.program_id(0) == 0)
            def _():
                o[...] = accumulator[...]
        products = x[...].astype(jnp.float32) * y[...].astype(jnp.float32)
        if n % block:
            at = pl.program_id(0) * block + lax.broadcasted_iota(jnp.int32, (block,), 0)
            products = jnp.where(at < n, products, 0)
        o[...] += jnp.sum(products)

    part, one = pl.BlockSpec((block,), lambda i: (i,)), pl.BlockSpec((1,), lambda i: (0,))
    return pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct((1,), jnp.float32),
        grid=(pl.cdiv(n, block),),
        in_specs=[part, part, one],
        out_specs=one,
        input_output_aliases={2: 0},
        name="tiled_dot", **kwargs)(x, y, accumulator)
