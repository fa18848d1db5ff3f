#!/usr/bin/env python3
"""Kernels with one mistake each, as they occur in practice. A TPU reports none of them; `smalti check` does.

The modules next to this file were exported from it (JAX is needed only to make them anew):

    python examples/mistakes/mistakes.py
"""

import pathlib

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

F32 = jnp.float32


def missing_init():
    """The accumulator is used before it is set to zero."""

    def matmul_kernel(x_ref, y_ref, o_ref, acc_ref):
        acc_ref[...] += jnp.dot(x_ref[...], y_ref[...], preferred_element_type=F32)

        @pl.when(pl.program_id(2) == pl.num_programs(2) - 1)
        def _():
            o_ref[...] = acc_ref[...]

    return pl.pallas_call(
        matmul_kernel,
        grid=(2, 2, 2),
        in_specs=[pl.BlockSpec((128, 128), lambda i, j, k: (i, k)), pl.BlockSpec((128, 128), lambda i, j, k: (k, j))],
        out_specs=pl.BlockSpec((128, 128), lambda i, j, k: (i, j)),
        scratch_shapes=[pltpu.VMEM((128, 128), F32)],
        out_shape=jax.ShapeDtypeStruct((256, 256), F32),
    ), [(256, 256), (256, 256)]


def reduction_axis_first():
    """The reduction runs over the first grid axis, so each output block is left and visited again."""

    def sum_kernel(x_ref, o_ref):
        @pl.when(pl.program_id(0) == 0)
        def _():
            o_ref[...] = jnp.zeros_like(o_ref)

        o_ref[...] += x_ref[...]

    return pl.pallas_call(
        sum_kernel,
        grid=(4, 2),
        in_specs=[pl.BlockSpec((8, 128), lambda k, j: (k, j))],
        out_specs=pl.BlockSpec((8, 128), lambda k, j: (0, j)),
        out_shape=jax.ShapeDtypeStruct((8, 256), F32),
    ), [(32, 256)]


def edge_block():
    """100 rows in blocks of 32: the last block's undefined tail is included in the sum."""

    def column_sum_kernel(x_ref, o_ref):
        @pl.when(pl.program_id(0) == 0)
        def _():
            o_ref[...] = jnp.zeros_like(o_ref)

        o_ref[...] += jnp.sum(x_ref[...], axis=0, keepdims=True)

    return pl.pallas_call(
        column_sum_kernel,
        grid=(4,),
        in_specs=[pl.BlockSpec((32, 128), lambda i: (i, 0))],
        out_specs=pl.BlockSpec((1, 128), lambda i: (0, 0)),
        out_shape=jax.ShapeDtypeStruct((1, 128), F32),
    ), [(100, 128)]


def out_of_bounds():
    """The loop reads one row past the end of the block."""

    def shift_kernel(x_ref, o_ref):
        def body(i, _):
            o_ref[pl.ds(i, 1), :] = x_ref[pl.ds(i + 1, 1), :]

        jax.lax.fori_loop(0, 8, body, None)

    return pl.pallas_call(shift_kernel, out_shape=jax.ShapeDtypeStruct((8, 128), F32)), [(8, 128)]


def read_in_flight():
    """The destination is read before the copy is waited for."""

    def copy_kernel(x_hbm, o_ref, buffer, sem):
        copy = pltpu.make_async_copy(x_hbm, buffer, sem)
        copy.start()
        o_ref[...] = buffer[...]
        copy.wait()

    return pl.pallas_call(
        copy_kernel,
        in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
        scratch_shapes=[pltpu.VMEM((8, 128), F32), pltpu.SemaphoreType.DMA],
        out_shape=jax.ShapeDtypeStruct((8, 128), F32),
    ), [(8, 128)]


def never_signalled():
    """Two counts are waited for, one is signalled: the core waits forever."""

    def wait_kernel(x_ref, o_ref, sem):
        pl.semaphore_signal(sem, 1)
        pl.semaphore_wait(sem, 2)
        o_ref[...] = x_ref[...]

    return pl.pallas_call(
        wait_kernel,
        scratch_shapes=[pltpu.SemaphoreType.REGULAR],
        out_shape=jax.ShapeDtypeStruct((8, 128), F32),
    ), [(8, 128)]


def semaphore_left_over():
    """A signal without a wait: the next kernel finds the semaphore at one."""

    def signal_kernel(x_ref, o_ref, sem):
        pl.semaphore_signal(sem, 1)
        o_ref[...] = x_ref[...]

    return pl.pallas_call(
        signal_kernel,
        scratch_shapes=[pltpu.SemaphoreType.REGULAR],
        out_shape=jax.ShapeDtypeStruct((8, 128), F32),
    ), [(8, 128)]


MISTAKES = [missing_init, reduction_axis_first, edge_block, out_of_bounds, read_in_flight, never_signalled,
            semaphore_left_over]


def main():
    jax.config.update("jax_include_full_tracebacks_in_locations", False)
    jax.config.update("jax_hlo_source_file_canonicalization_regex", "^.*/")
    here = pathlib.Path(__file__).parent
    for make in MISTAKES:
        call, shapes = make()
        arguments = [jax.ShapeDtypeStruct(s, F32) for s in shapes]
        exported = jax.export.export(jax.jit(call), platforms=["tpu"])(*arguments)
        (here / f"{make.__name__}.mlir").write_text(exported.mlir_module())
        print(f"{make.__name__}: {make.__doc__}")


if __name__ == "__main__":
    main()
