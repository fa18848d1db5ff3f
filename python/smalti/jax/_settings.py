"""How kernels run: a value in JAX's trace context, so that a function that is compiled for one is compiled again for
another. Each thread uses the settings of its `using`, otherwise those of `install`."""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Iterator
from typing import Any, NamedTuple

import jax

from smalti import _smalti
from smalti._module import Option, option_list


class Chip(NamedTuple):
    name: str
    device_kind: str  #: of JAX's devices
    cores_per_device: int  #: TensorCores


#: the chips that the library describes, by name
CHIPS = {chip[0]: Chip(*chip) for chip in _smalti.chips()}


@dataclasses.dataclass(frozen=True)
class Settings:
    chip: str = "v5e"
    override_interpret: bool = False
    legality: bool = False  #: what the compiler of `chip` refuses is refused here
    reference: bool = False  #: run as interpret=True does
    options: tuple[tuple[str, str], ...] = ()  #: of the library, by the names of its command line

    def updated(self, chip: str | None, override_interpret: bool | None, legality: bool | None,
                options: dict[str, Option]) -> Settings:
        if chip is not None and chip not in CHIPS:
            raise ValueError(f"chip={chip!r} is not one of {', '.join(CHIPS)}")
        chosen = option_list(options)
        _smalti.check_options(chosen)
        merged = dict(self.options) | dict(chosen)
        return dataclasses.replace(
            self, chip=self.chip if chip is None else chip, options=tuple(sorted(merged.items())),
            override_interpret=self.override_interpret if override_interpret is None else override_interpret,
            legality=self.legality if legality is None else legality)

    def cores(self) -> int:
        """The number of cores of a device."""
        return int(dict(self.options).get("cores") or os.environ.get("SMALTI_CORES", 1))

    def with_cores(self, least: int) -> Settings:
        if least <= self.cores():
            return self
        return dataclasses.replace(self, options=tuple(sorted((dict(self.options) | {"cores": str(least)}).items())))


_context = jax.make_user_context(default_value=None)


def current() -> Settings | None:
    """The settings of this thread; None: JAX handles kernels itself."""
    return _context.value


def set_global(settings: Settings | None) -> None:
    (_context if hasattr(_context, "set_global") else _context._obj).set_global(settings)  # JAX 0.10.0 has no public one


@contextlib.contextmanager
def reference() -> Iterator[None]:
    """Inside it this thread's kernels run as with interpret=True."""
    with _context(dataclasses.replace(current() or Settings(), reference=True)):
        yield


class using:
    """Inside `with using(target="interpret", check=True):` this thread's kernels run on this engine with these options, whether
    it is installed or not; options that are not named keep their surrounding values. See `install`."""

    def __init__(self, *, chip: str | None = None, override_interpret: bool | None = None, legality: bool | None = None,
                 **options: Option):
        from smalti.jax._lowering import hook

        hook()
        Settings().updated(chip, override_interpret, legality, options)  # says what is wrong with them
        self._changes = (chip, override_interpret, legality, options)
        self._entered: list[Any] = []

    def __enter__(self) -> None:
        context = _context((current() or Settings()).updated(*self._changes))
        context.__enter__()
        self._entered.append(context)

    def __exit__(self, *exception: Any) -> None:
        self._entered.pop().__exit__(*exception)
