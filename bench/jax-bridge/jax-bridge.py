#!/usr/bin/env python3
"""Kernels in JAX programs: the cost of a call compared with an empty one, and times compared with interpret=True."""

import os
import pathlib
import sys

os.environ.setdefault("JAX_PLATFORMS", "cpu")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "build/release/python"))
sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas.ops.tpu import flash_attention

import smalti
import smalti.jax
from measure import best, empty
from smalti.jax._settings import reference

CALLS = 2000


def overhead():
    """Microseconds of a call within a program: of a handler that does nothing, and of a kernel that copies one block."""
    x = jnp.ones((8, 128))

    def many(call):
        f = jax.jit(lambda x: jax.lax.fori_loop(0, CALLS, lambda i, x: call(x), x))
        return best(lambda: f(x)) / CALLS * 1e6

    def tiny(x):
        return pl.pallas_call(lambda x, o: o.__setitem__(..., x[...]), out_shape=x)(x)

    smalti.jax.install(threads=1)
    print("one call of a copy of f32[8,128] in a program, in µs")
    base = many(lambda x: empty(x, x))
    print(f"  an empty FFI handler  {base:6.2f}")
    print(f"  a cached kernel       {many(tiny):6.2f}   {many(tiny) - base:+.2f}")


def rows():
    q = jnp.asarray(np.random.default_rng(0).normal(size=(1, 4, 512, 128)), jnp.float32)
    a = jnp.asarray(np.random.default_rng(1).normal(size=(512, 512)), jnp.float32)

    def matmul(a):
        def kernel(x, y, o):
            @pl.when(pl.program_id(2) == 0)
            def _():
                o[...] = jnp.zeros_like(o)

            o[...] += jnp.dot(x[...], y[...], preferred_element_type=jnp.float32)

        block = 128
        return pl.pallas_call(kernel, grid=(4, 4, 4), out_shape=a,
                              in_specs=[pl.BlockSpec((block, block), lambda i, j, k: (i, k)),
                                        pl.BlockSpec((block, block), lambda i, j, k: (k, j))],
                              out_specs=pl.BlockSpec((block, block), lambda i, j, k: (i, j)))(a, a)

    smalti.jax.install()
    print(f"{'kernel':<24}{'here ms':>10}{'interpret=True ms':>20}{'ratio':>8}")
    for name, f, arguments in (("matmul 512³", matmul, (a,)),
                               ("flash attention 4×512", lambda q: flash_attention.flash_attention(q, q, q), (q,))):
        ours = best(lambda: jax.jit(f)(*arguments))
        with reference():
            theirs = best(lambda: jax.jit(f)(*arguments), 3)
        print(f"{name:<24}{ours * 1e3:>10.2f}{theirs * 1e3:>20.2f}{theirs / ours:>8.1f}")


if __name__ == "__main__":
    print(f"{smalti.version()}, JAX {jax.__version__}, {os.cpu_count()} processors")
    overhead()
    rows()
