"""All uses of JAX's private API, and the errors if a part of it is missing."""

from __future__ import annotations

import importlib
import pathlib
import re
from typing import Any

import jax

OLDEST = (0, 10)
#: the module that chooses block sizes of ragged paged attention by the kind of `jax.devices()[0]`
BLOCK_SIZES_BY_DEVICE_KIND = "jax.experimental.pallas.ops.tpu.ragged_paged_attention.tuned_block_sizes"


class UnsupportedJax(ImportError):
    """This version of JAX is not supported."""


def _refusal(missing: str) -> UnsupportedJax:
    oldest = ".".join(map(str, OLDEST))
    return UnsupportedJax(f"smalti.jax cannot hook into JAX {jax.__version__} ({missing}); it is made for JAX {oldest} to "
                          f"0.12: pip install 'jax>={oldest},<0.13'")


def internal(module: str, attribute: str) -> Any:
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError):
        raise _refusal(f"it has no {module}.{attribute}") from None


def check(interface: tuple[int, int]) -> None:
    """`interface`: the version of XLA's interface for calls that the extension was built with. An older XLA would not
    start where a newer one's calls are registered."""
    if jax.version.__version_info__[:2] < OLDEST:
        raise _refusal("it is too old")
    header = pathlib.Path(jax.ffi.include_dir()) / "xla/ffi/api/c_api.h"
    found = re.findall(r"#define XLA_FFI_API_M(?:AJ|IN)OR (\d+)", header.read_text()) if header.exists() else []
    if len(found) == 2 and tuple(map(int, found)) < interface:
        raise UnsupportedJax(f"this smalti was built with the headers of a newer jaxlib than {jax.lib.__version__}, which does not "
                             "take its calls: pip install a wheel of smalti, or build it with jaxlib==0.10.*")


def backends_are_initialized() -> bool:
    return internal("jax._src.xla_bridge", "backends_are_initialized")()


def tpu_info() -> Any:
    """JAX's module that describes chips."""
    try:
        return importlib.import_module("jax._src.tpu_info")  # since 0.12
    except ImportError:
        return importlib.import_module("jax._src.pallas.mosaic.tpu_info")


def abstract_device() -> Any:
    """The class of abstract devices during tracing."""
    return internal("jax._src.mesh", "AbstractDevice")


def primitives() -> tuple[Any, ...]:
    """The primitives of pl.pallas_call and pl.kernel."""
    return (internal("jax._src.pallas.pallas_call", "pallas_call_p"), internal("jax._src.pallas.mpmd", "mpmd_map_p"))


def place_of_index_maps(params: dict[str, Any]) -> tuple[str, int] | None:
    """File and line of a call's first index map without ops, which the kernel's module has no place for."""
    mappings = getattr(params.get("grid_mapping"), "block_mappings", ())
    maps = [mapping.index_map_jaxpr.jaxpr for mapping in mappings]
    places = [(jaxpr.debug_info.func_filename, jaxpr.debug_info.func_lineno) for jaxpr in maps if not jaxpr.eqns]
    return next((place for place in places if None not in place), None)


def default_lowering(primitive: Any) -> Any:
    lowerings = internal("jax._src.interpreters.mlir", "_lowerings")
    if primitive not in lowerings or not hasattr(lowerings[primitive], "rule"):
        raise _refusal(f"it lowers {primitive} in another way")
    return lowerings[primitive].rule
