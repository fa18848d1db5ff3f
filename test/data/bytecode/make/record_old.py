"""Kernel bodies as an older JAX exports them: python record_old.py FOLDER, with the Python that has that JAX."""

import base64
import pathlib
import re
import sys
import types

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

if jax.__version__ == "0.4.26":  # this one asks the device for its kind while lowering
    jax.devices = lambda *_: [types.SimpleNamespace(device_kind="TPU v5e", platform="tpu")]
try:
    from jax import export

    def lowered(f, *args):
        return export.export(jax.jit(f), platforms=["tpu"])(*args).mlir_module()
except ImportError:
    from jax.experimental import export

    def lowered(f, *args):
        return export.export(jax.jit(f), lowering_platforms=["tpu"])(*args).mlir_module()

ANY, VMEM = pltpu.ANY, pltpu.VMEM
F = jax.ShapeDtypeStruct((8, 128), jnp.float32)


def shape(*dims, dtype=jnp.float32):
    return jax.ShapeDtypeStruct(dims, dtype)


def scratch(in_space, out_space, *shapes):
    return {
        "grid_spec": pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=0,
            in_specs=[pl.BlockSpec(memory_space=in_space)],
            out_specs=pl.BlockSpec(memory_space=out_space),
            scratch_shapes=list(shapes),
        )
    }


def dma(x, o, buffer, sem):
    copy = pltpu.make_async_copy(x, buffer, sem)
    copy.start()
    copy.wait()
    o[...] = buffer[...] * 2.0


def remote(x, o, send, receive):
    copy = pltpu.make_async_remote_copy(
        x, o, send, receive, device_id=1, device_id_type=pltpu.DeviceIdType.LOGICAL
    )
    copy.start()
    copy.wait()


def sem(x, o, s):
    pltpu.semaphore_signal(s, 2)
    pltpu.semaphore_signal(s, 1)
    pltpu.semaphore_wait(s, 3)
    o[...] = x[...]


def reduce(x, o):
    rows = jnp.sum(x[...], axis=1, keepdims=True)
    columns = jnp.max(x[...], axis=0, keepdims=True)
    o[...] = jnp.broadcast_to(rows + columns, (8, 128))


def iota(x, o):
    o[...] = x[...] + jax.lax.broadcasted_iota(jnp.int32, (8, 128), 1).astype(jnp.float32)


def gather(x, i, o):
    o[...] = jnp.take_along_axis(x[...], i[...], axis=1)


def repeat(x, o):
    o[...] = pltpu.repeat(x[...], 4, axis=1)


def matmul(x, y, o):
    o[...] = jnp.dot(x[...], y[...], preferred_element_type=jnp.float32)


def matmul_t(x, y, o):
    contract_last = (((1,), (1,)), ((), ()))
    o[...] = jax.lax.dot_general(x[...], y[...], contract_last, preferred_element_type=jnp.float32)


def roll(x, o):
    o[...] = pltpu.roll(x[...], 3, 1)


def transpose(x, o):
    o[...] = x[...].T


def add_grid(x, y, o):
    o[...] = x[...] + y[...]


def blocks():
    index, block = (lambda i: (i, 0)), (8, 128)
    old = tuple(map(int, jax.__version__.split("."))) < (0, 4, 32)
    return pl.BlockSpec(index, block) if old else pl.BlockSpec(block, index)


KERNELS = {
    "dma": (dma, F, [F], scratch(ANY, VMEM, VMEM((8, 128), jnp.float32), pltpu.SemaphoreType.DMA)),
    "remote": (remote, F, [F], scratch(ANY, ANY, pltpu.SemaphoreType.DMA, pltpu.SemaphoreType.DMA)),
    "sem": (sem, F, [F], scratch(VMEM, VMEM, pltpu.SemaphoreType.REGULAR)),
    "reduce": (reduce, F, [F], {}),
    "iota": (iota, F, [F], {}),
    "gather": (gather, F, [F, shape(8, 128, dtype=jnp.int32)], {}),
    "repeat": (repeat, shape(8, 512), [F], {}),
    "matmul": (matmul, F, [F, shape(128, 128)], {}),
    "matmul_t": (matmul_t, F, [F, shape(128, 128)], {}),
    "roll": (roll, F, [F], {}),
    "transpose": (transpose, shape(128, 128), [shape(128, 128)], {}),
    "add_grid": (
        add_grid,
        shape(32, 128),
        [shape(32, 128)] * 2,
        {"grid": (4,), "in_specs": [blocks(), blocks()], "out_specs": blocks()},
    ),
}


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    jax.config.update("jax_include_full_tracebacks_in_locations", False)
    jax.config.update("jax_hlo_source_file_canonicalization_regex", "^.*/")
    for name, (kernel, out, args, options) in KERNELS.items():
        call = pl.pallas_call(kernel, out_shape=out, **options)
        try:
            text = str(lowered(lambda *xs, call=call: call(*xs), *args))
        except Exception as error:  # this JAX cannot lower it
            print(name, type(error).__name__)
            continue
        body = re.search(r"body[^A-Za-z0-9]*(?:22:)?[ \\\"]*(?:22)?([A-Za-z0-9+/=]{100,})", text).group(1)
        (folder / f"{name}.bc").write_bytes(base64.b64decode(body))


main()
