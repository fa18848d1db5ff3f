"""Refusals of unsupported programs before JAX or Smalti fails on them."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from smalti._arrays import is_of_kernels, kernel_dtypes
from smalti.jax import _versions

_forked = False  # from a process in which JAX had started a backend


def _after_fork() -> None:
    global _forked
    _forked = _forked or _versions.backends_are_initialized()


os.register_at_fork(after_in_child=_after_fork)


def forked() -> None:
    """Raises RuntimeError in a process whose JAX hangs."""
    if _forked:
        raise RuntimeError("JAX hangs in this process, which was forked when a backend of JAX ran already: let multiprocessing "
                           "start processes with 'spawn', or fork before JAX computes anything")


def dtypes(kernel: str, avals_in: Any, avals_out: Any) -> None:
    """Raises TypeError for arrays of dtypes that no kernel supports."""
    for kind, avals in (("input", avals_in), ("output", avals_out)):
        for i, aval in enumerate(avals):
            dtype = getattr(aval, "dtype", None)
            if isinstance(dtype, np.dtype) and not is_of_kernels(dtype):
                raise TypeError(f"{kind} {i} of the kernel {kernel!r} is {dtype}[{','.join(map(str, aval.shape))}]: kernels have "
                                f"no arrays of {dtype}; they take {kernel_dtypes()}")


def other_units(kernel: str, params: dict[str, Any]) -> None:
    """Raises NotImplementedError for a kernel that is made for GPUs or SparseCores: by its parameters, meshes and memory."""
    meshes = [*params.get("meshes", ()), params.get("mesh")]
    blocks = getattr(params.get("grid_mapping"), "block_mappings", ())
    spaces = [getattr(block.transformed_block_aval, "memory_space", None) for block in blocks]
    if any(re.search(r"\.(mosaic_gpu|triton)\.", type(part).__module__) for part in (params["compiler_params"], *meshes, *spaces)):
        raise NotImplementedError(f"the kernel {kernel!r} is made for GPUs: only kernels for TPUs run here; describe it with what "
                                  "jax.experimental.pallas.tpu has, or call it outside of smalti.jax.using()")
    if any(type(mesh).__module__.endswith(".sc_core") for mesh in meshes):
        raise NotImplementedError(f"the kernel {kernel!r} is made for SparseCores: only TensorCores are here; give it a mesh "
                                  "of TensorCores, or run it on a TPU that has SparseCores")


@contextlib.contextmanager
def stores_of_keys(kernel: str) -> Iterator[None]:
    """Around JAX's lowering for TPUs, which ends with a bare StopIteration where a kernel stores an array of random keys."""
    try:
        yield
    except StopIteration:
        raise TypeError(f"the kernel {kernel!r} stores random keys, which JAX's lowering for TPUs does not do: let it "
                        "store their words, jax.random.key_data(key)") from None
