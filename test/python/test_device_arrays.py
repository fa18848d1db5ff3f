"""Arrays that stay on a GPU between calls, with a CUDA driver without a GPU (fake_cuda.c), which copies but runs no kernels."""

import os
import subprocess
import sys

import pytest

from conftest import ROOT

CASES = ROOT / "test/data/cases"


@pytest.fixture
def python(bin_dir, fake_cuda, tmp_path):
    """Runs statements that use the package with such a driver."""
    def call(text, mode="works", **more):
        code = f"import numpy as np, smalti\nCASES = {str(CASES)!r}\n" + text
        environment = {**os.environ, **fake_cuda(mode), "PYTHONPATH": str(bin_dir.parent / "python"), **more}
        return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, cwd=tmp_path, timeout=120)
    return call


def raised(done):
    """The message of the smalti.Error that ended the program."""
    assert "smalti._errors.Error: " in done.stderr or "smalti.Error: " in done.stderr, done.stderr
    return done.stderr[done.stderr.index("error[SM"):].rstrip() + "\n"


# Its result is aliased to an operand, whose elements the result begins with.
ALIASED = """
module = smalti.load(f"{CASES}/alias_partial_update")
given = module.recorded_inputs()
executable = module.compile(target="cuda")
arrays = [smalti.device_array(x) for x in given]
"""


def test_results_are_on_the_gpu(python):
    done = python(ALIASED + """
bound = executable.bind(*arrays)
assert not bound.results[0].to_numpy().any()  # bound, not launched
for _ in range(2):
    bound.launch()
    bound.wait()
    np.testing.assert_array_equal(bound.results[0].to_numpy(), given[0])
np.testing.assert_array_equal(arrays[0].to_numpy(), given[0])
assert bound.results[0].address not in [a.address for a in arrays]
print(bound.results[0])
""")
    assert (done.stderr, done.stdout) == ("", "<smalti.DeviceArray i32[32,128] on GPU 0>\n")


def test_an_operand_gives_the_size_of_the_grid(python):
    done = python("""
module = smalti.load(f"{CASES}/dynamic_grid")
bound = module.compile(target="cuda").bind(*module.recorded_inputs())
bound.launch()
bound.wait()
""")
    assert (done.stderr, done.returncode) == ("", 0)


def test_an_aliased_input_can_be_the_output(python):
    done = python(ALIASED + """
bound = executable.bind(*arrays, outputs=[arrays[0]])
bound.launch()
bound.wait()
assert bound.results[0].address == arrays[0].address
np.testing.assert_array_equal(arrays[0].to_numpy(), given[0])
""")
    assert done.stderr == ""


def test_a_graph_repeats_the_launches(python):
    done = python(ALIASED + """
bound = executable.bind(*arrays, graph=True)
assert not bound.results[0].to_numpy().any()  # captured, not executed
bound.launch(stream=4096)
bound.wait()
np.testing.assert_array_equal(bound.results[0].to_numpy(), given[0])
""")
    assert done.stderr == ""


# Two kernels, a function, and reshapes between them; with OP an op of the host.
PROGRAM = """
text = open(f"{CASES}/alias_partial_update/module.stablehlo.mlir").read()
call = next(line for line in text.splitlines() if "custom_call" in line)
kernel = call.replace("%0 =", "%k =").replace("%arg0", "%x")
main = "tensor<32x128xi32>"
module = smalti.parse(f'''module @two {{
  func.func public @main(%x: {main}) -> {main} {{
    %a = func.call @kernel(%x) : ({main}) -> {main}
    %b = stablehlo.reshape %a : ({main}) -> tensor<4096xi32>
    %c = stablehlo.reshape %b : (tensor<4096xi32>) -> {main}
    OP
    %d = func.call @kernel(%c) : ({main}) -> {main}
    return %d : {main}
  }}
  func.func private @kernel(%x: {main}) -> {main} {{
{kernel}
    return %k : {main}
  }}
}}''')
x = np.arange(4096, dtype=np.int32).reshape(32, 128)
bound = module.compile(target="cuda").bind(smalti.device_array(x), graph=GRAPH)
bound.launch()
bound.wait()
np.testing.assert_array_equal(bound.results[0].to_numpy(), x)
"""


@pytest.mark.parametrize("graph", ["False", "True"])
def test_programs_of_several_kernels(python, graph):
    """The second kernel begins with what the first has written, in the memory of the GPU."""
    done = python(PROGRAM.replace("OP", "").replace("GRAPH", graph))
    assert done.stderr == ""


