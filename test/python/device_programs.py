"""JAX's twins of test/devices: the functions, what JAX computes on eight host devices, and the modules it makes. Run by
test_devices.py: device_programs.py DIR writes NAME.npz and NAME.mlir for every case folder of DIR."""

import os
import pathlib
import sys

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, PartitionSpec as P

LINE = Mesh(np.array(jax.devices()), ("x",))
GRID = Mesh(np.array(jax.devices()).reshape(2, 4), ("x", "y"))
RING4, RING8 = ([(i, (i + 1) % n) for i in range(n)] for n in (4, 8))

# name → (function of one device, mesh, in_specs, out_specs)
CASES = {}


def line(name, f, out=P("x")):
    CASES[name] = (f, LINE, P("x"), out)


def grid(name, f, out=P("x", "y")):
    CASES[name] = (f, GRID, P("x", "y"), out)


grid("psum_y", lambda v: lax.psum(v, "y"), P("x"))
grid("psum_x", lambda v: lax.psum(v, "x"), P(None, "y"))
grid("psum_xy", lambda v: lax.psum(v, ("x", "y")), P())
grid("pmean_yx", lambda v: lax.pmean(v, ("y", "x")), P())
grid("pmax_y", lambda v: lax.pmax(v, "y"), P("x"))
grid("pmin_x", lambda v: lax.pmin(v, "x"), P(None, "y"))
line("psum_number", lambda v: v * lax.psum(3, "x"))
line("psum_bool", lambda v: lax.psum(v > 50, "x"), P())
line("psum_groups", lambda v: lax.psum(v, "x", axis_index_groups=[[0, 2, 4], [1, 3, 5, 6, 7]]))
line("pmean_of_integers", lambda v: lax.pmean(v, "x"), P())
grid("all_gather_y", lambda v: lax.all_gather(v, "y"), P(None, "x"))
grid("all_gather_tiled", lambda v: lax.all_gather(v, "y", axis=1, tiled=True), P("x"))
grid("all_gather_yx", lambda v: lax.all_gather(v, ("y", "x"), axis=-1), P())
line("all_gather_groups", lambda v: lax.all_gather(v, "x", axis_index_groups=[[2, 0], [1, 3], [7, 6], [4, 5]], tiled=True))
grid("psum_scatter_tiled", lambda v: lax.psum_scatter(v, "y", scatter_dimension=1, tiled=True))
line("psum_scatter_untiled", lambda v: lax.psum_scatter(v, "x"))
line("psum_scatter_groups", lambda v: lax.psum_scatter(v, "x", scatter_dimension=1, tiled=True,
                                                       axis_index_groups=[[0, 1, 2, 3], [7, 6, 5, 4]]))
grid("ppermute_ring", lambda v: lax.ppermute(v, "y", RING4))
line("ppermute_some", lambda v: lax.ppermute(v, "x", [(0, 7), (3, 1)]))
grid("ppermute_xy", lambda v: lax.ppermute(v, ("x", "y"), [(0, 5), (5, 0), (7, 2)]))
line("pshuffle", lambda v: lax.pshuffle(v, "x", [7, 6, 5, 4, 3, 2, 1, 0]))
grid("pbroadcast", lambda v: lax.all_gather(v, "y")[2], P("x"))  # JAX lowers lax.pbroadcast for GPUs only
line("all_to_all_0_1", lambda v: lax.all_to_all(v, "x", 0, 1))
line("all_to_all_1_0", lambda v: lax.all_to_all(v.reshape(3, 8), "x", 1, 0))
line("all_to_all_same", lambda v: lax.all_to_all(v, "x", 0, 0))
grid("all_to_all_tiled", lambda v: lax.all_to_all(v, "y", 1, 0, tiled=True))
line("all_to_all_groups", lambda v: lax.all_to_all(v, "x", 1, 0, tiled=True,
                                                   axis_index_groups=[[0, 1], [3, 2], [4, 6], [5, 7]]))
grid("axis_index", lambda v: v + lax.axis_index("x") * 10 + lax.axis_index("y") * 100 + lax.axis_index(("y", "x")) * 1000
     + lax.axis_size(("x", "y")))
line("in_a_loop", lambda v: lax.fori_loop(0, 3, lambda i, c: lax.ppermute(c, "x", RING8) + i.astype(jnp.float32), v))


def softmax(v):
    e = jnp.exp(v - lax.pmax(v.max(), "x"))
    return e / lax.psum(e.sum(), "x")


line("softmax_over_devices", softmax)
line("in_a_branch_of_a_group", lambda v: lax.cond(
    lax.axis_index("x") < 4, lambda: lax.psum(v, "x", axis_index_groups=[[0, 1, 2, 3], [4, 5, 6, 7]]), lambda: v * 2))
CASES["two_arguments"] = (lambda rows, weights: (lax.psum(jnp.dot(rows, weights), "y"), weights * 2), GRID,
                          (P("x", "y"), P("y", None)), (P("x"), P("y")))
CASES["over_both_axes"] = (lambda v: v + lax.axis_index(("x", "y")), GRID, P(("x", "y")), P(("x", "y")))
CASES["captured_array"] = (lambda v: v + ((np.arange(16) * 37 + 11) % 101).astype(np.float32), LINE, P("x"), P("x"))

