"""Checks one function on its arguments, compares it with JAX's own interpreter, or writes it to a case folder."""

from __future__ import annotations

import os
import pathlib
import threading
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

import smalti_record
from smalti import _smalti
from smalti._errors import CheckError
from smalti._module import Option
from smalti.jax._settings import reference, using

# How far sums in another order may differ, by the bits of a dtype's significand.
_TOLERANCES = {52: 1e-14, 23: 4e-6, 10: 2e-3, 7: 1.6e-2, 3: 0.13, 2: 0.25, 1: 0.5}


class Mismatch(AssertionError):
    """A function's results differ from those with interpret=True."""


# The findings of a run are kept in one list: runs in several threads take turns.
_CHECKING = threading.RLock()


def _run(f: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    return jax.block_until_ready(jax.jit(f)(*args))


def check(f: Callable[..., Any], *args: Any, **options: Option) -> Any:
    """What `f(*args)` gives, its kernels run under every check. Options as in `install`; with `legality=True` what the compiler
    of `chip` refuses is a finding, too.

    Raises smalti.CheckError with what was found in the first kernel where something was; its first line is the user's.
    """
    with _CHECKING:
        _smalti.take_findings()
        try:
            with using(**{**options, "check": True}):
                return _run(f, args)
        except Exception:  # of XLA's, or what Pallas makes of it
            if findings := _smalti.take_findings():
                raise CheckError(tuple(findings)) from None
            raise


def compare(f: Callable[..., Any], *args: Any, rtol: float | None = None, atol: float | None = None,
            **options: Option) -> Any:
    """What `f(*args)` gives here, after comparing it with what it gives when its kernels run with interpret=True.

    Integers must be equal; floats may differ by `atol + rtol * |value|`, by default as sums in another order do: by some
    units in the last place of the largest value. NaN equals NaN. Raises Mismatch, which says where the first difference is.
    """
    with using(**options):
        ours = _run(f, args)
        with reference():
            theirs = _run(f, args)
    for i, ((path, mine), other) in enumerate(zip(jax.tree_util.tree_leaves_with_path(ours), jax.tree.leaves(theirs))):
        name = f"result {i}{jax.tree_util.keystr(path)}, {mine.dtype}{list(mine.shape)}"
        if jax.dtypes.issubdtype(mine.dtype, jax.dtypes.prng_key):
            mine, other = jax.random.key_data(mine), jax.random.key_data(other)
        _compare_arrays(name, np.asarray(mine), np.asarray(other), rtol, atol)
    return ours


def _compare_arrays(name: str, mine: np.ndarray, other: np.ndarray, rtol: float | None, atol: float | None) -> None:
    if jax.numpy.issubdtype(mine.dtype, np.floating):
        bits = jax.numpy.finfo(mine.dtype).nmant
        mine, other = mine.astype(np.float64), other.astype(np.float64)
        largest = np.abs(other, where=np.isfinite(other), out=np.zeros_like(other)).max(initial=0)
        relative = _TOLERANCES[bits]
        same = np.isclose(mine, other, relative if rtol is None else rtol, relative * largest if atol is None else atol,
                          equal_nan=True)
    else:
        same = mine == other
    if same.all():
        return
    first = tuple(int(i) for i in np.argwhere(~same)[0])
    raise Mismatch(f"{name}: {int((~same).sum())} of {same.size} elements differ, first at "
                   f"{list(first)}: {mine[first]} here, {other[first]} with interpret=True")


def export(f: Callable[..., Any], *args: Any, folder: str | os.PathLike[str], expected: Any = None, rtol: float = 0.0,
           atol: float = 0.0) -> pathlib.Path:
    """Writes `f`, lowered for a TPU, with its arguments and the `expected` results to a case folder, which `smalti run`,
    `check`, `conform` and `smalti.load` read. Without `expected` it only has to run."""
    with using():  # kernels may ask for the chip
        return smalti_record.record(folder, f, *args, expected=expected, rtol=rtol, atol=atol)
