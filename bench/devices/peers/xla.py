"""XLA:CPU's collectives over devices of the host, with the protocol of ../Rounds.h: xla.py DEVICES."""

import os
import sys
import time

DEVICES = int(sys.argv[1])
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={DEVICES}"

import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding, PartitionSpec as P

MESH = jax.make_mesh((DEVICES,), ("x",))
COLLECTIVES = {
    "all_reduce": (lambda x: jax.lax.psum(x, "x"), P()),
    "all_gather": (lambda x: jax.lax.all_gather(x, "x", tiled=True), P()),
    "reduce_scatter": (lambda x: jax.lax.psum_scatter(x, "x", tiled=True), P("x")),
    "all_to_all": (lambda x: jax.lax.all_to_all(x, "x", 0, 0, tiled=True), P("x")),
}


def measure(name, size, seconds):
    f, spec = COLLECTIVES[name]
    elements = size // 4 // (DEVICES if name == "all_gather" else 1)
    x = jax.device_put(jnp.ones(DEVICES * elements, jnp.float32), NamedSharding(MESH, P("x")))
    run = jax.jit(jax.shard_map(f, mesh=MESH, in_specs=P("x"), out_specs=spec, check_vma=False)).lower(x).compile()
    jax.block_until_ready(run(x))
    begin = time.perf_counter()
    jax.block_until_ready(run(x))
    calls = min(max(int(1e-3 / (time.perf_counter() - begin)), 1), 1000)
    best, end, rounds = 1e30, time.perf_counter() + seconds, 0
    while rounds < 3 or time.perf_counter() < end:
        begin = time.perf_counter()
        for _ in range(calls):
            jax.block_until_ready(run(x))
        best, rounds = min(best, (time.perf_counter() - begin) / calls), rounds + 1
    return best


for line in sys.stdin:
    name, size, seconds = line.split()
    print(measure(name, int(size), float(seconds)), flush=True)
