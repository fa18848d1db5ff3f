"""The Python twin of kernels/FlashAttention.cpp, feature for feature."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

MASKED, LOWEST = -float("inf"), float(np.finfo(np.float32).min)


def flash_attention(q, k, v, bias=None, q_segments=None, k_segments=None, *, causal=False, scale=None, bq, bk, **kwargs):
    batch, heads, queries, size = q.shape
    group, keys = heads // k.shape[1], k.shape[2]
    k_steps = pl.cdiv(keys, bk)
    scale = size**-0.5 if scale is None else scale
    has_bias, has_segments = bias is not None, q_segments is not None

    def kernel(*refs):
        refs = iter(refs)
        q, k, v = next(refs), next(refs), next(refs)
        bias = next(refs) if has_bias else None
        q_segments, k_segments = (next(refs), next(refs)) if has_segments else (None, None)
        o, m, l, acc = refs
        i, j = pl.program_id(2), pl.program_id(3)

        @pl.when(j == 0)
        def _():
            m[...] = jnp.full_like(m, LOWEST)
            l[...] = jnp.zeros_like(l)
            acc[...] = jnp.zeros_like(acc)

        def step():
            s = lax.dot_general(q[...], k[...], (((1,), (1,)), ((), ())), preferred_element_type=jnp.float32) * scale
            if has_bias:
                s = s + bias[...].astype(jnp.float32)
            if has_segments:
                s = jnp.where(q_segments[...] == k_segments[...], s, MASKED)
            row = i * bq + lax.broadcasted_iota(jnp.int32, (bq, bk), 0)
            col = j * bk + lax.broadcasted_iota(jnp.int32, (bq, bk), 1)
            if causal:
                s = jnp.where(col <= row, s, MASKED)
            values = v[...]
            if keys % bk:
                s = jnp.where(col < keys, s, MASKED)
                at = j * bk + lax.broadcasted_iota(jnp.int32, (bk, size), 0)
                values = jnp.where(at < keys, values.astype(jnp.float32), 0).astype(v.dtype)

            m_prev = m[...]
            m_next = jnp.maximum(m_prev, s.max(axis=1, keepdims=True))
            p, alpha = jnp.exp(s - m_next), jnp.exp(m_prev - m_next)
            m[...] = m_next
            l[...] = l[...] * alpha + p.sum(axis=1, keepdims=True)
            acc[...] = acc[...] * alpha + jnp.dot(p.astype(v.dtype), values, preferred_element_type=jnp.float32)

        if causal:
            pl.when(j * bk <= i * bq + (bq - 1))(step)
        else:
            step()

        @pl.when(j == k_steps - 1)
        def _():
            o[...] = (acc[...] / jnp.where(l[...] == 0, 1, l[...])).astype(o.dtype)

    def key_step(i, j):
        return jnp.minimum(j, lax.div(i * bq + (bq - 1), bk)) if causal else j

    q_spec = pl.BlockSpec((None, None, bq, size), lambda b, h, i, j: (b, h, i, 0))
    k_spec = pl.BlockSpec((None, None, bk, size), lambda b, h, i, j: (b, lax.div(h, group), key_step(i, j), 0))
    operands, in_specs = [q, k, v], [q_spec, k_spec, k_spec]
    if has_bias:
        every_batch, every_head = bias.shape[0] > 1, bias.shape[1] > 1
        operands.append(bias)
        in_specs.append(pl.BlockSpec((None, None, bq, bk), lambda b, h, i, j: (
            b * every_batch, h * every_head, i, key_step(i, j))))
    if has_segments:
        operands += [q_segments[:, :, None], k_segments[:, None, :]]
        in_specs.append(pl.BlockSpec((None, bq, 1), lambda b, h, i, j: (b, i, 0)))
        in_specs.append(pl.BlockSpec((None, 1, bk), lambda b, h, i, j: (b, 0, key_step(i, j))))
    return pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct(q.shape, q.dtype),
        grid=(batch, heads, pl.cdiv(queries, bq), k_steps),
        in_specs=in_specs,
        out_specs=q_spec,
        scratch_shapes=[pltpu.VMEM((bq, 1), jnp.float32), pltpu.VMEM((bq, 1), jnp.float32),
                        pltpu.VMEM((bq, size), jnp.float32)],
        compiler_params=pltpu.CompilerParams(
            dimension_semantics=("parallel", "parallel", "parallel", "arbitrary")),
        name="flash_attention", **kwargs)(*operands)
