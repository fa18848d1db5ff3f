"""From a kernel of Pallas to a checked one, cell by cell: python examples/jax/first_kernel.py"""

# %% A typical TPU kernel: a matrix product, block by block.
import os
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

import smalti
import smalti.jax


def matmul(x, y, set_to_zero=True):
    def kernel(x_ref, y_ref, o_ref):
        @pl.when(pl.program_id(2) == 0)
        def first():
            if set_to_zero:
                o_ref[...] = jnp.zeros_like(o_ref)

        o_ref[...] += jnp.dot(x_ref[...], y_ref[...], preferred_element_type=jnp.float32)

    m, k, n = x.shape[0] // 128, x.shape[1] // 128, y.shape[1] // 128
    return pl.pallas_call(
        kernel, grid=(m, n, k),
        in_specs=[pl.BlockSpec((128, 128), lambda i, j, k: (i, k)), pl.BlockSpec((128, 128), lambda i, j, k: (k, j))],
        out_specs=pl.BlockSpec((128, 128), lambda i, j, k: (i, j)),
        out_shape=jax.ShapeDtypeStruct((x.shape[0], y.shape[1]), jnp.float32))(x, y)


random = np.random.default_rng(0)
x, y = (random.normal(size=(256, 256)).astype(np.float32) for _ in range(2))

# %% Without a TPU, JAX has no way to run it but interpret=True.
try:
    matmul(x, y)
except ValueError as error:
    print("JAX alone:", error)

# %% With Smalti it runs unchanged.
smalti.jax.install()
print("largest error:", "below 1e-3" if abs(jax.jit(matmul)(x, y) - x @ y).max() < 1e-3 else "large")

# %% Its results equal those of interpret=True, and the checks find nothing.
smalti.jax.compare(matmul, x, y)
smalti.jax.check(matmul, x, y)
print("no findings")

# %% Now with a mistake: the accumulator is never set to zero. The result may or may not be right; the check reports it.
try:
    smalti.jax.check(lambda x, y: matmul(x, y, set_to_zero=False), x, y)
except smalti.CheckError as error:
    finding = error.findings[0].diagnostic
    print(f"{finding.code}: {finding.message}")
    print(f"line {finding.line}: {open(__file__).read().splitlines()[finding.line - 1].strip()}")

# %% The same function on the abstract machine, for another chip.
with smalti.jax.using(target="interpret", chip="v6e"):
    print("VMEM of the chip that is pretended:", pltpu.get_tpu_info().vmem_capacity_bytes >> 20, "MiB")
    jax.jit(matmul)(x, y)

# %% Exported to a file, it runs without JAX.
folder = smalti.jax.export(matmul, x, y, folder="matmul_case", expected=x @ y, rtol=1e-4, atol=1e-3)
print(smalti.load(folder))
