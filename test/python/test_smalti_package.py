"""`import smalti`: modules, arrays of NumPy and DLPack, errors, Ctrl-C; none of it needs JAX."""

import os
import pathlib
import subprocess
import sys
import threading

import ml_dtypes
import numpy as np
import pytest
from interrupts import errors_after_ctrl_c

smalti = pytest.importorskip("smalti", reason="the Python package is not built (it needs nanobind and jaxlib)")

TEST = pathlib.Path(__file__).resolve().parents[1]
CASES = TEST / "data/cases"
ADD = """module @sub {
  func.func public @main(%x: tensor<2x3xDTYPE>, %y: tensor<2x3xDTYPE>) -> tensor<2x3xDTYPE> {
    %0 = stablehlo.add %x, %y : tensor<2x3xDTYPE>
    return %0 : tensor<2x3xDTYPE>
  }
}
"""


def add(dtype):
    return smalti.parse(ADD.replace("DTYPE", dtype), "add.mlir")


@pytest.mark.parametrize("target", ["interpret", "cpu"])
def test_a_recorded_case_gives_what_is_expected(target):
    module = smalti.load(CASES / "flash_attention_causal_f32")
    (result,) = module.run(*module.recorded_inputs(), target=target)
    np.testing.assert_allclose(result, module.expected_results()[0], rtol=1e-5, atol=1e-5)


def test_a_module_says_what_it_takes():
    module = smalti.load(CASES / "flash_attention_causal_f32")
    assert [str(t) for t in module.arguments] == ["f32[64,128]"] * 3
    assert module.results[0].dtype == np.float32 and module.results[0].shape == (64, 128)
    assert len(module.kernels) == 1
    assert repr(add("f32")) == "<smalti.Module 'sub': (f32[2,3], f32[2,3]) -> (f32[2,3])>"


@pytest.mark.parametrize("name, dtype", [
    ("f32", np.float32), ("bf16", ml_dtypes.bfloat16), ("f16", np.float16), ("i32", np.int32), ("i8", np.int8),
    ("ui8", np.uint8), ("i4", ml_dtypes.int4), ("f8E4M3FN", ml_dtypes.float8_e4m3fn), ("f8E5M2", ml_dtypes.float8_e5m2),
    ("f8E8M0FNU", ml_dtypes.float8_e8m0fnu)])
def test_every_dtype_comes_back_as_itself(name, dtype):
    x = np.arange(1, 7).reshape(2, 3).astype(dtype)
    (result,) = add(name).run(x, np.ones((2, 3), dtype))
    assert result.dtype == dtype
    np.testing.assert_array_equal(result, (x + np.ones_like(x)).astype(dtype))


def test_results_can_be_written_in_place():
    executable = add("f32").compile(target="cpu")
    out = np.zeros((2, 3), np.float32)
    (result,) = executable(np.ones((2, 3), np.float32), np.ones((2, 3), np.float32), out=[out])
    assert result is out and (out == 2).all()
    with pytest.raises(ValueError, match=r"out\[0\] cannot be written in place: it must be writable, aligned and row-major"):
        executable(out, out, out=[out.T.copy().T])


def test_results_outlive_everything():
    x = np.ones((2, 3), np.float32)
    result = add("f32").run(x, x)[0]
    assert result.flags.writeable and (result == 2).all()


def test_inputs_of_any_layout_are_taken():
    x = np.arange(6, dtype=np.float32).reshape(3, 2).T
    (result,) = add("f32").run(x, np.broadcast_to(np.float32(1), (2, 3)))
    np.testing.assert_array_equal(result, x + 1)
    (result,) = add("f32").run([[1.0, 2, 3]] * 2, np.zeros((2, 3), np.float32))
    assert result[0, 2] == 3


