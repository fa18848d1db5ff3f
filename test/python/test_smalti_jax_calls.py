"""Where programs of JAX call kernels: transformations, control flow, aliases, ahead of time, several devices, errors."""

import functools
import os
import subprocess
import sys
import warnings

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is not installed")
pytest.importorskip("smalti", reason="the Python package is not built (it needs nanobind and jaxlib)")

import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

import smalti
import smalti.jax
from smalti import _smalti

X = np.arange(16 * 128, dtype=np.float32).reshape(16, 128) / 100


pytestmark = pytest.mark.usefixtures("smalti_jax_installed")


def square(x, **options):
    """x² by a kernel with a grid."""

    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...] * x_ref[...]

    block = pl.BlockSpec((8, 128), lambda i: (i, 0))
    return pl.pallas_call(kernel, grid=(x.shape[0] // 8,), in_specs=[block], out_specs=block, out_shape=x, **options)(x)


@jax.custom_vjp
def square_with_rule(x):
    return square(x)


square_with_rule.defvjp(lambda x: (square(x), x), lambda x, g: (2 * square(x) / x * g,))

PROGRAMS = {
    "eager": lambda f, x: f(x),
    "jit": lambda f, x: jax.jit(f)(x),
    "nested jit": lambda f, x: jax.jit(lambda x: jax.jit(f)(jax.jit(f)(x) / 100))(x),
    "vmap": lambda f, x: jax.vmap(f)(jnp.stack([x, x + 1, x + 2])),
    "vmap of vmap": lambda f, x: jax.vmap(jax.vmap(f))(jnp.stack([x, x + 1])[None]),
    "scan": lambda f, x: jax.lax.scan(lambda c, i: (f(c) / 50 + i, c.sum()), x, jnp.arange(4.)),
    "fori_loop": lambda f, x: jax.lax.fori_loop(0, 3, lambda i, c: f(c) / 100 + i, x),
    "while_loop": lambda f, x: jax.lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, f(c[1]) / 100), (0, x)),
    "cond": lambda f, x: [jax.jit(lambda p: jax.lax.cond(p, f, lambda x: -f(x), x))(p) for p in (True, False)],
    "switch": lambda f, x: jax.lax.switch(1, [f, lambda x: f(x) + 1, f], x),
    "remat": lambda f, x: jax.jit(jax.checkpoint(lambda x: f(f(x) / 100)))(x),
    "linear ops around": lambda f, x: jax.jit(lambda x: (f(x.T.reshape(16, 128)) @ x.T).sum(0))(x),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_kernels_run_in_every_kind_of_program(name):
    program = PROGRAMS[name]
    got, wanted = program(square, jnp.asarray(X)), program(lambda x: x * x, jnp.asarray(X))
    jax.tree.map(lambda g, w: np.testing.assert_allclose(g, w, rtol=1e-6, atol=1e-6), got, wanted)


@pytest.mark.parametrize("transform", [lambda f: f, jax.checkpoint, jax.jit])
def test_gradients_follow_custom_rules(transform):
    got = jax.grad(lambda x: transform(square_with_rule)(x).sum())(X + 1)
    np.testing.assert_allclose(got, 2 * (X + 1), rtol=1e-6)


def test_ahead_of_time_compilation():
    compiled = jax.jit(square).lower(jax.ShapeDtypeStruct(X.shape, X.dtype)).compile()
    np.testing.assert_array_equal(compiled(X), X * X)
    np.testing.assert_array_equal(jax.jit(square).trace(X).lower().compile()(X), X * X)


def test_a_kernel_compiles_once_in_a_process():
    jax.jit(square)(X)
    before = _smalti.num_compiled_calls()
    jax.jit(lambda x: square(square(x)))(X)
    jax.jit(square).lower(X).compile()(X)
    jax.clear_caches()
    jax.jit(square)(X)
    assert _smalti.num_compiled_calls() == before


def test_export_for_cpus():
    from jax import export

    with pytest.raises(ValueError, match="smalti"):
        export.export(jax.jit(square))(X)
    exported = export.export(jax.jit(square), disabled_checks=[export.DisabledSafetyCheck.custom_call("smalti")])(X)
    np.testing.assert_array_equal(exported.call(X), X * X)


def update(x, i, **options):
    """Row block i of x becomes 7, in place."""

    def kernel(i_ref, x_ref, o_ref):
        o_ref[...] = jnp.full_like(o_ref, 7)

    spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1, grid=(1,), in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
        out_specs=pl.BlockSpec((8, 128), lambda _, i: (i[0], 0)))
    return pl.pallas_call(kernel, grid_spec=spec, out_shape=x, input_output_aliases={1: 0}, **options)(i, x)


