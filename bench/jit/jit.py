#!/usr/bin/env python3
"""Ten programs of plain ops under jit on cpu, compared with XLA: microseconds per call, and XLA's time divided by Smalti's."""

import math
import os
import pathlib
import subprocess
import sys
import time

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp
from jax import lax

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROUNDS = 3


def numbers(shape, seed, scale=1.0):
    return jax.random.normal(jax.random.key(seed), shape) * scale


def layer_norm(x, scale, shift):
    centred = x - x.mean(-1, keepdims=True)
    return centred * lax.rsqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * scale + shift


def attention(q, k, v):
    return jax.nn.softmax(jnp.einsum("hqd,hkd->hqk", q, k) * 0.125) @ v


def chain(x, y):
    return jnp.tanh(x * 2 + y) * jnp.exp(-jnp.square(x)) + jax.nn.sigmoid(y)


def cross_entropy(x, n):
    return -jnp.take_along_axis(jax.nn.log_softmax(x), n.reshape(512, 1), 1).mean()


def transformer_layer(x, scale, shift, wq, wk, wv, wo, up, down):
    def heads(t):
        return t.reshape(128, 4, 64).transpose(1, 0, 2)

    n = layer_norm(x, scale, shift)
    r = x + attention(heads(n @ wq), heads(n @ wk), heads(n @ wv)).transpose(1, 0, 2).reshape(128, 256) @ wo
    return r + jax.nn.gelu(layer_norm(r, scale, shift) @ up) @ down


def gathers(x, n):
    return jnp.tanh(x[n]).sum(1)


def scan(x, w):
    def step(h, x):
        h = jnp.tanh(h @ w + x)
        return h, h.sum(1)

    return lax.scan(step, jnp.zeros((32, 128)), x)


def adam(p, m, v, g):
    m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * jnp.square(g)
    return p - 1e-3 * (m / 0.5 / (jnp.sqrt(v / 0.25) + 1e-8) + 0.01 * p), m, v


def convolution(x, w):
    return jax.nn.relu(sum(x[:, k:4096 - 8 + k] * w[k] for k in range(9)))


def reduction_tree(x):
    rows, top = jnp.square(x).sum(1), x.max(1)
    return rows.sum() + top.max(), jnp.sqrt(rows) / (jnp.abs(top) + 1)


def programs():
    x, y = numbers((512, 1024), 0), numbers((512, 1024), 1)
    yield chain, (x, y)
    yield layer_norm, (x, numbers((1024,), 2), numbers((1024,), 3))
    yield cross_entropy, (x, jnp.arange(512) * 37 % 1024)
    square = [numbers((256, 256), seed, 0.05) for seed in (5, 6, 7, 8)]
    yield transformer_layer, (numbers((128, 256), 4), jnp.ones(256), jnp.zeros(256), *square,
                              numbers((256, 1024), 9, 0.05), numbers((1024, 256), 10, 0.05))
    yield attention, tuple(numbers((8, 256, 64), seed) for seed in (11, 12, 13))
    yield gathers, (numbers((4096, 128), 14), jnp.arange(2048) * 1009 % 4096)
    yield scan, (numbers((64, 32, 128), 15), numbers((128, 128), 16, 0.05))
    yield adam, (x, y, jnp.square(x), numbers((512, 1024), 17))
    yield convolution, (numbers((64, 4096), 18), numbers((9,), 19))
    yield reduction_tree, (x,)


def timed(f, inputs):
    call = jax.jit(f)
    total = sum(float(r.astype(jnp.float64 if jax.config.x64_enabled else jnp.float32).sum())
                for r in jax.tree.leaves(jax.block_until_ready(call(*inputs))))
    best, spent, rounds = math.inf, 0.0, 0
    while rounds < 1000 and (spent < 0.4 or rounds < 5):
        begin = time.perf_counter()
        jax.block_until_ready(call(*inputs))
        took = time.perf_counter() - begin
        best, spent, rounds = min(best, took), spent + took, rounds + 1
    return best * 1e6, total


def ours(name):
    """Microseconds and the sum of the results; None where it is refused."""
    done = subprocess.run([str(ROOT / "build/release/bin/bench_jit_programs"), name], capture_output=True, text=True,
                          check=True)
    fields = done.stdout.split()
    return (float(fields[1]), float(fields[2])) if fields else None


def main(only=""):
    print(f"{'program':20}{'smalti us':>12}{'XLA us':>12}{'XLA / smalti':>14}")
    ratios = []
    for f, inputs in programs():
        name = f.__name__
        if only and name != only:
            continue
        # Interleaved, the fastest round of each: a disturbance of the machine affects both.
        both = [(ours(name), timed(f, inputs)) for _ in range(ROUNDS)]
        theirs, total = min(t for _, t in both)
        if any(o is None for o, _ in both):
            print(f"{name:20}{'refused':>12}{theirs:12.1f}")
            continue
        mine, value = min(o for o, _ in both)
        same = abs(value - total) <= 1e-3 * max(abs(total), 100)
        ratios.append(theirs / mine)
        print(f"{name:20}{mine:12.1f}{theirs:12.1f}{ratios[-1]:14.2f}{'' if same else f'  differs: {value} and {total}'}")
    print(f"geometric mean {math.exp(sum(map(math.log, ratios)) / len(ratios)):.2f}, least {min(ratios):.2f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
