"""Records shard_map programs with collectives, and what JAX computes for them on four host devices. Run by test_collectives.py."""

import os
import pathlib
import sys

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
os.environ["JAX_PLATFORMS"] = "cpu"
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
from jax.sharding import Mesh, PartitionSpec as P
from smalti_record import record

RNG = np.random.default_rng(0)
LINE = Mesh(np.array(jax.devices()), ("x",))
SQUARE = Mesh(np.array(jax.devices()).reshape(2, 2), ("x", "y"))
RING = [(i, (i + 1) % 4) for i in range(4)]


def floats(*shape, dtype=jnp.float32):
    return jnp.asarray(RNG.standard_normal(shape), dtype)


def integers(*shape, dtype=jnp.int32):
    return jnp.asarray(RNG.integers(0, 100, shape), dtype)


X, N = floats(8, 16), integers(8, 16)
SPECIAL = jnp.asarray([[np.nan, 1.0, -0.0, np.inf], [2.0, np.nan, 0.0, np.inf], [3.0, 1.0, -0.0, -np.inf], [0.5, 4.0, 0.0, 1.0]])

# name → (function of one device, mesh, in_specs, out_specs, arguments, relative tolerance)
CASES = {}


def line(name, function, *arguments, ins=P("x"), outs=P("x"), rtol=0.0):
    CASES[name] = (function, LINE, tuple(ins for _ in arguments) if isinstance(ins, P) else ins, outs, arguments, rtol)


def square(name, function, *arguments, ins=P("x", "y"), outs=P("x", "y"), rtol=0.0):
    CASES[name] = (function, SQUARE, tuple(ins for _ in arguments), outs, arguments, rtol)


for op in ["psum", "pmean", "pmax", "pmin"]:
    line(op, lambda a, f=getattr(lax, op): f(a, "x"), X, outs=P(), rtol=1e-6)
    square(f"{op}_of_one_axis", lambda a, f=getattr(lax, op): f(a, "y"), X, outs=P("x", None), rtol=1e-6)
    square(f"{op}_of_both_axes", lambda a, f=getattr(lax, op): f(a, ("x", "y")), X, outs=P(), rtol=1e-6)
for dtype in [jnp.int8, jnp.uint8, jnp.int16, jnp.int32, jnp.uint32, jnp.bfloat16, jnp.float16]:
    t = jnp.dtype(dtype).name
    line(f"psum_{t}", lambda a: (lax.psum(a, "x"), lax.pmax(a, "x"), lax.all_gather(a, "x", tiled=True)),
         integers(4, 8, dtype=dtype), outs=P(), rtol=0.02 if "float" in t else 0)
# Not pmax and pmin: among its devices XLA:CPU loses NaN, which StableHLO's maximum keeps (CollectiveTest.cpp has them).
line("psum_special", lambda a: lax.psum(a, "x"), SPECIAL, outs=P())
line("psum_of_nothing", lambda a: lax.psum(a, "x"), floats(4, 0), outs=P())
line("psum_of_a_scalar", lambda a: a + lax.psum(1, "x") + lax.psum(a[0, 0], "x"), X, rtol=1e-6)
line("psum_of_several", lambda a, b: lax.psum((a, b, a + b), "x"), N, N, outs=P())
line("psum_groups", lambda a: lax.psum(a, "x", axis_index_groups=[[0, 3], [1, 2]]), N)
line("pmax_groups", lambda a: lax.pmax(a, "x", axis_index_groups=[[3, 1], [0, 2]]), X)
line("all_gather", lambda a: lax.all_gather(a, "x"), X, outs=P())
line("all_gather_tiled", lambda a: lax.all_gather(a, "x", axis=1, tiled=True), X, outs=P())
line("all_gather_axis", lambda a: lax.all_gather(a, "x", axis=2), X, outs=P())
line("all_gather_groups", lambda a: lax.all_gather(a, "x", axis_index_groups=[[2, 0], [1, 3]], tiled=True), X)
square("all_gather_of_both_axes", lambda a: lax.all_gather(a, ("x", "y"), tiled=True), X, outs=P())
square("all_gather_y_x", lambda a: lax.all_gather(a, ("y", "x"), tiled=True), X, outs=P())
line("psum_scatter", lambda a: lax.psum_scatter(a, "x", scatter_dimension=1, tiled=True), X, rtol=1e-6)
line("psum_scatter_untiled", lambda a: lax.psum_scatter(a, "x", scatter_dimension=0), floats(16, 4), rtol=1e-6)
line("psum_scatter_groups", lambda a: lax.psum_scatter(a, "x", scatter_dimension=1, tiled=True,
                                                       axis_index_groups=[[1, 0], [2, 3]]), N)