# Kernels of the library: their values only (the module of a twin has no kernel in it).
PAIR = Mesh(np.array(jax.devices()[:2]), ("x",))
RIGHT = [(i, (i + 1) % 8) for i in range(8)]


def kernel(name, f, mesh=LINE, ins=P("x"), outs=P("x")):
    CASES[name] = (f, mesh, ins, outs)


kernel("right_permute", lambda v: lax.ppermute(v, "x", RIGHT))
kernel("right_permute_y", lambda v: lax.ppermute(v, "y", RING4), GRID, P("x", "y"), P("x", "y"))
for path in ("direct", "ring", "bidirectional"):
    kernel(f"all_gather_kernel_{path}", lambda v: lax.all_gather(v, "x", tiled=True), outs=P())
    kernel(f"all_gather_pair_{path}", lambda v: lax.all_gather(v, "x", tiled=True), PAIR, outs=P())
kernel("reduce_scatter_kernel", lambda v: lax.psum_scatter(v, "x", tiled=True))
kernel("reduce_scatter_pair", lambda v: lax.psum_scatter(v, "x", tiled=True), PAIR)
kernel("all_reduce_kernel", lambda v: lax.psum(v, "x"), outs=P())
kernel("all_reduce_kernel_y", lambda v: lax.psum(v, "y"), GRID, P("x", "y"), P("x"))
kernel("all_to_all_kernel", lambda v: lax.all_to_all(v, "x", 0, 0))

HIGHEST = lax.Precision.HIGHEST
for name, mesh in {"all_gather_matmul": LINE, "all_gather_matmul_pair": PAIR}.items():
    kernel(name, lambda v, w: jnp.dot(lax.all_gather(v, "x", tiled=True), w, precision=HIGHEST), mesh,
           (P("x"), P(None, "x")), P(None, "x"))
kernel("matmul_reduce_scatter", lambda v, w: lax.psum_scatter(jnp.dot(v, w, precision=HIGHEST), "x", tiled=True),
       ins=(P(None, "x"), P("x")))


def attention(q, k, v, causal):
    length = q.shape[1]
    k, v = (lax.all_gather(a, "x", axis=1, tiled=True) for a in (k, v))
    scores = jnp.einsum("hqd,hkd->hqk", q, k, precision=HIGHEST) / np.sqrt(q.shape[2])
    if causal:
        queries = lax.axis_index("x") * length + jnp.arange(length)
        scores = jnp.where(queries[:, None] >= jnp.arange(k.shape[1])[None], scores, -jnp.inf)
    return jnp.einsum("hqk,hkd->hqd", jax.nn.softmax(scores), v, precision=HIGHEST)


for causal in (False, True):
    kernel("ring_attention" + "_causal" * causal, lambda q, k, v, causal=causal: attention(q, k, v, causal),
           ins=(P(None, "x"),) * 3, outs=P(None, "x"))


def moe(v, device):
    rows, n, me = v.shape[0], 8, lax.axis_index("x")
    place = jnp.sum((device[:, None] == device[None]) & (jnp.arange(rows)[None] < jnp.arange(rows)[:, None]), axis=1)
    every, to, where = (lax.all_gather(a, "x") for a in (v, device, place))
    source = jnp.arange(n)[:, None]
    here = jnp.zeros((n, rows + 1) + v.shape[1:]).at[source, jnp.where(to == me, where, rows)].set(every)[:, :rows]
    received = jnp.sum(to == me, axis=1).astype(jnp.int32)
    return here.sum(axis=(2, 3)), v * (device + 2)[:, None, None], received


kernel("moe", moe, ins=(P("x"), P("x")), outs=(P("x"), P("x"), P("x")))

FOUR = Mesh(np.array(jax.devices()[:4]), ("x",))
kernel("guide_right_permute", lambda v: lax.ppermute(v, "x", RING4), FOUR)
kernel("guide_all_gather", lambda v: lax.all_gather(v, "x"), FOUR, outs=P())
kernel("guide_all_reduce", lambda v: lax.psum(v, "x"), FOUR, outs=P())
for name, (rows, columns) in {"guide_reduce_scatter": (16, 128), "guide_reduce_scatter_pipelined": (32, 256)}.items():
    kernel(name, lambda v, shape=(4, rows, columns): lax.psum_scatter(v.reshape(shape), "x"), FOUR, P(None, "x"), P("x"))

if __name__ == "__main__":
    for folder in sorted(pathlib.Path(sys.argv[1]).iterdir()):
        if folder.name not in CASES:
            continue
        f, mesh, ins, outs = CASES[folder.name]
        inputs = [np.load(folder / f"in{i}.npy") for i in range(len(list(folder.glob("in*.npy"))))]
        mapped = jax.jit(jax.shard_map(f, mesh=mesh, in_specs=ins, out_specs=outs, check_vma=False))
        results = jax.tree.leaves(mapped(*inputs))
        np.savez(folder / "jax.npz", *[np.asarray(r) for r in results])
        (folder / "jax.mlir").write_text(mapped.lower(*inputs).as_text())
