"""Kernels that copy and pipeline by hand, and kernels under JAX's transformations. Against plain jax.numpy."""

import functools

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is not installed")
smalti = pytest.importorskip("smalti", reason="the Python package is not built (it needs nanobind and jaxlib)")

import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
import smalti.jax

from whole_programs import close, kinds_of_call, normal

pytestmark = pytest.mark.usefixtures("smalti_jax_installed")

ANYWHERE = pl.BlockSpec(memory_space=pl.ANY)


# Copies and pipelines by hand


@pytest.mark.parametrize("slots", [1, 2, 3])
def test_weights_that_are_copied_ahead(slots):
    """Several copies are on their way at once; each slot has a semaphore."""
    layers = 5
    x, w = normal(16, 128), normal(layers, 128, 128, seed=1) * .1

    def kernel(x, w, o, done):
        def body(buffers):
            def copy(layer):
                slot = lax.rem(layer, slots)
                return pltpu.make_async_copy(w.at[layer], buffers.at[slot], done.at[slot])

            for layer in range(slots):
                copy(layer).start()
            o[...] = x[...]

            @pl.loop(0, layers)
            def _(layer):
                copy(layer).wait()
                o[...] = jnp.tanh(o[...] @ buffers[lax.rem(layer, slots)])

                @pl.when(layer + slots < layers)
                def _():
                    copy(layer + slots).start()

        pl.run_scoped(body, pltpu.VMEM((slots, 128, 128), jnp.float32))

    call = pl.pallas_call(kernel, in_specs=[pl.BlockSpec(memory_space=pltpu.VMEM), ANYWHERE], out_shape=x,
                          scratch_shapes=[pltpu.SemaphoreType.DMA((slots,))])
    wanted = functools.reduce(lambda x, w: jnp.tanh(x @ w), w, x)
    for way in kinds_of_call(call):
        close(way(x, w), wanted)


def test_a_pipeline_inside_a_kernel_with_a_table_of_scalars():
    """Rows are gathered by a table in SMEM, three buffers for one input, sums across the inner grid."""
    rows, width, picks = 64, 256, jnp.array([[3, 1], [0, 7], [5, 5]], jnp.int32)
    x, scale = normal(rows, width), normal(1, width, seed=1)

    def kernel(picks, x, scale, o):
        def step(x, scale, o):
            @pl.when(pl.program_id(1) == 0)
            def _():
                o[...] = jnp.zeros_like(o)

            o[...] += x[...] * scale[...]

        pltpu.emit_pipeline(
            step, grid=(3, 2), in_specs=[pl.BlockSpec((8, width), lambda i, j: (picks[i, j], 0), pipeline_mode=pl.Buffered(3)),
                                         pl.BlockSpec((1, width), lambda i, j: (0, 0))],
            out_specs=pl.BlockSpec((8, width), lambda i, j: (i, 0)))(x, scale, o)

    call = pl.pallas_call(kernel, in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM), ANYWHERE, ANYWHERE], out_specs=ANYWHERE,
                          out_shape=jax.ShapeDtypeStruct((24, width), jnp.float32))
    wanted = (x.reshape(8, 8, width)[picks].sum(1) * scale).reshape(24, width)
    for way in kinds_of_call(call):
        close(way(picks, x, scale), wanted)


def test_copies_between_parts_of_memories():
    """Strided parts, a reshaped ref, a copy inside VMEM, counts in SMEM written by the kernel."""
    x = normal(4, 16, 128)

    def kernel(x, o, counts, buffer, done):
        @pl.loop(0, 4)
        def _(i):
            pltpu.sync_copy(x.at[i, pl.ds(8, 8)], buffer.at[pl.ds(0, 8)])
            pltpu.sync_copy(buffer.at[pl.ds(0, 8)], buffer.at[pl.ds(8, 8)])
            first = pltpu.make_async_copy(buffer, o.at[:, i], done.at[0])
            first.start()
            counts[i] = jnp.where(i > 1, i * i, -i)
            first.wait()

    call = pl.pallas_call(kernel, in_specs=[ANYWHERE], out_specs=[ANYWHERE, pl.BlockSpec(memory_space=pltpu.SMEM)],
                          out_shape=[jax.ShapeDtypeStruct((16, 4, 128), jnp.float32), jax.ShapeDtypeStruct((4,), jnp.int32)],
                          scratch_shapes=[pltpu.VMEM((16, 128), jnp.float32), pltpu.SemaphoreType.DMA((1,))])
    wanted = jnp.concatenate([x[:, 8:], x[:, 8:]], 1).transpose(1, 0, 2)
    for way in kinds_of_call(call):
        got, counts = way(x)
        np.testing.assert_array_equal(got, wanted)
        np.testing.assert_array_equal(counts, [0, -1, 4, 9])