def test_sm7207_ops_of_the_host(python):
    message = raised(python(PROGRAM.replace("OP", "%s = stablehlo.add %c, %c : {main}").replace("%d = func.call @kernel(%c)",
                                                                                           "%d = func.call @kernel(%s)").replace("GRAPH", "False")))
    assert message.startswith("error[SM7207]: the program cannot run with arrays on the GPU\n")
    assert ("  need: calls of kernels, reshapes and constants\n  have: the op 'add'\n"
            "  help: compute the rest in kernels, or call the program with arrays of the host: execute") in message


def test_constants_of_equal_elements(python):
    """Such a constant's attribute holds one element; its array on the GPU has all of them, as operand and as result."""
    one = PROGRAM.replace("OP", "%s = stablehlo.constant dense<7> : {main}").replace("%d = func.call @kernel(%c)", "%d = func.call @kernel(%s)")
    both = one.replace("return %d", "return %d, %s").replace("@main(%x: {main}) -> {main}", "@main(%x: {main}) -> ({main}, {main})").replace(
        "return %d, %s : {main}", "return %d, %s : {main}, {main}")
    done = python(both.replace("GRAPH", "False").split("np.testing")[0] + """
for result in bound.results:
    np.testing.assert_array_equal(result.to_numpy(), np.full((32, 128), 7, np.int32))
""")
    assert done.stderr == ""


DRIVER = """
import ctypes
driver = ctypes.CDLL("libcuda.so.1")  # the one that the package has loaded
"""


def test_the_current_gpu_of_the_caller_stays_current(python):
    """The current context is the current device of PyTorch and of the CUDA runtime."""
    done = python(ALIASED.replace("executable = ", "import gc\n" + DRIVER + "driver.fake_use(2)\nexecutable = ") + """
def check(what):
    assert driver.fake_current() == 2, what
check("compile, device_array")
bound = executable.bind(*arrays)
check("bind")
graph = executable.bind(*arrays, graph=True)
check("bind as a graph")
for program in (bound, graph):
    program.launch(64)
    check("launch")
    program.results[0].__dlpack__(stream=128)
    check("__dlpack__")
    program.wait()
    check("wait")
    program.results[0].to_numpy()
    check("to_numpy")
executable.execute(*given)
check("execute")
del bound, graph, program, executable, module
gc.collect()
check("the end of programs")
del arrays
gc.collect()
check("the end of arrays")
""")
    assert done.stderr == ""


@pytest.mark.parametrize("call", ["bound.wait()", "bound.results[0].to_numpy()", "executable.execute(*given)", "smalti.device_array(given[0])",
                                  "executable.bind(*arrays)", "del arrays", "del bound", "del capsule", "del module, executable, other"])
def test_other_threads_run_while_a_call_waits_for_the_gpu(python, call):
    """Work on the GPU may be a function of Python that a stream calls: whoever waits for it must not hold Python's lock."""
    done = python(ALIASED + DRIVER + f"""
import threading, time
bound = executable.bind(*arrays)
capsule = executable.bind(*arrays).results[0].__dlpack__()
other = smalti.load(f"{{CASES}}/add_grid_1d").compile(target="cuda")
driver.fake_begin_work()
def work():
    time.sleep(0.2)
    driver.fake_end_work()
thread = threading.Thread(target=work)
thread.start()
{call}
thread.join()
""")
    assert done.stderr == ""


def test_sm1017_outputs_on_the_host(python):
    """No launch could write to them."""
    assert raised(python(ALIASED + "executable.bind(*arrays, outputs=[np.zeros_like(given[0])])")) == (
        "error[SM1017]: output 0 is on the host\n  need: an array on the GPU: of PyTorch or JAX, or of smalti.device_array\n"
        "  have: an array on the host, to which no launch could write\n"
        "  help: omit `outputs`, and copy the results: bound.results[0].to_numpy()\n")


def test_dlpack_shares_memory(python):
    """A consumer gets the address, on a device of CUDA; a producer's tensor is used in place."""
    done = python("""
a = smalti.device_array(np.arange(8, dtype=np.float32))
assert a.__dlpack_device__() == (2, 0)
class Tensor:  # of another library
    def __dlpack_device__(self): return (2, 0)
    def __dlpack__(self, *, stream, max_version=None):
        assert stream == 1
        return a.__dlpack__(stream=stream, max_version=max_version)
for t in (Tensor(), a):
    b = smalti.device_array(t)
    assert (b.address, b.gpu, str(b.type)) == (a.address, 0, "f32[8]")
class Old(Tensor):
    def __dlpack__(self, *, stream): return a.__dlpack__(stream=stream)
b = smalti.device_array(Old())
del a
np.testing.assert_array_equal(b.to_numpy(), np.arange(8))  # the tensor keeps its elements
for wrong in ({"copy": True}, {"dl_device": (1, 0)}):
    try:
        b.__dlpack__(**wrong)
    except BufferError:
        continue
    raise AssertionError(wrong)
""")
    assert done.stderr == ""