@pytest.mark.parametrize("target", ["cpu", "interpret"])
def test_aliases_keep_what_is_not_written(target):
    with smalti.jax.using(target=target):
        x = jnp.asarray(X)
        got = jax.jit(update)(x, jnp.array([1], jnp.int32))
    np.testing.assert_array_equal(got, np.concatenate([X[:8], np.full((8, 128), 7)]))
    np.testing.assert_array_equal(x, X)  # nobody gave it away


def test_a_donated_array_is_updated_where_it_is():
    x = jnp.asarray(np.concatenate([X] * 64))
    jax.block_until_ready(x)
    place = x.unsafe_buffer_pointer()
    got = jax.jit(update, donate_argnums=0)(x, jnp.array([1], jnp.int32))
    assert got.unsafe_buffer_pointer() == place
    np.testing.assert_array_equal(got[8:16], np.full((8, 128), 7))
    np.testing.assert_array_equal(got[16:24], X[:8])


def test_zero_sized_arrays():
    empty = jnp.zeros((0, 128))
    assert square(empty).shape == (0, 128)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("reduce", [jnp.min, jnp.max])
def test_extremes_of_a_dtype_without_infinities(reduce, axis):
    x = jnp.asarray(np.sin(X), jnp.float8_e4m3fn)

    def kernel(x_ref, o_ref):
        o_ref[...] = reduce(x_ref[...], axis, keepdims=True)

    expected = reduce(x, axis, keepdims=True)
    got = pl.pallas_call(kernel, out_shape=expected)(x)
    np.testing.assert_array_equal(np.asarray(got, np.float32), np.asarray(expected, np.float32))


@pytest.mark.parametrize("target", ["cpu", "interpret"])
def test_padding_is_nan_or_zero(target):
    """A product of padding that only one operand masks, as in grouped products of libraries."""
    def kernel(x_ref, y_ref, o_ref):
        y = jnp.where(jax.lax.broadcasted_iota(jnp.int32, (256, 128), 0) < 200, y_ref[...], 0)
        o_ref[...] = jnp.dot(x_ref[...], y, preferred_element_type=jnp.float32)

    x, y = jnp.ones((8, 200)), jnp.ones((200, 128))
    product = jax.jit(lambda x, y: pl.pallas_call(
        kernel, grid=(1,), in_specs=[pl.BlockSpec((8, 256), lambda i: (0, 0)), pl.BlockSpec((256, 128), lambda i: (0, 0))],
        out_specs=pl.BlockSpec((8, 128), lambda i: (0, 0)), out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32))(x, y))
    with smalti.jax.using(target=target):
        assert np.isnan(product(x, y)).all()
    with smalti.jax.using(target=target, poison="zero"):
        assert (product(x, y) == 200).all()


def test_debug_print_prints_in_order(capfd):
    def kernel(x_ref, o_ref):
        pl.debug_print("step {}", pl.program_id(0))
        o_ref[...] = x_ref[...]

    block = pl.BlockSpec((8, 128), lambda i: (i, 0))
    jax.block_until_ready(pl.pallas_call(kernel, grid=(2,), in_specs=[block], out_specs=block, out_shape=X)(X))
    sys.stdout.flush()
    assert capfd.readouterr().out.split("\n")[:2] == ["step 0", "step 1"]