@pytest.mark.parametrize("settings", [{}, {"check": True}, {"check": True, "target": "interpret"}])
def test_an_aliased_array_is_copied_out_while_the_next_part_comes_in(settings):
    """The checks leave the inputs alone, so that a call they are not sure of can run again."""
    def kernel(x, o):
        def body(buffers, done):
            def copy_out(j):
                return pltpu.make_async_copy(buffers.at[j], o.at[:, pl.ds(128 * j, 128)], done.at[j])

            for j in range(2):
                copy_in = pltpu.make_async_copy(x.at[:, pl.ds(128 * j, 128)], buffers.at[j], done.at[j])
                copy_in.start()
                copy_in.wait()
                buffers[j] = buffers[j] * 2 + 1
                copy_out(j).start()
            for j in range(2):
                copy_out(j).wait()

        pl.run_scoped(body, pltpu.VMEM((2, 8, 128), jnp.float32), pltpu.SemaphoreType.DMA((2,)))

    x = normal(8, 256)
    call = pl.pallas_call(kernel, in_specs=[ANYWHERE], out_specs=ANYWHERE, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
                          input_output_aliases={0: 0})
    with smalti.jax.using(**settings):
        close(call(x), x * 2 + 1)


def test_cores_that_share_a_result():
    """pl.kernel over two TensorCores: each takes every other block."""
    x = normal(32, 128)

    @pl.kernel(out_type=[x, x], mesh=pltpu.create_tensorcore_mesh("core", num_cores=2),
               scratch_types=[pltpu.VMEM((8, 128), jnp.float32)])
    def double(x, o, turned, buffer):
        core = lax.axis_index("core")

        @pl.loop(0, 2)
        def _(i):
            at = pl.ds(pl.multiple_of((2 * i + core) * 8, 8), 8)
            pltpu.sync_copy(x.at[at], buffer)
            buffer[...] = buffer[...] * 2
            pltpu.sync_copy(buffer, o.at[at])
            pltpu.sync_copy(buffer, turned.at[pl.ds(pl.multiple_of((3 - 2 * i - core) * 8, 8), 8)])

    for way in (double, jax.jit(double)):
        got, turned = way(x)
        np.testing.assert_array_equal(got, x * 2)
        np.testing.assert_array_equal(turned, (x * 2).reshape(4, 8, 128)[::-1].reshape(32, 128))


def test_parts_of_blocks_at_any_element():
    """Overlapping windows with pl.Element, as a convolution over time has them."""
    length, width, taps, block = 64, 128, 4, 16
    x, w = normal(length, width), normal(taps, width, seed=1)

    def kernel(x, w, o):
        o[...] = sum(x[pl.ds(t, block), :] * w[t:t + 1, :] for t in range(taps))

    padded = jnp.pad(x, ((taps - 1, block - taps + 1), (0, 0)))
    call = pl.pallas_call(kernel, grid=(length // block,), out_shape=x,
                          in_specs=[pl.BlockSpec((pl.Element(block + 8), pl.Element(width)), lambda i: (i * block, 0)),
                                    pl.BlockSpec((taps, width), lambda i: (0, 0))],
                          out_specs=pl.BlockSpec((block, width), lambda i: (i, 0)))
    wanted = sum(padded[t:t + length] * w[t] for t in range(taps))
    for way in kinds_of_call(call):
        close(way(padded, w), wanted)


@pytest.mark.parametrize("sizes", [(8, 8), (8, 0), (0, 8), (0, 0)])
def test_copies_of_no_rows_need_no_wait(sizes):
    """One wait for the rows of two copies; a copy of no rows counts nothing."""

    def kernel(sizes, x, o, buffer, done):
        for i in range(2):
            rows = pl.ds(8 * i, pl.multiple_of(sizes[i], 8))
            pltpu.make_async_copy(x.at[rows], buffer.at[rows], done).start()
        both = buffer.at[pl.ds(0, pl.multiple_of(sizes[0] + sizes[1], 8))]
        pltpu.make_async_copy(both, both, done).wait()
        o[...] = jnp.ones_like(o)

    call = pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32),
                          in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM), ANYWHERE],
                          scratch_shapes=[pltpu.VMEM((16, 128), jnp.float32), pltpu.SemaphoreType.DMA])
    assert (smalti.jax.check(call, jnp.array(sizes, jnp.int32), normal(16, 128)) == 1).all()