def test_a_consumer_on_another_stream_waits(python):
    """`__dlpack__` orders the consumer's stream after the launches; on the same stream they are in order already."""
    done = python(ALIASED + """
bound = executable.bind(*arrays)
bound.launch(stream=64)
bound.results[0].__dlpack__(stream=128)
bound.results[0].__dlpack__(stream=64)
bound.results[0].__dlpack__(stream=-1)
bound.results[0].__dlpack__(stream=1)
""", FAKE_CUDA_TRACE="1")
    assert done.stderr == "order 64 128\norder 64 0\n"


def test_launches_on_several_streams_are_ordered(python):
    """A launch begins after those on other streams that have written what it reads, or read what it writes."""
    done = python(ALIASED + """
import sys
def at(what): print(what, file=sys.stderr, flush=True)
output = smalti.device_array(np.zeros_like(given[0]))
first = executable.bind(*arrays, outputs=[output])
first.launch(64)
at("the output, on another stream")
output.__dlpack__(stream=128)
at("a program that reads it")
second = executable.bind(first.results[0])
second.launch(65)
second.launch(65)
at("written again")
first.launch(64)
at("on another stream")
first.launch(66)
at("after all work")
first.wait()
second.wait()
first.launch(67)
output.__dlpack__(stream=67)
""", FAKE_CUDA_TRACE="1")
    assert done.stderr == ("the output, on another stream\norder 64 128\na program that reads it\norder 64 65\nwritten again\n"
                           "order 65 64\non another stream\norder 64 66\nafter all work\n")


def test_a_stream_that_records_a_graph_waits_for_no_other(python):
    """Its work runs later, in an order that the caller chooses."""
    done = python(ALIASED + DRIVER + """
bound = executable.bind(*arrays)
bound.launch(64)
driver.fake_capture(ctypes.c_void_p(128))
bound.results[0].__dlpack__(stream=128)
""", FAKE_CUDA_TRACE="1")
    assert done.stderr == ""


def test_inputs_on_the_host_are_copied_to_the_gpu_of_the_program(python):
    """The first of the two GPUs has no memory."""
    done = python("""
module = smalti.load(f"{CASES}/alias_partial_update")
given = module.recorded_inputs()
bound = module.compile(target="cuda:1").bind(*given)
bound.launch()
bound.wait()
np.testing.assert_array_equal(bound.results[0].to_numpy(), given[0])
print(bound.results[0])
""", mode="two")
    assert (done.stderr, done.stdout) == ("", "<smalti.DeviceArray i32[32,128] on GPU 1>\n")


def test_sm7205_a_forked_child_cannot_use_the_gpu(python):
    """Each call says so, whatever was made before the fork."""
    done = python(ALIASED + """
import os
bound, graph = executable.bind(*arrays), executable.bind(*arrays, graph=True)
bound.launch(64)
if child := os.fork():
    assert os.waitpid(child, 0)[1] == 0
else:
    calls = [lambda: executable.execute(*given), lambda: executable.bind(*arrays), bound.launch, graph.launch, bound.wait,
             arrays[0].to_numpy, lambda: bound.results[0].__dlpack__(stream=128), lambda: smalti.device_array(given[0])]
    for call in calls:
        try:
            call()
        except smalti.Error as e:
            print(e.diagnostic.message, e.diagnostic.help, sep="; ")
""")
    assert done.stderr == "" and done.stdout == 8 * (
        "the parent process was already using the GPU, so that a forked child cannot; "
        "start the child before the GPU is used, or without fork (Python: multiprocessing's \"spawn\")\n")


