"""The Python twin of kernels/Softmax.cpp."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def softmax(x, *, block_rows, block_columns, **kwargs):
    rows, columns = x.shape
    out_shape = jax.ShapeDtypeStruct(x.shape, x.dtype)

    def whole(x, o):
        v = x[...].astype(jnp.float32)
        e = jnp.exp(v - v.max(axis=1, keepdims=True))
        o[...] = (e / e.sum(axis=1, keepdims=True)).astype(o.dtype)

    if block_columns >= columns:
        block = pl.BlockSpec((block_rows, columns), lambda i: (i, 0))
        return pl.pallas_call(
            whole, out_shape=out_shape, grid=(pl.cdiv(rows, block_rows),), in_specs=[block], out_specs=block,
            compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel",)), name="softmax", **kwargs)(x)

    # Pass 0 finds the largest element and the sum of each row, rescaling the sum when the largest grows.
    def split(x, o, largest, total):
        v = x[...].astype(jnp.float32)
        if columns % block_columns:
            at = pl.program_id(2) * block_columns + lax.broadcasted_iota(jnp.int32, x.shape, 1)
            v = jnp.where(at < columns, v, -jnp.inf)

        @pl.when((pl.program_id(1) == 0) & (pl.program_id(2) == 0))
        def _():
            largest[...] = jnp.full(largest.shape, np.finfo(np.float32).min)
            total[...] = jnp.zeros_like(total)

        @pl.when(pl.program_id(1) == 0)
        def _():
            before = largest[...]
            now = jnp.maximum(before, v.max(axis=1, keepdims=True))
            total[...] = total[...] * jnp.exp(before - now) + jnp.exp(v - now).sum(axis=1, keepdims=True)
            largest[...] = now

        @pl.when(pl.program_id(1) == 1)
        def _():
            o[...] = (jnp.exp(v - largest[...]) / total[...]).astype(o.dtype)

    return pl.pallas_call(
        split, out_shape=out_shape, grid=(pl.cdiv(rows, block_rows), 2, pl.cdiv(columns, block_columns)),
        in_specs=[pl.BlockSpec((block_rows, block_columns), lambda i, p, j: (i, j))],
        out_specs=pl.BlockSpec((block_rows, block_columns), lambda i, p, j: (i, p * j)),
        scratch_shapes=[pltpu.VMEM((block_rows, 1), jnp.float32)] * 2,
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "arbitrary", "arbitrary")),
        name="softmax", **kwargs)(x)