# Transformations


def softmax_kernel(x, o):
    o[...] = jax.nn.softmax(x[...], axis=-1)


def row_softmax(x):
    rows = pl.BlockSpec((8, x.shape[1]), lambda i: (i, 0))
    return pl.pallas_call(softmax_kernel, grid=(pl.cdiv(x.shape[0], 8),), in_specs=[rows], out_specs=rows, out_shape=x)(x)


def test_forward_derivatives_of_a_kernel():
    x, t = normal(16, 128), normal(16, 128, seed=1)
    square = lambda x: pl.pallas_call(lambda x, o: o.__setitem__(..., x[...] * x[...] * 3), out_shape=x)(x)
    for way in (jax.jvp, jax.jit(jax.jvp, static_argnums=0)):
        close(way(square, (x,), (t,)), (3 * x * x, 6 * x * t))


def test_maps_of_maps():
    x = normal(2, 3, 12, 128)  # rows that blocks of eight do not divide
    close(jax.vmap(jax.vmap(row_softmax))(x), jax.nn.softmax(x))
    close(lax.map(row_softmax, x[0]), jax.nn.softmax(x[0]))
    close(jax.vmap(lambda n, x: lax.cond(n > 0, row_softmax, lambda x: x, x))(jnp.array([0, 1, 1]), x[0]),
          jnp.stack([x[0, 0], *jax.nn.softmax(x[0, 1:])]))


def test_training_steps_in_a_scan():
    """A model with a kernel in it, trained by gradients inside lax.scan, with remat; the same losses as without kernels."""
    @jax.custom_vjp
    def activation(x):
        return pl.pallas_call(lambda x, o: o.__setitem__(..., x[...] * jax.nn.sigmoid(x[...])), out_shape=x)(x)

    def slope(x, gradient):
        def kernel(x, g, o):
            s = jax.nn.sigmoid(x[...])
            o[...] = g[...] * (s + x[...] * s * (1 - s))

        return (pl.pallas_call(kernel, out_shape=x)(x, gradient),)

    activation.defvjp(lambda x: (activation(x), x), slope)
    x, y = normal(64, 128), normal(64, 128, seed=1)

    @functools.partial(jax.jit, static_argnums=0)
    def train(f, weights):
        def loss(weights):
            return jnp.mean((jax.checkpoint(lambda h: f(h @ weights[0]))(x) @ weights[1] - y) ** 2)

        def step(weights, _):
            value, gradient = jax.value_and_grad(loss)(weights)
            return jax.tree.map(lambda w, g: w - .5 * g, weights, gradient), value

        return lax.scan(step, weights, None, length=10)[1]

    weights = [normal(128, 128, seed=2) * .1, normal(128, 128, seed=3) * .1]
    losses = train(activation, weights)
    assert losses[-1] < losses[0]
    close(losses, train(jax.nn.silu, weights), 1e-4)


def copy_of_a_slice(x, rows, columns):
    """The first `rows` × `columns` of an array in HBM, by one copy: beyond the array they are in the padding of its last tiles."""
    def kernel(x, o, done):
        pltpu.async_copy(x.at[pl.ds(0, rows), pl.ds(0, columns)], o, done).wait()

    return pl.pallas_call(kernel, in_specs=[ANYWHERE], out_specs=pl.BlockSpec(memory_space=pltpu.VMEM), scratch_shapes=[pltpu.SemaphoreType.DMA],
                          out_shape=jax.ShapeDtypeStruct((rows, columns), x.dtype))(x)


@pytest.mark.skipif(jax.version.__version_info__ >= (0, 12), reason="JAX 0.12 itself refuses constant slices outside an array")
@pytest.mark.parametrize("target", ["cpu", "interpret"])
@pytest.mark.parametrize("dtype", [jnp.float32, jnp.bfloat16])
def test_copies_of_more_than_the_array(target, dtype):
    x = normal(13, 100).astype(dtype)
    with smalti.jax.using(target=target):
        result = np.asarray(jax.jit(functools.partial(copy_of_a_slice, rows=16, columns=128))(x)).astype(np.float32)
    np.testing.assert_array_equal(result[:13, :100], np.asarray(x).astype(np.float32))
    assert np.isnan(result[13:]).all() and np.isnan(result[:, 100:]).all()


