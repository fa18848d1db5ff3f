"""The Python twin of kernels/BlockSparseMatmul.cpp."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def block_sparse_matmul(block_rows, block_columns, blocks, y, *, rows, bn, **kwargs):
    count, bm, bk = blocks.shape
    n = y.shape[1]

    def kernel(row, _, x, y, zeros, o, acc):
        b = pl.program_id(1)
        is_first = (b == 0) | (row[b] != row[jnp.maximum(b - 1, 0)])
        is_last = (b == count - 1) | (row[b] != row[jnp.minimum(b + 1, count - 1)])

        @pl.when(is_first)
        def _():
            acc[...] = jnp.zeros_like(acc)

        acc[...] += jnp.dot(x[...], y[...], preferred_element_type=jnp.float32)

        @pl.when(is_last)
        def _():
            o[...] = acc[...].astype(o.dtype)

    out_block = lambda j, b, row, column: (row[b], j)
    return pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct((rows, n), y.dtype),
        grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=2,
            grid=(pl.cdiv(n, bn), count),
            in_specs=[pl.BlockSpec((None, bm, bk), lambda j, b, row, column: (b, 0, 0)),
                      pl.BlockSpec((bk, bn), lambda j, b, row, column: (column[b], j)),
                      pl.BlockSpec((bm, bn), out_block)],
            out_specs=pl.BlockSpec((bm, bn), out_block),
            scratch_shapes=[pltpu.VMEM((bm, bn), jnp.float32)]),
        input_output_aliases={4: 0},
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "arbitrary")),
        name="block_sparse_matmul", **kwargs)(block_rows, block_columns, blocks, y, jnp.zeros((rows, n), y.dtype))
