"""Kernels that only move data: on whole arrays and on blocks with gaps between their rows they move what JAX moves, also where they
overwrite what they have loaded."""

import subprocess

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas as pl

import smalti as package


def rotate_half(x):
    half = x.shape[-1] // 2
    return jnp.concatenate([x[..., half:], x[..., :half]], -1)


def shuffle(x):
    return x.reshape(8, 2, 16, 8, 16).transpose(0, 2, 1, 3, 4).reshape(16, 16, 128)


#: name: moves within [16, 16, 128]
MOVES = {
    "rotate half": rotate_half,
    "roll": lambda x: jnp.roll(x, 3, 0),
    "roll lanes": lambda x: jnp.roll(x, 5, 2),
    "swap": lambda x: x.transpose(1, 0, 2),
    "swap twice": lambda x: (x.transpose(1, 0, 2) + x).transpose(1, 0, 2),
    "shuffle": shuffle,
    "heads": lambda x: x.reshape(16, 16, 8, 16).transpose(2, 0, 1, 3).reshape(16, 16, 128),
    "transpose": lambda x: x.reshape(128, 256).T.reshape(16, 16, 128),
    "border": lambda x: jnp.pad(x[:14, :14], ((1, 1), (1, 1), (0, 0))),
    "interleave": lambda x: jnp.stack([x[:8], x[8:]], 1).reshape(16, 16, 128),
    "repeat": lambda x: jnp.repeat(jnp.repeat(x[:8, :8], 2, 0), 2, 1),
    "short parts": lambda x: jnp.concatenate([x[..., 125:], x[..., :125]], -1),
    "parts and whole": lambda x: jnp.concatenate([x[8:], x[:8] * 2], 0) + x,
    "reversed blocks": lambda x: jnp.concatenate([x[12:], x[8:12], x[4:8], x[:4]], 0),
}


def call(move, whole, in_place):
    """`in_place`: the output holds what is moved, and is overwritten."""

    def kernel(x, o):
        if in_place:
            o[...] = x[...]
        o[...] = move((o if in_place else x)[...])

    spec = pl.BlockSpec((16, 16, 128), lambda i: (0, 0, i))
    grid = {} if whole else {"grid": (2,), "in_specs": [spec], "out_specs": spec}
    return lambda x: pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), **grid)(x)


@pytest.mark.parametrize("in_place", [False, True], ids=["", "in-place"])
@pytest.mark.parametrize("whole", [True, False], ids=["whole", "blocks"])
@pytest.mark.parametrize("name", MOVES)
def test_moves_are_those_of_jax(name, whole, in_place):
    move = MOVES[name]
    for dtype in (np.float32, jnp.bfloat16, np.int32):
        x = np.random.default_rng(0).integers(-99, 99, (16, 16, 128 if whole else 256)).astype(dtype)
        module = package.parse(jax.export.export(jax.jit(call(move, whole, in_place)), platforms=["tpu"])(x).mlir_module())
        parts = [x[..., i : i + 128] for i in range(0, x.shape[2], 128)]
        expected = np.concatenate([np.asarray(move(jnp.asarray(part))) for part in parts], -1)
        for options in ({"target": "cpu", "threads": 1}, {"target": "cpu", "threads": 2}, {"target": "cuda-host:sm_90a"}):
            np.testing.assert_array_equal(module.compile(**options)(x)[0], expected)


@pytest.mark.parametrize("name", ["rotate half", "roll", "border", "interleave"])
def test_code_for_gpus_joins_no_parts_in_memory(name, smalti, tmp_path):
    x = np.zeros((16, 16, 128), np.float32)
    path = tmp_path / "move.mlir"
    path.write_text(jax.export.export(jax.jit(call(MOVES[name], True, False)), platforms=["tpu"])(x).mlir_module())
    shown = subprocess.run([smalti, "show", path, "--target", "cuda:sm_90a"], capture_output=True, text=True)
    assert "and 0 of global memory for values, " in shown.stdout, shown
