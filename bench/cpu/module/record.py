#!/usr/bin/env python3
"""Writes recorded/*.mlir: JAX's own kernels that the module actor runs, exported for a TPU. Needs JAX, no TPU."""

import functools
import pathlib
import sys

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parents[2] / "python"))

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
from jax.experimental.pallas.ops.tpu.ragged_paged_attention import ragged_paged_attention

from smalti_record import export_text

jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")  # files without their folders
SEQUENCES, PAGES, PAGE, HEADS, KEY_HEADS, DIM = 8, 1024, 16, 32, 8, 128


def ragged(tokens, queries_per_block, pages_per_block):
    """32 heads of queries on 8 of keys, bf16; keys and values of a head are adjacent in a cache of pages."""
    attention = functools.partial(ragged_paged_attention, sm_scale=DIM**-.5, num_kv_pages_per_block=pages_per_block,
                                  num_queries_per_block=queries_per_block, vmem_limit_bytes=64 << 20)
    shapes = (jnp.zeros((tokens, HEADS, DIM), jnp.bfloat16), jnp.zeros((PAGES, PAGE, 2 * KEY_HEADS, DIM), jnp.bfloat16),
              jnp.zeros(SEQUENCES, jnp.int32), jnp.zeros((SEQUENCES, PAGES // SEQUENCES), jnp.int32),
              jnp.zeros(SEQUENCES + 1, jnp.int32), jnp.zeros(1, jnp.int32))
    return export_text(jax.jit(attention), *shapes)


def loops(kind):
    """A number of rounds that is known when the kernel runs: a chain of numbers, or of one block."""

    def kernel(n_ref, x_ref, o_ref):
        if kind == "scalar":
            number = jax.lax.fori_loop(0, n_ref[0], lambda i, c: (c * 5 + i) ^ (c >> 3), 1)
            o_ref[...] = x_ref[...] + number.astype(jnp.float32)
        else:
            o_ref[...] = jax.lax.fori_loop(0, n_ref[0], lambda i, v: v * 0.75 + x_ref[...], x_ref[...])

    x = jnp.zeros((8, 128), jnp.float32)
    call = pl.pallas_call(kernel, out_shape=x, in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM), pl.BlockSpec()])
    return export_text(jax.jit(call), jnp.zeros(1, jnp.int32), x)


for name, text in {"ragged_8": ragged(8, 8, 8), "ragged_512": ragged(512, 32, 16),
                   "loops_scalar": loops("scalar"), "loops_vector": loops("vector")}.items():
    (HERE / "recorded" / f"{name}.mlir").write_text(text)
