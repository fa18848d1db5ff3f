"""Seconds inside Pallas calls: tracing kernels, lowering them, and compiling and running the programs that hold one.

A program is what JAX compiles at once: mostly the kernel alone, where a test calls it eagerly or under jit. Counted in the
same way however kernels run, so that ways can be compared.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

_programs: list[Any] = []  # modules, then their executables, which hold kernels


class Clock:
    """Sections may be nested; the outermost counts. Of one thread: tests call kernels on pytest's."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._depth = 0
        self._since = 0.0

    def __enter__(self) -> None:
        if self._depth == 0:
            self._since = time.perf_counter()
        self._depth += 1

    def __exit__(self, *exception: Any) -> None:
        self._depth -= 1
        if self._depth == 0:
            self.seconds += time.perf_counter() - self._since


def install(clock: Clock) -> None:
    """After every other hook into JAX."""
    from jax._src import compiler, pjit
    from jax._src.interpreters import mlir, pxla
    from jax._src.pallas import mpmd, pallas_call

    pallas_call._trace_kernel_to_jaxpr = _timed(clock, pallas_call._trace_kernel_to_jaxpr)  # pl.kernel has no such function
    rules = mlir._platform_specific_lowerings["cpu"]
    for primitive in (pallas_call.pallas_call_p, mpmd.mpmd_map_p):
        found = rules.get(primitive) or mlir._lowerings[primitive]
        mlir.register_lowering(primitive, _marking(clock, found.rule), platform="cpu")
    compiler.compile_or_get_cached = _compiling(clock, compiler.compile_or_get_cached)
    pxla.ExecuteReplicated.__call__ = _running(clock, pxla.ExecuteReplicated.__call__)
    pjit._get_fastpath_data = lambda *args, **named: None  # every run passes by the line above


def _timed(clock: Clock, f: Callable[..., Any]) -> Callable[..., Any]:
    def timed(*args: Any, **named: Any) -> Any:
        with clock:
            return f(*args, **named)

    return timed


def _marking(clock: Clock, rule: Callable[..., Any]) -> Callable[..., Any]:
    def marking(ctx: Any, *operands: Any, **params: Any) -> Any:
        _programs.append(ctx.module_context.module)
        with clock:
            return rule(ctx, *operands, **params)

    return marking


def _compiling(clock: Clock, compile: Callable[..., Any]) -> Callable[..., Any]:
    def compiling(backend: Any, module: Any, *args: Any, **named: Any) -> Any:
        if not any(module is program for program in _programs):
            return compile(backend, module, *args, **named)
        with clock:
            executable = compile(backend, module, *args, **named)
        _programs[:] = [program for program in _programs if program is not module] + [executable]
        return executable

    return compiling


def _running(clock: Clock, call: Callable[..., Any]) -> Callable[..., Any]:
    def running(self: Any, *args: Any) -> Any:
        import jax

        if not any(self.xla_executable is program for program in _programs):
            return call(self, *args)
        with clock:
            return jax.block_until_ready(call(self, *args))

    return running


def forget() -> None:
    """Between tests."""
    _programs.clear()
