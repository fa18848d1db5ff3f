"""The Python twin of kernels/Matmul.cpp, feature for feature."""

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def matmul(x, y, bias=None, *, transpose_x=False, transpose_y=False, activation=lambda z: z, out_dtype=None, bm, bn, bk,
           **kwargs):
    m, k = x.shape[::-1] if transpose_x else x.shape
    n = y.shape[0] if transpose_y else y.shape[1]
    floating = jnp.issubdtype(x.dtype, jnp.floating)
    wide = jnp.float32 if floating else jnp.int32
    k_steps = pl.cdiv(k, bk)

    # The last block of k is partial if bk does not divide k: elements past the end are not zero.
    def inside(block, axis):
        if k % bk == 0:
            return block
        at = pl.program_id(2) * bk + lax.broadcasted_iota(jnp.int32, block.shape, axis)
        return jnp.where(at < k, block.astype(wide), 0).astype(block.dtype)

    x_k, y_k = 0 if transpose_x else 1, 1 if transpose_y else 0

    def kernel(x, y, *refs):
        bias, z, acc = refs if len(refs) == 3 else (None, *refs)

        @pl.when(pl.program_id(2) == 0)
        def _():
            acc[...] = jnp.zeros_like(acc)

        acc[...] += lax.dot_general(inside(x[...], x_k), inside(y[...], y_k), (((x_k,), (y_k,)), ((), ())),
                                    preferred_element_type=wide)

        @pl.when(pl.program_id(2) == k_steps - 1)
        def _():
            block = acc[...]
            if bias is not None:
                block = block + bias[...]
            z[...] = activation(block).astype(z.dtype)

    x_spec = pl.BlockSpec((bk, bm), lambda i, j, k: (k, i)) if transpose_x else pl.BlockSpec(
        (bm, bk), lambda i, j, k: (i, k))
    y_spec = pl.BlockSpec((bn, bk), lambda i, j, k: (j, k)) if transpose_y else pl.BlockSpec(
        (bk, bn), lambda i, j, k: (k, j))
    operands, in_specs = [x, y], [x_spec, y_spec]
    if bias is not None:
        operands.append(bias[None])
        in_specs.append(pl.BlockSpec((1, bn), lambda i, j, k: (0, j)))
    return pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct((m, n), out_dtype or (x.dtype if floating else jnp.int32)),
        grid=(pl.cdiv(m, bm), pl.cdiv(n, bn), k_steps),
        in_specs=in_specs,
        out_specs=pl.BlockSpec((bm, bn), lambda i, j, k: (i, j)),
        scratch_shapes=[pltpu.VMEM((bm, bn), wide)],
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "parallel", "arbitrary")),
        name="matmul", **kwargs)(*operands)
