#!/usr/bin/env python3
"""Kernels with and without races: between a kernel and its copies, between cores, between devices.

The modules next to this file were exported from it (JAX is needed only to make them anew); `test_races.py` says what is
found in each, and asks JAX's own race detector about the same functions.

    python test/data/races/kernels.py
"""

import functools
import os
import pathlib

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=4"

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
from jax.sharding import Mesh, PartitionSpec as P

F32 = jnp.float32
DEVICES = 4
BLOCK = (8, 128)
ANY = pl.BlockSpec(memory_space=pl.ANY)
MAKERS = {}


def kernel(maker):
    """`maker(interpret)` gives a function of arrays, and their shapes."""
    MAKERS[maker.__name__] = maker
    return maker


def variants(**named):
    """One maker, several kernels: `maker(interpret, value)` for each name."""

    def add(maker):
        for name, value in named.items():
            MAKERS[name] = functools.partial(maker, value=value)
        return maker

    return add


# ---- a kernel and its own copies


@variants(copy_waited="waited", copy_read_early="early", copy_source_overwritten="source")
def copies(interpret, value):
    def body(x_ref, o_ref, staging, sent, landed, sem):
        if value == "source":
            staging[...] = jnp.ones_like(staging)
            copy = pltpu.make_async_copy(staging, landed, sem)
        else:
            copy = pltpu.make_async_copy(x_ref, landed, sem)
        copy.start()
        if value == "source":
            staging[...] = jnp.zeros_like(staging)  # the copy may not have read it yet
        if value == "early":
            o_ref[...] = landed[...] + 1.0  # the copy may not have written it yet
        copy.wait()
        if value != "early":
            o_ref[...] = landed[...] + 1.0

    call = pl.pallas_call(
        body,
        out_shape=jax.ShapeDtypeStruct(BLOCK, F32),
        in_specs=[ANY],
        scratch_shapes=[pltpu.VMEM(BLOCK, F32)] * 3 + [pltpu.SemaphoreType.DMA],
        interpret=interpret,
    )
    return call, [BLOCK]


@variants(one_semaphore_all_waited="all", one_semaphore_first_waited="first")
def one_semaphore(interpret, value):
    """Two copies raise one semaphore: after a wait for as many bytes as one has, either may have arrived."""

    def body(x_ref, y_ref, o_ref, a, b, sem):
        first = pltpu.make_async_copy(x_ref, a, sem)
        second = pltpu.make_async_copy(y_ref, b, sem)
        first.start()
        second.start()
        first.wait()
        if value == "first":
            o_ref[...] = a[...]
        second.wait()
        if value == "all":
            o_ref[...] = a[...]
        o_ref[...] += b[...]

    call = pl.pallas_call(
        body,
        out_shape=jax.ShapeDtypeStruct(BLOCK, F32),
        in_specs=[ANY, ANY],
        scratch_shapes=[pltpu.VMEM(BLOCK, F32)] * 2 + [pltpu.SemaphoreType.DMA],
        interpret=interpret,
    )
    return call, [BLOCK, BLOCK]


# ---- cores


@variants(cores_share_a_block=lambda i: (0, 0), cores_have_blocks=lambda i: (i, 0))
def parallel_axis(interpret, value):
    def body(x_ref, o_ref, scratch):
        scratch[...] = x_ref[...]
        o_ref[...] = x_ref[...] + scratch[...]

    call = pl.pallas_call(
        body,
        grid=(2,),
        out_shape=jax.ShapeDtypeStruct((16, 128), F32),
        in_specs=[pl.BlockSpec(BLOCK, lambda i: (i, 0))],
        out_specs=pl.BlockSpec(BLOCK, value),
        scratch_shapes=[pltpu.VMEM(BLOCK, F32)],
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel",)),
        interpret=interpret,
    )
    return call, [(16, 128)]