def fails_after_writing(i, x, copies=False):
    """Reads, or copies, from row i[0] on, out of bounds, when i[0] is already 0: who ran it again would see nothing wrong."""

    def kernel(_, x_ref, i_ref, y_ref, scratch):
        pltpu.sync_copy(i_ref, scratch)
        start = scratch[0]
        scratch[0] = 0
        pltpu.sync_copy(scratch, i_ref)
        if copies:
            pltpu.sync_copy(x_ref.at[pl.ds(start, 8)], y_ref)
        else:
            y_ref[...] = x_ref[pl.ds(start, 8), :]

    anywhere, vmem = pl.BlockSpec(memory_space=pl.ANY), pl.BlockSpec(memory_space=pltpu.VMEM)
    return pl.pallas_call(kernel, in_specs=[anywhere, vmem], out_specs=[anywhere, vmem], input_output_aliases={0: 0},
                          out_shape=[i, jax.ShapeDtypeStruct((8, 128), x.dtype)],
                          scratch_shapes=[pltpu.SMEM(i.shape, i.dtype)])(i, x)


def uninitialised(x):
    def kernel(x_ref, o_ref):
        o_ref[...] += x_ref[...]  # the first step reads what nobody wrote

    return pl.pallas_call(kernel, grid=(2,), in_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0))],
                          out_specs=pl.BlockSpec((8, 128), lambda i: (0, 0)),
                          out_shape=jax.ShapeDtypeStruct((8, 128), x.dtype))(x)


@pytest.mark.parametrize("target", ["cpu", "interpret"])
def test_a_read_outside_after_a_write_in_place_goes_on(target):
    with smalti.jax.using(target=target):
        call = jax.jit(fails_after_writing)
        i, y = call(jnp.full((128,), 8, jnp.int32), X)
        np.testing.assert_array_equal(y, X[8:])
        assert i[0] == 0
        with pytest.warns(RuntimeWarning, match=r"SM4010") as caught:
            i, y = jax.block_until_ready(call(jnp.full((128,), 9, jnp.int32), X))
        line = fails_after_writing.__code__.co_firstlineno + 11
        assert f"test_smalti_jax_calls.py:{line}" in str(caught[0].message)
        np.testing.assert_array_equal(y[:7], X[9:])
        assert np.isnan(y[7]).all() and i[0] == 0


def test_native_code_that_wrote_in_place_is_not_run_again():
    call = jax.jit(functools.partial(fails_after_writing, copies=True))
    i, y = call(jnp.full((128,), 8, jnp.int32), X)
    np.testing.assert_array_equal(y, X[8:])
    with pytest.raises(Exception) as caught:
        jax.block_until_ready(call(jnp.full((128,), 9, jnp.int32), X))
    assert str(caught.value).startswith("""INTERNAL: 
error[SM9016]: native code stopped with a fault after it had overwritten an input in place
""")


@pytest.mark.parametrize("target", ["cpu", "interpret"])
def test_a_finding_is_an_exception_with_the_users_line(target):
    with smalti.jax.using(target=target, check=True), pytest.raises(Exception) as caught:
        jax.block_until_ready(jax.jit(uninitialised)(X))
    line = uninitialised.__code__.co_firstlineno + 2
    message = str(caught.value)
    assert "[SM4102]" in message and f"test_smalti_jax_calls.py:{line}" in message, message


def test_a_kernel_that_fails_is_an_exception():
    def kernel(i_ref, x_ref, o_ref):
        o_ref[...] = x_ref[pl.ds(i_ref[0], 8), :]

    call = pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((8, 128), X.dtype),
                          in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM), pl.BlockSpec(memory_space=pltpu.VMEM)])
    np.testing.assert_array_equal(call(np.array([8], np.int32), X), X[8:])
    with smalti.jax.using(check=True), pytest.raises(Exception, match=r"SM4010") as caught:
        jax.block_until_ready(jax.jit(call)(np.array([9], np.int32), X))
    assert "test_smalti_jax_calls.py" in str(caught.value)
    np.testing.assert_array_equal(call(np.array([0], np.int32), X), X[:8])  # and goes on


@pytest.mark.parametrize("options, steps, warns", [({"cores": 2}, 300, True), ({"cores": 2}, 3, False), ({}, 300, False),
                                                   ({"target": "interpret"}, 300, False)])
def test_a_long_kernel_without_native_code_is_named(options, steps, warns):
    def slow(x_ref, o_ref):
        o_ref[...] = x_ref[...] + x_ref[...] * 2

    x = jnp.ones((8 * steps, 128))
    rows = pl.BlockSpec((8, 128), lambda i: (i, 0))
    with smalti.jax.using(**options), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call = jax.jit(pl.pallas_call(slow, grid=(steps,), in_specs=[rows], out_specs=rows, out_shape=x))
        for _ in range(2):
            assert (call(x) == 3).all()
    texts = [str(w.message) for w in caught if w.category is RuntimeWarning]
    assert texts == ["kernel 'slow' has no native code with these options and runs on the abstract machine, which is slower "
                     "by an order of magnitude: `smalti show FOLDER --target cpu` says why, with a folder of smalti.jax.export"
                     ] * warns


