"""Kernels with backward passes of their own, as training libraries write them, against jax.grad of plain jax.numpy."""

import functools

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is not installed")
pytest.importorskip("smalti", reason="the Python package is not built (it needs nanobind and jaxlib)")

import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


pytestmark = pytest.mark.usefixtures("smalti_jax_installed")

LANES = 128
LEAST = -1e30


def normal(*shape, seed=0, dtype=jnp.float32):
    return jnp.asarray(np.random.default_rng(seed).normal(size=shape), dtype)


def close(got, wanted, tolerance=1e-4):
    """Errors are relative to the largest element."""
    for g, w in zip(jax.tree.leaves(got), jax.tree.leaves(wanted), strict=True):
        g, w = np.asarray(g, np.float64), np.asarray(w, np.float64)
        np.testing.assert_array_less(np.abs(g - w).max(), tolerance * np.abs(w).max())


def loss_and_gradients(f, *arguments):
    weighted = lambda *a: jnp.sum(jnp.sin(f(*a).astype(jnp.float32)))
    return jax.jit(jax.value_and_grad(weighted, tuple(range(len(arguments)))))(*arguments)


def dot(x, y, x_axis, y_axis):
    return lax.dot_general(x, y, (((x_axis,), (y_axis,)), ((), ())), preferred_element_type=jnp.float32)


def in_lanes(x):
    return jnp.broadcast_to(x[..., None], (*x.shape, LANES))