@variants(core_mesh_ordered=True, core_mesh_unordered=False)
def core_mesh(interpret, value):
    """Both cores take an array through the same shared memory; one waits for the other, or does not."""

    mesh = pltpu.create_tensorcore_mesh("core", num_cores=2)

    def body(x_ref, shared_ref, o_ref, vmem, sem, arrived):
        core = jax.lax.axis_index("core")

        if value:

            @pl.when(core == 1)
            def _():
                pl.semaphore_wait(sem, 1)

        for source, target in [(x_ref, vmem), (vmem, shared_ref), (shared_ref, vmem), (vmem, o_ref.at[core])]:
            copy = pltpu.make_async_copy(source, target, arrived)
            copy.start()
            copy.wait()

        if value:

            @pl.when(core == 0)
            def _():
                pl.semaphore_signal(sem, 1, core_index=1)

    call = pl.kernel(
        body,
        out_type=(jax.ShapeDtypeStruct(BLOCK, F32), jax.ShapeDtypeStruct((2,) + BLOCK, F32)),
        mesh=mesh,
        scratch_types=[pltpu.VMEM(BLOCK, F32), pltpu.SemaphoreType.REGULAR, pltpu.SemaphoreType.DMA],
        interpret=interpret,
    )
    return call, [BLOCK]


# ---- devices


def over_devices(call, spec=P("x", None)):
    mesh = Mesh(np.array(jax.devices()[:DEVICES]), ("x",))
    return jax.shard_map(call, mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False)


def neighbours():
    me = jax.lax.axis_index("x")
    n = jnp.int32(DEVICES)
    return me, jax.lax.rem(me + n - 1, n), jax.lax.rem(me + 1, n)


def barrier(*devices):
    sem = pltpu.get_barrier_semaphore()
    for device in devices:
        pl.semaphore_signal(sem, device_id=(device,), device_id_type=pl.DeviceIdType.MESH)
    pl.semaphore_wait(sem, len(devices))


def to(device):
    return dict(device_id=(device,), device_id_type=pl.DeviceIdType.MESH)


@variants(
    senders_have_receivers=[(0, 1), (1, 2), (2, 3)],
    senders_share_a_receiver=[(0, 1), (1, 2), (3, 2), (3, 0)],
)
def senders(interpret, value):
    """Each pair is a copy from one device's input to another's output."""

    def body(x_ref, o_ref, send, receive):
        me = jax.lax.axis_index("x")
        copies = [
            (source, pltpu.make_async_remote_copy(x_ref, o_ref, send, receive, **to(target)), target)
            for source, target in value
        ]
        for source, copy, _ in copies:

            @pl.when(me == source)
            def _():
                copy.start()
                copy.wait_send()

        for _, copy, target in copies:

            @pl.when(me == target)
            def _():
                copy.wait_recv()

    call = pl.pallas_call(
        body,
        out_shape=jax.ShapeDtypeStruct(BLOCK, F32),
        in_specs=[ANY],
        out_specs=ANY,
        scratch_shapes=[pltpu.SemaphoreType.DMA] * 2,
        interpret=interpret,
    )
    return over_devices(call), [(DEVICES * 8, 128)]


@variants(permute_both="both", permute_wrong_neighbour="wrong", permute_read_early="early")
def permute(interpret, value):
    """To the right. Whoever is written to must be in the kernel: the left neighbour's signal does not say so of the
    right one."""

    def body(x_ref, o_ref, landed, send, receive):
        _, left, right = neighbours()
        if value == "wrong":
            barrier(right)
        else:
            barrier(left, right)
        copy = pltpu.make_async_remote_copy(x_ref, landed, send, receive, **to(right))
        copy.start()
        if value == "early":
            o_ref[...] = landed[...]
        copy.wait()
        if value != "early":
            o_ref[...] = landed[...]

    call = pl.pallas_call(
        body,
        out_shape=jax.ShapeDtypeStruct(BLOCK, F32),
        scratch_shapes=[pltpu.VMEM(BLOCK, F32)] + [pltpu.SemaphoreType.DMA] * 2,
        compiler_params=pltpu.CompilerParams(collective_id=3),
        interpret=interpret,
    )
    return over_devices(call), [(DEVICES * 8, 128)]