def test_binding_takes_no_more_memory_than_a_call(python, tmp_path):
    """Eight blocks have 256 KiB of values each. Where there is no memory for those of all blocks, fewer run at once."""
    import jax
    import jax.numpy as jnp
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import tpu as pltpu

    def kernel(x, o, s):
        s[...] = x[...] * 2.0
        o[...] = (s[...].T + s[...])[:8]

    def call(x):
        return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((64, 256), jnp.float32), grid=(8,),
                              in_specs=[pl.BlockSpec((256, 256), lambda i: (0, 0))], out_specs=pl.BlockSpec((8, 256), lambda i: (i, 0)),
                              scratch_shapes=[pltpu.VMEM((256, 256), jnp.float32)],
                              compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel",)))(x)

    exported = jax.export.export(jax.jit(call), platforms=["tpu"])(jax.ShapeDtypeStruct((256, 256), jnp.float32))
    (tmp_path / "wide.mlir").write_text(exported.mlir_module())
    done = python("""
executable = smalti.load("wide.mlir").compile(target="cuda")
x = np.zeros((256, 256), np.float32)
executable.execute(x)
bound = executable.bind(x)
bound.launch()
bound.wait()
""", mode="tight")
    assert done.stderr == ""


def test_a_program_without_kernels(python):
    done = python("""
type = "tensor<32x128xi32>"
module = smalti.parse(f"module @m {{ func.func public @main(%x: {type}) -> {type} {{ return %x : {type} }} }}")
module.compile(target="cuda").bind(np.zeros((32, 128), np.int32))
""")
    assert raised(done) == ("error[SM7207]: the program has no kernel, so that nothing of it runs on a GPU\n  need: a call of a kernel\n"
                            "  help: compute in a kernel, or call the program with arrays of the host: execute\n")


def test_results_that_an_output_overwrites(python):
    """A program that still reads an input whose memory is an output's is refused; so is an output that overlaps an operand."""
    twice = PROGRAM.replace("OP", "").replace("GRAPH", "False").split("bound =")[0].replace("(%c)", "(%x)") + "executable = module.compile(target='cuda')\n"
    given = "a = smalti.device_array(x)\n"
    # Both kernels begin with %x: the first one's result is memory of its own, the second one's is the output, which may be %x.
    done = python(twice + given + "executable.bind(a, outputs=[a]).launch()\nnp.testing.assert_array_equal(a.to_numpy(), x)")
    assert done.stderr == ""
    late = twice.replace("return %d", "%e = func.call @kernel(%x) : ({main}) -> {main}\n    return %d, %e").replace(
        "public @main(%x: {main}) -> {main}", "public @main(%x: {main}) -> ({main}, {main})").replace(
        "return %d, %e : {main}", "return %d, %e : {main}, {main}")
    message = raised(python(late + given + "executable.bind(a, outputs=[a, smalti.device_array(x)])"))
    assert message.startswith("error[SM7207]: an output overwrites an array that the program still needs\n")
    assert ("  need: outputs with memory of their own; an output may have that of the input that is aliased to it\n"
            "  have: an array of i32[32,128] at the same address\n  help: omit `outputs`, or pass other arrays") in message
    message = raised(python(late + given + "b = smalti.device_array(x)\nexecutable.bind(a, outputs=[b, b])"))
    assert message.startswith("error[SM7207]: an output overwrites an array that the program still needs\n")


def test_an_output_overlaps_an_operand(python):
    message = raised(python("""
module = smalti.load(f"{CASES}/add_grid_1d")
arrays = [smalti.device_array(x) for x in module.recorded_inputs()]
module.compile(target="cuda").bind(*arrays, outputs=[arrays[1]])
"""))
    assert message.startswith("error[SM7207]: kernel 'add_k' would write result 0 to the memory of operand 1\n")
    assert "  have: an output that overlaps an input that is not aliased to it\n" in message


# A tensor of another library, made of DLPack's structures.
FOREIGN = """
import ctypes
I64, P = ctypes.c_int64, ctypes.c_void_p
class Tensor(ctypes.Structure):
    _fields_ = [("data", P), ("device", ctypes.c_int32 * 2), ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(I64)), ("strides", ctypes.POINTER(I64)), ("offset", ctypes.c_uint64)]
class Versioned(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32 * 2), ("manager", P), ("deleter", P), ("flags", ctypes.c_uint64), ("tensor", Tensor)]
new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype, new_capsule.argtypes = ctypes.py_object, [P, ctypes.c_char_p, P]
class Foreign:
    def __init__(self, base, shape, strides=None, device=2, bits=32, flags=0, offset=0, version=1):
        self.kept = (base, (I64 * len(shape))(*shape), (I64 * len(shape))(*strides) if strides else None)
        t = Tensor(data=base.address, ndim=len(shape), code=2, bits=bits, lanes=1, shape=self.kept[1], offset=offset)
        t.device[0], t.device[1] = device, 0
        if strides: t.strides = self.kept[2]
        self.tensor = Versioned(flags=flags, tensor=t)
        self.tensor.version[0] = version
    def __dlpack_device__(self): return (2, 0)
    def __dlpack__(self, *, stream, max_version=None): return new_capsule(ctypes.addressof(self.tensor), b"dltensor_versioned", None)
base = smalti.device_array(np.arange(4096, dtype=np.float32))
"""