def attention(q, k, v, sinks, window, cap, rows=64, columns=128):
    """Causal attention of grouped heads in a sliding window, with capped logits and a sink for each head."""
    batch, heads, length, size = q.shape
    group, scale = heads // k.shape[1], size**-.5
    row_blocks, column_blocks = length // rows, length // columns

    def is_needed(i, j):
        return (j * columns <= i * rows + rows - 1) & (j * columns + columns - 1 > i * rows - window)

    def logits(q, k, i, j):
        row = i * rows + lax.broadcasted_iota(jnp.int32, (rows, columns), 0)
        column = j * columns + lax.broadcasted_iota(jnp.int32, (rows, columns), 1)
        bent = jnp.tanh(dot(q, k, 1, 1) * scale / cap)
        return jnp.where((column <= row) & (row - column < window), cap * bent, LEAST), bent

    def forward_kernel(sink, q, k, v, o, lse, most, total, sums):
        i, j = pl.program_id(2), pl.program_id(3)

        @pl.when(j == 0)
        def _():
            most[...] = jnp.full_like(most, sink[pl.program_id(1)])
            total[...] = jnp.ones_like(total)
            sums[...] = jnp.zeros_like(sums)

        @pl.when(is_needed(i, j))
        def _():
            s, _ = logits(q[0, 0], k[0, 0], i, j)
            new = jnp.maximum(most[...], jnp.max(s, 1, keepdims=True))
            p, factor = jnp.exp(s - new[:, :1]), jnp.exp(most[...] - new)
            total[...] = total[...] * factor + jnp.sum(p, 1, keepdims=True)
            sums[...] = sums[...] * factor[:, :1] + dot(p.astype(v.dtype), v[0, 0], 1, 0)
            most[...] = new

        @pl.when(j == column_blocks - 1)
        def _():
            o[0, 0] = (sums[...] / total[:, :1]).astype(o.dtype)
            lse[0, 0] = most[...] + jnp.log(total[...])

    def forward(q, k, v, sinks):
        def nearest(b, h, i, j, _):
            return b, h // group, lax.clamp(lax.max(i * rows - window + 1, 0) // columns, j, (i * rows + rows - 1) // columns), 0

        of_q, of_k = (1, 1, rows, size), pl.BlockSpec((1, 1, columns, size), nearest)
        by_rows = lambda shape: pl.BlockSpec(shape, lambda b, h, i, j, _: (b, h, i, 0))
        return pl.pallas_call(forward_kernel, grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=1, grid=(batch, heads, row_blocks, column_blocks), in_specs=[by_rows(of_q), of_k, of_k],
            out_specs=[by_rows(of_q), by_rows((1, 1, rows, LANES))],
            scratch_shapes=[pltpu.VMEM((rows, LANES), jnp.float32)] * 2 + [pltpu.VMEM((rows, size), jnp.float32)]),
            out_shape=[q, jax.ShapeDtypeStruct((batch, heads, length, LANES), jnp.float32)])(sinks, q, k, v)

    def slopes(q, k, v, do, lse, delta, i, j):
        s, bent = logits(q, k, i, j)
        p = jnp.exp(s - lse[:, :1])
        return p, p * (dot(do, v, 1, 1) - delta[:, :1]) * (1 - bent * bent) * scale

    def keys_kernel(q, k, v, do, lse, delta, dk, dv, dk_sums, dv_sums):
        j, g, i = pl.program_id(2), pl.program_id(3), pl.program_id(4)

        @pl.when((g == 0) & (i == 0))
        def _():
            dk_sums[...] = jnp.zeros_like(dk_sums)
            dv_sums[...] = jnp.zeros_like(dv_sums)

        @pl.when(is_needed(i, j))
        def _():
            p, ds = slopes(q[0, 0], k[0, 0], v[0, 0], do[0, 0], lse[0, 0], delta[0, 0], i, j)
            dv_sums[...] += dot(p, do[0, 0].astype(jnp.float32), 0, 0)
            dk_sums[...] += dot(ds, q[0, 0].astype(jnp.float32), 0, 0)

        @pl.when((g == group - 1) & (i == row_blocks - 1))
        def _():
            dk[0, 0] = dk_sums[...].astype(dk.dtype)
            dv[0, 0] = dv_sums[...].astype(dv.dtype)

    def queries_kernel(q, k, v, do, lse, delta, dq, sums):
        i, j = pl.program_id(2), pl.program_id(3)

        @pl.when(j == 0)
        def _():
            sums[...] = jnp.zeros_like(sums)

        @pl.when(is_needed(i, j))
        def _():
            sums[...] += dot(slopes(q[0, 0], k[0, 0], v[0, 0], do[0, 0], lse[0, 0], delta[0, 0], i, j)[1],
                             k[0, 0].astype(jnp.float32), 1, 0)

        @pl.when(j == column_blocks - 1)
        def _():
            dq[0, 0] = sums[...].astype(dq.dtype)

    def backward(kept, do):
        q, k, v, sinks, o, lse = kept
        delta = jnp.sum(do.astype(jnp.float32) * o.astype(jnp.float32), -1)
        dsinks = -jnp.sum(delta * jnp.exp(sinks[:, None] - lse[..., 0]), (0, 2))
        operands = (q, k, v, do, lse, in_lanes(delta))

        def specs(row, column):
            of_q, of_k = pl.BlockSpec((1, 1, rows, size), row), pl.BlockSpec((1, 1, columns, size), column)
            of_row = pl.BlockSpec((1, 1, rows, LANES), row)
            return of_q, of_k, [of_q, of_k, of_k, of_q, of_row, of_row]

        _, of_k, inputs = specs(lambda b, h, j, g, i: (b, h * group + g, i, 0), lambda b, h, j, g, i: (b, h, j, 0))
        dk, dv = pl.pallas_call(keys_kernel, grid=(batch, heads // group, column_blocks, group, row_blocks), in_specs=inputs,
                                out_specs=[of_k, of_k], out_shape=[k, v],
                                scratch_shapes=[pltpu.VMEM((columns, size), jnp.float32)] * 2)(*operands)
        of_q, _, inputs = specs(lambda b, h, i, j: (b, h, i, 0), lambda b, h, i, j: (b, h // group, j, 0))
        dq = pl.pallas_call(queries_kernel, grid=(batch, heads, row_blocks, column_blocks), in_specs=inputs, out_specs=of_q,
                            out_shape=q, scratch_shapes=[pltpu.VMEM((rows, size), jnp.float32)])(*operands)
        return dq, dk, dv, dsinks

    def kept(q, k, v, sinks):
        o, lse = forward(q, k, v, sinks)
        return o, (q, k, v, sinks, o, lse)

    attend = jax.custom_vjp(lambda *a: forward(*a)[0])
    attend.defvjp(kept, backward)
    return attend(q, k, v, sinks)


def plain_attention(q, k, v, sinks, window, cap):
    q, k, v = (x.astype(jnp.float32) for x in (q, k, v))
    k, v = (jnp.repeat(x, q.shape[1] // x.shape[1], 1) for x in (k, v))
    distance = jnp.arange(q.shape[2])[:, None] - jnp.arange(q.shape[2])
    s = cap * jnp.tanh(jnp.einsum("bhqd,bhkd->bhqk", q, k) * q.shape[-1]**-.5 / cap)
    s = jnp.where((distance >= 0) & (distance < window), s, LEAST)
    s = jnp.concatenate([s, jnp.broadcast_to(sinks[:, None, None], (*s.shape[:3], 1))], -1)
    return jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(s)[..., :-1], v)


def test_attention_with_windows_caps_and_sinks():
    arguments = normal(2, 4, 256, 64), normal(2, 2, 256, 64, seed=1), normal(2, 2, 256, 64, seed=2), normal(4, seed=3)
    close(loss_and_gradients(functools.partial(attention, window=90, cap=20.), *arguments),
          loss_and_gradients(functools.partial(plain_attention, window=90, cap=20.), *arguments))


def test_a_batch_of_models_with_attention_of_bf16():
    arguments = (*(normal(3, 1, 2, 256, 64, seed=i, dtype=jnp.bfloat16) for i in range(3)), normal(3, 2, seed=3))
    batched = lambda f: jax.vmap(functools.partial(f, window=100, cap=10.))
    close(loss_and_gradients(batched(attention), *arguments), loss_and_gradients(batched(plain_attention), *arguments), 3e-2)


def test_a_recurrence_of_matrices():
    """RWKV-6: a state of D x D for each head, whose rows decay by factors that depend on the input."""
    batch, heads, length, size, chunk = 2, 2, 48, 64, 16
    chunks = length // chunk
    r, k, v = (normal(batch, heads, length, size, seed=i) * .3 for i in range(3))
    decay, bonus = jnp.exp(-jnp.exp(normal(batch, heads, length, size, seed=4) - 1)), normal(heads, size, seed=5)
    column = lambda row: row.reshape(size, 1)

    def forward_kernel(r, k, v, decay, bonus, y, states, state):
        @pl.when(pl.program_id(2) == 0)
        def _():
            state[...] = jnp.zeros_like(state)

        @pl.loop(0, chunk)
        def _(t):
            states[0, 0, pl.ds(t, 1)] = state[...][None]
            rt, kt, vt, wt = (ref[0, 0, pl.ds(t, 1), :] for ref in (r, k, v, decay))
            new = column(kt) * vt
            y[0, 0, pl.ds(t, 1), :] = dot(rt, state[...] + column(bonus[0]) * new, 1, 0)
            state[...] = state[...] * column(wt) + new

    def backward_kernel(r, k, v, decay, bonus, states, dy, dr, dk, dv, ddecay, dbonus, dstate):
        @pl.when(pl.program_id(2) == 0)
        def _():
            dstate[...] = jnp.zeros_like(dstate)
            dbonus[...] = jnp.zeros_like(dbonus)

        @pl.loop(0, chunk)
        def _(step):
            t = chunk - 1 - step
            rt, kt, vt, wt, dyt = (ref[0, 0, pl.ds(t, 1), :] for ref in (r, k, v, decay, dy))
            state, new, outer = states[0, 0, t], column(kt) * vt, column(rt) * dyt
            dnew = column(bonus[0]) * outer + dstate[...]
            dr[0, 0, pl.ds(t, 1), :] = dot(dyt, state + column(bonus[0]) * new, 1, 1)
            dk[0, 0, pl.ds(t, 1), :] = jnp.sum(dnew * vt, 1)[None]
            dv[0, 0, pl.ds(t, 1), :] = jnp.sum(dnew * column(kt), 0, keepdims=True)
            ddecay[0, 0, pl.ds(t, 1), :] = jnp.sum(dstate[...] * state, 1)[None]
            dbonus[0, 0] += jnp.sum(outer * new, 1)[None]
            dstate[...] = dstate[...] * column(wt) + outer

    def specs(chunk_of):
        rows = pl.BlockSpec((1, 1, chunk, size), lambda b, h, t: (b, h, chunk_of(t), 0))
        return rows, pl.BlockSpec((1, 1, chunk, size, size), lambda b, h, t: (b, h, chunk_of(t), 0, 0))

    of_head = pl.BlockSpec((1, 1, size), lambda b, h, t: (h, 0, 0))
    common = {"grid": (batch, heads, chunks), "scratch_shapes": [pltpu.VMEM((size, size), jnp.float32)]}

    def forward(r, k, v, decay, bonus):
        rows, states = specs(lambda t: t)
        return pl.pallas_call(forward_kernel, in_specs=[rows] * 4 + [of_head], out_specs=[rows, states],
                              out_shape=[r, jax.ShapeDtypeStruct((batch, heads, length, size, size), jnp.float32)],
                              **common)(r, k, v, decay, bonus[:, None])

    def backward(kept, dy):
        r, k, v, decay, bonus, states = kept
        rows, of_states = specs(lambda t: chunks - 1 - t)
        per_head = pl.BlockSpec((1, 1, 1, size), lambda b, h, t: (b, h, 0, 0))
        *rest, dbonus = pl.pallas_call(backward_kernel, in_specs=[rows] * 4 + [of_head, of_states, rows], out_specs=[rows] * 4 + [per_head],
                                       out_shape=[r, k, v, decay, jax.ShapeDtypeStruct((batch, heads, 1, size), jnp.float32)],
                                       **common)(r, k, v, decay, bonus[:, None], states, dy)
        return *rest, jnp.sum(dbonus[:, :, 0], 0)

    def kept(*arguments):
        y, states = forward(*arguments)
        return y, (*arguments, states)

    recurrence = jax.custom_vjp(lambda *a: forward(*a)[0])
    recurrence.defvjp(kept, backward)

    def plain(r, k, v, decay, bonus):
        def step(state, now):
            r, k, v, w = now
            new = k[..., :, None] * v[..., None, :]
            return state * w[..., None] + new, jnp.einsum("bhd,bhde->bhe", r, state + bonus[:, :, None] * new)

        over_time = jax.tree.map(lambda x: jnp.moveaxis(x, 2, 0), (r, k, v, decay))
        return jnp.moveaxis(lax.scan(step, jnp.zeros((batch, heads, size, size)), over_time)[1], 0, 2)

    arguments = (r, k, v, decay, bonus)
    close(loss_and_gradients(recurrence, *arguments), loss_and_gradients(plain, *arguments))


def test_cross_entropy_of_logits_that_are_never_in_memory():
    tokens, width, words, rows, columns = 64, 128, 1000, 32, 256
    blocks = pl.cdiv(words, columns)
    x, w = normal(tokens, width), normal(width, words, seed=1) * .1
    labels = in_lanes(jnp.asarray(np.random.default_rng(2).integers(0, words, tokens), jnp.int32))

    def logits(x, w, j):
        word = j * columns + lax.broadcasted_iota(jnp.int32, (rows, columns), 1)
        return jnp.where(word < words, dot(x, w, 1, 0), LEAST), word

    def forward_kernel(x, w, label, loss, lse, most, total, hit):
        j = pl.program_id(1)

        @pl.when(j == 0)
        def _():
            most[...] = jnp.full_like(most, LEAST)
            total[...] = jnp.zeros_like(total)
            hit[...] = jnp.zeros_like(hit)

        s, word = logits(x[...], w[...], j)
        hit[...] += jnp.sum(jnp.where(word == label[:, :1], s, 0), 1, keepdims=True)
        new = jnp.maximum(most[...], jnp.max(s, 1, keepdims=True))
        total[...] = total[...] * jnp.exp(most[...] - new) + jnp.sum(jnp.exp(s - new[:, :1]), 1, keepdims=True)
        most[...] = new

        @pl.when(j == blocks - 1)
        def _():
            lse[...] = most[...] + jnp.log(total[...])
            loss[...] = lse[...] - hit[...]

    def slope(x, w, label, lse, dloss, j):
        s, word = logits(x, w, j)
        return (jnp.exp(s - lse[:, :1]) - (word == label[:, :1])) * dloss[:, :1] * (word < words)

    def x_kernel(x, w, label, lse, dloss, dx):
        j = pl.program_id(1)

        @pl.when(j == 0)
        def _():
            dx[...] = jnp.zeros_like(dx)

        inside = jnp.where(j * columns + lax.broadcasted_iota(jnp.int32, w.shape, 1) < words, w[...], 0)
        dx[...] += dot(slope(x[...], inside, label, lse, dloss, j), inside, 1, 1)

    def w_kernel(x, w, label, lse, dloss, dw):
        j = pl.program_id(0)

        @pl.when(pl.program_id(1) == 0)
        def _():
            dw[...] = jnp.zeros_like(dw)

        dw[...] += dot(x[...], slope(x[...], w[...], label, lse, dloss, j), 0, 0)

    def specs(row, column):
        of_row = pl.BlockSpec((rows, LANES), row)
        return pl.BlockSpec((rows, width), row), pl.BlockSpec((width, columns), column), of_row

    def forward(x, w):
        of_x, of_w, of_row = specs(lambda i, j: (i, 0), lambda i, j: (0, j))
        return pl.pallas_call(forward_kernel, grid=(tokens // rows, blocks), in_specs=[of_x, of_w, of_row], out_specs=[of_row] * 2,
                              out_shape=[jax.ShapeDtypeStruct((tokens, LANES), jnp.float32)] * 2,
                              scratch_shapes=[pltpu.VMEM((rows, LANES), jnp.float32)] * 3)(x, w, labels)

    def kept(x, w):
        loss, lse = forward(x, w)
        return loss[:, 0], (x, w, lse)

    def backward(kept, dloss):
        x, w, lse = kept
        operands = (x, w, labels, lse, in_lanes(dloss))
        of_x, of_w, of_row = specs(lambda i, j: (i, 0), lambda i, j: (0, j))
        dx = pl.pallas_call(x_kernel, grid=(tokens // rows, blocks), in_specs=[of_x, of_w, *[of_row] * 3], out_specs=of_x,
                            out_shape=x)(*operands)
        of_x, of_w, of_row = specs(lambda j, i: (i, 0), lambda j, i: (0, j))
        dw = pl.pallas_call(w_kernel, grid=(blocks, tokens // rows), in_specs=[of_x, of_w, *[of_row] * 3], out_specs=of_w,
                            out_shape=w)(*operands)
        return dx, dw

    fused = jax.custom_vjp(lambda x, w: forward(x, w)[0][:, 0])
    fused.defvjp(kept, backward)
    plain = lambda x, w: -jnp.take_along_axis(jax.nn.log_softmax(x @ w), labels[:, :1], 1)[:, 0]
    close(loss_and_gradients(fused, x, w), loss_and_gradients(plain, x, w))
