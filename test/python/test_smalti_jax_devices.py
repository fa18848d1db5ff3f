"""Kernels of programs of JAX that several devices run together: each program in a process with four devices."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("jax", reason="JAX is not installed")
pytest.importorskip("smalti", reason="the Python package is not built (it needs nanobind and jaxlib)")

HEAD = """
import jax, jax.numpy as jnp, numpy as np
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
from jax.sharding import Mesh, PartitionSpec as P
import smalti, smalti.jax
smalti.jax.install(OPTIONS)

def ring(x, steps=1):
    def kernel(x_ref, o_ref, send, recv, ready):
        me, n = lax.axis_index("d"), lax.axis_size("d")
        pl.semaphore_signal(pltpu.get_barrier_semaphore(), device_id={"d": lax.rem(me + n - steps, n)})
        pl.semaphore_wait(pltpu.get_barrier_semaphore())
        copy = pltpu.make_async_remote_copy(x_ref, o_ref, send, recv, device_id={"d": lax.rem(me + steps, n)})
        copy.start()
        copy.wait()
    hbm = pl.BlockSpec(memory_space=pl.ANY)
    return pl.pallas_call(kernel, in_specs=[hbm], out_specs=hbm, out_shape=x, name="ring",
                          scratch_shapes=[pltpu.SemaphoreType.DMA, pltpu.SemaphoreType.DMA, pltpu.SemaphoreType.REGULAR],
                          compiler_params=pltpu.CompilerParams(collective_id=7))(x)

def on(f, order=(0, 1, 2, 3), **options):
    mesh = Mesh(np.array(jax.devices())[list(order)], "d")
    return jax.jit(jax.shard_map(f, mesh=mesh, in_specs=P("d"), out_specs=P("d"), check_vma=False), **options)

X = np.arange(32 * 128, dtype=np.float32).reshape(32, 128)
def turned(x, devices):
    return np.roll(x, 8 * devices, axis=0)
"""


def run(program: str, options: str = "", flags: str = "") -> subprocess.CompletedProcess:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "JAX_PLATFORMS": "cpu",
                                "XLA_FLAGS": f"--xla_force_host_platform_device_count=4 {flags}"}
    return subprocess.run([sys.executable, "-c", HEAD.replace("OPTIONS", options) + program], env=environment,
                          capture_output=True, text=True, timeout=300)


PROGRAMS = {
    "a mesh in order, and permuted": """
for order in ([0, 1, 2, 3], [2, 0, 3, 1]):
    np.testing.assert_array_equal(on(ring, order)(X), turned(X, 1))
""",
    "the same call in a loop": """
looped = on(lambda x: lax.fori_loop(0, 5, lambda i, x: ring(x) + i, x))
np.testing.assert_array_equal(looped(X), turned(X, 5) + 10)
""",
    "two calls without data dependence": """
both = on(lambda x: ring(x) * ring(x + 1, steps=3))
for _ in range(10):
    np.testing.assert_array_equal(both(X), turned(X, 1) * turned(X + 1, 3))
""",
    "the same kernel twice without data dependence": """
both = on(lambda x: ring(x) - 2 * ring(x + 1))
for _ in range(10):
    np.testing.assert_array_equal(both(X), turned(X, 1) - 2 * turned(X + 1, 1))
""",
    "collectives of XLA on the results": """
result = lambda x: ring(x) + lax.pmean(ring(x), "d") - lax.pmean(lax.all_gather(ring(2 * x), "d", tiled=True), "d")[:8]
mean = X.reshape(4, 8, 128).mean(0)
for _ in range(5):
    np.testing.assert_array_equal(on(result)(X), turned(X, 1) + np.tile(mean - 2 * X[24:], (4, 1)))
""",
    "runs that nobody waits for": """
permuted = on(ring)
results = [permuted(X + i) for i in range(20)]
for i, result in enumerate(results):
    np.testing.assert_array_equal(result, turned(X + i, 1))
""",
    "ahead of time, and a donated operand": """
compiled = on(ring, donate_argnums=0).lower(jax.ShapeDtypeStruct(X.shape, X.dtype)).compile()
np.testing.assert_array_equal(compiled(X), turned(X, 1))
""",
    "integers below a byte": """