@pytest.mark.parametrize("arguments, message", [
    ("[8, 4], strides=[1, 8]",
     "error[SM6308]: the tensor cannot be used in place\n  need: row-major elements, aligned to their size\n  have: strides [1, 8] of f32[8,4], address "),
    ("[4], offset=2", "error[SM6308]: the tensor cannot be used in place\n"),
    ("[4], device=1", "error[SM6308]: the tensor is not in a GPU's memory\n  need: device type 2 (CUDA)\n  have: device type 1\n"),
    ("[4], bits=24", "error[SM6308]: the tensor's dtype is not supported\n"),
    ("[4], version=2", "error[SM6308]: the tensor uses a newer version of DLPack with a different layout\n"),
])
def test_sm6308_tensors_that_cannot_be_used_in_place(python, arguments, message):
    said = raised(python(FOREIGN + f"smalti.device_array(Foreign(base, {arguments}))"))
    assert said.startswith(message)
    if "version" not in arguments:
        assert said.endswith("  help: copy the elements to a row-major tensor on the GPU, of a dtype that both have\n")


@pytest.mark.parametrize("arguments, message", [
    ("flags=1", "error[SM1017]: output 0 is read-only\n  need: memory that its owner lets others write\n"
                "  have: a read-only tensor of DLPack\n  help: omit `outputs`, or pass a writable array\n"),
    ("offset=4", "error[SM1017]: output 0 is not aligned\n  need: an address that is a multiple of 16 bytes\n  have: address 0x"),
])
def test_sm1017_memory_that_a_kernel_cannot_write(python, arguments, message):
    said = raised(python(FOREIGN + f"""
module = smalti.load(f"{{CASES}}/rmsnorm_f32")
executable = module.compile(target="cuda")
shape = executable.results[0].shape
base = smalti.device_array(np.zeros(int(np.prod(shape)) + 64, np.float32))
executable.bind(*module.recorded_inputs(), outputs=[Foreign(base, shape, {arguments})])
"""))
    assert said.startswith(message)


def test_a_read_only_tensor_stays_read_only(python):
    done = python(FOREIGN + """
read = smalti.device_array(Foreign(base, [16], flags=1))
assert read.address == base.address
try:
    read.__dlpack__()
except smalti.Error as e:
    assert str(e).startswith("error[SM6308]: the array is read-only, which a tensor without a version cannot express"), e
else:
    raise AssertionError
read.__dlpack__(max_version=(1, 0))
""")
    assert done.stderr == ""


def test_sm7208_faults_are_reported_by_wait(python):
    done = python("""
module = smalti.load(f"{CASES}/add_grid_1d")
bound = module.compile(target="cuda").bind(*module.recorded_inputs())
bound.launch()
bound.wait()
""", mode="early")
    assert raised(done) == ("error[SM7208]: a kernel on the GPU met a fault\n   in kernel 'add_k'\n"
                            "  have: an access out of bounds, or a wait that never ends\n"
                            "  help: its results are not valid; execute the program with copies of its inputs on the host, "
                            "which explains the fault\n")


@pytest.mark.parametrize("compiled, inputs, message", [
    ("smalti.load(f'{CASES}/add_grid_1d').compile(target='cpu')", "recorded",
     "error[SM7207]: the executable does not run on a GPU\n  need: an executable for the target cuda, without checks\n"
     "  help: compile it with the setting target cuda\n"),
    ("smalti.load(f'{CASES}/debug_print_scalar').compile(target='cuda')", "recorded",
     "error[SM7207]: the kernel cannot be called with arrays on the GPU\n"),
    ("smalti.load(f'{CASES}/add_grid_1d').compile(target='cuda')", "none",
     "error[SM1008]: wrong number of inputs\n  need: 2 inputs\n  have: 0\n"),
])
def test_sm7207_what_needs_the_host(python, compiled, inputs, message):
    module = compiled.split(".compile")[0]
    given = f"*({module}).recorded_inputs()" if inputs == "recorded" else ""
    assert raised(python(f"({compiled}).bind({given})")).startswith(message)
