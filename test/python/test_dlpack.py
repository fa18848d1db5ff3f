"""Versioned DLPack with NumPy as the other library: our structure is the one that it reads and writes."""

import ctypes
import subprocess

import numpy
import pytest

from conftest import ROOT

SOURCE = r"""
#include "smalti/smalti.h"
#include "smalti/dlpack_interop.h"
using namespace smalti;

static std::string message;
extern "C" const char* last_message() { return message.c_str(); }

/// The doubled elements as a tensor; null with a message.
extern "C" void* doubled(void* tensor, int share_read_only, void** data) {
  auto taken = from_dlpack(static_cast<dlpack::VersionedTensor*>(tensor), share_read_only);
  if (!taken) { message = taken.error().str(); return nullptr; }
  *data = taken->data();
  auto given = to_dlpack_versioned(*taken + *taken, {1, 0}, dlpack::kCopied);
  if (!given) { message = given.error().str(); return nullptr; }
  return *given;
}
"""
NAME = b"dltensor_versioned"
USED = b"used_dltensor_versioned"


@pytest.fixture(scope="module")
def library(bin_dir, tmp_path_factory):
    folder = tmp_path_factory.mktemp("dlpack")
    (folder / "shim.cpp").write_text(SOURCE)
    build = bin_dir.parent
    done = subprocess.run(["c++", "-std=c++20", "-shared", "-fPIC", folder / "shim.cpp", "-o", folder / "shim.so",
                           f"-I{ROOT}/include", f"-L{build}/lib", "-lsmalti", f"-Wl,-rpath,{build}/lib"],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    loaded = ctypes.CDLL(str(folder / "shim.so"))
    loaded.doubled.restype = ctypes.c_void_p
    loaded.doubled.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.POINTER(ctypes.c_void_p)]
    loaded.last_message.restype = ctypes.c_char_p
    return loaded


class Tensor:
    """What NumPy asks of a producer."""

    def __init__(self, pointer):
        self.pointer = pointer

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        assert max_version >= (1, 0)
        make = ctypes.pythonapi.PyCapsule_New
        make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return make(self.pointer, NAME, None)


def doubled(library, array, share_read_only=False):
    """The result as NumPy reads it, and where the input's elements were."""
    capsule = array.__dlpack__(max_version=(1, 0))
    get, rename = ctypes.pythonapi.PyCapsule_GetPointer, ctypes.pythonapi.PyCapsule_SetName
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    rename.argtypes = [ctypes.py_object, ctypes.c_char_p]
    tensor = get(capsule, NAME)
    rename(capsule, USED)  # it is ours now
    data = ctypes.c_void_p()
    result = library.doubled(tensor, share_read_only, ctypes.byref(data))
    assert result, library.last_message().decode()
    return numpy.from_dlpack(Tensor(result)), data.value


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint16", "float16", "float32", "float64"])
def test_elements_are_shared_both_ways(library, dtype):
    x = numpy.arange(24).reshape(4, 6).astype(dtype)
    y, data = doubled(library, x)
    assert data == x.ctypes.data
    assert y.dtype == x.dtype and (y == x + x).all()


def test_strides_are_understood(library):
    x = numpy.arange(24, dtype="float32").reshape(4, 6).T
    y, data = doubled(library, x)
    assert data != x.ctypes.data
    assert y.shape == (6, 4) and (y == x + x).all()


def test_read_only_arrays_are_copied_or_shared(library):
    x = numpy.arange(6, dtype="int32")
    x.flags.writeable = False
    for share in (False, True):
        y, data = doubled(library, x, share)
        assert (data == x.ctypes.data) == share
        assert (y == x + x).all()
