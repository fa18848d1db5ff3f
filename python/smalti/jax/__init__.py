"""Runs the kernels of unmodified JAX programs with Smalti.

    import smalti.jax
    smalti.jax.install()           # or SMALTI_JAX=1 in the environment
    ...                            # pl.pallas_call without interpret=True works on the CPU

    with smalti.jax.using(target="interpret", check=True):
        f(x)                       # the same function, checked

`check`, `compare` and `export` work on one function and its arguments.
"""

from __future__ import annotations

import importlib.util

if importlib.util.find_spec("jax") is None:
    raise ModuleNotFoundError("smalti.jax needs JAX: pip install 'smalti[jax]' (import smalti alone does not)", name="jax")

import smalti._module
from smalti.jax import _settings
from smalti.jax._judge import Mismatch, check, compare, export
from smalti.jax._lowering import hook
from smalti.jax._settings import using
from smalti.jax._versions import UnsupportedJax

__all__ = ["Mismatch", "UnsupportedJax", "check", "compare", "export", "install", "uninstall", "using"]


def install(*, chip: str = "v5e", override_interpret: bool = False, legality: bool = False,
            **options: smalti._module.Option) -> None:
    """From now on Smalti compiles pl.pallas_call and pl.kernel for CPUs, on every thread.

    `options` are those of the command line with underscores: `target` ("cpu", which is the default here: native code; or
    "interpret": the abstract machine), `check` (True: findings are exceptions), `threads`, `cores`, … (`smalti env` lists
    them); what is not named is as the SMALTI_… variables say. `chip` is what pltpu.get_tpu_info() answers.
    interpret=True of a call keeps its meaning, unless `override_interpret`. With `legality`, kernels that the compiler of
    `chip` refuses, as far as `smalti check --chip` knows, are refused here when XLA compiles them, by the exceptions that
    JAX raises there: jax.errors.JaxRuntimeError, or Pallas' MosaicError with the user's line.

    Starts no backend of JAX. Called again, it replaces what was said before. Raises UnsupportedJax for a JAX that cannot be
    served, and ValueError for another chip; nothing is changed then.
    """
    settings = _settings.Settings().updated(chip, override_interpret, legality, options)
    hook()
    _settings.set_global(settings)


def uninstall() -> None:
    """Returns kernels to JAX; `using` still works. Functions that were compiled in between are compiled again."""
    _settings.set_global(None)
