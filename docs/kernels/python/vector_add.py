"""The Python twin of kernels/VectorAdd.cpp."""

import jax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def vector_add(x, y, *, block, **kwargs):
    def kernel(x, y, o):
        o[...] = x[...] + y[...]

    part = pl.BlockSpec((block,), lambda i: (i,))
    return pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        grid=(pl.cdiv(x.size, block),),
        in_specs=[part, part],
        out_specs=part,
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel",)),
        name="vector_add", **kwargs)(x, y)
