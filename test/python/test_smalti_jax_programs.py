"""Programs in the style of libraries outside JAX: quantised and grouped products, recurrences, sparse attention, routing and
sampling. Against plain jax.numpy."""

import functools

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is not installed")
pytest.importorskip("smalti", reason="the Python package is not built (it needs nanobind and jaxlib)")

import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from whole_programs import close, kinds_of_call, normal

pytestmark = pytest.mark.usefixtures("smalti_jax_installed")

ANYWHERE = pl.BlockSpec(memory_space=pl.ANY)


# Products


def test_activations_and_weights_of_int8_with_scales():
    """Rows are quantised inside the kernel, sums are int32, scales of rows and columns come at the end."""
    m, k, n, block = 64, 512, 256, 128
    x, w, w_scale = normal(m, k), jnp.clip(jnp.round(normal(k, n, seed=1) * 40), -127, 127).astype(jnp.int8), jnp.abs(normal(1, n, seed=2))

    def kernel(x, x_scale, w, w_scale, o, sums):
        @pl.when(pl.program_id(2) == 0)
        def _():
            sums[...] = jnp.zeros_like(sums)

        quantised = jnp.clip(jnp.round(x[...] / x_scale[...]), -127, 127).astype(jnp.int8)
        sums[...] += lax.dot_general(quantised, w[...], (((1,), (0,)), ((), ())), preferred_element_type=jnp.int32)

        @pl.when(pl.program_id(2) == pl.num_programs(2) - 1)
        def _():
            o[...] = sums[...].astype(jnp.float32) * x_scale[...] * w_scale[...]

    def product(x, w, w_scale):
        x_scale = jnp.max(jnp.abs(x), 1, keepdims=True) / 127
        return pl.pallas_call(
            kernel, grid=(m // 32, n // block, k // block), out_shape=jax.ShapeDtypeStruct((m, n), jnp.float32),
            in_specs=[pl.BlockSpec((32, block), lambda i, j, k: (i, k)), pl.BlockSpec((32, 1), lambda i, j, k: (i, 0)),
                      pl.BlockSpec((block, block), lambda i, j, k: (k, j)), pl.BlockSpec((1, block), lambda i, j, k: (0, j))],
            out_specs=pl.BlockSpec((32, block), lambda i, j, k: (i, j)), scratch_shapes=[pltpu.VMEM((32, block), jnp.int32)],
            compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "parallel", "arbitrary")))(x, x_scale, w, w_scale)

    scale = np.abs(np.asarray(x)).max(1, keepdims=True) / np.float32(127)
    wanted = np.clip(np.round(np.asarray(x) / scale), -127, 127) @ np.asarray(w, np.float64) * scale * np.asarray(w_scale)
    for way in kinds_of_call(product):
        close(way(x, w, w_scale), wanted)


