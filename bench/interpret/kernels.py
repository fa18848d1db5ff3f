"""The kernels of the interpret benchmark, in Pallas, as the tutorials write them."""

import functools

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def add(rows, steps, interpret):
    def kernel(x_ref, y_ref, o_ref):
        o_ref[...] = x_ref[...] + y_ref[...]

    spec = pl.BlockSpec((rows // steps, 128), lambda i: (i, 0))
    return pl.pallas_call(kernel, grid=(steps,), in_specs=[spec, spec], out_specs=spec,
                          out_shape=jax.ShapeDtypeStruct((rows, 128), jnp.float32), interpret=interpret)


def matmul(size, block, interpret):
    def kernel(x_ref, y_ref, o_ref, acc_ref):
        @pl.when(pl.program_id(2) == 0)
        def _():
            acc_ref[...] = jnp.zeros_like(acc_ref)

        acc_ref[...] += jnp.dot(x_ref[...], y_ref[...], preferred_element_type=jnp.float32,
                                precision=jax.lax.Precision.HIGHEST)

        @pl.when(pl.program_id(2) == pl.num_programs(2) - 1)
        def _():
            o_ref[...] = acc_ref[...]

    n = size // block
    return pl.pallas_call(
        kernel, grid=(n, n, n),
        in_specs=[pl.BlockSpec((block, block), lambda i, j, k: (i, k)), pl.BlockSpec((block, block), lambda i, j, k: (k, j))],
        out_specs=pl.BlockSpec((block, block), lambda i, j, k: (i, j)),
        scratch_shapes=[pltpu.VMEM((block, block), jnp.float32)],
        out_shape=jax.ShapeDtypeStruct((size, size), jnp.float32), interpret=interpret)


def flash_attention(length, head_dim, block, interpret):
    scale = head_dim ** -0.5

    def kernel(q_ref, k_ref, v_ref, o_ref, m_ref, l_ref, acc_ref):
        step = pl.program_id(1)

        @pl.when(step == 0)
        def _():
            m_ref[...] = jnp.full_like(m_ref, -jnp.inf)
            l_ref[...] = jnp.zeros_like(l_ref)
            acc_ref[...] = jnp.zeros_like(acc_ref)

        dot = functools.partial(jax.lax.dot_general, preferred_element_type=jnp.float32,
                                precision=jax.lax.Precision.HIGHEST)
        s = dot(q_ref[...], k_ref[...], (((1,), (1,)), ((), ()))) * scale
        m_old = m_ref[:, 0:1]
        m_new = jnp.maximum(m_old, jnp.max(s, axis=1, keepdims=True))
        p = jnp.exp(s - m_new)
        correction = jnp.exp(m_old - m_new)
        l_new = correction * l_ref[:, 0:1] + jnp.sum(p, axis=1, keepdims=True)
        acc_ref[...] = acc_ref[...] * correction + dot(p, v_ref[...], (((1,), (0,)), ((), ())))
        m_ref[...] = jnp.broadcast_to(m_new, m_ref.shape)
        l_ref[...] = jnp.broadcast_to(l_new, l_ref.shape)

        @pl.when(step == pl.num_programs(1) - 1)
        def _():
            o_ref[...] = acc_ref[...] / l_new

    n = length // block
    q_spec = pl.BlockSpec((block, head_dim), lambda i, j: (i, 0))
    kv_spec = pl.BlockSpec((block, head_dim), lambda i, j: (j, 0))
    return pl.pallas_call(
        kernel, grid=(n, n), in_specs=[q_spec, kv_spec, kv_spec], out_specs=q_spec,
        scratch_shapes=[pltpu.VMEM((block, 128), jnp.float32), pltpu.VMEM((block, 128), jnp.float32),
                        pltpu.VMEM((block, head_dim), jnp.float32)],
        out_shape=jax.ShapeDtypeStruct((length, head_dim), jnp.float32), interpret=interpret)


# name: (function of `interpret`, shapes of the operands)
WORKLOADS = {
    "add 8192x128, 64 steps": (lambda i: add(8192, 64, i), [(8192, 128)] * 2),
    "add 8192x128, 1024 steps": (lambda i: add(8192, 1024, i), [(8192, 128)] * 2),
    "flash attention L=1024 D=64, 64 steps": (lambda i: flash_attention(1024, 64, 128, i), [(1024, 64)] * 3),
    "matmul 1024^3, 512 steps": (lambda i: matmul(1024, 128, i), [(1024, 1024)] * 2),
}
