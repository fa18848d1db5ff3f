"""The Python twin of kernels/PagedAttention.cpp."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def paged_attention(q, k_pages, v_pages, lengths, table, pages_per_step=8, **kwargs):
    batch, all_heads, size = q.shape
    heads, _, length, _ = k_pages.shape
    pages_per_sequence = table.shape[1]
    together = min(pages_per_step, pages_per_sequence)
    group, steps, keys, scale = all_heads // heads, pl.cdiv(pages_per_sequence, together), together * length, size**-0.5

    def kernel(lengths, _, q, *refs):
        k, v, (o, m, l, acc) = refs[:together], refs[together:2 * together], refs[2 * together:]
        joined = lambda pages: jnp.concatenate([page[...] for page in pages])
        b, j = pl.program_id(0), pl.program_id(2)

        @pl.when(j == 0)
        def _():
            m[...] = jnp.full_like(m, np.finfo(np.float32).min)
            l[...] = jnp.zeros_like(l)
            acc[...] = jnp.zeros_like(acc)

        @pl.when(j * keys < lengths[b])
        def _():
            s = lax.dot_general(q[...], joined(k), (((1,), (1,)), ((), ())), preferred_element_type=jnp.float32) * scale
            col = j * keys + lax.broadcasted_iota(jnp.int32, (group, keys), 1)
            s = jnp.where(col < lengths[b], s, -jnp.inf)
            m_prev = m[...]
            m_next = jnp.maximum(m_prev, s.max(axis=1, keepdims=True))
            p, alpha = jnp.exp(s - m_next), jnp.exp(m_prev - m_next)
            m[...] = m_next
            l[...] = l[...] * alpha + p.sum(axis=1, keepdims=True)
            acc[...] = acc[...] * alpha + jnp.dot(p.astype(q.dtype), joined(v), preferred_element_type=jnp.float32)

        @pl.when(j == steps - 1)
        def _():
            o[...] = (acc[...] / jnp.where(l[...] == 0, 1, l[...])).astype(o.dtype)

    q_spec = pl.BlockSpec((None, None, group, size), lambda b, h, j, lengths, table: (b, h, 0, 0))

    # Past the end of a sequence a program stays on its last page, to avoid useless fetches.
    def page(i, b, h, j, lengths, table):
        last = jnp.maximum(lax.div(lengths[b] + (length - 1), length) - 1, 0)
        return h, table[b * pages_per_sequence + jnp.minimum(j * together + i, last)], 0, 0

    page_specs = [pl.BlockSpec((None, None, length, size), functools.partial(page, i)) for i in range(together)]
    grouped = q.reshape(batch, heads, group, size)
    return pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct(grouped.shape, q.dtype),
        grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=2,
            grid=(batch, heads, steps),
            in_specs=[q_spec, *page_specs, *page_specs],
            out_specs=q_spec,
            scratch_shapes=[pltpu.VMEM((group, 1), jnp.float32), pltpu.VMEM((group, 1), jnp.float32),
                            pltpu.VMEM((group, size), jnp.float32)]),
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "parallel", "arbitrary")),
        name="paged_attention", **kwargs)(lengths, table.reshape(-1), grouped, *[k_pages] * together,
                                         *[v_pages] * together).reshape(q.shape)
