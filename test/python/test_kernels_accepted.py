"""The exported kernels before those who define the format: jaxlib's dialect and Google's TPU compiler."""

import base64
import json
import re
import subprocess

import pytest

import tpu_compiler

jax = pytest.importorskip("jax", reason="jaxlib is not installed: nobody to read our kernels")

# What a chip cannot do at all (its compiler's own words), by the start of the case's name.
REFUSED = {"v4": {"matmul_int8": "Unsupported matmul RHS type", "matmul_remainders_int8": "Unsupported matmul RHS type"}}


@pytest.fixture(scope="module")
def exported(bin_dir, tmp_path_factory):
    folder = tmp_path_factory.mktemp("exports")
    subprocess.run([str(bin_dir / "smalti_kernels_export"), str(folder)], check=True)
    files = sorted(folder.glob("*.mlir"))
    assert len(files) >= 10
    return files


def test_jaxlib_deserialises_and_verifies_every_kernel(exported):
    from jax._src.interpreters import mlir as jax_mlir
    from jax._src.lib import tpu
    from jax._src.lib.mlir import ir
    from jaxlib.mlir.passmanager import PassManager

    refused = []
    for file in exported:
        config = re.search(r'backend_config = "((?:[^"\\]|\\.)*)"', file.read_text()).group(1)
        body = json.loads(config.replace("\\22", '"').replace("\\0A", "\n"))["custom_call_config"]["body"]
        context = jax_mlir.make_ir_context()
        tpu.register_dialect(context)
        with context, ir.Location.unknown():
            try:
                context.allow_unregistered_dialects = True  # stable_mosaic, until it is read
                module = ir.Module.parse(base64.b64decode(body))
                PassManager.parse("builtin.module(mosaic-serde{serialize=false})").run(module.operation)
                context.allow_unregistered_dialects = False
                module.operation.verify()
            except Exception as error:
                refused.append(f"{file.stem}: {error}")
    assert not refused, "\n".join(refused)


@pytest.mark.parametrize("chip", tpu_compiler.TOPOLOGIES)
def test_tpu_compiler_accepts_every_kernel(exported, chip):
    pytest.importorskip("libtpu", reason="Google's TPU compiler (PyPI: libtpu) is not installed")
    wrong = []
    for file, (status, text) in tpu_compiler.accept(chip, exported).items():
        name = file.split("/")[-1].removesuffix(".mlir")
        limit = next((words for start, words in REFUSED.get(chip, {}).items() if name.startswith(start)), None)
        if status != ("refused" if limit else "accepted") or (limit or "") not in text:
            wrong.append(f"{name}: {status} {text[:500]}")
    assert not wrong, f"{chip}:\n" + "\n".join(wrong)
