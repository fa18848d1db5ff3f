"""Arrays in the memory of NVIDIA GPUs, and programs that are launched with them."""

from __future__ import annotations

from typing import Any

import numpy as np

from smalti import _arrays, _smalti
from smalti._arrays import ArrayType

_CUDA = 2  # DLDeviceType of DLPack
_DEFAULT_STREAM = 1  # of `__dlpack__`: CUDA's legacy default stream


class DeviceArray:
    """A row-major array in the memory of a GPU, created by `device_array` and by DeviceProgram. PyTorch and JAX use it in place:
    `torch.from_dlpack(array)`, `jax.dlpack.from_dlpack(array)`."""

    def __init__(self, handle: Any):
        self.handle = handle

    @property
    def type(self) -> ArrayType:
        """dtype and shape."""
        return _arrays.type_from(*self.handle.type)

    @property
    def gpu(self) -> int:
        """The GPU's number, counted from 0."""
        return self.handle.gpu

    @property
    def address(self) -> int:
        """Where the elements are in the GPU's memory."""
        return self.handle.address

    def __dlpack_device__(self) -> tuple[int, int]:
        return _CUDA, self.gpu

    def __dlpack__(self, *, stream: int | None = None, max_version: tuple[int, int] | None = None, dl_device: Any = None,
                   copy: bool | None = None) -> Any:
        if copy:
            raise BufferError("the elements are shared, not copied")
        if dl_device not in (None, self.__dlpack_device__()):
            raise BufferError(f"the elements are on device {self.__dlpack_device__()}, not {dl_device}")
        if stream != -1:  # -1: the consumer synchronises
            self.handle.ready_on(0 if stream in (None, _DEFAULT_STREAM) else stream)
        return self.handle.to_dlpack(max_version is not None and max_version[0] >= 1)

    def to_numpy(self) -> np.ndarray:
        """A copy of the elements; waits for the work on the GPU."""
        return _arrays.taken(self.handle.to_host())

    def __repr__(self) -> str:
        return f"<smalti.DeviceArray {self.type} on GPU {self.gpu}>"


class DeviceProgram:
    """An Executable with its arrays on a GPU (`Executable.bind`)."""

    def __init__(self, handle: Any):
        self._handle = handle
        self._results = tuple(DeviceArray(r) for r in handle.results)

    @property
    def results(self) -> tuple[DeviceArray, ...]:
        """The arrays that each launch writes."""
        return self._results

    def launch(self, stream: int = 0) -> None:
        """Enqueues the kernels on a stream (the integer of a CUstream, such as `torch.cuda.current_stream().cuda_stream`; 0: the
        default stream) and returns before they have run. They begin after launches on other streams that use the same arrays.
        Streams with launches must exist until `wait`."""
        self._handle.launch(stream)

    def wait(self) -> None:
        """Waits for the GPU. Raises Error: SM7208 if a kernel met a fault or its step limit; the results are not valid then."""
        self._handle.wait()


def on_gpu(array: Any) -> DeviceArray | None:
    """An array that is on a GPU already (of PyTorch, of JAX, a DeviceArray), in place; None for any other."""
    if isinstance(array, DeviceArray):
        return array
    if hasattr(array, "__dlpack_device__") and array.__dlpack_device__()[0] == _CUDA:
        try:
            capsule = array.__dlpack__(stream=_DEFAULT_STREAM, max_version=(1, 0))
        except TypeError:  # of before DLPack 1.0
            capsule = array.__dlpack__(stream=_DEFAULT_STREAM)
        return DeviceArray(_smalti.device_array_from_dlpack(capsule))
    return None


def device_array(array: Any, gpu: int = 0) -> DeviceArray:
    """An array on a GPU: one that is there (of PyTorch, of JAX, a DeviceArray) in place, another as a copy on GPU number `gpu`."""
    return on_gpu(array) or DeviceArray(_smalti.device_array(_arrays.given(array, None, _smalti), gpu))
