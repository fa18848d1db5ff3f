"""What benchmarks of JAX programs share."""

import time

import jax


def best(f, repeats=7):
    """Seconds of one call, the least of some; the first one compiles and does not count."""
    jax.block_until_ready(f())
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        jax.block_until_ready(f())
        times.append(time.perf_counter() - start)
    return min(times)
