"""The Python twin of rms_norm in kernels/Norm.cpp, for whole rows."""

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl


def rms_norm(x, scale, *, epsilon, block_rows, **kwargs):
    rows, columns = x.shape

    def kernel(x, scale, o):
        v = x[...].astype(jnp.float32)
        o[...] = (v * lax.rsqrt((v * v).sum(axis=1, keepdims=True) / columns + epsilon) * scale[...]).astype(o.dtype)

    block = pl.BlockSpec((block_rows, columns), lambda i: (i, 0))
    return pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        grid=(pl.cdiv(rows, block_rows),),
        in_specs=[block, pl.BlockSpec((1, columns), lambda i: (0, 0))],
        out_specs=block,
        name="rms_norm", **kwargs)(x, scale[None])
