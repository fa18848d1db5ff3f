"""Functions of several devices in C++ (test/devices) against JAX's (device_programs.py): what they compute on every
target, and the modules that both make."""

import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("jax")
HERE = pathlib.Path(__file__).parent
TOLERANCE = {"softmax_over_devices": 1e-6, "pmean_yx": 1e-6, "pmean_of_integers": 1e-6}
# Of the largest element: sums in another order.
ABSOLUTE = {"all_gather_matmul": 1e-6, "all_gather_matmul_pair": 1e-6, "matmul_reduce_scatter": 1e-6, "ring_attention": 1e-6,
            "ring_attention_causal": 1e-6}


@pytest.fixture(scope="module")
def of_target(bin_dir, tmp_path_factory):
    """Folders of cases by target; JAX's results lie in those of `interpret`."""
    folders = {}
    for target in ("interpret", "cpu"):
        folders[target] = tmp_path_factory.mktemp(f"devices_{target}")
        subprocess.run([str(bin_dir / "smalti_devices_oracle"), str(folders[target])], check=True,
                       env={**os.environ, "SMALTI_TARGET": target})
    subprocess.run([sys.executable, str(HERE / "device_programs.py"), str(folders["interpret"])], check=True)
    return folders


def names(folder):
    return sorted(f.name for f in folder.iterdir() if (folder / f.name / "jax.npz").exists())


def test_every_case_has_a_twin(of_target):
    made = {f.name for f in of_target["interpret"].iterdir()}
    assert len(made) >= 57 and made == set(names(of_target["interpret"]))


@pytest.mark.parametrize("target", ["interpret", "cpu"])
def test_devices_compute_what_jax_computes(of_target, target):
    wrong = []
    for name in names(of_target["interpret"]):
        wanted = np.load(of_target["interpret"] / name / "jax.npz")
        for i, key in enumerate(wanted.files):
            got = np.load(of_target[target] / name / f"out{i}.npy")
            scale = np.max(np.abs(wanted[key]))
            close = got.shape == wanted[key].shape and got.dtype == wanted[key].dtype and np.allclose(
                got, wanted[key], rtol=TOLERANCE.get(name, 0), atol=max(1e-30, scale * ABSOLUTE.get(name, 0)))
            if not close:
                wrong.append(f"{name}, result {i}: {got.dtype}{got.shape}, JAX {wanted[key].dtype}{wanted[key].shape}\n"
                             f"{got}\n{wanted[key]}")
    assert not wrong, "\n".join(wrong)


def test_nothing_is_found(of_target):
    found = {f.parent.name: f.read_text() for f in of_target["interpret"].glob("*/findings.txt") if f.read_text()}
    assert not found, found


COLLECTIVE = re.compile(r'"stablehlo\.(all_\w+|reduce_scatter|collective_\w+)".*?<\{(.*?)\}>')
ATTRIBUTE = re.compile(r"\w+ = (?:#stablehlo\.\w+<[^>]*>|dense<.*?> : tensor<\w+>|\d+ : i64)|use_global_device_ids")
MANUAL = re.compile(r"in_shardings=.*?manual_axes=\{[^}]*\}")
TYPES = re.compile(r"func\.func public @main\(.*\{$", re.M)


def parts(text):
    """What both modules must say alike: mesh, parts that devices have, types, and each collective with its attributes."""
    mesh = re.search(r"sdy\.mesh @mesh = <\[[^\]]*\]>", text)[0]
    main = re.sub(r"%\w+|\{jax\.result_info[^}]*\}|\(|\)|\s", "", TYPES.search(text)[0])
    return [mesh, re.search(r"mhlo.num_partitions = \d+", text)[0], MANUAL.search(text)[0], main,
            *((op, sorted(ATTRIBUTE.findall(attributes))) for op, attributes in COLLECTIVE.findall(text))]


def test_modules_are_those_of_jax(of_target):
    for name in names(of_target["interpret"]):
        if name in ("pbroadcast", "captured_array"):  # JAX lowers the one for GPUs only, and makes the other an operand
            continue
        folder = of_target["interpret"] / name
        if "tpu_custom_call" in (folder / "module.mlir").read_text():  # kernels, whose twins are lax's collectives
            continue
        assert parts((folder / "module.mlir").read_text()) == parts((folder / "jax.mlir").read_text()), name


def test_modules_can_be_read_back(of_target, smalti, tmp_path):
    for name in ["two_arguments", "all_to_all_tiled", "in_a_loop"]:
        folder = of_target["interpret"] / name
        inputs = [a for i in range(len(list(folder.glob("in*.npy")))) for a in ("--in", str(folder / f"in{i}.npy"))]
        subprocess.run([smalti, "run", str(folder / "module.mlir"), *inputs, "--out", str(tmp_path / name)], check=True,
                       stdout=subprocess.DEVNULL)
        read = sorted((tmp_path / name).glob("*.npy"))
        for i, path in enumerate(read):
            np.testing.assert_array_equal(np.load(path), np.load(folder / f"out{i}.npy"))
        assert read


def of_kernels(of_target):
    """(name, module, arguments of the command line)"""
    for name in names(of_target["interpret"]):
        folder = of_target["interpret"] / name
        if "tpu_custom_call" in (folder / "module.mlir").read_text():
            inputs = [a for i in range(len(list(folder.glob("in*.npy")))) for a in ("--in", str(folder / f"in{i}.npy"))]
            yield name, str(folder / "module.mlir"), inputs


def test_no_schedule_of_a_kernel_races_or_deadlocks(of_target, smalti):
    wrong = []
    for name, module, inputs in of_kernels(of_target):
        done = subprocess.run([smalti, "check", module, *inputs, "--schedules", "3"], capture_output=True, text=True)
        if done.returncode or "no schedule of these inputs races or deadlocks" not in done.stdout:
            wrong.append(f"{name}: {done.stdout}{done.stderr}")
    assert not wrong, "\n".join(wrong)


def test_the_tpu_compiler_accepts_kernels_on_eight_devices(of_target, smalti):
    pytest.importorskip("libtpu", reason="Google's TPU compiler (PyPI: libtpu) is not installed")
    modules = [module for _, module, _ in of_kernels(of_target)]
    assert len(modules) >= 23
    done = subprocess.run([smalti, "compile", *modules, "--chip", "v5e"], capture_output=True, text=True,
                          env={**os.environ, "VIRTUAL_ENV": sys.prefix})
    assert f"{len(modules)} accepted, 0 refused" in done.stdout, done.stdout + done.stderr