x = jnp.asarray(X % 8, jnp.int4)
result = on(lambda x: ring(x))(x)
np.testing.assert_array_equal(np.asarray(result.astype(jnp.int32)), turned(X % 8, 1))
""",
    "an index of the mesh, and two axes": """
mesh = Mesh(np.array(jax.devices()).reshape(2, 2), ("a", "b"))
def kernel(x, o):
    o[...] = x[...] + 10 * lax.axis_index("a") + lax.axis_index("b")
call = lambda x: pl.pallas_call(kernel, out_shape=x)(x)
f = jax.jit(jax.shard_map(call, mesh=mesh, in_specs=P(("a", "b")), out_specs=P(("a", "b")), check_vma=False))
np.testing.assert_array_equal(f(0 * X)[::8, 0], [0, 1, 10, 11])
""",
    "vmap and grad around": """
summed = jax.custom_vjp(lambda x: ring(x))
summed.defvjp(lambda x: (ring(x), None), lambda _, g: (ring(g, steps=3),))
loss = lambda x: jnp.sum(summed(x) * summed(x))
mesh = Mesh(np.array(jax.devices()), "d")
f = jax.shard_map(lambda x: jax.grad(loss)(x), mesh=mesh, in_specs=P("d"), out_specs=P("d"), check_vma=False)
np.testing.assert_array_equal(jax.jit(f)(X), 2 * X)
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_devices_run_a_kernel_together(name):
    done = run(PROGRAMS[name] + 'print("fine")')
    assert done.stdout == "fine\n", done.stderr


MISSING = """
f = on(lambda x: lax.cond(lax.axis_index("d") == 0, ring, lambda x: x, x))
try:
    jax.block_until_ready(f(X))
except jax.errors.JaxRuntimeError as error:
    print(str(error)[str(error).index("error["):])
np.testing.assert_array_equal(on(ring)(X), turned(X, 1))
"""


def test_devices_that_do_not_come():
    done = run(MISSING, "timeout_seconds=2")
    assert done.stdout == """error[SM5010]: a kernel that devices run together did not get all of them
  need: all 4 devices of the mesh within 2 s
  have: no call from devices 1, 2, 3
  help: let every device of the shard_map reach the call (a branch or a loop around it must go the same way on all), with all devices in one process; longer calls before it need a larger timeout_seconds

""", done.stderr


WRONG = """
def waits(x, o, sem):
    pl.semaphore_wait(sem, 1 + lax.axis_index("d"))
f = on(lambda x: pl.pallas_call(waits, out_shape=x, scratch_shapes=[pltpu.SemaphoreType.REGULAR])(x))
try:
    jax.block_until_ready(f(X))
except jax.errors.JaxRuntimeError as error:
    print(str(error)[str(error).index("error["):].split(":")[0])
"""


def test_a_deadlock_between_devices_is_a_diagnostic():
    done = run(WRONG)
    assert done.stdout == "error[SM4103]\n", done.stderr


ONE_FAILS = """
def local(i, x, o):
    o[pl.ds(i[0], 8), :] = x[...]
def f(x):
    spaces = [pl.BlockSpec(memory_space=pltpu.SMEM), pl.BlockSpec(memory_space=pltpu.VMEM)]
    y = pl.pallas_call(local, in_specs=spaces, out_shape=x, name="local")((lax.axis_index("d") // 3)[None], x)
    return COLLECTIVE
try:
    jax.block_until_ready(on(f)(X))
except jax.errors.JaxRuntimeError as error:
    print(str(error)[str(error).index("error["):].split(":")[0])
"""


@pytest.mark.parametrize("collective", ["y", 'lax.ppermute(y, "d", [(0, 1), (1, 2), (2, 3), (3, 0)])'])
def test_an_error_on_one_device_is_said_before_the_others_wait_for_it(collective):
    flags = [f"--xla_cpu_collective_call_{what}_timeout_seconds=1" for what in ("warn_stuck", "terminate")]
    done = run(ONE_FAILS.replace("COLLECTIVE", collective), flags=" ".join(flags))
    assert done.stderr.startswith(
        "smalti: a call failed on one of 4 devices; if others wait for it in a collective op, XLA ends the process after a minute\n"
        "error[SM4010]: out-of-bounds write: [1..8, 0..127] of 'output 0' (VMEM f32[8,128])\n"), done.stderr
    assert "in kernel 'local'" in done.stderr
    if collective == "y":
        assert done.stdout == "error[SM4010]\n"