def test_a_read_outside_of_a_ref_goes_on_with_a_warning():
    def kernel(i_ref, x_ref, o_ref):
        o_ref[...] = x_ref[pl.ds(i_ref[0], 8), :]

    call = pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((8, 128), X.dtype),
                          in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM), pl.BlockSpec(memory_space=pltpu.VMEM)])
    with pytest.warns(RuntimeWarning, match=r"SM4010"):
        y = jax.block_until_ready(jax.jit(call)(np.array([9], np.int32), X))
    np.testing.assert_array_equal(y[:7], X[9:])


def test_a_read_outside_is_not_taken_for_missing_native_code():
    steps = 400

    def kernel(s_ref, x_ref, o_ref):
        i = pl.program_id(0)
        is_zero = s_ref[i + 1] == 0  # outside in the last step, which does not use it
        o_ref[...] = x_ref[...] * jnp.where(is_zero & (i + 1 < steps), 2., 1.)

    rows = pl.BlockSpec((8, 128), lambda i, s: (i, 0))
    x = jnp.ones((8 * steps, 128))
    grid = pltpu.PrefetchScalarGridSpec(num_scalar_prefetch=1, grid=(steps,), in_specs=[rows], out_specs=rows)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        y = jax.block_until_ready(jax.jit(pl.pallas_call(kernel, grid_spec=grid, out_shape=x))(np.zeros(steps, np.int32), x))
    assert (y[:-8] == 2).all() and (y[-8:] == 1).all()
    texts = [str(w.message) for w in caught if w.category is RuntimeWarning]
    assert len(texts) == 1 and "SM4010" in texts[0]


def test_what_jax_refuses_stays_jaxs_message():
    with pytest.raises(Exception, match="(?i)block shape|rank|tiling|divisible"):
        pl.pallas_call(lambda x, o: None, grid=(2,), in_specs=[pl.BlockSpec((3, 100), lambda i: (i, 0))],
                       out_specs=pl.BlockSpec((3, 100), lambda i: (i, 0)), out_shape=X)(X)


def run(program, *, env=None):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "JAX_PLATFORMS": "cpu"} | (env or {})
    return subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=300)


DEVICES = """
import jax, numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
from jax.sharding import Mesh, PartitionSpec as P
import smalti.jax
smalti.jax.install()
def call(x):
    i = jax.lax.axis_index("d").astype(np.float32).reshape(1)
    specs = [pl.BlockSpec(memory_space=pltpu.SMEM), pl.BlockSpec(memory_space=pltpu.VMEM)]
    return pl.pallas_call(lambda i, x, o: o.__setitem__(..., x[...] * 2 + i[0]), in_specs=specs, out_shape=x)(i, x)
x = np.arange(32 * 128, dtype=np.float32).reshape(32, 128)
for order in ([0, 1, 2, 3], [2, 0, 3, 1]):
    mesh = Mesh(np.array(jax.devices())[order], "d")
    f = jax.jit(jax.shard_map(call, mesh=mesh, in_specs=P("d"), out_specs=P("d"), check_vma=False))
    for _ in range(5):
        np.testing.assert_array_equal(f(x), x * 2 + np.repeat(np.arange(4), 8)[:, None])
print("fine")
"""


def test_shard_map_over_several_devices():
    done = run(DEVICES, env={"XLA_FLAGS": "--xla_force_host_platform_device_count=4"})
    assert done.stdout == "fine\n", done.stderr


IMPORTS = """
import numpy as np
{imports}
jax.devices()
smalti.jax.install()
from jax.experimental import pallas as pl
x = np.ones((8, 128), np.float32)
call = pl.pallas_call(lambda x, o: o.__setitem__(..., x[...] + 1), out_shape=x)
assert (jax.jit(call)(x) == 2).all() and (jax.jit(lambda x: x @ x.T)(x) == 128).all()
print("fine")
"""