square("psum_scatter_of_one_axis", lambda a: lax.psum_scatter(a, "y", tiled=True), N)
line("ppermute_ring", lambda a: lax.ppermute(a, "x", RING), X)
line("ppermute_some", lambda a: lax.ppermute(a, "x", [(0, 2), (3, 1)]), X)
line("ppermute_nobody", lambda a: lax.ppermute(a, "x", []), X)
square("ppermute_of_one_axis", lambda a: lax.ppermute(a, "y", [(0, 1), (1, 0)]), X)
square("ppermute_of_both_axes", lambda a: lax.ppermute(a, ("y", "x"), RING), X)
line("pshuffle", lambda a: lax.pshuffle(a, "x", [3, 0, 1, 2]), X)
line("all_to_all", lambda a: lax.all_to_all(a, "x", 0, 1), floats(16, 3))
line("all_to_all_tiled", lambda a: lax.all_to_all(a, "x", 1, 0, tiled=True), X)
line("all_to_all_same", lambda a: lax.all_to_all(a, "x", 1, 1, tiled=True), X)
line("all_to_all_groups", lambda a: lax.all_to_all(a, "x", 1, 0, tiled=True, axis_index_groups=[[3, 0], [1, 2]]), N)
square("all_to_all_of_one_axis", lambda a: lax.all_to_all(a, "x", 0, 1, tiled=True), X)
line("axis_index", lambda a: a + lax.axis_index("x"), N)
square("axis_index_of_both", lambda a: a + 10 * lax.axis_index("x") + 100 * lax.axis_index("y") + 1000 * lax.axis_index(("y", "x")), N)
line("axis_size", lambda a: a * lax.axis_size("x"), N)
line("in_a_loop", lambda a: lax.fori_loop(0, 3, lambda i, c: lax.ppermute(c, "x", RING) + i, a), N)
line("in_a_scan", lambda a: lax.scan(lambda c, r: (lax.psum(r, "x") + c, lax.pmax(c, "x")), a[0], a)[0], N[:, :4], outs=P("x"))
square("in_a_branch_of_a_group", lambda a: lax.cond(lax.axis_index("x") == 0, lambda b: lax.psum(b, "y"), lambda b: b * 2, a), N)
line("in_a_jitted_function", lambda a: jax.jit(lambda b: lax.psum(b, "x"))(a) + jax.jit(lambda b: lax.psum(b, "x"))(a * 2), N, outs=P())
line("softmax_over_devices", lambda a: jnp.exp(a - lax.pmax(a.max(), "x")) / lax.psum(jnp.exp(a - lax.pmax(a.max(), "x")).sum(), "x"),
     X, rtol=1e-5)


# ---- kernels between collectives

def scale_kernel(x, o):
    o[...] = x[...] * 2 + 1


def matmul_kernel(a, b, o):
    o[...] = jnp.dot(a[...], b[...], preferred_element_type=jnp.float32, precision=lax.Precision.HIGHEST)


def call(kernel, shape, *arguments, interpret, **how):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(shape, jnp.float32), interpret=interpret, **how)(*arguments)


def right_permute_kernel(x, o, sent, received):
    me = lax.axis_index("x")
    copy = pltpu.make_async_remote_copy(x, o, sent, received, device_id=(lax.rem(me + 1, 4),),
                                        device_id_type=pltpu.DeviceIdType.MESH)
    copy.start()
    copy.wait()


def right_permute(a, interpret):
    if interpret:
        return lax.ppermute(a, "x", RING)
    return pl.pallas_call(right_permute_kernel, out_shape=jax.ShapeDtypeStruct(a.shape, a.dtype),
                          in_specs=[pl.BlockSpec(memory_space=pl.ANY)], out_specs=pl.BlockSpec(memory_space=pl.ANY),
                          scratch_shapes=[pltpu.SemaphoreType.DMA] * 2)(a)


def data_parallel(a, interpret):
    scaled = call(scale_kernel, a.shape, a, interpret=interpret)
    return call(scale_kernel, a.shape, lax.pmean(scaled, "x"), interpret=interpret)


