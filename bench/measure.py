"""Functions that benchmarks of JAX programs share."""

import functools
import time

import jax

from smalti import _smalti


def best(f, repeats=7):
    """Seconds of one call, the shortest of several; the first one compiles and does not count."""
    jax.block_until_ready(f())
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        jax.block_until_ready(f())
        times.append(time.perf_counter() - start)
    return min(times)


@functools.cache
def _register_empty():
    jax.ffi.register_ffi_target("smalti_empty", _smalti.xla_handlers()["empty"], platform="cpu")
    return "smalti_empty"


def empty(result, *operands):
    """A call, in a program, of an FFI handler that does nothing; `result` has its shape and dtype."""
    return jax.ffi.ffi_call(_register_empty(), jax.ShapeDtypeStruct(result.shape, result.dtype))(*operands)