class Foreign:
    """Another library's array: nothing but DLPack."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class Old(Foreign):
    """Of a library from before DLPack 1.0."""

    def __dlpack__(self):
        return self.array.__dlpack__()


@pytest.mark.parametrize("kind", [Foreign, Old])
def test_arrays_of_other_libraries_are_taken_by_dlpack(kind):
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    (result,) = add("f32").run(kind(x), kind(x))
    np.testing.assert_array_equal(result, 2 * x)


def test_subclasses_of_numpy_arrays_are_plain_arrays_and_masks_are_refused():
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    executable = add("f32").compile()
    np.testing.assert_array_equal(executable(np.matrix(x), x)[0], x + x)
    out = np.matrix(np.zeros_like(x))
    executable(x, x, out=[out])
    np.testing.assert_array_equal(np.asarray(out), x + x)
    masked = np.ma.masked_less(x, 2)
    with pytest.raises(TypeError, match=r"a masked array hides some; pass array\.filled\(value\)"):
        executable(masked, x)
    with pytest.raises(TypeError, match=r"out\[0\] is a masked array, whose mask no kernel sets; pass out\.data"):
        executable(x, x, out=[masked])


@pytest.mark.parametrize("shape", [(), 5, (3, 5), (0, 4), (1000, 1001)])
@pytest.mark.parametrize("dtype", [np.float32, np.bool_, ml_dtypes.bfloat16, ml_dtypes.int4, np.complex128])
def test_empty_arrays_begin_at_a_cache_line(shape, dtype):
    x = smalti.empty(shape, dtype)
    assert x.dtype == dtype and x.shape == np.empty(shape).shape and x.flags.c_contiguous and x.flags.writeable
    assert x.size == 0 or x.ctypes.data % 64 == 0
    x[...] = 1
    assert x.astype(np.float32).sum() == x.size if dtype != np.complex128 else (x == 1).all()


def test_results_in_empty_arrays():
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    out = smalti.empty((2, 3))
    add("f32").compile(target="cpu")(x, x, out=[out])
    np.testing.assert_array_equal(out, 2 * x)


def test_errors_are_exceptions_with_a_code():
    with pytest.raises(smalti.Error) as caught:
        add("f32").run(np.ones((2, 3), np.float32), np.ones((2, 3), np.int32))
    assert caught.value.code == "SM1008"
    assert str(caught.value) == ("error[SM1008]: input 1 is of the wrong type\n  need: f32[2,3]\n  have: i32[2,3]")
    assert caught.value.diagnostic.need == "f32[2,3]" and caught.value.diagnostic.have == "i32[2,3]"


@pytest.mark.parametrize("call, code", [
    (lambda: smalti.load("/nowhere"), "SM1001"),
    (lambda: smalti.parse("nonsense"), "SM1013"),
    (lambda: add("f32").compile(targett="cpu"), "SM1011"),
    (lambda: add("f32").compile(target="gpu"), "SM1011"),
    (lambda: smalti.parse("module {\n  func.func @f() {\n    stablehlo.x\n"), "SM2002"),
])
def test_each_mistake_has_its_code(call, code):
    with pytest.raises(smalti.Error) as caught:
        call()
    assert caught.value.code == code, str(caught.value)


def test_dtypes_that_no_kernel_takes_are_refused():
    with pytest.raises(TypeError, match=r"kernels have no arrays of dtype datetime64\[s\]; they take bool, int8"):
        add("f32").run(np.zeros((2, 3), "datetime64[s]"), np.zeros((2, 3), "datetime64[s]"))
    with pytest.raises(TypeError, match="kernels have no arrays of dtype object; they take bool, int8"):
        add("f32").run(None, None)


def test_programs_of_jax_need_jax():
    program = ("import importlib.util, smalti\n"
               "importlib.util.find_spec = lambda name: None\n"
               "try: import smalti.jax\n"
               "except ModuleNotFoundError as e: print(e)")
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                             env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}).stdout
    assert printed == "smalti.jax needs JAX: pip install 'smalti[jax]' (import smalti alone does not)\n"


def test_check_reports_and_run_raises(mistake):
    module, inputs = mistake
    report = module.check(*inputs)
    assert report.findings and report.findings[0].diagnostic.code.startswith("SM41")
    with pytest.raises(smalti.CheckError) as caught:
        module.run(*inputs, check=True)
    assert caught.value.findings == report.findings and caught.value.code == report.findings[0].diagnostic.code
    with pytest.raises(smalti.CheckError):
        report.raise_findings()


def test_unknown_chips_are_refused():
    module = add("f32")
    inputs = module.make_inputs()
    for call in (lambda: module.compile(chip="v9"), lambda: smalti.compile(module, chip="v9"),
                 lambda: module.run(*inputs, chip="v9"), lambda: module.check(*inputs, chip="v9")):
        with pytest.raises(smalti.Error) as caught:
            call()
        assert str(caught.value) == ("error[SM6609]: there is no chip 'v9'\n"
                                     "  need: v4, v5e, v5p, v6e, v7x, or a chip's .toml file\n"
                                     "  have: v9\n"
                                     "  help: did you mean v4?")
    assert module.compile(chip="all")(*inputs)[0].shape == inputs[0].shape


@pytest.fixture
def mistake():
    module = smalti.load(pathlib.Path(__file__).resolve().parents[2] / "examples/mistakes/missing_init.mlir")
    return module, module.make_inputs()


def test_an_executable_runs_on_many_threads():
    executable = add("f32").compile(target="cpu")
    wrong = []

    def work(n):
        for _ in range(50):
            x = np.full((2, 3), n, np.float32)
            if not (executable(x, x)[0] == 2 * n).all():
                wrong.append(n)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not wrong


def test_the_extension_exports_nothing_but_its_entry():
    """Other extensions of the process have an LLVM, a nanobind and an fmt of their own."""
    symbols = subprocess.run(["nm", "-D", "--defined-only", smalti._smalti.__file__], capture_output=True, text=True).stdout
    assert [line.split()[-1] for line in symbols.splitlines()] == ["PyInit__smalti"]


def one_endless_run(prepare="", target="interpret"):
    """A program that calls a kernel once, which never returns."""
    return f"""
