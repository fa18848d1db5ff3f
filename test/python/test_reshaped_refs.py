"""Refs that are seen as 32-bit words and reshaped to rows of 128 lanes, as paged caches with heads of 256 are: strided accesses are native."""

import subprocess

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is not installed: no kernels to export")

import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
from smalti import parse

TARGETS = ["interpret", "cpu", "cuda-host:sm_90a", "cuda-host:sm_80"]


def words(x):
    """(n, heads, parts, lanes) as i32 (n, heads, lanes)."""
    return np.ascontiguousarray(np.moveaxis(x, 2, 3)).view(np.int32)[..., 0] if x.dtype.itemsize < 4 else x[:, :, 0]


def exported(function, *arguments):
    return jax.export.export(jax.jit(function), platforms=["tpu"])(*arguments).mlir_module()


def result(function, *arguments, target):
    return np.asarray(parse(exported(function, *arguments)).compile(target=target, threads=1)(*arguments)[0])


def rows_of(ref, lanes):
    """The words of a ref as rows of 128."""
    seen = ref.bitcast(jnp.int32)
    return seen.reshape(int(np.prod(seen.shape[:-1])), lanes).reshape(-1, 128)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("shape, dtype", [((64, 5, 2, 256), "bfloat16"), ((16, 3, 2, 512), "bfloat16"), ((16, 5, 4, 256), "int8"), ((8, 2, 4, 384), "uint8"),
                                          ((16, 1, 2, 256), "bfloat16"), ((16, 3, 2, 128), "bfloat16")])
def test_every_head_of_folded_rows(target, shape, dtype):
    n, heads, _, lanes = shape
    folds = lanes // 128

    def kernel(first_ref, x_hbm, o_ref, buffer, semaphore):
        copy = pltpu.make_async_copy(x_hbm, buffer, semaphore)
        copy.start()
        copy.wait()
        rows = rows_of(buffer, lanes)
        for head in range(heads):  # one by a number that is known, one by one of the call
            start = head * folds if head else first_ref[0] * folds
            parts = [rows[pl.ds(start + part, n, heads * folds), :] for part in range(folds)]
            o_ref[head] = jnp.concatenate(parts, axis=1)

    x = np.random.default_rng(0).integers(0, 256, (*shape[:-1], lanes * jnp.dtype(dtype).itemsize), np.uint8).view(jnp.dtype(dtype))
    call = pl.pallas_call(kernel, in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM), pl.BlockSpec(memory_space=pl.ANY)],
                          out_shape=jax.ShapeDtypeStruct((heads, n, lanes), jnp.int32),
                          scratch_shapes=[pltpu.VMEM(shape, dtype), pltpu.SemaphoreType.DMA])
    first = np.array([heads - 1], np.int32)
    seen = result(call, first, x, target=target)
    expected = np.moveaxis(words(x), 1, 0).copy()
    expected[0] = expected[heads - 1]
    np.testing.assert_array_equal(seen, expected)


@pytest.mark.parametrize("target", TARGETS)
def test_stores_to_folded_rows(target):
    """A store of every second row leaves the others, and one of a single row, anywhere."""
    def kernel(x_ref, o_ref, buffer):
        buffer[...] = jnp.zeros_like(buffer)
        rows = rows_of(buffer, 256)
        rows[pl.ds(1, 8, 2), :] = x_ref[...].astype(jnp.int32)
        rows[pl.ds(6, 1), :] = x_ref[0:1, :].astype(jnp.int32) + 7
        o_ref[...] = buffer[...]

    x = np.random.default_rng(0).integers(-(1 << 30), 1 << 30, (8, 128)).astype(np.int32)
    call = pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((8, 1, 2, 256), jnp.bfloat16), scratch_shapes=[pltpu.VMEM((8, 1, 2, 256), jnp.bfloat16)])
    seen = result(call, x, target=target)
    expected = np.zeros((8, 2, 128), np.int32)
    expected[:, 1] = x
    expected[3, 0] = x[0] + 7
    np.testing.assert_array_equal(words(seen)[:, 0], expected.reshape(8, 256))


def test_neighbouring_folded_rows_run_on_the_machine(smalti, tmp_path):
    def kernel(x_ref, o_ref):
        o_ref[...] = rows_of(x_ref, 256)[pl.ds(1, 8), :]

    x = np.random.default_rng(0).integers(0, 256, (8, 1, 2, 512), np.uint8).view(jnp.bfloat16)
    call = pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((8, 128), jnp.int32))
    np.testing.assert_array_equal(result(call, x, target="cpu"), words(x).reshape(-1, 128)[1:9])
    (tmp_path / "kernel.mlir").write_text(exported(call, x))
    done = subprocess.run([smalti, "show", tmp_path / "kernel.mlir", "--target", "cpu", "--stage", "plan"], capture_output=True, text=True)
    assert "no native code, it runs on the machine: an access to neighbouring rows of a ref that a reshape has cut" in done.stdout
