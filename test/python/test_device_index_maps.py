"""Index maps that ask which device they run on, on every target."""

import os
import subprocess
import sys

import numpy as np
import pytest

PROGRAM = """
import jax, jax.numpy as jnp, numpy as np, sys
from jax.experimental import pallas as pl
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()), ("x",))

def kernel(x_ref, o_ref):
  o_ref[...] = x_ref[...]

def own_block(x):
  return pl.pallas_call(kernel, grid=(1,), out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32),
                        in_specs=[pl.BlockSpec((8, 128), lambda i: (jax.lax.axis_index("x"), 0))],
                        out_specs=pl.BlockSpec((8, 128), lambda i: (0, 0)))(x)

whole = P(None, None)
f = jax.jit(jax.shard_map(own_block, mesh=mesh, in_specs=whole, out_specs=P("x", None), check_vma=False))
x = jax.ShapeDtypeStruct((32, 128), jnp.float32, sharding=NamedSharding(mesh, whole))
open(sys.argv[1], "w").write(jax.export.export(f, platforms=["tpu"])(x).mlir_module())
"""


@pytest.fixture(scope="module")
def module(tmp_path_factory):
    path = tmp_path_factory.mktemp("devices") / "own_block.mlir"
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": "--xla_force_host_platform_device_count=4"}
    subprocess.run([sys.executable, "-c", PROGRAM, str(path)], env=environment, check=True, timeout=120)
    return path


@pytest.mark.parametrize("target", ["interpret", "cpu"])
def test_each_device_gets_its_block(smalti, module, tmp_path, target):
    subprocess.run([smalti, "run", str(module), "--target", target, "--fill", "iota", "--out", str(tmp_path)], check=True,
                   timeout=60, stdout=subprocess.DEVNULL)
    assert np.array_equal(np.load(tmp_path / "out0.npy"), np.arange(32 * 128, dtype=np.float32).reshape(32, 128))
