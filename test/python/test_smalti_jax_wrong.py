"""What cannot be: arrays that no kernel takes, functions that raise while JAX traces them, processes that were forked."""

import inspect
import os
import subprocess
import sys

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is not installed")
pytest.importorskip("smalti", reason="the Python package is not built (it needs nanobind and jaxlib)")

import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

import smalti.jax

X = np.arange(16 * 128, dtype=np.float32).reshape(16, 128)


pytestmark = pytest.mark.usefixtures("smalti_jax_installed")


def copy(x, index_map=lambda i: (i, 0), output_map=lambda i: (i, 0)):
    def copies(x_ref, o_ref):
        o_ref[...] = x_ref[...]

    return pl.pallas_call(copies, grid=(2,), in_specs=[pl.BlockSpec((8, 128), index_map)],
                          out_specs=pl.BlockSpec((8, 128), output_map), out_shape=x)(x)


def fine():
    np.testing.assert_array_equal(copy(X), X)


@pytest.mark.parametrize("dtype", ["complex64", "float8_e4m3fnuz"])
def test_arrays_that_no_kernel_takes(dtype):
    for way in (copy, jax.jit(copy)):
        with pytest.raises(TypeError) as caught:
            way(jnp.ones((16, 128), dtype))
        assert str(caught.value) == (
            f"input 0 of the kernel 'copies' is {dtype}[16,128]: kernels have no arrays of {dtype}; they take bool, int8, int16, "
            "int32, int64, uint8, uint16, uint32, uint64, float16, float32, float64, int2, int4, uint2, uint4, bfloat16, "
            "float8_e5m2, float8_e4m3fn, float8_e4m3b11fnuz, float8_e8m0fnu, float4_e2m1fn")
    fine()


def test_an_exception_inside_an_index_map_is_the_users():
    def index_map(i):
        raise LookupError("of the user's own")

    for way in (copy, jax.jit(copy, static_argnums=1)):
        with pytest.raises(LookupError, match="of the user's own"):
            way(X, index_map)
    fine()


def test_an_index_map_that_leaves_the_array():
    """Of an output, where a TPU overwrites other memory."""
    with pytest.raises(jax.errors.JaxRuntimeError) as caught:
        jax.block_until_ready(copy(X, output_map=lambda i: (i + 5, 0)))
    lines = str(caught.value).splitlines()
    start = lines.index("error[SM4111]: the index map of output 0 gives a block outside the array")
    assert "test_smalti_jax_wrong.py" in lines[start + 1]
    assert lines[start + 5].strip() == "have: block index (5, 0), elements [40:48, 0:128]"
    fine()


@pytest.mark.parametrize("options, expected", [({}, None), ({"target": "interpret"}, None), ({"check": True}, "SM4111")])
def test_an_input_whose_index_map_leaves_the_array_is_undefined(options, expected):
    with smalti.jax.using(**options):
        if expected:
            with pytest.raises(jax.errors.JaxRuntimeError, match=expected):
                jax.block_until_ready(copy(X, lambda i: (i + 1, 0)))
            return
        with pytest.warns(RuntimeWarning, match="SM4111") as caught:
            y = jax.block_until_ready(copy(X, lambda i: (i + 1, 0)))
    np.testing.assert_array_equal(y[:8], X[8:])
    assert np.isnan(y[8:]).all()
    lines = str(caught[0].message).splitlines()
    assert lines[0] == "warning[SM4111]: the index map of input 0 gives a block outside the array"
    assert "test_smalti_jax_wrong.py" in lines[1]
    assert lines[5].strip() == "have: block index (2, 0), elements [16:24, 0:128]"
    fine()