def tensor_parallel(a, up, down, interpret):
    """An MLP whose hidden dimension is split: rows gathered, products, partial sums scattered."""
    rows = lax.all_gather(a, "x", tiled=True)
    hidden = jnp.maximum(call(matmul_kernel, (rows.shape[0], up.shape[1]), rows, up, interpret=interpret), 0)
    partial = call(matmul_kernel, (rows.shape[0], down.shape[1]), hidden, down, interpret=interpret)
    return lax.psum_scatter(partial, "x", tiled=True)


def permuted_sum(a, interpret):
    """A kernel that talks to its neighbour, between collectives."""
    return lax.psum(right_permute(lax.all_to_all(a, "x", 1, 0, tiled=True), interpret) * (1 + lax.axis_index("x")), "x")


def id_kernel(x, o):
    o[...] = x[...] + lax.axis_index("x").astype(jnp.float32)


KERNELS = {
    "kernel_data_parallel": (data_parallel, (P("x"),), P("x"), (floats(32, 128),), 1e-5),
    "kernel_tensor_parallel": (tensor_parallel, (P("x"), P(None, "x"), P("x")), P("x"),
                               (floats(32, 128), floats(128, 512), floats(512, 128)), 1e-4),
    "kernel_remote_copy": (permuted_sum, (P("x"),), P(), (floats(32, 512),), 1e-5),
    "kernel_device_id": (lambda a, interpret: lax.psum(
        a + lax.axis_index("x") if interpret else call(id_kernel, a.shape, a, interpret=False), "x"),
        (P("x"),), P(), (floats(32, 128),), 1e-5),
}


def sharded(function, mesh, ins, outs):
    return jax.jit(jax.shard_map(function, mesh=mesh, in_specs=ins, out_specs=outs, check_vma=False), keep_unused=True)


def record_all(folder):
    for name, (function, mesh, ins, outs, arguments, rtol) in CASES.items():
        expected = sharded(function, mesh, ins, outs)(*arguments)
        record(folder / name, sharded(function, mesh, ins, outs), *arguments, expected=expected, rtol=rtol, atol=rtol)
        jax.config.update("jax_use_shardy_partitioner", False)
        record(folder / f"gspmd_{name}", sharded(function, mesh, ins, outs), *arguments, expected=expected, rtol=rtol, atol=rtol)
        jax.config.update("jax_use_shardy_partitioner", True)
    for name, (function, ins, outs, arguments, rtol) in KERNELS.items():
        expected = sharded(lambda *a, f=function: f(*a, interpret=True), LINE, ins, outs)(*arguments)
        record(folder / name, sharded(lambda *a, f=function: f(*a, interpret=False), LINE, ins, outs), *arguments,
               expected=expected, rtol=rtol, atol=rtol)
    # Axes that the compiler splits, and shard_maps inside one another.
    whole = jnp.asarray(X)
    for name, function, ins, outs in [
            ("partial_psum", lambda a: lax.psum(a, "x") + lax.axis_index("x"), P("x"), P("x")),
            ("partial_ppermute", lambda a: lax.ppermute(a, "x", [(0, 1)]), P("x"), P("x")),
            ("nested", lambda a: jax.shard_map(lambda b: lax.psum(b, "y"), in_specs=P(None, "y"), out_specs=P(None, None),
                                               axis_names={"y"}, check_vma=False)(a) + 1, P("x"), P("x"))]:
        f = jax.jit(jax.shard_map(function, mesh=SQUARE, in_specs=ins, out_specs=outs, axis_names={"x"}, check_vma=False))
        record(folder / name, f, whole, expected=f(whole), rtol=1e-6, atol=1e-6)
    # JAX lowers groups of unequal sizes for CPUs alone, and broadcasts for GPUs alone, where their values are the sender's.
    uneven = sharded(lambda a: lax.psum(a, "x", axis_index_groups=[[0, 1, 3], [2]]), LINE, P("x"), P("x"))
    broadcast = sharded(lambda a: lax.pbroadcast(a, "x", 1), SQUARE, P("x", "y"), P("x", "y"))
    for name, f, platform, expected in [("psum_uneven_groups", uneven, "cpu", uneven(N)),
                                        ("pbroadcast", broadcast, "cuda", jnp.concatenate([N[4:], N[4:]]))]:
        record(folder / name, jnp.negative, N, expected=expected)
        (folder / name / "module.stablehlo.mlir").write_text(jax.export.export(f, platforms=[platform])(N).mlir_module())


if __name__ == "__main__":
    record_all(pathlib.Path(sys.argv[1]))
