"""Copies that kernels start long before they wait for them: idle threads execute them meanwhile. Results are those of one
thread, bit by bit."""

import random

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is not installed: no kernels to export")

import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

ANY = pl.BlockSpec(memory_space=pl.ANY)
VMEM = pl.BlockSpec(memory_space=pltpu.VMEM)


def results(package, call, *inputs, seeds=5):
    """Of one thread; those of several must be equal, in several calls of each."""
    exported = jax.export.export(jax.jit(call), platforms=["tpu"])(*inputs)
    module = package.parse(exported.mlir_module())
    [one] = module.compile(target="cpu", threads=1)(*inputs)
    for threads in 2, 4:
        executable = module.compile(target="cpu", threads=threads)
        for _ in range(seeds):
            np.testing.assert_array_equal(executable(*inputs)[0], one)
    return one


@pytest.fixture(scope="module")
def package():
    return pytest.importorskip("smalti", reason="the Python package is not built")


@pytest.mark.parametrize("seed", range(8))
def test_buffers_used_in_turn(package, seed):
    """`ahead` copies of blocks are in flight; each is whole, or in parts with one semaphore, or strided."""
    r = random.Random(seed)
    buffers = r.randint(2, 4)
    ahead, steps, rows = r.randint(1, buffers - 1), r.randint(5, 9), 8 * r.randint(2, 40)
    columns, parts, strided = 128 * r.randint(1, 4), r.choice([1, 2, 4]), r.random() < .5
    x = np.random.default_rng(seed).integers(-8, 8, (steps, rows, 2 * columns if strided else columns)).astype(np.float32)

    def kernel(x_hbm, o_ref, buffer, total, sems):
        def copies(step):
            slot, height = step % buffers, rows // parts
            for part in range(parts):
                at = pl.ds(part * height, height)
                source = x_hbm.at[step, at, pl.ds(columns, columns)] if strided else x_hbm.at[step, at]
                yield pltpu.make_async_copy(source, buffer.at[slot, at], sems.at[slot])

        for step in range(ahead):
            for copy in copies(step):
                copy.start()
        total[...] = jnp.zeros_like(total)

        def body(step, carry):
            @pl.when(step + ahead < steps)
            def _():
                for copy in copies(step + ahead):
                    copy.start()

            for copy in copies(step):
                copy.wait()
            total[...] = total[...] + buffer[step % buffers] * (step + 1).astype(jnp.float32)
            return carry

        jax.lax.fori_loop(0, steps, body, 0)
        o_ref[...] = total[...]

    call = pl.pallas_call(
        kernel, in_specs=[ANY], out_specs=VMEM, out_shape=jax.ShapeDtypeStruct((rows, columns), jnp.float32),
        scratch_shapes=[pltpu.VMEM((buffers, rows, columns), jnp.float32), pltpu.VMEM((rows, columns), jnp.float32),
                        pltpu.SemaphoreType.DMA((buffers,))])
    expected = sum((i + 1) * x[i, :, -columns:] for i in range(steps))
    np.testing.assert_array_equal(results(package, call, x), expected)


def test_a_loop_that_only_waits(package):
    """What its first wait makes valid is the same in each iteration, but is not read before the loop."""
    rows, n = 256, 6
    x = np.random.default_rng(0).integers(-8, 8, (n, rows, 128)).astype(np.float32)

    def kernel(x_hbm, o_ref, buffer, sems):
        for i in range(n):
            pltpu.make_async_copy(x_hbm.at[i], buffer.at[i], sems.at[i]).start()

        def body(i, total):
            pltpu.make_async_copy(x_hbm.at[i], buffer.at[i], sems.at[i]).wait()
            return total + buffer[0] * 2 + buffer[i]

        o_ref[...] = jax.lax.fori_loop(0, n, body, jnp.zeros((rows, 128), jnp.float32))

    call = pl.pallas_call(kernel, in_specs=[ANY], out_specs=VMEM,
                          out_shape=jax.ShapeDtypeStruct((rows, 128), jnp.float32),
                          scratch_shapes=[pltpu.VMEM((n, rows, 128), jnp.float32), pltpu.SemaphoreType.DMA((n,))])
    np.testing.assert_array_equal(results(package, call, x), 2 * n * x[0] + x.sum(0))


@pytest.mark.parametrize("poll", [False, True])
def test_one_semaphore_of_several_copies(package, poll):
    """After the last of the waits all have arrived; reading the semaphore sees them all, too."""
    rows, n = 512, 4
    x = np.random.default_rng(1).integers(-8, 8, (n, rows, 128)).astype(np.float32)

    def kernel(x_hbm, o_ref, buffer, sem):
        copies = [pltpu.make_async_copy(x_hbm.at[i], buffer.at[i], sem) for i in range(n)]
        for copy in copies:
            copy.start()
        if poll:
            o_ref[...] = buffer[0] * (pl.semaphore_read(sem) * 0 + 1).astype(jnp.float32)
        for copy in copies[::-1]:
            copy.wait()
        o_ref[...] = buffer[0] + 2 * buffer[1] + 3 * buffer[2] + 4 * buffer[3]

    call = pl.pallas_call(kernel, in_specs=[ANY], out_specs=VMEM,
                          out_shape=jax.ShapeDtypeStruct((rows, 128), jnp.float32),
                          scratch_shapes=[pltpu.VMEM((n, rows, 128), jnp.float32), pltpu.SemaphoreType.DMA])
    np.testing.assert_array_equal(results(package, call, x), sum((i + 1) * x[i] for i in range(n)))


def test_results_that_are_copied_last(package):
    """Writes come before copies that read them, and a copy that nobody waits for is done when the call ends."""
    rows, n = 256, 5
    x = np.random.default_rng(2).integers(-8, 8, (n * rows, 128)).astype(np.float32)

    def kernel(x_ref, o_hbm, buffer, sems):
        for i in range(n):
            copy = pltpu.make_async_copy(buffer.at[i % 2], o_hbm.at[pl.ds(i * rows, rows)], sems.at[i % 2])
            if i >= 2:
                copy.wait()
            buffer[i % 2] = x_ref[i * rows:(i + 1) * rows] * 2
            copy.start()

    call = pl.pallas_call(kernel, in_specs=[VMEM], out_specs=ANY,
                          out_shape=jax.ShapeDtypeStruct((n * rows, 128), jnp.float32),
                          scratch_shapes=[pltpu.VMEM((2, rows, 128), jnp.float32), pltpu.SemaphoreType.DMA((2,))])
    np.testing.assert_array_equal(results(package, call, x), x * 2)


def test_a_small_copy_follows_one_that_it_reads(package):
    """Copies keep their order where they touch the same memory, also those that are too small to share."""
    rows = 2048
    x = np.random.default_rng(3).integers(-8, 8, (rows, 128)).astype(np.float32)

    def kernel(x_hbm, o_hbm, buffer, sems):
        whole = pltpu.make_async_copy(x_hbm, buffer, sems.at[0])
        end = pltpu.make_async_copy(buffer.at[pl.ds(rows - 8, 8)], o_hbm, sems.at[1])
        whole.start()
        end.start()
        end.wait()
        whole.wait()

    call = pl.pallas_call(kernel, in_specs=[ANY], out_specs=ANY,
                          out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32),
                          scratch_shapes=[pltpu.VMEM((rows, 128), jnp.float32), pltpu.SemaphoreType.DMA((2,))])
    np.testing.assert_array_equal(results(package, call, x), x[-8:])