def copies_of_reshaped_rows(x, rows, columns):
    """An array whose rows are reshaped to groups, group by group to VMEM and back, `columns` wide."""
    groups = x.shape[0] // rows

    def kernel(x, seen, back, buffer, done):
        at = lambda ref, i: ref.reshape(groups, rows, x.shape[1]).at[i, :, pl.ds(0, columns)]

        @pl.loop(0, groups)
        def _(i):
            pltpu.async_copy(at(x, i), buffer, done).wait()
            seen[pl.ds(i * rows, rows), :] = buffer[...]
            pltpu.async_copy(buffer, at(back, i), done).wait()

    return pl.pallas_call(kernel, in_specs=[ANYWHERE], out_specs=[pl.BlockSpec(memory_space=pltpu.VMEM), ANYWHERE],
                          scratch_shapes=[pltpu.VMEM((rows, columns), x.dtype), pltpu.SemaphoreType.DMA],
                          out_shape=[jax.ShapeDtypeStruct((x.shape[0], columns), x.dtype), x])(x)


@pytest.mark.skipif(jax.version.__version_info__ >= (0, 12), reason="JAX 0.12 itself refuses constant slices outside an array")
@pytest.mark.parametrize("target", ["cpu", "interpret", "cuda-host"])
@pytest.mark.parametrize("dtype, rows", [(jnp.float32, 8), (jnp.bfloat16, 16), (jnp.int8, 32), (jnp.float8_e4m3fn, 32), (jnp.int4, 64)])
@pytest.mark.parametrize("width, columns", [(200, 256), (255, 256), (64, 128)])
def test_copies_of_more_than_a_reshaped_array(target, dtype, rows, width, columns):
    """The padding of the last tiles belongs to rows that are reshaped to groups of whole tiles, too."""
    x = jnp.round(normal(3 * rows, width) * 2).clip(-7, 7).astype(dtype)
    with smalti.jax.using(target=target):
        seen, back = jax.jit(functools.partial(copies_of_reshaped_rows, rows=rows, columns=columns))(x)
    seen, back, x = (np.asarray(array.astype(jnp.float32)) for array in (seen, back, x))
    np.testing.assert_array_equal(seen[:, :width], x)
    np.testing.assert_array_equal(back, x)
    undefined = seen[:, width:]
    assert np.isnan(undefined).all() if jnp.issubdtype(dtype, jnp.floating) else (undefined == jnp.iinfo(dtype).min).all()


@pytest.mark.skipif(jax.version.__version_info__ >= (0, 12), reason="JAX 0.12 itself refuses constant slices outside an array")
@pytest.mark.parametrize("target", ["cpu", "interpret"])
def test_copies_from_beyond_the_last_tile(target):
    with smalti.jax.using(target=target), pytest.raises(Exception) as caught:
        jax.block_until_ready(jax.jit(functools.partial(copy_of_a_slice, rows=24, columns=128))(normal(13, 100)))
    lines = str(caught.value).splitlines()
    start = lines.index("error[SM4010]: out-of-bounds slice: 24 elements from 0 in dimension 0 of 'input 0' (ANY f32[13,100])")
    assert "test_smalti_jax_copies.py" in lines[start + 1]
    assert [line.strip() for line in lines[start + 2:start + 6]] == [
        "in kernel 'kernel'", "need: 0 ≤ start < 13, start + size ≤ 16, the end of the last tile", "have: start 0, size 24",
        "help: clamp the start, or slice fewer elements"]


def test_what_a_kernel_prints(capfd):
    def kernel(n, x, o):
        @pl.loop(0, n[0])
        def _(i):
            pl.debug_print("step {} of {}", i, n[0])

        o[...] = x[...]

        @pl.when(n[0] > 1)
        def _():
            pl.debug_print("done")

    x = normal(8, 128)
    jax.block_until_ready(jax.jit(pl.pallas_call(kernel, in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM), pl.BlockSpec(memory_space=pltpu.VMEM)],
                                                 out_shape=x))(jnp.array([2], jnp.int32), x))
    assert capfd.readouterr().out.splitlines() == ["step 0 of 2", "step 1 of 2", "done"]


def test_refs_of_a_program():
    """jax.new_ref and pl.core_map: a kernel that updates arrays of the program around it."""
    x = normal(16, 128)
    mesh = pltpu.create_tensorcore_mesh("core", num_cores=1)

    @jax.jit
    def program(x):
        ref = jax.new_ref(x)

        @pl.core_map(mesh)
        def _():
            def body(buffer):
                pltpu.sync_copy(ref, buffer)
                buffer[...] = buffer[...] + 1
                pltpu.sync_copy(buffer, ref)

            pl.run_scoped(body, pltpu.VMEM(x.shape, x.dtype))

        return jax.freeze(ref) * 2

    close(program(x), (x + 1) * 2)