@pytest.mark.parametrize("target", ["cpu", "interpret"])
def test_an_error_names_the_read_outside_that_causes_it(target):
    def kernel(sizes, x, o, semaphore):
        size = sizes[3]
        copy = pltpu.make_async_copy(x.at[pl.ds(0, size)], o.at[pl.ds(0, size)], semaphore)
        copy.start()
        copy.wait()

    x = jnp.ones((8, 8, 128))
    with smalti.jax.using(target=target), pytest.raises(jax.errors.JaxRuntimeError) as caught:
        jax.block_until_ready(pl.pallas_call(
            kernel, in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM), pl.BlockSpec(memory_space=pltpu.HBM)],
            out_shape=x, scratch_shapes=[pltpu.SemaphoreType.DMA])(jnp.arange(3), x))
    text = str(caught.value)
    slice_, read = text.index("error[SM4010]: out-of-bounds slice"), text.index("error[SM4010]: out-of-bounds read of 'input 0'")
    assert slice_ < read
    fine()


def test_an_output_without_an_index_map_has_no_line_of_jax():
    def kernel(x, o, numbers):
        o[...] = x[...]
        numbers[0] = 1

    call = pl.pallas_call(
        kernel, out_shape=[X, jax.ShapeDtypeStruct((4,), jnp.int32)],
        grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=0, grid=(1,), in_specs=[pl.BlockSpec(memory_space=pltpu.VMEM)],
            out_specs=[pl.BlockSpec(memory_space=pltpu.VMEM), pl.BlockSpec(memory_space=pltpu.SMEM)]))
    with pytest.raises(smalti.CheckError) as caught:
        smalti.jax.check(call, X)
    assert "output 1 depends on uninitialised memory" in str(caught.value)
    assert "jax/_src" not in str(caught.value)
    fine()


def test_the_index_map_of_an_installed_package_has_its_line(tmp_path, monkeypatch):
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "kernels_of_a_package.py").write_text("def far(i):\n    return i + 5, 0\n")
    monkeypatch.syspath_prepend(folder)
    from kernels_of_a_package import far
    with pytest.warns(RuntimeWarning, match="SM4111") as caught:
        jax.block_until_ready(copy(X, far))
    assert f"--> {folder / 'kernels_of_a_package.py'}:2:" in str(caught[0].message)
    fine()


def more_rows_than_there_are(x):
    rows = pl.BlockSpec((8, 128), lambda i: (i, 0))
    kernel = lambda x, o: o.__setitem__(..., x[...])
    return pl.pallas_call(kernel, grid=(3,), in_specs=[rows], out_specs=rows, name="rows",
                          out_shape=jax.ShapeDtypeStruct((24, 128), jnp.float32))(x)


FIRST_LINE = inspect.getsourcelines(more_rows_than_there_are)[1]


def test_an_index_map_without_ops_has_the_line_of_its_block_spec():
    """Nothing in the map `i -> (i, 0)` has a place."""
    for target in ("cpu", "interpret"):
        with smalti.jax.using(target=target), pytest.warns(RuntimeWarning, match="SM4111") as caught:
            jax.block_until_ready(jax.jit(more_rows_than_there_are)(jnp.ones((8, 128))))
        lines = [text.strip() for text in str(caught[0].message).splitlines()]
        start = lines.index("warning[SM4111]: the index map of input 0 gives a block outside the array")
        assert lines[start + 1].startswith(f"--> {__file__}:{FIRST_LINE + 1}:")
        assert lines[start + 2:start + 6] == [
            "in kernel 'rows'", "in grid step (1)", "need: at least one element of every block inside f32[8,128]",
            "have: block index (1, 0), elements [8:16, 0:128]"]
        assert lines[start + 6] == ("help: harmless if nothing uses the block, which is undefined; otherwise clamp the block index "
                                    "in the index map, or make the grid smaller")
    fine()


