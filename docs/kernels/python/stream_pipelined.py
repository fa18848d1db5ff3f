"""The Python twin of stream_pipelined in kernels/Stream.cpp."""

import jax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def stream_pipelined(x, function, *, block, **kwargs):
    part = pl.BlockSpec((block, x.shape[1]), lambda i: (i, 0))

    def kernel(x, o):
        def body(x, o):
            o[...] = function(x[...]).astype(o.dtype)

        pltpu.emit_pipeline(body, grid=(pl.cdiv(x.shape[0], block),), in_specs=[part], out_specs=[part])(x, o)

    return pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
        out_specs=pl.BlockSpec(memory_space=pl.ANY),
        name="stream_pipelined", **kwargs)(x)
