#!/usr/bin/env python3
"""Array ops around kernels (reductions, sorts, scatters, transforms, convolutions, factors), and kernels that only move data,
compared with XLA:CPU."""

import argparse
import json
import math
import os
import pathlib
import statistics
import sys
import time

os.environ.setdefault("JAX_PLATFORMS", "cpu")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "build/release/python"))

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import pallas as pl

import smalti


def normal(*shape, dtype=np.float32):
    return np.random.default_rng(0).normal(size=shape).astype(dtype)


def integers(below, *shape):
    return np.random.default_rng(1).integers(0, below, shape).astype(np.int32)


def positive(n):
    x = normal(n, n)
    return x @ x.T + n * np.eye(n, dtype=np.float32)


def max_pool(x):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")


def conv(x, w):
    return lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def wide_product(x, y):
    return lax.dot(x, y, preferred_element_type=jnp.int32 if x.dtype == jnp.int8 else jnp.float32)


def mlp(x, w, v):
    return jax.nn.gelu(x @ w) @ v


LOGITS = normal(8, 128256)
IMAGE = normal(8, 56, 56, 64)
#: name → function and arguments
ROWS = {
    "argmax of 8 × 128256": (lambda x: jnp.argmax(x, -1), LOGITS),
    "top 50 of 8 × 128256": (lambda x: lax.top_k(x, 50), LOGITS),
    "sort 8 × 128256": (lambda x: jnp.sort(x, -1), LOGITS),
    "argsort 8 × 128256": (lambda x: jnp.argsort(x, -1), LOGITS),
    "softmax 8 × 128256": (lambda x: jax.nn.softmax(x, -1), LOGITS),
    "logsumexp 8 × 128256": (lambda x: jax.nn.logsumexp(x, -1), LOGITS),
    "cumsum 8 × 128256": (lambda x: jnp.cumsum(x, -1), LOGITS),
    "cumlogsumexp 8 × 128256": (lambda x: lax.cumlogsumexp(x, axis=1), LOGITS),
    "categorical 8 × 128256": (lambda x: jax.random.categorical(jax.random.key(0), x), LOGITS),
    "sum over rows 4096²": (lambda x: x.sum(0), normal(4096, 4096)),
    "transpose 4096²": (lambda x: x.T, normal(4096, 4096)),
    "elementwise chain 4096²": (lambda x: jnp.tanh(x) * x + 1, normal(4096, 4096)),
    "layer norm 4096²": (lambda x: (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5), normal(4096, 4096)),
    "MLP 512 × 1024 × 4096": (mlp, normal(512, 1024), normal(1024, 4096), normal(4096, 1024)),
    "product of bf16 1024³": (wide_product, normal(1024, 1024).astype(jnp.bfloat16), normal(1024, 1024).astype(jnp.bfloat16)),
    "product of int8 1024³": (wide_product, integers(100, 1024, 1024).astype(np.int8), integers(100, 1024, 1024).astype(np.int8)),
    "batched product 64 × 128³": (lambda x, y: x @ y, normal(64, 128, 128), normal(64, 128, 128)),
    "take 65536 rows of 128": (lambda x, i: x[i], normal(4096, 128), integers(4096, 65536)),
    "take 10⁶ elements": (lambda x, i: x[i], normal(10**6), integers(10**6, 10**6)),
    "take along axis 1024²": (lambda x, i: jnp.take_along_axis(x, i, 1), normal(1024, 1024), integers(1024, 1024, 1024)),
    "x // 7 of 10⁶": (lambda x: x // 7, integers(10**6, 10**6)),
    "bincount 10⁶": (lambda i: jnp.bincount(i, length=1024), integers(1024, 10**6)),
    "segment sum 65536 × 128": (lambda x, i: jax.ops.segment_sum(x, i, 256), normal(65536, 128), integers(256, 65536)),
    "nonzero of 10⁶": (lambda x: jnp.nonzero(x, size=10**6)[0], integers(2, 10**6)),
    "fft 64 × 4096": (lambda x: jnp.fft.fft(x), normal(64, 4096).astype(np.complex64)),
    "rfft 2²⁰": (lambda x: jnp.fft.rfft(x), normal(2**20)),
    "irfft 2²⁰": (lambda x: jnp.fft.irfft(x), normal(2**19 + 1).astype(np.complex64)),
    "fft of prime length 65537": (lambda x: jnp.fft.fft(x), normal(65537).astype(np.complex64)),
    "fft2 1024²": (lambda x: jnp.fft.fft2(x), normal(1024, 1024).astype(np.complex64)),
    "max pool 3×3": (max_pool, IMAGE),
    "gradient of max pool 3×3": (jax.grad(lambda x: (max_pool(x) ** 2).sum()), IMAGE),
    "sum of windows 64×64": (lambda x: lax.reduce_window(x, 0.0, lax.add, (64, 64), (1, 1), "VALID"), normal(512, 512)),
    "convolution 3×3, 64 → 64": (conv, IMAGE, normal(3, 3, 64, 64)),
    "cholesky 512": (jnp.linalg.cholesky, positive(512)),
    "triangular solve 512": (lambda a, b: jax.scipy.linalg.solve_triangular(a, b, lower=True), np.tril(positive(512)), normal(512, 64)),
    "solve 512": (jnp.linalg.solve, normal(512, 512), normal(512, 64)),
    "QR of 512 × 512": (lambda x: tuple(jnp.linalg.qr(x)), normal(512, 512)),
    "eigenvectors of 256 × 256": (jnp.linalg.eigh, positive(256)),
    "random normal 10⁶": (lambda: jax.random.normal(jax.random.key(0), (10**6,)),),
    "1000 steps of a loop": (lambda x: lax.fori_loop(0, 1000, lambda i, c: c * 0.999 + 1, x), normal(128)),
}


def rotate_half(x):
    half = x.shape[1] // 2
    return jnp.concatenate([-x[:, half:], x[:, :half]], 1)


def pixel_shuffle(x):
    h, w, c = x.shape
    return x.reshape(h, w, 2, 2, c // 4).transpose(0, 2, 1, 3, 4).reshape(2 * h, 2 * w, c // 4)


#: kernels without arithmetic on whole arrays in VMEM: name → body and arguments
MOVES = {
    "kernel: pad images": (lambda x: jnp.pad(x, ((1, 1), (1, 1), (0, 0))), normal(64, 64, 128)),
    "kernel: pixel shuffle": (pixel_shuffle, normal(64, 64, 512)),
    "kernel: heads to front": (lambda x: x.reshape(1024, 8, 128).transpose(1, 0, 2), normal(1024, 1024)),
    "kernel: swap batch and rows": (lambda x: x.transpose(1, 0, 2), normal(128, 64, 128)),
    "kernel: repeat pixels": (lambda x: jnp.repeat(jnp.repeat(x, 2, 0), 2, 1), normal(64, 64, 128)),
    "kernel: roll rows": (lambda x: jnp.roll(x, 5, 0), normal(1024, 512)),
    "kernel: rotate half": (rotate_half, normal(4096, 128)),
    "kernel: join columns": (lambda x, y: jnp.concatenate([x, y], 1), normal(1024, 256), normal(1024, 256)),
    "kernel: interleave rows": (lambda x, y: jnp.stack([x, y], 1), normal(512, 512), normal(512, 512)),
    "kernel: transpose": (lambda x: x.T, normal(512, 1024)),
}


def as_kernel(f):
    def call(*arguments):
        def kernel(*refs):
            refs[-1][...] = f(*(r[...] for r in refs[:-1]))

        return pl.pallas_call(kernel, out_shape=jax.eval_shape(f, *arguments))(*arguments)

    return call


def seconds(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def measured(f, arguments, rounds, kernel=False):
    """Medians in seconds of a call here (as a kernel, if wanted) and in JAX, which alternate; the first call of each does not
    count."""
    ours = as_kernel(f) if kernel else f
    code = smalti.parse(jax.export.export(jax.jit(ours), platforms=["tpu"])(*arguments).mlir_module()).compile(target="cpu")
    arrays, program = [jnp.asarray(a) for a in arguments], jax.jit(f)
    calls = (lambda: code(*arguments), lambda: jax.block_until_ready(program(*arrays)))
    for call in calls:
        call()
    times = [[seconds(call) for call in calls] for _ in range(rounds)]
    return [statistics.median(column) for column in zip(*times)]


def rounds(text):
    if not (text.isdecimal() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"{text}: must be a whole number from 1 on")
    return int(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="rows whose name contains this")
    parser.add_argument("--rounds", type=rounds, default=7, help="calls of each, which alternate (default 7)")
    parser.add_argument("--json", help="a file for the figures: name → [seconds here, seconds in JAX]")
    given = parser.parse_args()
    print(f"{smalti.version()}, JAX {jax.__version__} on the CPU, {os.cpu_count()} processors; medians of {given.rounds} calls in ms\n")
    print(f"{'':<28}{'here':>9}{'JAX':>9}{'JAX / here':>12}")
    figures = {}
    for rows, kernel in ((ROWS, False), (MOVES, True)):
        ratios = []
        for name, (f, *arguments) in rows.items():
            if given.only not in name:
                continue
            ours, theirs = figures[name] = measured(f, arguments, given.rounds, kernel)
            ratios.append(theirs / ours)
            print(f"{name:<28}{ours * 1e3:>9.3f}{theirs * 1e3:>9.3f}{theirs / ours:>12.2f}", flush=True)
        if ratios:
            print(f"geometric mean of the ratios: {math.exp(statistics.mean(map(math.log, ratios))):.2f}\n")
    if given.json:
        pathlib.Path(given.json).write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
