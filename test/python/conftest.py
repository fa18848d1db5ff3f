import os
import pathlib
import stat
import subprocess
import sys

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("SMALTI_BIN_DIR", str(ROOT / "build/release/bin"))
sys.path.insert(0, str(pathlib.Path(os.environ["SMALTI_BIN_DIR"]).parent / "python"))  # the package `smalti`
sys.path.append(str(ROOT / "python"))  # after it: smalti_record where the package is not built
sys.path.append(str(ROOT / "tools"))  # chips
os.environ.setdefault("SMALTI_CACHE", "off")  # not the folder of whoever runs the tests


# Of one worker, longest first: workers get files in this order, and one that starts last keeps the others waiting.
FILES_THAT_TAKE_MINUTES = ["test_transform_oracle", "test_gpu", "test_ops_oracle", "test_device_transforms",
                           "test_plain_ops", "test_against_jax"]


def pytest_collection_modifyitems(items):
    rank = {name: i for i, name in enumerate(FILES_THAT_TAKE_MINUTES)}
    items.sort(key=lambda item: rank.get(item.path.stem, len(rank)))


@pytest.fixture(scope="session")
def bin_dir():
    folder = pathlib.Path(os.environ["SMALTI_BIN_DIR"])
    if not (folder / "smalti").exists():
        pytest.fail(f"{folder}/smalti is missing: ./do build")
    return folder


@pytest.fixture(scope="session")
def smalti(bin_dir):
    return str(bin_dir / "smalti")


@pytest.fixture(scope="session")
def fake_cuda(tmp_path_factory):
    """A folder with a CUDA driver that has no GPU: what this process asks of a driver, and in which words it fails."""
    folder = tmp_path_factory.mktemp("cuda")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", folder / "libcuda.so.1", pathlib.Path(__file__).with_name("fake_cuda.c")], check=True)
    return lambda mode: {"LD_LIBRARY_PATH": str(folder), "FAKE_CUDA": mode}


def tool_environment(folder, text):
    """A ptxas of our own, found before any other: `folder` is a Python environment."""
    tool = folder / "lib/python3.99/site-packages/nvidia/cu99/bin/ptxas"
    tool.parent.mkdir(parents=True)
    tool.write_text("#!/bin/sh\n" + text)
    tool.chmod(tool.stat().st_mode | stat.S_IEXEC)
    return tool, {"VIRTUAL_ENV": str(folder)}


@pytest.fixture
def smalti_jax_installed():
    """For `usefixtures`: kernels in programs of JAX run here."""
    import smalti.jax

    smalti.jax.install()
    yield
    smalti.jax.uninstall()


@pytest.fixture
def run(smalti, tmp_path):
    """Runs the tool in the test's folder."""
    def call(*arguments, env=None):
        return subprocess.run([smalti, *map(str, arguments)], capture_output=True, text=True, cwd=tmp_path,
                              env={**os.environ, **(env or {})}, timeout=120)
    return call


def bf16_array(file):
    """The array of bf16 in a .npy file, as f32."""
    return (np.load(file).view(np.uint16).astype(np.uint32) << 16).view(np.float32)
