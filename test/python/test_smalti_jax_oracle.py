"""Kernels of unmodified programs of JAX run on this engine; JAX itself says what they compute."""

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is not installed")
pytest.importorskip("smalti", reason="the Python package is not built (it needs nanobind and jaxlib)")

import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

import smalti
import smalti.jax
from oracle_kernels import all_kernels

# Long ones are compared by test_against_jax.py.
FAMILIES = ("elementwise", "casts", "shapes", "matmuls", "grids", "unrolled_loops", "random_bits")
KERNELS = {name: case for name, *case in all_kernels() if name.split("/")[0] in FAMILIES}
refused = {}


pytestmark = pytest.mark.usefixtures("smalti_jax_installed")


def close(got, wanted, rtol, atol):
    jax.tree.map(lambda g, w: np.testing.assert_allclose(np.asarray(g, np.float64) if g.dtype != bool else g,
                                                         np.asarray(w, np.float64) if w.dtype != bool else w,
                                                         rtol=rtol, atol=atol), got, wanted)


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_of_every_op_and_dtype_agree_with_interpret_true(name):
    make, arguments, rtol, atol = KERNELS[name]
    wanted = jax.jit(make(True))(*arguments)
    try:
        got = jax.jit(make(False))(*arguments)
    except (smalti.Error, jax.errors.JaxRuntimeError):
        raise
    except Exception as error:
        refused[name] = repr(error)
        pytest.skip(f"JAX {jax.__version__} does not lower it for TPUs: {str(error)[:80]}")
    assert [(g.dtype, g.shape) for g in jax.tree.leaves(got)] == [(w.dtype, w.shape) for w in jax.tree.leaves(wanted)]
    close(got, wanted, rtol, atol)


def test_jax_lowers_nearly_all_of_them():
    """Guards the test above: it could skip everything."""
    assert len(KERNELS) >= 100 and len(refused) <= 15, refused


def normal(*shape, seed=0, dtype=np.float32):
    return jnp.asarray(np.random.default_rng(seed).normal(size=shape), dtype)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", "int32", "int16", "int8", "int4", "uint32", "uint8",
                                   "uint4", "float8_e5m2", "float8_e4m3fn", "float8_e8m0fnu", "bool"])
def test_every_dtype_goes_in_and_comes_out(dtype):
    """Data movement only, of an odd number of elements, between ops of XLA."""
    dtype = jnp.dtype(dtype)

    def copy(x):
        return pl.pallas_call(lambda x, o: o.__setitem__(..., x[...]), out_shape=x)(x)

    x = jnp.asarray(np.arange(-60, 75).reshape(5, 27) % 7 - (0 if "u" in dtype.name else 3), jnp.int8).astype(dtype)
    for got in (copy(x), jax.jit(lambda x: copy(x[::-1])[::-1])(x)):
        assert got.dtype == dtype
        np.testing.assert_array_equal(np.asarray(got, np.float32), np.asarray(x, np.float32))


def test_scalar_prefetch_chooses_blocks():
    def kernel(order, x, o):
        o[...] = x[...] + order[pl.program_id(0)].astype(jnp.float32)

    x, order = normal(32, 128), jnp.array([2, 0, 3, 1], jnp.int32)
    spec = pltpu.PrefetchScalarGridSpec(num_scalar_prefetch=1, grid=(4,),
                                        in_specs=[pl.BlockSpec((8, 128), lambda i, order: (order[i], 0))],
                                        out_specs=pl.BlockSpec((8, 128), lambda i, order: (i, 0)))
    got = jax.jit(pl.pallas_call(kernel, grid_spec=spec, out_shape=x))(order, x)
    np.testing.assert_array_equal(got, x.reshape(4, 8, 128)[order].reshape(32, 128) + np.repeat(order, 8)[:, None])


def test_a_grid_may_depend_on_values():
    def kernel(x, o):
        o[...] = x[...] + 1

    @jax.jit
    def rows(n, x):
        block = pl.BlockSpec((8, 128), lambda i: (i, 0))
        return pl.pallas_call(kernel, grid=(n,), in_specs=[block], out_specs=block, out_shape=x,
                              input_output_aliases={0: 0})(x)

    x = normal(32, 128)
    for n in range(5):
        np.testing.assert_array_equal(rows(n, x), np.concatenate([x[:8 * n] + 1, x[8 * n:]]))


def test_pl_kernel():
    mesh = pltpu.create_tensorcore_mesh("core", num_cores=1)
    x = normal(8, 128)

    @pl.kernel(out_type=x, mesh=mesh)
    def double(x_ref, o_ref):
        def body(x_vmem, o_vmem):
            pltpu.sync_copy(x_ref, x_vmem)
            o_vmem[...] = x_vmem[...] * 2
            pltpu.sync_copy(o_vmem, o_ref)

        pl.run_scoped(body, pltpu.VMEM((8, 128), jnp.float32), pltpu.VMEM((8, 128), jnp.float32))

    np.testing.assert_array_equal(double(x), x * 2)