def test_an_exported_index_map_without_ops_has_the_line_of_its_call(bin_dir, tmp_path):
    exported = jax.export.export(jax.jit(more_rows_than_there_are), platforms=["tpu"])(jnp.ones((8, 128)))
    (tmp_path / "rows.mlir").write_text(exported.mlir_module())
    done = subprocess.run([bin_dir / "smalti", "check", tmp_path / "rows.mlir", "--in", "f32[8,128]"], capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    start = lines.index("finding[SM4111]: the index map of input 0 gives a block outside the array")
    assert lines[start + 1].startswith(f"  --> {__file__}:{FIRST_LINE + 3}:")


def test_kernels_of_sparse_cores_are_refused_by_name():
    plsc = pytest.importorskip("jax.experimental.pallas.tpu_sc")

    def scatters(x_ref, o_ref):
        pass

    shape = {("out_shape" if "out_shape" in inspect.signature(pl.kernel).parameters else "out_type"): X}
    with smalti.jax.using(chip="v7x"), pytest.raises(NotImplementedError) as caught:
        mesh = plsc.VectorSubcoreMesh(core_axis_name="c", subcore_axis_name="s", num_cores=1)  # asks for the chip
        pl.kernel(scatters, mesh=mesh, **shape)(X)
    assert str(caught.value) == ("the kernel 'scatters' is made for SparseCores: only TensorCores are here; give it a mesh of "
                                 "TensorCores, or run it on a TPU that has SparseCores")
    fine()


class ParametersForGpus:
    """As Mosaic GPU's, whose modules need packages that are not installed here."""

    __module__ = "jax._src.pallas.mosaic_gpu.core"


def test_kernels_of_gpus_are_refused_by_name():
    with pytest.raises(NotImplementedError) as caught:
        smalti.jax._refusals.other_units("k", {"compiler_params": ParametersForGpus()})
    assert str(caught.value) == ("the kernel 'k' is made for GPUs: only kernels for TPUs run here; describe it with what "
                                 "jax.experimental.pallas.tpu has, or call it outside of smalti.jax.using()")
    triton = pytest.importorskip("jax.experimental.pallas.triton")
    for way in (lambda f: f, jax.jit):
        with pytest.raises(NotImplementedError, match="^the kernel '<lambda>' is made for GPUs"):
            way(lambda x: pl.pallas_call(lambda x, o: None, out_shape=x, compiler_params=triton.CompilerParams())(x))(X)
    fine()


def test_keys_that_a_kernel_stores():
    def keeps(key_ref, o_ref):
        o_ref[...] = key_ref[...]

    key = jax.random.key(0)
    with pytest.raises(TypeError) as caught:
        pl.pallas_call(keeps, out_shape=jax.ShapeDtypeStruct((), key.dtype))(key)
    assert str(caught.value) == ("the kernel 'keeps' stores random keys, which JAX's lowering for TPUs does not do: let it store "
                                 "their words, jax.random.key_data(key)")
    fine()


def test_an_exception_inside_a_kernel_is_the_users():
    with pytest.raises(ZeroDivisionError):
        pl.pallas_call(lambda x, o: 1 / 0, out_shape=X)(X)
    fine()


FORK = """
import os, warnings
warnings.simplefilter("ignore")
import numpy as np, jax
from jax.experimental import pallas as pl
import smalti.jax
x = np.ones((8, 128), np.float32)
def call():
    smalti.jax.install()
    return np.asarray(pl.pallas_call(lambda x, o: o.__setitem__(..., x[...] * 2), out_shape=x)(x)).sum()
BEFORE
child = os.fork()
if child == 0:
    try:
        print(call(), flush=True)
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", flush=True)
    os._exit(0)
os.waitpid(child, 0)
"""


@pytest.mark.parametrize("before, said", [
    ("pass", "2048.0\n"),
    ("smalti.jax.install()", "2048.0\n"),
    ("call()", "RuntimeError: JAX hangs in this process, which was forked when a backend of JAX ran already: let multiprocessing "
               "start processes with 'spawn', or fork before JAX computes anything\n"),
])
def test_a_forked_process(before, said):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "JAX_PLATFORMS": "cpu"}
    done = subprocess.run([sys.executable, "-c", FORK.replace("BEFORE", before)], env=environment, capture_output=True, text=True,
                          timeout=120)
    assert done.stdout == said, done.stderr
