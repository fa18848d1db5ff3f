"""The model of this folder in JAX: python twin.py TEXT [STEPS] prints the loss of every step."""

import functools
import os
import pathlib
import sys
import time

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp
import numpy as np

CONTEXT, WIDTH, HEADS, LAYERS, BATCH = 32, 64, 2, 2, 8
RATE, BETA1, BETA2, EPSILON, DECAY = 1e-3, 0.9, 0.99, 1e-8, 0.01


def random_model(vocabulary, seed):
    key = jax.random.key(seed)

    def weights(*shape):
        nonlocal key
        key, mine = jax.random.split(key)
        return jax.random.normal(mine, shape) * 0.02

    one, zero = jnp.ones(WIDTH), jnp.zeros(WIDTH)
    model = {"embedding": weights(vocabulary, WIDTH), "positions": weights(CONTEXT, WIDTH), "layers": []}
    for _ in range(LAYERS):
        model["layers"].append({"norm1": (one, zero), "qkv": weights(WIDTH, 3 * WIDTH), "out": weights(WIDTH, WIDTH),
                                "norm2": (one, zero), "up": weights(WIDTH, 4 * WIDTH), "down": weights(4 * WIDTH, WIDTH)})
    model |= {"norm": (one, zero), "head": weights(WIDTH, vocabulary)}
    return jax.tree.map(jnp.copy, model)  # `step` takes each buffer for itself


def norm(x, scale, shift):
    centred = x - x.mean(-1, keepdims=True)
    return centred * jax.lax.rsqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * scale + shift


def attention(layer, x):
    size = WIDTH // HEADS
    q, k, v = (x @ layer["qkv"]).reshape(BATCH, CONTEXT, 3, HEADS, size).transpose(2, 0, 3, 1, 4)
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) / size**0.5
    scores = jnp.where(jnp.tril(jnp.ones((CONTEXT, CONTEXT), bool)), scores, -jnp.inf)
    return (jax.nn.softmax(scores) @ v).transpose(0, 2, 1, 3).reshape(x.shape) @ layer["out"]


def loss(model, tokens, targets):
    x = (model["embedding"][tokens] + model["positions"]).reshape(-1, WIDTH)
    for layer in model["layers"]:
        x = x + attention(layer, norm(x, *layer["norm1"]))
        x = x + jax.nn.gelu(norm(x, *layer["norm2"]) @ layer["up"]) @ layer["down"]
    scores = jax.nn.log_softmax(norm(x, *model["norm"]) @ model["head"])
    return -jnp.take_along_axis(scores, targets.reshape(-1, 1), 1).mean()


@functools.partial(jax.jit, donate_argnums=(0, 1, 2))
def step(model, first, second, tokens, targets, count):
    value, gradients = jax.value_and_grad(loss)(model, tokens, targets)
    first = jax.tree.map(lambda m, g: BETA1 * m + (1 - BETA1) * g, first, gradients)
    second = jax.tree.map(lambda v, g: BETA2 * v + (1 - BETA2) * g * g, second, gradients)

    def updated(p, m, v):
        direction = m / (1 - BETA1**count) / (jnp.sqrt(v / (1 - BETA2**count)) + EPSILON)
        return p - RATE * (direction + DECAY * p)

    return jax.tree.map(updated, model, first, second), first, second, value


def main(path, steps=200):
    text = pathlib.Path(path).read_bytes().decode("latin-1")
    alphabet = sorted(set(text), key=lambda c: (ord(c) + 128) % 256)  # as signed characters
    tokens = np.array([alphabet.index(c) for c in text], np.int32)
    model = random_model(len(alphabet), 0)
    first, second = (jax.tree.map(jnp.zeros_like, model) for _ in range(2))
    seconds = 0.0
    for i in range(steps):
        starts = [(i * BATCH + b) * 7919 % (len(text) - CONTEXT - 1) for b in range(BATCH)]
        begin = time.perf_counter()
        model, first, second, value = step(model, first, second,
                                           np.stack([tokens[s:s + CONTEXT] for s in starts]),
                                           np.stack([tokens[s + 1:s + 1 + CONTEXT] for s in starts]),
                                           np.float32(i + 1))
        print(i, f"{value:.6f}")
        seconds += time.perf_counter() - begin if i >= 10 else 0
    if steps > 10:
        print(f"{seconds / (steps - 10) * 1e3:.2f} ms a step", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:3]))