def test_weights_of_int4_two_in_a_byte_with_scales_of_groups():
    k, n, group = 256, 256, 128
    x, w = normal(16, k, dtype=jnp.bfloat16), np.random.default_rng(1).integers(-8, 8, (k, n))
    packed = jnp.asarray((w[0::2] & 15) | ((w[1::2] & 15) << 4), jnp.uint8)
    scales = jnp.abs(normal(k // group, 1, n, seed=2, dtype=jnp.bfloat16))

    def kernel(x_even, x_odd, packed, scale, o, sums):
        @pl.when(pl.program_id(1) == 0)
        def _():
            sums[...] = jnp.zeros_like(sums)

        both = packed[...].astype(jnp.int32)
        low, high = (((both << shift) >> 28).astype(jnp.float32) for shift in (28, 24))
        of_group = (x_even[...].astype(jnp.float32) @ low + x_odd[...].astype(jnp.float32) @ high) * scale[0].astype(jnp.float32)
        sums[...] += of_group

        @pl.when(pl.program_id(1) == pl.num_programs(1) - 1)
        def _():
            o[...] = sums[...].astype(o.dtype)

    half = group // 2
    rows = pl.BlockSpec((None, 16, half), lambda j, g: (g, 0, 0))
    by_group = [part.reshape(16, k // group, half).transpose(1, 0, 2) for part in (x[:, 0::2], x[:, 1::2])]
    got = pl.pallas_call(kernel, grid=(n // 128, k // group), out_shape=jax.ShapeDtypeStruct((16, n), jnp.bfloat16),
                         in_specs=[rows, rows, pl.BlockSpec((half, 128), lambda j, g: (g, j)),
                                   pl.BlockSpec((1, 1, 128), lambda j, g: (g, 0, j))],
                         out_specs=pl.BlockSpec((16, 128), lambda j, g: (0, j)),
                         scratch_shapes=[pltpu.VMEM((16, 128), jnp.float32)])(*by_group, packed, scales)
    whole = jnp.asarray(w, jnp.float32) * jnp.repeat(scales[:, 0].astype(jnp.float32), group, 0)
    close(got, x.astype(jnp.float32) @ whole, 2e-2)


@functools.partial(jax.custom_vjp, nondiff_argnums=(3,))
def grouped(x, w, sizes, block):
    """x [rows, k], sorted by group, times w [groups, k, n]; a block of rows is visited once for each group in it."""
    (rows, k), (groups, _, n) = x.shape, w.shape
    ends = jnp.cumsum(sizes)
    starts = ends - sizes
    first, last = starts // block, jnp.maximum(ends - 1, 0) // block
    visits = jnp.where(sizes > 0, last - first + 1, 0)
    most = rows // block + groups - 1
    group_of = jnp.repeat(jnp.arange(groups, dtype=jnp.int32), visits, total_repeat_length=most)
    nth = jnp.arange(most) - (jnp.cumsum(visits) - visits)[group_of]
    block_of = jnp.where(jnp.arange(most) < visits.sum(), first[group_of] + nth, rows // block - 1).astype(jnp.int32)

    def kernel(group_of, block_of, starts, ends, x, w, o):
        step = pl.program_id(1)
        group, mine = group_of[step], block_of[step]

        @pl.when(jnp.logical_or(step == 0, block_of[jnp.maximum(step - 1, 0)] != mine))
        def _():
            o[...] = jnp.zeros_like(o)

        row = mine * block + lax.broadcasted_iota(jnp.int32, o.shape, 0)
        inside = jnp.logical_and(row >= starts[group], row < ends[group])
        o[...] = jnp.where(inside, jnp.dot(x[...], w[...], preferred_element_type=jnp.float32).astype(o.dtype), o[...])

    spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=4, grid=(n // 128, visits.sum()),
        in_specs=[pl.BlockSpec((block, k), lambda j, s, group_of, block_of, *_: (block_of[s], 0)),
                  pl.BlockSpec((None, k, 128), lambda j, s, group_of, *_: (group_of[s], 0, j))],
        out_specs=pl.BlockSpec((block, 128), lambda j, s, group_of, block_of, *_: (block_of[s], j)))
    return pl.pallas_call(kernel, grid_spec=spec, out_shape=jax.ShapeDtypeStruct((rows, n), x.dtype))(
        group_of, block_of, starts.astype(jnp.int32), ends.astype(jnp.int32), x, w)


def grouped_backward(block, saved, gradient):
    x, w, sizes = saved
    owner = jnp.repeat(jnp.arange(w.shape[0]), sizes, total_repeat_length=x.shape[0])
    one_hot = jax.nn.one_hot(owner, w.shape[0], dtype=x.dtype)
    return grouped(gradient, w.transpose(0, 2, 1), sizes, block), jnp.einsum("me,mk,mn->ekn", one_hot, x, gradient), None


grouped.defvjp(lambda x, w, sizes, block: (grouped(x, w, sizes, block), (x, w, sizes)), grouped_backward)


@pytest.mark.parametrize("sizes", [[40, 0, 88], [128, 0, 0], [1, 126, 1]])
def test_a_grouped_product_over_a_grid_that_depends_on_values(sizes):
    x, w, sizes = normal(128, 128), normal(3, 128, 256, seed=1), jnp.array(sizes)
    owner = np.repeat(np.arange(3), sizes)
    wanted = jnp.einsum("mk,mkn->mn", x, w[owner])
    for way in kinds_of_call(lambda x, w, sizes: grouped(x, w, sizes, 32)):
        close(way(x, w, sizes), wanted)
    loss = lambda f: jax.jit(jax.grad(lambda x, w: jnp.sum(jnp.sin(f(x, w))), (0, 1)))(x, w)
    close(loss(lambda x, w: grouped(x, w, sizes, 32)), loss(lambda x, w: jnp.einsum("mk,mkn->mn", x, w[owner])))


# Recurrences


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.bfloat16])
def test_gated_linear_attention_in_chunks(dtype):
    """State [keys, values] in scratch, decays per key; starts from a state and gives the last one back."""
    heads, length, d, chunk = 2, 128, 64, 32
    q, k, v = (normal(heads, length, d, seed=s, dtype=dtype) * .3 for s in range(3))
    decay = -jax.nn.softplus(normal(heads, length, d, seed=3)) * .1
    start = normal(heads, d, d, seed=4) * .1

    def kernel(q, k, v, decay, start, o, end, state):
        @pl.when(pl.program_id(1) == 0)
        def _():
            state[...] = start[...]

        row, column = (lax.broadcasted_iota(jnp.int32, (chunk, chunk), axis) for axis in (0, 1))
        total = jnp.where(row >= column, 1.0, 0.0) @ decay[...]
        q_in, k_in, v_in = (x[...].astype(jnp.float32) for x in (q, k, v))
        scores = jnp.einsum("qd,kd->qk", q_in * jnp.exp(total), k_in * jnp.exp(-total))
        o[...] = (jnp.where(row >= column, scores, 0.0) @ v_in + (q_in * jnp.exp(total)) @ state[...]).astype(o.dtype)
        last = total[chunk - 1:chunk, :]
        state[...] = state[...] * jnp.exp(last).T + jnp.einsum("kd,kv->dv", k_in * jnp.exp(last - total), v_in)

        @pl.when(pl.program_id(1) == pl.num_programs(1) - 1)
        def _():
            end[...] = state[...]

    def attention(q, k, v, decay, start):
        rows = pl.BlockSpec((None, chunk, d), lambda h, i: (h, i, 0))
        whole = pl.BlockSpec((None, d, d), lambda h, i: (h, 0, 0))
        return pl.pallas_call(kernel, grid=(heads, length // chunk), in_specs=[rows] * 4 + [whole], out_specs=[rows, whole],
                              out_shape=[v, start], scratch_shapes=[pltpu.VMEM((d, d), jnp.float32)])(q, k, v, decay, start)

    def plain(q, k, v, decay, start):
        def step(state, now):
            q, k, v, decay = (x.astype(jnp.float32) for x in now)
            state = state * jnp.exp(decay)[:, None] + k[:, None] * v[None]
            return state, q @ state

        end, o = lax.scan(step, start, (q, k, v, decay))
        return o, end

    wanted = jax.vmap(plain)(q, k, v, decay, start)
    for way in kinds_of_call(attention):
        close(way(q, k, v, decay, start), wanted, 1e-3 if dtype == jnp.float32 else 2e-2)
    twice = jax.vmap(attention, (0, None, 0, None, 0))(jnp.stack([q, q]), k, jnp.stack([v, v * 2]), decay,
                                                       jnp.stack([start, start * 2]))
    close(twice[0][1], wanted[0] * 2, 1e-3 if dtype == jnp.float32 else 2e-2)


def test_a_selective_scan_with_states_in_registers():
    """As Mamba: a loop over time inside a block, states of a channel in rows, parameters that depend on the input."""
    length, channels, states, block = 64, 256, 16, 32
    x, delta = normal(length, channels), jax.nn.softplus(normal(length, channels, seed=1))
    a, b, c = -jnp.exp(normal(states, channels, seed=2)), normal(length, states, seed=3), normal(length, states, seed=4)

    def kernel(x, delta, a, b, c, o, state):
        @pl.when(pl.program_id(1) == 0)
        def _():
            state[...] = jnp.zeros_like(state)

        def step(t, h):
            at = pl.ds(t, 1)
            h = jnp.exp(delta[at, :] * a[...]) * h + (delta[at, :] * x[at, :]) * b[at, :].T
            o[at, :] = jnp.sum(h * c[at, :].T, 0, keepdims=True)
            return h

        state[...] = lax.fori_loop(0, block, step, state[...], unroll=2)

    rows, narrow = pl.BlockSpec((block, 128), lambda j, i: (i, j)), pl.BlockSpec((block, states), lambda j, i: (i, 0))
    run = pl.pallas_call(kernel, grid=(channels // 128, length // block), out_shape=x,
                         in_specs=[rows, rows, pl.BlockSpec((states, 128), lambda j, i: (0, j)), narrow, narrow], out_specs=rows,
                         scratch_shapes=[pltpu.VMEM((states, 128), jnp.float32)])

    def step(h, now):
        x, delta, b, c = now
        h = jnp.exp(delta * a) * h + (delta * x) * b[:, None]
        return h, (h * c[:, None]).sum(0)

    wanted = lax.scan(step, jnp.zeros((states, channels)), (x, delta, b, c))[1]
    for way in kinds_of_call(run):
        close(way(x, delta, a, b, c), wanted)


# Around attention


def test_norm_rotation_and_cache_in_one_kernel():
    """RMSNorm, a product, rotary positions, and new keys into a donated cache at a position that the program computes."""
    tokens, width, heads, d, longest = 8, 256, 2, 128, 64
    x, gain, w = normal(tokens, width, dtype=jnp.bfloat16), 1 + .1 * normal(1, width, seed=1), normal(width, heads * d, seed=2, dtype=jnp.bfloat16) * .1
    cache = normal(longest, heads * d, seed=3, dtype=jnp.bfloat16)

    def kernel(position, x, gain, w, cache_in, cache, keys, done):
        as_float = x[...].astype(jnp.float32)
        normed = as_float * lax.rsqrt(jnp.mean(as_float * as_float, -1, keepdims=True) + 1e-6) * gain[...]
        key = jnp.dot(normed.astype(jnp.bfloat16), w[...], preferred_element_type=jnp.float32)
        at = (position[0] + lax.broadcasted_iota(jnp.int32, (tokens, d // 2), 0)).astype(jnp.float32)
        lane = lax.broadcasted_iota(jnp.int32, (tokens, d // 2), 1).astype(jnp.float32)
        angle = at * jnp.exp(lane * (-np.log(10000.0) / (d // 2)))
        cos, sin = jnp.cos(angle), jnp.sin(angle)
        for h in range(heads):
            first, second = key[:, h * d:h * d + d // 2], key[:, h * d + d // 2:(h + 1) * d]
            keys[:, h * d:(h + 1) * d] = jnp.concatenate([first * cos - second * sin, first * sin + second * cos], 1).astype(keys.dtype)
        copy = pltpu.make_async_copy(keys, cache.at[pl.ds(pl.multiple_of(position[0], 8), tokens)], done)
        copy.start()
        copy.wait()

    vmem = pl.BlockSpec(memory_space=pltpu.VMEM)
    @functools.partial(jax.jit, donate_argnums=0)
    def update(cache, x, position):
        return pl.pallas_call(kernel, in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM), vmem, vmem, vmem, ANYWHERE],
                              out_specs=ANYWHERE, out_shape=cache, input_output_aliases={4: 0},
                              scratch_shapes=[pltpu.VMEM((tokens, heads * d), jnp.bfloat16), pltpu.SemaphoreType.DMA])(
                                  position[None] * 8, x, gain, w, cache)

    def plain(cache, x, position):
        f = x.astype(jnp.float32)
        normed = (f * lax.rsqrt(jnp.mean(f * f, -1, keepdims=True) + 1e-6) * gain).astype(jnp.bfloat16)
        key = (normed.astype(jnp.float32) @ w.astype(jnp.float32)).reshape(tokens, heads, 2, d // 2)
        angle = (position * 8 + jnp.arange(tokens))[:, None] * 10000.0 ** (-jnp.arange(d // 2) / (d // 2))
        cos, sin = jnp.cos(angle)[:, None], jnp.sin(angle)[:, None]
        a, b = key[:, :, 0], key[:, :, 1]
        turned = jnp.stack([a * cos - b * sin, a * sin + b * cos], 2).reshape(tokens, -1).astype(jnp.bfloat16)
        return lax.dynamic_update_slice(cache, turned, (position * 8, 0))

    wanted = plain(plain(cache, x, 2), x * 2, 5)
    close(update(update(cache, x, jnp.int32(2)), x * 2, jnp.int32(5)), wanted, 2e-2)


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit])
def test_attention_over_blocks_that_a_table_names(wrap):
    """As many steps as the longest row of the table has; rows with fewer do nothing in the rest."""
    heads, length, d, block = 2, 256, 128, 64
    q, k, v = (normal(heads, length, d, seed=s) * .3 for s in range(3))
    mask = np.array([[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [1, 0, 1, 1]], bool)
    counts = jnp.asarray(mask.sum(1), jnp.int32)
    table = jnp.asarray([np.resize(np.flatnonzero(row), 4) for row in mask], jnp.int32)

    def kernel(counts, table, q, k, v, o, most, total, sums):
        row, step = pl.program_id(1), pl.program_id(2)

        @pl.when(step == 0)
        def _():
            most[...] = jnp.full_like(most, -jnp.inf)
            total[...] = jnp.zeros_like(total)
            sums[...] = jnp.zeros_like(sums)

        @pl.when(step < counts[row])
        def _():
            scores = jnp.einsum("qd,kd->qk", q[...], k[...], preferred_element_type=jnp.float32)
            new = jnp.maximum(most[...], scores.max(1, keepdims=True))
            p, old = jnp.exp(scores - new[:, :1]), jnp.exp(most[...] - new)
            total[...] = total[...] * old + p.sum(1, keepdims=True)
            sums[...] = sums[...] * old + p @ v[...]
            most[...] = new

        @pl.when(step == pl.num_programs(2) - 1)
        def _():
            o[...] = sums[...] / total[...]

    @wrap
    def attention(counts, table, q, k, v):
        queries = pl.BlockSpec((None, block, d), lambda h, i, s, counts, table: (h, i, 0))
        keys = pl.BlockSpec((None, block, d), lambda h, i, s, counts, table: (h, table[i, s], 0))
        spec = pltpu.PrefetchScalarGridSpec(num_scalar_prefetch=2, grid=(heads, length // block, jnp.max(counts)),
                                            in_specs=[queries, keys, keys], out_specs=queries,
                                            scratch_shapes=[pltpu.VMEM((block, 128), jnp.float32)] * 3)
        return pl.pallas_call(kernel, grid_spec=spec, out_shape=q)(counts, table, q, k, v)

    allowed = np.kron(mask, np.ones((block, block), bool))
    scores = jnp.where(allowed, jnp.einsum("hqd,hkd->hqk", q, k), -jnp.inf)
    close(attention(counts, table, q, k, v), jax.nn.softmax(scores) @ v)


# Routing and sampling


def test_the_largest_few_of_each_row():
    tokens, experts, few = 64, 128, 4
    logits = normal(tokens, experts)

    def kernel(logits, weights, chosen):
        lane = lax.broadcasted_iota(jnp.int32, logits.shape, 1)
        left, total = jax.nn.softmax(logits[...], axis=-1), 0.0
        all_weights, all_chosen = jnp.zeros_like(left), jnp.zeros_like(lane)
        for i in range(few):
            best = left.max(1, keepdims=True)
            which = jnp.min(jnp.where(left == best, lane, experts), 1, keepdims=True)
            all_weights, all_chosen = (jnp.where(lane == i, new, all) for new, all in ((best, all_weights), (which, all_chosen)))
            left, total = jnp.where(lane == which, -1.0, left), total + best
        weights[...], chosen[...] = all_weights / total, all_chosen

    rows = pl.BlockSpec((16, experts), lambda i: (i, 0))
    call = pl.pallas_call(kernel, grid=(tokens // 16,), in_specs=[rows], out_specs=[rows, rows],
                          out_shape=[logits, jax.ShapeDtypeStruct((tokens, experts), jnp.int32)])
    values, wanted = lax.top_k(jax.nn.softmax(logits), few)
    for way in kinds_of_call(call):
        weights, chosen = way(logits)
        np.testing.assert_array_equal(chosen[:, :few], wanted)
        close(weights[:, :few], values / values.sum(1, keepdims=True))


def test_dropout_draws_the_same_bits_forwards_and_backwards():
    x, rate = 1 + jnp.abs(normal(64, 256)), .25

    def kernel(seed, x, o):
        pltpu.prng_seed(seed[0], pl.program_id(0))
        bits = pltpu.bitcast(pltpu.prng_random_bits(x.shape), jnp.uint32)
        o[...] = jnp.where(bits >= np.uint32(rate * 2**32), x[...] / (1 - rate), 0.0)

    def call(seed, x):
        rows = pl.BlockSpec((16, 256), lambda i: (i, 0))
        return pl.pallas_call(kernel, grid=(4,), in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM), rows], out_specs=rows,
                              out_shape=x)(seed[None], x)

    dropout = jax.custom_vjp(call)
    dropout.defvjp(lambda seed, x: (call(seed, x), seed), lambda seed, gradient: (None, call(seed, gradient)))
    one, again, other = dropout(jnp.int32(3), x), dropout(jnp.int32(3), x), dropout(jnp.int32(4), x)
    np.testing.assert_array_equal(one, again)
    assert (one != other).any()
    assert abs(float((one == 0).mean()) - rate) < .02
    close(one[one != 0], (x / (1 - rate))[one != 0])
    gradient = jax.jit(jax.grad(lambda x: dropout(jnp.int32(3), x).sum()))(x)
    np.testing.assert_array_equal(gradient == 0, one == 0)


def test_sampling_among_the_most_likely():
    """A threshold by bisection in a while loop, then the largest of logits with Gumbel noise of a key given to the kernel."""
    rows, words, mass = 8, 1024, .6
    logits, noise = normal(rows, words) * 2, jax.random.gumbel(jax.random.key(1), (rows, words))

    def kernel(logits, noise, o):
        p = jax.nn.softmax(logits[...], axis=-1)

        def narrow(state):
            low, high, i = state
            middle = (low + high) / 2
            enough = jnp.sum(jnp.where(p >= middle, p, 0.0), 1, keepdims=True) >= mass
            return jnp.where(enough, middle, low), jnp.where(enough, high, middle), i + 1

        low, _, _ = lax.while_loop(lambda state: state[2] < 30, narrow, (jnp.zeros((rows, 1)), jnp.ones((rows, 1)), 0))
        scores = jnp.where(p >= low, logits[...] + noise[...], -jnp.inf)
        lane = lax.broadcasted_iota(jnp.int32, scores.shape, 1)
        best = jnp.min(jnp.where(scores == scores.max(1, keepdims=True), lane, words), 1, keepdims=True)
        o[...] = jnp.broadcast_to(best, o.shape)

    got = jax.jit(pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((rows, 128), jnp.int32)))(logits, noise)
    order = jnp.argsort(-logits, 1)
    p = jnp.take_along_axis(jax.nn.softmax(logits), order, 1)
    kept = jnp.take_along_axis(jnp.cumsum(p, 1) - p < mass, jnp.argsort(order, 1), 1)
    np.testing.assert_array_equal(got[:, 0], jnp.argmax(jnp.where(kept, logits + noise, -jnp.inf), 1))


def test_random_numbers_of_a_key_inside_a_kernel():
    key = jax.random.key(5)

    def kernel(key, o):
        o[...] = jax.random.uniform(jax.random.fold_in(key[...], pl.program_id(0)), o.shape, minval=-1.0, maxval=3.0)

    call = pl.pallas_call(kernel, grid=(2,), out_specs=pl.BlockSpec((8, 128), lambda i: (i, 0)),
                          out_shape=jax.ShapeDtypeStruct((16, 128), jnp.float32))
    wanted = jnp.concatenate([jax.random.uniform(jax.random.fold_in(key, i), (8, 128), minval=-1.0, maxval=3.0) for i in (0, 1)])
    for way in (call, jax.jit(call)):
        close(way(key), wanted, 1e-6)
