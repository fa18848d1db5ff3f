"""Kernels as authors of libraries write them, here, in whole programs: against plain jax.numpy."""

import functools
import threading
import warnings

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is not installed")
pytest.importorskip("smalti", reason="the Python package is not built (it needs nanobind and jaxlib)")

import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

import smalti.jax


pytestmark = pytest.mark.usefixtures("smalti_jax_installed")


def normal(*shape, seed=0, dtype=jnp.float32):
    return jnp.asarray(np.random.default_rng(seed).normal(size=shape), dtype)


def close(got, wanted, tolerance=1e-3):
    jax.tree.map(lambda g, w: np.testing.assert_allclose(np.asarray(g, np.float64), np.asarray(w, np.float64), rtol=tolerance,
                                                         atol=tolerance), got, wanted)


def test_a_mixture_of_experts():
    """Tokens sorted by expert; a prefetched table says which expert's weights a block of tokens takes."""
    tokens, width, hidden, experts, block = 256, 128, 256, 4, 64
    x, router = normal(tokens, width), normal(width, experts, seed=3)
    up, down = normal(experts, width, hidden, seed=1) * .1, normal(experts, hidden, width, seed=2) * .1
    blocks = tokens // block + experts

    def kernel(owner, used, x, up, down, o):
        @pl.when(pl.program_id(0) < used[0])
        def _():
            o[...] = jax.nn.gelu(x[...] @ up[0]) @ down[0]

        @pl.when(pl.program_id(0) >= used[0])
        def _():
            o[...] = jnp.zeros_like(o)

    @jax.jit
    def layer(x):
        chosen = jnp.argmax(x @ router, 1)
        order = jnp.argsort(chosen, stable=True)
        mine = chosen[order]
        padded = (jnp.bincount(chosen, length=experts) + block - 1) // block * block
        place = (jnp.cumsum(padded) - padded)[mine] + jnp.arange(tokens) - jnp.searchsorted(mine, mine)
        owner = jnp.searchsorted(jnp.cumsum(padded), jnp.arange(blocks) * block, side="right")
        rows = pl.BlockSpec((block, width), lambda i, owner, used: (i, 0))
        spec = pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=2, grid=(blocks,), out_specs=rows,
            in_specs=[rows, pl.BlockSpec((1, width, hidden), lambda i, owner, used: (owner[i], 0, 0)),
                      pl.BlockSpec((1, hidden, width), lambda i, owner, used: (owner[i], 0, 0))])
        spread = jnp.zeros((blocks * block, width)).at[place].set(x[order])
        y = pl.pallas_call(kernel, grid_spec=spec, out_shape=spread)(
            jnp.clip(owner, 0, experts - 1).astype(jnp.int32), (jnp.sum(padded) // block)[None].astype(jnp.int32), spread, up, down)
        return jnp.zeros_like(x).at[order].set(y[place])

    chosen = np.asarray(jnp.argmax(x @ router, 1))
    close(layer(x), jnp.stack([jax.nn.gelu(x[i] @ up[e]) @ down[e] for i, e in enumerate(chosen)]))


@pytest.mark.parametrize("dtype", ["int8", "int4", "float8_e4m3fn", "float8_e5m2"])
def test_a_product_with_quantised_weights(dtype):
    x, w = normal(32, 256, dtype=jnp.bfloat16), jnp.clip(normal(256, 128, seed=1) * 2, -7, 7).astype(dtype)
    scale = jnp.abs(normal(1, 128, seed=2))

    def kernel(x, w, scale, o, sums):
        @pl.when(pl.program_id(0) == 0)
        def _():
            sums[...] = jnp.zeros_like(sums)

        sums[...] += jnp.dot(x[...], w[...].astype(jnp.bfloat16), preferred_element_type=jnp.float32)

        @pl.when(pl.program_id(0) == pl.num_programs(0) - 1)
        def _():
            o[...] = sums[...] * scale[...]

    got = pl.pallas_call(kernel, grid=(2,), out_shape=jax.ShapeDtypeStruct((32, 128), jnp.float32),
                         in_specs=[pl.BlockSpec((32, 128), lambda k: (0, k)), pl.BlockSpec((128, 128), lambda k: (k, 0)),
                                   pl.BlockSpec((1, 128), lambda k: (0, 0))],
                         out_specs=pl.BlockSpec((32, 128), lambda k: (0, 0)),
                         scratch_shapes=[pltpu.VMEM((32, 128), jnp.float32)])(x, w, scale)
    close(got, (x.astype(jnp.float32) @ w.astype(jnp.float32)) * scale)


def test_a_packed_cache_with_scales_that_are_powers_of_two():
    """Rows of 128 numbers of 8 bits, then the exponent of the row, in one array of bytes."""
    values = (normal(32, 128) * 20).astype(jnp.float8_e4m3fn)
    scales = jnp.exp2(jnp.arange(-16.0, 16.0)).astype(jnp.float8_e8m0fnu)[:, None]
    packed = jnp.concatenate([jax.lax.bitcast_convert_type(values, jnp.int8),
                              jnp.tile(jax.lax.bitcast_convert_type(scales, jnp.int8), (1, 128))], 1)

    def kernel(packed, o):
        scale = pltpu.bitcast(packed[:, 128:129].T, jnp.float8_e8m0fnu).astype(jnp.bfloat16)
        o[...] = pltpu.bitcast(packed[:, :128], jnp.float8_e4m3fn).astype(jnp.float32) * scale.astype(jnp.float32).T

    got = pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((32, 128), jnp.float32))(packed)
    np.testing.assert_array_equal(got, values.astype(jnp.float32) * scales.astype(jnp.float32))


@pytest.mark.parametrize("target", ["interpret", "cpu", "cuda-host:sm_80", "cuda-host:sm_90a"])
@pytest.mark.parametrize("narrow, word", [(jnp.bfloat16, jnp.int32), (jnp.int8, jnp.int32), (jnp.float32, jnp.bfloat16)])
@pytest.mark.parametrize("through", ["value", "ref"])
def test_the_bits_of_a_product_in_words(target, narrow, word, through):
    """Row i of the product is i + 1, so that rows that change places are seen."""
    x = jnp.broadcast_to(jnp.arange(1, 33, dtype=jnp.bfloat16)[:, None] / 128, (32, 128))
    y = jnp.ones((128, 128), jnp.bfloat16)
    rows = 32 * jnp.dtype(narrow).itemsize // jnp.dtype(word).itemsize

    def kernel(x, y, o):
        product = jnp.dot(x[...], y[...], preferred_element_type=jnp.float32).astype(narrow)
        if through == "ref":
            o.bitcast(narrow)[...] = product
        else:
            o[...] = pltpu.bitcast(product, word)

    with smalti.jax.using(target=target):
        got = pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((rows, 128), word))(x, y)
    expected = np.broadcast_to(np.arange(1, 33)[:, None], (32, 128)).astype(narrow)
    size, n = jnp.dtype(narrow).itemsize, jnp.dtype(word).itemsize
    if size < n:  # low parts in earlier rows
        parts = expected.reshape(rows, n // size, 128).transpose(0, 2, 1)
        expected = np.ascontiguousarray(parts).view(word)[..., 0]
    else:
        expected = expected.view(word).reshape(32, 128, size // n).transpose(0, 2, 1).reshape(rows, 128)
    np.testing.assert_array_equal(np.asarray(got).view(np.uint8), np.ascontiguousarray(expected).view(np.uint8))


def test_a_linear_recurrence_with_its_gradient():
    """h = a h + x, in blocks of time; the gradient is the same kernel backwards."""
    length, width, block = 64, 128, 16

    def kernel(a, x, o, state, *, backwards):
        @pl.when(pl.program_id(0) == 0)
        def _():
            state[...] = jnp.zeros_like(state)

        def step(t, h):
            row = pl.ds(block - 1 - t if backwards else t, 1)
            o[row, :] = h = a[row, :] * h + x[row, :]
            return h

        state[...] = lax.fori_loop(0, block, step, state[...])

    def run(a, x, backwards):
        blocks = length // block
        rows = pl.BlockSpec((block, width), lambda i: (blocks - 1 - i if backwards else i, 0))
        return pl.pallas_call(functools.partial(kernel, backwards=backwards), grid=(blocks,), in_specs=[rows, rows],
                              out_specs=rows, out_shape=x, scratch_shapes=[pltpu.VMEM((1, width), jnp.float32)])(a, x)

    recurrence = jax.custom_vjp(lambda a, x: run(a, x, False))

    def backward(saved, gradient):
        a, h = saved
        zero = jnp.zeros((1, width))
        to_x = run(jnp.concatenate([a[1:], zero]), gradient, True)
        return to_x * jnp.concatenate([zero, h[:-1]]), to_x

    recurrence.defvjp(lambda a, x: (h := run(a, x, False), (a, h)), backward)

    def plain(a, x):
        return lax.scan(lambda h, ax: (ax[0] * h + ax[1],) * 2, jnp.zeros(width), (a, x))[1]

    a, x = jax.nn.sigmoid(normal(length, width)), normal(length, width, seed=1)
    gradient = [jax.jit(jax.value_and_grad(lambda a, x, f=f: (f(a, x) ** 2).sum(), (0, 1)))(a, x) for f in (recurrence, plain)]
    close(*gradient)
    close(jax.vmap(recurrence)(jnp.stack([a, a / 2]), jnp.stack([x, x]))[1], plain(a / 2, x))


def test_a_state_space_layer_in_chunks():
    """As Mamba 2 has it: products inside a chunk, a state between chunks, two heads in parallel."""
    length, heads, states, width, chunk = 128, 2, 64, 128, 32

    def kernel(x, decay, b, c, o, state):
        @pl.when(pl.program_id(1) == 0)
        def _():
            state[...] = jnp.zeros_like(state)

        before = lax.broadcasted_iota(jnp.int32, (chunk, chunk), 0) >= lax.broadcasted_iota(jnp.int32, (chunk, chunk), 1)
        total = (before.astype(jnp.float32) @ jnp.broadcast_to(decay[0], (chunk, 128)))[:, :1]
        mixing = jnp.where(before, lax.dot_general(c[...], b[...], (((1,), (1,)), ((), ()))) * jnp.exp(total - total.T), 0.0)
        o[0] = mixing @ x[0] + (c[...] * jnp.exp(total)) @ state[...]
        last = total[chunk - 1:, :]
        into = lax.dot_general(b[...] * jnp.exp(last - total), x[0], (((0,), (0,)), ((), ())))
        state[...] = state[...] * jnp.exp(last) + into

    x, decay = normal(heads, length, width), -jax.nn.softplus(normal(heads, length, 1, seed=1))
    b, c = normal(length, states, seed=2) * .1, normal(length, states, seed=3) * .1
    of_head, of_time = lambda size: pl.BlockSpec((1, chunk, size), lambda h, i: (h, i, 0)), pl.BlockSpec((chunk, states), lambda h, i: (i, 0))
    got = jax.jit(pl.pallas_call(kernel, grid=(heads, length // chunk), in_specs=[of_head(width), of_head(1), of_time, of_time],
                                 out_specs=of_head(width), out_shape=x, scratch_shapes=[pltpu.VMEM((states, width), jnp.float32)],
                                 compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "arbitrary"))))(x, decay, b, c)

    def plain(x, decay):
        def step(state, now):
            x, decay, b, c = now
            state = state * jnp.exp(decay) + b[:, None] * x[None]
            return state, c @ state

        return lax.scan(step, jnp.zeros((states, width)), (x, decay[:, 0], b, c))[1]

    close(got, jax.vmap(plain)(x, decay))


def test_rotary_embedding_by_rolling_lanes():
    x, angle = normal(64, 4, 128), jnp.arange(64)[:, None] * 10000.0 ** (-jnp.arange(64) / 64)
    cos, sin = (jnp.concatenate([f(angle)] * 2, -1) for f in (jnp.cos, jnp.sin))

    def kernel(x, cos, sin, o):
        sign = jnp.where(lax.broadcasted_iota(jnp.int32, x.shape, 2) < 64, -1.0, 1.0)
        o[...] = x[...] * cos[...][:, None] + pltpu.roll(x[...], 64, 2) * sign * sin[...][:, None]

    rows, angles = pl.BlockSpec((16, 4, 128), lambda i: (i, 0, 0)), pl.BlockSpec((16, 128), lambda i: (i, 0))
    got = pl.pallas_call(kernel, grid=(4,), in_specs=[rows, angles, angles], out_specs=rows, out_shape=x)(x, cos, sin)
    a, b, c, s = x[..., :64], x[..., 64:], jnp.cos(angle)[:, None], jnp.sin(angle)[:, None]
    close(got, jnp.concatenate([a * c - b * s, b * c + a * s], -1))


def test_new_keys_go_into_donated_pages():
    pages, page, heads, new = 8, 16, 8, 5
    cache, keys, slots = normal(pages, page, heads, 128), normal(new, heads, 128, seed=1), jnp.array([3, 17, 18, 100, 127], jnp.int32)

    def kernel(slots, keys, _, cache, done):
        copies = [pltpu.make_async_copy(keys.at[i], cache.at[slots[i] // page, slots[i] % page], done) for i in range(new)]
        for copy in copies:
            copy.start()
        for copy in copies:
            copy.wait()

    anywhere = pl.BlockSpec(memory_space=pl.ANY)
    spec = pltpu.PrefetchScalarGridSpec(num_scalar_prefetch=1, grid=(), in_specs=[anywhere] * 2, out_specs=anywhere,
                                        scratch_shapes=[pltpu.SemaphoreType.DMA])
    write = jax.jit(lambda cache, keys, slots: pl.pallas_call(kernel, grid_spec=spec, input_output_aliases={2: 0},
                                                              out_shape=jax.ShapeDtypeStruct(cache.shape, cache.dtype))(slots, keys, cache),
                    donate_argnums=0)
    wanted = cache.reshape(-1, heads, 128).at[slots].set(keys).reshape(cache.shape)
    address = cache.unsafe_buffer_pointer()
    got = write(cache, keys, slots)
    np.testing.assert_array_equal(got, wanted)
    assert got.unsafe_buffer_pointer() == address and cache.is_deleted()


@pytest.mark.parametrize("target", ["cpu", "cuda-host", "interpret"])
def test_a_pipeline_with_a_ref_in_hbm(target):
    """JAX allocates such a ref in HBM. The steps of 300 blocks would be named if they ran on the machine."""
    steps = 300 if target == "cpu" else 4

    def kernel(x_hbm, o_hbm):
        def body(x, o, rows):
            rows[...] = x[...] * 2
            pltpu.sync_copy(rows, o.at[pl.ds(pl.program_id(0) * 8, 8)])

        def run(rows):
            pltpu.emit_pipeline(body, grid=(steps,), in_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0))],
                                out_specs=[pl.BlockSpec(memory_space=pltpu.HBM)])(x_hbm, o_hbm, scratches=(rows,))

        pl.run_scoped(run, pltpu.VMEM((8, 128), jnp.float32))

    x = normal(8 * steps, 128)
    call = pl.pallas_call(kernel, out_shape=x, in_specs=[pl.BlockSpec(memory_space=pltpu.HBM)], out_specs=pl.BlockSpec(memory_space=pl.ANY))
    with smalti.jax.using(target=target), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        np.testing.assert_array_equal(jax.jit(call)(x), x * 2)
    assert [str(w.message) for w in caught] == []


def test_vmap_of_a_kernel_with_a_prefetched_table():
    def kernel(table, x, o):
        o[...] = x[...]

    def take(table, x):
        spec = pltpu.PrefetchScalarGridSpec(num_scalar_prefetch=1, grid=(2,),
                                            in_specs=[pl.BlockSpec((8, 128), lambda j, table: (table[j], 0))],
                                            out_specs=pl.BlockSpec((8, 128), lambda j, table: (j, 0)))
        return pl.pallas_call(kernel, grid_spec=spec, out_shape=jax.ShapeDtypeStruct((16, 128), x.dtype))(table, x)

    x, tables = normal(32, 128), jnp.array([[0, 3], [2, 1], [1, 1]], jnp.int32)
    np.testing.assert_array_equal(jax.vmap(take, (0, None))(tables, x), x.reshape(4, 8, 128)[tables].reshape(3, 16, 128))
    several = jnp.stack([x, x + 1, x + 2])
    np.testing.assert_array_equal(jax.jit(jax.vmap(take))(tables, several)[2], several[2].reshape(4, 8, 128)[tables[2]].reshape(16, 128))


def scale_rows(x, gain):
    return x * lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * gain


@jax.custom_vjp
def norm(x, gain):
    def kernel(x, gain, o):
        o[...] = scale_rows(x[...], gain[...])

    rows = pl.BlockSpec((8, x.shape[1]), lambda i: (i, 0))
    return pl.pallas_call(kernel, grid=(x.shape[0] // 8,), in_specs=[rows, pl.BlockSpec((1, x.shape[1]), lambda i: (0, 0))],
                          out_specs=rows, out_shape=x)(x, gain[None])


norm.defvjp(lambda x, gain: (norm(x, gain), (x, gain)), lambda saved, gradient: jax.vjp(scale_rows, *saved)[1](gradient))


@pytest.mark.parametrize("remat", [False, True])
def test_a_scan_over_layers(remat):
    weights, gains, x = normal(6, 128, 128) * .1, 1 + .1 * normal(6, 128, seed=1), normal(32, 128, seed=2)

    def network(norm, weights, gains, x):
        def layer(x, parameters):
            return x + jnp.tanh(norm(x, parameters[1]) @ parameters[0]), None

        return jnp.sum(lax.scan(jax.checkpoint(layer) if remat else layer, x, (weights, gains))[0] ** 2)

    close(*[jax.jit(jax.value_and_grad(functools.partial(network, f), (0, 1, 2)))(weights, gains, x) for f in (norm, scale_rows)])


def test_threads_with_targets_of_their_own():
    double = jax.jit(lambda x: pl.pallas_call(lambda x, o: o.__setitem__(..., x[...] * 2), out_shape=x)(x))
    x, wrong = normal(8, 128), []

    def work(**options):
        try:
            with smalti.jax.using(**options):
                for i in range(20):
                    np.testing.assert_array_equal(double(x + i), (x + i) * 2)
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, kwargs={"target": target, "check": check})
               for target in ("cpu", "interpret") for check in (False, True)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not wrong, wrong


@pytest.mark.parametrize("jitted", [False, True])
def test_debug_nans_names_the_kernel(jitted):
    """With interpret=True JAX looks for the op for ever."""
    def logarithm(x, o):
        o[...] = jnp.log(x[...])

    def call(x):
        return pl.pallas_call(logarithm, out_shape=x)(x)

    with jax.debug_nans(True):
        (jax.jit(call) if jitted else call)(jnp.ones((8, 128)))
        with pytest.raises(FloatingPointError, match=r"invalid value \(nan\) encountered in the kernel 'logarithm'"):
            (jax.jit(call) if jitted else call)(-jnp.ones((8, 128)))


def test_results_that_nobody_waits_for_come_in_order():
    square = jax.jit(lambda x: pl.pallas_call(lambda x, o: o.__setitem__(..., x[...] @ x[...]), out_shape=x)(x))
    xs = [normal(128, 128, seed=s) for s in range(10)]
    for x, y in zip(xs, [square(x) for x in xs]):
        close(y, x @ x)
