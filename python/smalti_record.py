"""Records a JAX function with Pallas kernels as a case folder that `smalti run`, `check` and `conform` read.

    from smalti_record import record
    record("cases/softmax", softmax, x, expected=reference(x), rtol=1e-5, atol=1e-6)

Needs JAX (pip install jax), no TPU: the module is exported for one ahead of time. `expected` may come from anywhere; without it the case
only has to run. Arrays of dtypes that NumPy lacks are stored as raw integers, `stored_as` in case.json says so.
"""

import contextlib
import importlib
import json
import pathlib

import numpy as np

# dtype name → (integer type it is stored as, bits per element)
_RAW = {"bfloat16": ("uint16", 16), "float8_e5m2": ("uint8", 8), "float8_e4m3fn": ("uint8", 8),
        "float8_e4m3b11fnuz": ("uint8", 8), "float8_e8m0fnu": ("uint8", 8), "float4_e2m1fn": ("uint8", 4),
        "int4": ("uint8", 4), "uint4": ("uint8", 4), "int2": ("uint8", 2), "uint2": ("uint8", 2)}


def _jax():
    """JAX, imported only when something is recorded, so that --help works without it."""
    try:
        importlib.import_module("jax.export")
        return importlib.import_module("jax")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("smalti_record needs JAX to export kernels: pip install jax") from error


@contextlib.contextmanager
def _a_chip():
    """Some kernels ask which chip they run on; without a TPU, and without smalti.jax to say another, the answer is v6e."""
    try:
        try:
            from jax._src.pallas.mosaic import tpu_info
        except ImportError:  # where later versions keep it
            from jax._src import tpu_info
        registry, known = tpu_info.registry, tpu_info.registry.get("cpu")
    except (ImportError, AttributeError):
        yield
        return

    def answer():
        try:
            if known is not None:
                return known()
        except ValueError:  # smalti.jax is there and off
            pass
        return tpu_info.get_tpu_info_for_chip(tpu_info.ChipVersion.TPU_V6E, 1)

    registry["cpu"] = answer
    try:
        yield
    finally:
        registry.pop("cpu")
        if known is not None:
            registry["cpu"] = known


def _numbers(array):
    """As NumPy has it; of an array of random keys, their words."""
    jax = _jax()
    is_keys = jax.dtypes.issubdtype(getattr(array, "dtype", np.float32), jax.dtypes.prng_key)
    return np.asarray(jax.random.key_data(array) if is_keys else array)


def _store(folder, name, array):
    array = _numbers(array)
    entry = {"file": f"{name}.npy", "shape": list(array.shape), "dtype": array.dtype.name}
    if array.dtype.name in _RAW:
        stored, bits = _RAW[array.dtype.name]
        if "int" in array.dtype.name:
            array = array.astype(np.int8).view(np.uint8) & np.uint8((1 << bits) - 1)
        array = array.view(stored)
        entry["stored_as"] = stored
    np.save(folder / f"{name}.npy", array)
    return entry


def export_text(function, *arguments):
    """The StableHLO text of `function` lowered for a TPU, kernels as tpu_custom_call; that of a jax.export.Exported as it is."""
    if hasattr(function, "mlir_module"):
        return function.mlir_module()
    jax = _jax()
    jitted = function if hasattr(function, "lower") else jax.jit(function, keep_unused=True)
    with _a_chip():
        return jax.export.export(jitted, platforms=["tpu"])(*arguments).mlir_module()


def record(folder, function, *arguments, expected=None, rtol=0.0, atol=0.0, expected_from="none"):
    """Writes module.stablehlo.mlir, inN.npy, outN.npy and case.json to `folder` (made if missing).

    `function`: a function, jitted or not, or what jax.export made of one."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "module.stablehlo.mlir").write_text(export_text(function, *arguments))
    case = {"name": folder.name, "group": "recorded", "expected_from": expected_from, "grid": None, "results": None,
            "tolerance": None, "args": [_store(folder, f"in{i}", a) for i, a in enumerate(_jax().tree.leaves(arguments))]}
    if expected is not None:
        outputs = _jax().tree.leaves(expected)
        case["results"] = [_store(folder, f"out{i}", a) for i, a in enumerate(outputs)]
        case["tolerance"] = [{"rtol": rtol, "atol": atol}] * len(outputs)
    (folder / "case.json").write_text(json.dumps(case, indent=1))
    return folder


if __name__ == "__main__":
    print(__doc__.strip())
