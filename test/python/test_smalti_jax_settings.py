"""Which kernels run on this engine, and how: install, uninstall, `using`, threads, SMALTI_JAX, chips, what is refused."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is not installed")
pytest.importorskip("smalti", reason="the Python package is not built (it needs nanobind and jaxlib)")

import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

import smalti
import smalti.jax

NOT_INSTALLED = "Only interpret mode is supported on CPU backend"
X = np.arange(8 * 128, dtype=np.float32).reshape(8, 128)


@pytest.fixture(autouse=True)
def nothing_installed():
    smalti.jax.uninstall()
    yield
    smalti.jax.uninstall()


@pytest.fixture
def undefined():
    """A jitted kernel whose result nobody writes: what it holds says who ran it, and a check refuses it."""
    return jax.jit(lambda x: pl.pallas_call(lambda x, o: o.__setitem__((slice(0, 4),), x[:4]), out_shape=x)(x))


@pytest.fixture
def add_one():
    return jax.jit(lambda x: pl.pallas_call(lambda x, o: o.__setitem__(..., x[...] + 1), out_shape=x)(x))


def checked(f):
    """Whether `f` runs under checks now."""
    try:
        jax.block_until_ready(f(X))
    except Exception as error:
        assert "SM4102" in str(error), error
        return True
    return False


def test_without_us_kernels_are_jaxs_business(add_one):
    with pytest.raises(ValueError, match=NOT_INSTALLED):
        add_one(X)


def test_install_and_uninstall_reach_functions_that_were_jitted_before(add_one):
    for _ in range(2):
        smalti.jax.install()
        smalti.jax.install()
        np.testing.assert_array_equal(add_one(X), X + 1)
        smalti.jax.uninstall()
        with pytest.raises(ValueError, match=NOT_INSTALLED):
            add_one(X)


def test_the_same_function_runs_differently_inside_and_outside(undefined):
    smalti.jax.install()
    for _ in range(2):
        assert not checked(undefined)
        with smalti.jax.using(check=True):
            assert checked(undefined)
            with smalti.jax.using(check=False):
                assert not checked(undefined)
            with smalti.jax.using(target="interpret"):  # what is not named stays
                assert checked(undefined)
    assert not checked(undefined)


def test_using_works_where_nothing_is_installed(add_one):
    with smalti.jax.using(target="interpret"):
        np.testing.assert_array_equal(add_one(X), X + 1)
    with pytest.raises(ValueError, match=NOT_INSTALLED):
        add_one(X)


def test_threads_have_settings_of_their_own(undefined):
    smalti.jax.install()
    inside, done = threading.Event(), threading.Event()
    seen = {}

    def other():
        with smalti.jax.using(check=True):
            inside.set()
            done.wait()
            seen["other"] = checked(undefined)

    thread = threading.Thread(target=other)
    thread.start()
    inside.wait()
    seen["main"] = checked(undefined)
    fresh = threading.Thread(target=lambda: seen.update(fresh=checked(undefined)))
    with smalti.jax.using(check=True):
        fresh.start()
        fresh.join()
    done.set()
    thread.join()
    assert seen == {"main": False, "fresh": False, "other": True}


def test_interpret_true_keeps_its_meaning_unless_overridden():
    def kernel(x_ref, o_ref):  # this engine says where the value comes from that nobody wrote
        o_ref[0:4] = x_ref[0:4]

    f = jax.jit(lambda x: pl.pallas_call(kernel, out_shape=x, interpret=True)(x))
    smalti.jax.install(check=True)
    assert not checked(f)
    smalti.jax.install(check=True, override_interpret=True)
    assert checked(f)


@pytest.mark.parametrize("chip, version", [("v4", "v4"), ("v5e", "v5e"), ("v5p", "v5p"), ("v6e", "v6e"), ("v7x", "7x")])
def test_kernels_are_told_the_chip_that_is_pretended(chip, version):
    with smalti.jax.using(chip=chip):
        assert pltpu.get_tpu_info().chip_version.value == version
        x = jnp.zeros((8, 128))
        rows = []
        jax.jit(lambda x: pl.pallas_call(
            lambda x, o: (rows.append(pltpu.get_tpu_info().vmem_capacity_bytes), o.__setitem__(..., x[...])) and None,
            out_shape=x)(x))(x)
        assert rows[0] == pltpu.get_tpu_info().vmem_capacity_bytes > 0


BLOCK_SIZES = "jax.experimental.pallas.ops.tpu.ragged_paged_attention.tuned_block_sizes"


@pytest.mark.parametrize("first", ["import smalti.jax; smalti.jax.install()", f"import {BLOCK_SIZES}"])
def test_the_module_of_block_sizes_is_told_the_chip_without_being_imported_for_it(first):
    second = f"import {BLOCK_SIZES}" if "install" in first else "import smalti.jax; smalti.jax.install()"
    program = (f"import importlib, inspect, sys\n{first}\n"
               f"imported = {BLOCK_SIZES!r} in sys.modules\n{second}\n"
               f"module = importlib.import_module({BLOCK_SIZES!r})\n"
               "with smalti.jax.using(chip='v6e'): kind = module.jax.devices()[0].device_kind\n"
               "print(imported, kind, module.jax.numpy.__name__, len(inspect.getsource(module)) > 0, len(sys.meta_path))")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "JAX_PLATFORMS": "cpu"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    plain = subprocess.run([sys.executable, "-c", "import jax, sys; print(len(sys.meta_path))"], env=environment,
                           capture_output=True, text=True)
    assert done.stdout == f"{'install' not in first} TPU v6 lite jax.numpy True {plain.stdout}", done.stderr


@pytest.mark.parametrize("options, error, message", [
    ({"chip": "v3"}, ValueError, "chip='v3' is not one of v4, v5e, v5p, v6e, v7x"),
    ({"targett": "cpu"}, smalti.Error, "SM1011"),
    ({"target": "gpu"}, smalti.Error, "SM1011"),
    ({"threads": -1}, smalti.Error, "SM1011"),
])
def test_wrong_options_are_refused_and_change_nothing(options, error, message, add_one):
    smalti.jax.install()
    for say in (lambda: smalti.jax.install(**options), lambda: smalti.jax.using(**options)):
        with pytest.raises(error, match=message):
            say()
    np.testing.assert_array_equal(add_one(X), X + 1)


def test_a_jax_that_is_too_old_is_refused(monkeypatch):
    from smalti.jax import _versions

    monkeypatch.setattr(jax, "__version__", "0.4.30")
    monkeypatch.setattr(jax.version, "__version_info__", (0, 4, 30))
    with pytest.raises(smalti.jax.UnsupportedJax) as caught:
        _versions.check((0, 1))
    assert str(caught.value) == ("smalti.jax cannot hook into JAX 0.4.30 (it is too old); it is made for JAX 0.10 to 0.12: "
                                 "pip install 'jax>=0.10,<0.13'")


def test_a_jax_whose_xla_does_not_take_our_calls_is_refused():
    from smalti.jax import _versions

    with pytest.raises(smalti.jax.UnsupportedJax) as caught:
        _versions.check((0, 1000))
    assert str(caught.value) == (f"this smalti was built with the headers of a newer jaxlib than {jax.lib.__version__}, which does "
                                 "not take its calls: pip install a wheel of smalti, or build it with jaxlib==0.10.*")


def test_a_jax_that_is_too_new_is_refused():
    from smalti.jax import _versions

    with pytest.raises(smalti.jax.UnsupportedJax, match=r"it has no jax\._src\.pallas\.mpmd\.gone"):
        _versions.internal("jax._src.pallas.mpmd", "gone")


def run(program, **env):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "JAX_PLATFORMS": "cpu"} | env
    return subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=300)


PROGRAM = """
import site, smalti, pathlib
site.addsitedir(str(pathlib.Path(smalti.__file__).parents[1]))  # as Python does where the package is installed
import jax, numpy
from jax.experimental import pallas as pl
x = numpy.ones((8, 128), numpy.float32)
print(pl.pallas_call(lambda x, o: o.__setitem__((slice(0, 4),), x[:4]), out_shape=x)(x)[0, 0])
"""


def test_a_variable_installs_it():
    assert run(PROGRAM, SMALTI_JAX="1").stdout == "1.0\n"
    assert NOT_INSTALLED in run(PROGRAM, SMALTI_JAX="0").stderr
    assert NOT_INSTALLED in run(PROGRAM).stderr


def test_the_librarys_variables_count():
    assert "SM4102" in run(PROGRAM, SMALTI_JAX="1", SMALTI_CHECK="on").stderr
    assert "SM1011" in run(PROGRAM, SMALTI_JAX="1", SMALTI_THREADS="many").stderr


def test_variables_count_as_they_are_when_a_kernel_is_lowered(monkeypatch, undefined):
    smalti.jax.install()
    plain = undefined.lower(X)
    monkeypatch.setenv("SMALTI_CHECK", "on")
    careful = jax.jit(lambda x: undefined(x)).lower(X)
    monkeypatch.setenv("SMALTI_CHECK", "perhaps")  # too late for both
    assert not checked(plain.compile())
    assert checked(careful.compile())
    with pytest.raises(smalti.Error, match="SMALTI_CHECK"):
        jax.jit(lambda x: undefined(x) + 1).lower(X)


def test_a_variable_chooses_the_target_and_what_it_refuses_is_said_at_once(monkeypatch):
    def f(x):
        return pl.pallas_call(lambda x, o: o.__setitem__(..., x[...] * 3), out_shape=x)(x)

    smalti.jax.install()
    ran = smalti._smalti.num_compiled_calls()
    monkeypatch.setenv("SMALTI_TARGET", "interpret")
    np.testing.assert_array_equal(jax.jit(f)(X), X * 3)
    monkeypatch.setenv("SMALTI_TARGET", "cpu")
    np.testing.assert_array_equal(jax.jit(lambda x: f(x))(X), X * 3)
    assert smalti._smalti.num_compiled_calls() == ran + 2
    monkeypatch.setenv("SMALTI_TARGET", "gpu-2")
    with pytest.raises(smalti.Error, match="SM1011"):
        jax.jit(lambda x: f(x)).lower(X)


def test_installing_starts_no_backend():
    done = run("import smalti.jax, jax; smalti.jax.install()\n"
               "from jax._src import xla_bridge; print(xla_bridge.backends_are_initialized())")
    assert done.stdout == "False\n", done.stderr