@variants(ring_sum_with_capacity=True, ring_sum_without_capacity=False)
def ring_sum(interpret, value):
    """Partial sums go around in two slots; a slot may be written again when its device has said that it is free."""

    def body(x_ref, o_ref, slots, send, receive, capacity):
        step = pl.program_id(0)
        _, left, right = neighbours()
        here, there = jax.lax.rem(step, jnp.int32(2)), jax.lax.rem(step + 1, jnp.int32(2))

        @pl.when(step == 0)
        def _():
            barrier(left, right)
            slots[0] = x_ref[...]
            o_ref[...] = x_ref[...]

        if value:
            pl.semaphore_signal(capacity, 1, **to(left))
            pl.semaphore_wait(capacity, 1)
        copy = pltpu.make_async_remote_copy(slots.at[here], slots.at[there], send, receive, **to(right))
        copy.start()
        copy.wait()
        o_ref[...] += slots[there]

    call = pl.pallas_call(
        body,
        grid=(DEVICES - 1,),
        out_shape=jax.ShapeDtypeStruct(BLOCK, F32),
        in_specs=[pl.BlockSpec(BLOCK, lambda i: (0, 0))],
        out_specs=pl.BlockSpec(BLOCK, lambda i: (0, 0)),
        scratch_shapes=[pltpu.VMEM((2,) + BLOCK, F32)]
        + [pltpu.SemaphoreType.DMA] * 2
        + [pltpu.SemaphoreType.REGULAR],
        compiler_params=pltpu.CompilerParams(collective_id=4),
        interpret=interpret,
    )
    return over_devices(call), [(DEVICES * 8, 128)]


@kernel
def gather_ring(interpret):
    def body(x_ref, o_ref, local, send, receives):
        step = pl.program_id(0)
        me, left, right = neighbours()
        slot = jax.lax.rem(me - step + jnp.int32(DEVICES), jnp.int32(DEVICES))

        @pl.when(step == 0)
        def _():
            barrier(left, right)
            copy = pltpu.make_async_copy(x_ref, o_ref.at[me], local)
            copy.start()
            copy.wait()

        copy = pltpu.make_async_remote_copy(o_ref.at[slot], o_ref.at[slot], send, receives.at[step], **to(right))
        copy.start()
        copy.wait()

    call = pl.pallas_call(
        body,
        grid=(DEVICES - 1,),
        out_shape=jax.ShapeDtypeStruct((DEVICES,) + BLOCK, F32),
        in_specs=[ANY],
        out_specs=ANY,
        scratch_shapes=[pltpu.SemaphoreType.DMA] * 2 + [pltpu.SemaphoreType.DMA((DEVICES - 1,))],
        compiler_params=pltpu.CompilerParams(collective_id=5),
        interpret=interpret,
    )
    return over_devices(call), [(DEVICES * 8, 128)]


@variants(flag_by_semaphore=True, flag_by_time=False)
def signalled(interpret, value):
    """Device 0 sends to device 1 and tells it when device 1's own copy has been there long enough; or hopes so."""

    def body(x_ref, o_ref, landed, send, receive, free):
        me = jax.lax.axis_index("x")
        copy = pltpu.make_async_remote_copy(x_ref, landed, send, receive, **to(1))

        @pl.when(me == 0)
        def _():
            if value:
                pl.semaphore_wait(free, 1)
            copy.start()
            copy.wait_send()

        @pl.when(me == 1)
        def _():
            landed[...] = x_ref[...]
            o_ref[...] = landed[...]
            if value:
                pl.semaphore_signal(free, 1, **to(0))
            copy.wait_recv()
            o_ref[...] += landed[...]

        @pl.when(me > 1)
        def _():
            o_ref[...] = x_ref[...]

        @pl.when(me == 0)
        def _():
            o_ref[...] = x_ref[...]

    call = pl.pallas_call(
        body,
        out_shape=jax.ShapeDtypeStruct(BLOCK, F32),
        scratch_shapes=[pltpu.VMEM(BLOCK, F32)]
        + [pltpu.SemaphoreType.DMA] * 2
        + [pltpu.SemaphoreType.REGULAR],
        interpret=interpret,
    )
    return over_devices(call), [(DEVICES * 8, 128)]