import signal
import numpy as np, smalti
module = smalti.load({str(TEST / "errors/SM9012/endless.mlir")!r}, results=[np.empty(1, np.int32)])
executable = module.compile(step_limit=0, target={target!r})
{prepare}
print("running", flush=True)
executable()
"""


@pytest.mark.parametrize("target", ["interpret", "cpu"])
def test_ctrl_c_ends_a_run(target):
    err = errors_after_ctrl_c(one_endless_run(target=target))
    assert err.rstrip().endswith("KeyboardInterrupt"), err


def test_ctrl_c_ends_a_loop_of_short_runs():
    program = f"""
import smalti
module = smalti.load({str(CASES / 'add_grid_1d')!r})
executable = module.compile(step_limit=0)
inputs = module.recorded_inputs()
print("running", flush=True)
while True:
    executable(*inputs)
"""
    err = errors_after_ctrl_c(program)
    assert err.rstrip().endswith("KeyboardInterrupt"), err


def test_a_handler_of_the_user_decides_whether_ctrl_c_ends_a_run():
    prepare = """
def handler(*_):
    global count
    count += 1
    if count == 1:
        signal.raise_signal(signal.SIGINT)
    else:
        raise ValueError(f"signal {count}")
count = 0
signal.signal(signal.SIGINT, handler)
"""
    err = errors_after_ctrl_c(one_endless_run(prepare))
    assert err.rstrip().endswith("ValueError: signal 2"), err


@pytest.mark.parametrize("ignored", ["", "signal.signal(signal.SIGINT, signal.SIG_IGN)"])
def test_an_alarm_ends_a_run(ignored):
    prepare = f"""
{ignored}
def handler(*_):
    raise TimeoutError("too long")
signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, .2)
"""
    done = subprocess.run([sys.executable, "-c", one_endless_run(prepare)], capture_output=True, text=True, timeout=60,
                          env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)})
    assert done.stderr.rstrip().endswith("TimeoutError: too long"), done.stderr


def test_calls_leave_the_handler_of_ctrl_c_in_place():
    program = """
import signal
import numpy as np, smalti
""" + f"module = smalti.load({str(CASES / 'add_grid_1d')!r})" + """
signal.signal(signal.SIGINT, signal.default_int_handler)
module.run(*module.recorded_inputs())
try:
    signal.raise_signal(signal.SIGINT)
except KeyboardInterrupt:
    print("as before")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                          env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)})
    assert done.stdout == "as before\n", done.stderr


def test_complex_arrays_go_around_kernels():
    module = smalti.parse("""
module @m { func.func public @main(%a: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
  %0 = stablehlo.add %a, %a : tensor<4xcomplex<f32>>
  return %0 : tensor<4xcomplex<f32>> } }""")
    x = np.arange(4, dtype=np.complex64) * (1 + 2j)
    [y] = module.run(x.astype(np.complex64))
    assert y.dtype == np.complex64
    np.testing.assert_array_equal(y, 2 * x)


def test_daemon_threads_may_be_in_calls_when_the_interpreter_ends():
    """They wait for its lock while the process ends, and its exit code is the program's."""
    program = f"""
import sys, threading, time
import smalti
module = smalti.load({str(CASES / "add_grid_1d")!r})
inputs = module.recorded_inputs()
def work():
    while True:
        module.run(*inputs, target="interpret")
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
time.sleep(.2)
sys.exit(7)
"""
    for _ in range(5):
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60,
                              env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
        assert (done.returncode, done.stdout, done.stderr) == (7, "", "")
