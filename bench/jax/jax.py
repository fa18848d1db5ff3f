#!/usr/bin/env python3
"""Kernels of JAX's library and others in JAX programs, compared with calls from C++, interpret=True, InterpretParams and the machine's limit."""

import argparse
import functools
import math
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.pop(0)  # this folder, where `jax` would be this file
os.environ.setdefault("JAX_PLATFORMS", "cpu")
BUILD = pathlib.Path(__file__).resolve().parents[2] / "build/release"
sys.path.insert(0, str(BUILD / "python"))
sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
from jax.experimental.pallas.ops.tpu import flash_attention as flash
from jax.experimental.pallas.ops.tpu import megablox
from jax.experimental.pallas.ops.tpu.paged_attention import paged_attention

import smalti
import smalti.jax
from measure import best, empty
from smalti.jax import _versions
from smalti.jax._settings import reference

ROUNDS = 3
#: the least ratios to the speed from C++ and to the limit
LEAST = (.75, .7)


def normal(seed, shape, dtype=jnp.float32):
    return jnp.asarray(np.random.default_rng(seed).normal(size=shape), dtype)


def matmul(x, y, block=256):
    def kernel(x, y, o, accumulator):
        @pl.when(pl.program_id(2) == 0)
        def _():
            accumulator[...] = jnp.zeros_like(accumulator)

        accumulator[...] += jnp.dot(x[...], y[...], preferred_element_type=jnp.float32)

        @pl.when(pl.program_id(2) == pl.num_programs(2) - 1)
        def _():
            o[...] = accumulator[...].astype(o.dtype)

    (m, k), n = x.shape, y.shape[1]
    return pl.pallas_call(kernel, grid=(m // block, n // block, k // block), out_shape=jax.ShapeDtypeStruct((m, n), x.dtype),
                          in_specs=[pl.BlockSpec((block, block), lambda i, j, k: (i, k)),
                                    pl.BlockSpec((block, block), lambda i, j, k: (k, j))],
                          out_specs=pl.BlockSpec((block, block), lambda i, j, k: (i, j)),
                          scratch_shapes=[pltpu.VMEM((block, block), jnp.float32)])(x, y)


def gelu(x):
    rows = pl.BlockSpec((128, x.shape[1]), lambda i: (i, 0))
    return pl.pallas_call(lambda x, o: o.__setitem__(..., jax.nn.gelu(x[...])), grid=(x.shape[0] // 128,), in_specs=[rows],
                          out_specs=rows, out_shape=x)(x)


def attention(q, k, v):
    return flash.flash_attention(q, k, v, causal=False, sm_scale=1 / math.sqrt(q.shape[-1]))


def grouped(x, y):
    groups = y.shape[0]
    return megablox.gmm(x, y, jnp.array([x.shape[0] // groups] * groups, jnp.int32), preferred_element_type=jnp.float32)


def paged(q, k, v):
    _, pages, page_size, _ = k.shape
    table = jnp.arange(pages, dtype=jnp.int32).reshape(len(q), -1)
    lengths = jnp.full(len(q), table.shape[1] * page_size, jnp.int32)
    return paged_attention(q, k, v, lengths, table, pages_per_compute_block=8)


#: name, function, arguments, multiply-adds, bytes (the limit is the longer of their times plus a call of JAX)
ROWS = [
    ("matmul f32 512³", matmul, (normal(0, (512, 512)), normal(1, (512, 512))), 512**3, 0),
    ("matmul bf16 512³", matmul, (normal(0, (512, 512), jnp.bfloat16), normal(1, (512, 512), jnp.bfloat16)), 512**3, 0),
    ("gelu f32 1024×4096", gelu, (normal(0, (1024, 4096)),), 0, 32 << 20),
    ("flash attention 4×512×128", attention, tuple(normal(i, (1, 4, 512, 128)) for i in range(3)), 2 * 4 * 512**2 * 128, 0),
    ("megablox gmm 2048×512×1024", grouped, (normal(0, (2048, 512)), normal(1, (8, 512, 1024))), 2048 * 512 * 1024, 0),
    ("paged attention 8×32×1024", paged, (normal(0, (8, 32, 128)), *(normal(i, (8, 512, 16, 128)) for i in (1, 2))),
     0, 2 * 8 * 512 * 16 * 128 * 4),
]


def rates():
    """Multiply-adds and copied bytes per second: NumPy's matrix product, and a copy larger than the caches."""
    x, big = np.ones((512, 512), np.float32), np.ones(64 << 20, np.uint8)
    into = np.empty_like(big)
    return 512**3 / best(lambda: x @ x, 50), 2 * big.nbytes / best(lambda: np.copyto(into, big), 10)


def empty_call(f, arguments):
    """Seconds of a call of a program with the arrays of `f`, whose handler computes nothing."""
    result, program = jax.eval_shape(f, *arguments), jax.jit(empty, static_argnums=0)
    return best(lambda: program(result, *arguments), 300)


def kernels_of(f, arguments):
    """The kernels that a call of `f` runs: each as a function of its own, with its operands."""
    kernels, defaults = [], {primitive: primitive.impl for primitive in _versions.primitives()}

    def recorded(primitive):
        def call(*operands, **params):
            kernel = jax.jit(functools.partial(primitive.bind, **params))
            kernels.append((kernel, operands))
            with jax.disable_jit(False):
                return kernel(*operands)
        return call

    for primitive in defaults:
        primitive.def_impl(recorded(primitive))
    try:
        with jax.disable_jit():
            f(*arguments)
    finally:
        for primitive, default in defaults.items():
            primitive.def_impl(default)
    return kernels


def seconds_from_cpp(cases):
    """Seconds of the calls of these recorded cases in a program in C++."""
    done = subprocess.run([BUILD / "bin/bench_jax_from_cpp", *cases], capture_output=True, text=True, check=True)
    return sum(map(float, done.stdout.split()))


def measured(program, f, arguments):
    """Seconds of a call in JAX and of its kernels in C++, interleaved."""
    with tempfile.TemporaryDirectory() as folder:
        cases = [smalti.jax.export(kernel, *operands, folder=pathlib.Path(folder) / f"kernel{i}")
                 for i, (kernel, operands) in enumerate(kernels_of(f, arguments))]
        rounds = [(best(lambda: program(*arguments), 100), seconds_from_cpp(cases)) for _ in range(ROUNDS)]
    return map(min, zip(*rounds))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="rows whose name contains this")
    given = parser.parse_args()
    print(f"{smalti.version()}, JAX {jax.__version__}, {os.cpu_count()} processors; times of a call in ms, the shortest of several")
    smalti.jax.install()
    multiply_adds, bytes_copied = rates()
    print(f"limits: {multiply_adds / 1e9:.0f} G multiply-adds/s of f32 (NumPy) or {bytes_copied / 1e9:.1f} GB/s (a copy), "
          "and a call of JAX with the row's arrays whose handler computes nothing\n")
    print(f"{'':<27}{'here':>9}{'from C++':>10}{'limit':>9}{'interpret=True':>16}{'InterpretParams':>17}{'ratios':>17}"
          f"{'of C++':>8}{'of limit':>10}")
    ratios, below = [], []
    for name, f, arguments, work, data in ROWS:
        if given.only not in name:
            continue
        program = jax.jit(f)
        ours, alone = measured(program, f, arguments)
        limit = empty_call(f, arguments) + max(work / multiply_adds, data / bytes_copied)
        with reference():
            plain = best(lambda: program(*arguments), 3)
        with pltpu.force_tpu_interpret_mode(pltpu.InterpretParams()):
            simulated = best(lambda: program(*arguments), 1)
        ratios.append((plain / ours, simulated / ours))
        reached = (alone / ours, limit / ours)
        below += [f"{name}: {ratio:.2f} of {what}, at least {least}"
                  for ratio, least, what in zip(reached, LEAST, ("the speed from C++", "the limit")) if ratio < least]
        print(f"{name:<27}{ours * 1e3:>9.3f}{alone * 1e3:>10.3f}{limit * 1e3:>9.3f}{plain * 1e3:>16.2f}{simulated * 1e3:>17.1f}"
              f"{plain / ours:>8.1f}×{simulated / ours:>7.0f}×{reached[0]:>8.2f}{reached[1]:>10.2f}", flush=True)
    means = [math.exp(sum(math.log(r) for r in column) / len(column)) for column in zip(*ratios)]
    print(f"geometric mean: {means[0]:.1f} times as fast as interpret=True, {means[1]:.0f} times as fast as InterpretParams")
    print("\n".join(["below their limits:", *below]) if below else "no row is below its limits")
    return 1 if below else 0


if __name__ == "__main__":
    sys.exit(main())