@kernel
def deadlock_by_arrival(interpret):
    """Device 0 takes the first of two signals as if it were device 1's, and lets only device 1 go on: where device 2
    is faster, it has let nobody go on who waits."""

    def body(x_ref, o_ref, turn, go):
        me = jax.lax.axis_index("x")

        @pl.when((me == 1) | (me == 2))
        def _():
            pl.semaphore_signal(turn, 1, **to(0))

        @pl.when(me == 0)
        def _():
            pl.semaphore_wait(turn, 1)
            # Both have come already, or only one of them.
            both = pl.semaphore_read(turn)

            @pl.when(both == 0)
            def _():
                pl.semaphore_wait(turn, 1)
                pl.semaphore_signal(go, 1, **to(3))

            @pl.when(both != 0)
            def _():
                pl.semaphore_wait(turn, 1)

        @pl.when(me == 3)
        def _():
            pl.semaphore_wait(go, 1)

        o_ref[...] = x_ref[...]

    call = pl.pallas_call(
        body,
        out_shape=jax.ShapeDtypeStruct(BLOCK, F32),
        scratch_shapes=[pltpu.SemaphoreType.REGULAR] * 2,
        interpret=interpret,
    )
    return over_devices(call), [(DEVICES * 8, 128)]


@variants(polls_then_waits="clean", deadlock_by_two_polls="rare", polls_until="until")
def polls(interpret, value):
    """Devices 1 to 3 signal to device 0, which polls the count and continues accordingly."""

    def body(x_ref, o_ref, turn):
        me = jax.lax.axis_index("x")

        @pl.when(me != 0)
        def _():
            pl.semaphore_signal(turn, 1, **to(0))

        @pl.when(me == 0)
        def _():
            if value == "until":
                pl.semaphore_wait(turn, jax.lax.while_loop(lambda n: n < 3, lambda _: pl.semaphore_read(turn), jnp.int32(0)))
                return
            first = pl.semaphore_read(turn)
            pl.semaphore_wait(turn, 1)
            second = pl.semaphore_read(turn)
            more = (first == 1) & (second == 1) if value == "rare" else first + second < 0

            @pl.when(more)
            def _():
                pl.semaphore_wait(turn, 3)  # only two more signals come

            @pl.when(jnp.logical_not(more))
            def _():
                pl.semaphore_wait(turn, 2)

        o_ref[...] = x_ref[...]

    call = pl.pallas_call(
        body,
        out_shape=jax.ShapeDtypeStruct(BLOCK, F32),
        scratch_shapes=[pltpu.SemaphoreType.REGULAR],
        interpret=interpret,
    )
    return over_devices(call), [(DEVICES * 8, 128)]


def export(name, folder):
    call, shapes = MAKERS[name](False)
    jax.config.update("jax_include_full_tracebacks_in_locations", False)
    jax.config.update("jax_hlo_source_file_canonicalization_regex", "^.*/")
    exported = jax.export.export(jax.jit(call), platforms=["tpu"])(*[jax.ShapeDtypeStruct(s, F32) for s in shapes])
    (folder / f"{name}.mlir").write_text(exported.mlir_module())


def main():
    for name in MAKERS:
        export(name, pathlib.Path(__file__).resolve().parent)
        print(name)


if __name__ == "__main__":
    main()