@pytest.mark.parametrize("imports", ["import smalti; import jax; import smalti.jax", "import jax; jax.devices(); import smalti.jax",
                                     "import smalti, jax, libtpu, ctypes; ctypes.CDLL(libtpu.get_library_path()); import smalti.jax",
                                     "import jax, libtpu, ctypes; ctypes.CDLL(libtpu.get_library_path()); import smalti.jax"])
def test_libraries_with_an_llvm_of_their_own_may_come_first_or_last(imports):
    if "libtpu" in imports:
        pytest.importorskip("libtpu", reason="libtpu is not installed")
    done = run(IMPORTS.format(imports=imports))
    assert done.stdout == "fine\n", done.stderr


def test_the_persistent_compilation_cache_serves_the_next_process(tmp_path):
    program = DEVICES.split("from jax.sharding")[0] + f"""
import smalti.jax
smalti.jax.install()
jax.config.update("jax_compilation_cache_dir", {str(tmp_path)!r})
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
x = np.ones((8, 128), np.float32)
print(jax.jit(lambda x: pl.pallas_call(lambda x, o: o.__setitem__(..., x[...] + 1), out_shape=x)(x))(x)[0, 0])
"""
    for _ in range(2):
        done = run(program)
        assert done.stdout == "2.0\n", done.stderr
    assert any(tmp_path.iterdir())


LOWERED = """
import os, sys, warnings
warnings.simplefilter("ignore")
import jax, numpy as np
from jax.experimental import pallas as pl
import smalti.jax
smalti.jax.install(cache="off")
x = np.ones((8, 128), np.float32)
def times(factor):
    return jax.jit(lambda x: pl.pallas_call(lambda x, o: o.__setitem__(..., jax.numpy.tanh(x[...]) * factor), out_shape=x)(x))
lowered = [times(i + 1.5).lower(x) for i in range(12)]
"""


@pytest.mark.parametrize("ending, said", [
    ("", ""),
    ("print(sum(float(l.compile()(x)[0, 0]) / np.tanh(1) for l in lowered).round(3))", "84.0\n"),
])
def test_a_process_may_end_while_its_kernels_compile(ending, said):
    done = run(LOWERED + ending)
    assert (done.returncode, done.stdout) == (0, said), done.stderr


def test_denormals_survive_in_threads_of_xla():
    """XLA's threads flush denormals to zero; the threads of a kernel that they start do not."""

    def halve(x_ref, o_ref):
        o_ref[...] = x_ref[...] * 0.5

    block = pl.BlockSpec((256, 1024), lambda i: (i, 0))
    x = np.full((8192, 1024), 1.5e-38, np.float32)
    with smalti.jax.using(target="cpu", threads=2):
        halved = jax.jit(lambda x: pl.pallas_call(
            halve, grid=(32,), in_specs=[block], out_specs=block, out_shape=x,
            compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel",)))(x))
        for _ in range(3):
            assert (np.asarray(halved(x)) == np.float32(7.5e-39)).all()


def test_kernels_of_one_name_are_told_apart_by_number(tmp_path):
    def twice(factor):
        def kernel(x_ref, o_ref):
            o_ref[...] = x_ref[...] * factor

        return lambda x: pl.pallas_call(kernel, out_shape=x)(x)

    text = jax.export.export(jax.jit(lambda x: twice(2.)(x) + twice(5.)(x)), platforms=["tpu"])(X[:8]).mlir_module()
    (tmp_path / "same.mlir").write_text(text)
    smalti_cli = os.path.join(os.environ["SMALTI_BIN_DIR"], "smalti")
    done = subprocess.run([smalti_cli, "export", "same.mlir", "--format", "text", "--kernel", "kernel"], cwd=tmp_path,
                          capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == ("error[SM1020]: 'same.mlir' contains several kernels 'kernel'\n"
                           "  need: --kernel, one of 0: kernel, 1: kernel\n")
    for number, factor in [("0", "2.0"), ("1", "5.0")]:
        done = subprocess.run([smalti_cli, "export", "same.mlir", "--format", "text", "--kernel", number], cwd=tmp_path,
                              capture_output=True, text=True)
        assert done.returncode == 0 and f"{factor}00000e+00" in done.stdout, done.stderr
