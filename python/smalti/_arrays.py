"""Converts arrays of NumPy, of DLPack and of anything that NumPy reads for the extension and back, without needless copies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

# Smalti's dtype names → NumPy's, including those of ml_dtypes.
_DTYPES = {
    "pred": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "u8": np.uint8, "u16": np.uint16,
    "u32": np.uint32, "u64": np.uint64, "f16": np.float16, "f32": np.float32, "f64": np.float64,
    "c64": np.complex64, "c128": np.complex128,
    "i2": ml_dtypes.int2, "i4": ml_dtypes.int4, "u2": ml_dtypes.uint2, "u4": ml_dtypes.uint4, "bf16": ml_dtypes.bfloat16,
    "f8e5m2": ml_dtypes.float8_e5m2, "f8e4m3fn": ml_dtypes.float8_e4m3fn, "f8e4m3b11fnuz": ml_dtypes.float8_e4m3b11fnuz,
    "f8e8m0fnu": ml_dtypes.float8_e8m0fnu, "f4e2m1fn": ml_dtypes.float4_e2m1fn,
}
_NAMES = {np.dtype(dtype): name for name, dtype in _DTYPES.items()}

Given = tuple[np.ndarray, str, list[int]]  # bytes, dtype, shape


class ArrayType(NamedTuple):
    """dtype and shape of an array."""

    dtype: np.dtype
    shape: tuple[int, ...]  #: -1: left open by a module with symbolic shapes

    def __str__(self) -> str:
        return f"{_NAMES[self.dtype]}[{','.join('?' if d < 0 else str(d) for d in self.shape)}]"


def empty(shape: int | Sequence[int], dtype: Any = np.float32) -> np.ndarray:
    """A new array with undefined elements, which begins at a cache line (64 bytes): as `out`, it is written in place.

    NumPy's own arrays may begin elsewhere; results are then computed in other memory and copied.
    """
    line = 64
    dtype = np.dtype(dtype)
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    size = math.prod(shape) * dtype.itemsize
    memory = np.empty(size + line, np.uint8)
    begin = -memory.ctypes.data % line
    return memory[begin : begin + size].view(dtype).reshape(shape)


def type_from(name: str, shape: Sequence[int]) -> ArrayType:
    return ArrayType(np.dtype(_DTYPES[name]), tuple(shape))


def type_given(like: Any) -> tuple[str, list[int]]:
    """The type of an ArrayType, an array, or anything else with a dtype and a shape (jax.ShapeDtypeStruct)."""
    return _name_of(np.dtype(like.dtype)), list(like.shape)


def is_of_kernels(dtype: np.dtype) -> bool:
    """Whether kernels support the dtype: complex numbers only exist around kernels."""
    return dtype in _NAMES and dtype.kind != "c"


def kernel_dtypes() -> str:
    return ", ".join(str(dtype) for dtype in _NAMES if is_of_kernels(dtype))


def _name_of(dtype: np.dtype) -> str:
    if dtype not in _NAMES:
        raise TypeError(f"kernels have no arrays of dtype {dtype}; they take {kernel_dtypes()}")
    return _NAMES[dtype]


def _bytes_of(array: np.ndarray) -> np.ndarray:
    return array.reshape(-1).view(np.uint8)


def given(array: Any, wanted: ArrayType | None, extension: Any) -> Given:
    """An input: an array of NumPy as it is, another library's through DLPack, else what NumPy makes of it; lists and numbers
    are converted to the expected type."""
    if type(array) is np.ndarray and (flags := array.flags).c_contiguous and flags.aligned:  # by far the most frequent
        return _bytes_of(array), _name_of(array.dtype), list(array.shape)
    if not isinstance(array, np.ndarray) and hasattr(array, "__dlpack__") and not hasattr(array, "__array_interface__"):
        if not hasattr(array, "addressable_shards"):  # NumPy sees JAX's arrays in place, and knows their dtypes
            try:
                capsule = array.__dlpack__(max_version=(1, 0))
            except TypeError:  # of before DLPack 1.0
                capsule = array.__dlpack__()
            taken, name, shape = extension.from_dlpack(capsule)
            return taken, name, list(shape)
    if isinstance(array, np.ma.MaskedArray):
        raise TypeError("kernels compute with all elements, and a masked array hides some; pass array.filled(value)")
    numbers = isinstance(array, (list, tuple, int, float, bool)) and wanted is not None
    array = np.require(array, wanted.dtype if numbers else None, ["C", "A", "E"])  # of a subclass such as np.matrix: the plain array
    name = _name_of(array.dtype)  # None and other objects have no bytes to look at
    return _bytes_of(array), name, list(array.shape)


def writable(array: Any, number: int) -> Given:
    """Memory for a result: a NumPy array that can be written in place."""
    if not isinstance(array, np.ndarray):
        raise TypeError(f"out[{number}] is a {type(array).__name__}; only arrays of NumPy can be written to")
    if not (array.flags.c_contiguous and array.flags.aligned and array.flags.writeable):
        raise ValueError(f"out[{number}] cannot be written in place: it must be writable, aligned and row-major")
    if isinstance(array, np.ma.MaskedArray):
        raise TypeError(f"out[{number}] is a masked array, whose mask no kernel sets; pass out.data")
    return _bytes_of(np.asarray(array)), _name_of(array.dtype), list(array.shape)


def taken(result: tuple[np.ndarray, str, Sequence[int]]) -> np.ndarray:
    """An array that shares the extension's bytes."""
    elements, name, shape = result
    return elements.view(_DTYPES[name]).reshape(tuple(shape))
