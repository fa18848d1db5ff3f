"""What we write as kernel bodies, jaxlib reads as the kernels they came from."""

import os
import pathlib
import subprocess

import pytest

from conftest import ROOT

jax = pytest.importorskip("jax", reason="jaxlib is not installed: nobody to read our bodies")

from jax._src.interpreters import mlir as jax_mlir
from jax._src.lib import tpu
from jax._src.lib.mlir import ir
from jaxlib.mlir.passmanager import PassManager

CORPUS = pathlib.Path(os.environ.get("SMALTI_CORPUS", ROOT / "../shared/corpus"))


def deserialised(body):
    """(generic text without the version, "") or ("", why jaxlib does not read it)."""
    context = jax_mlir.make_ir_context()
    tpu.register_dialect(context)
    with context, ir.Location.unknown():
        context.allow_unregistered_dialects = True
        try:
            module = ir.Module.parse(body)
            PassManager.parse("builtin.module(mosaic-serde{serialize=false})").run(module.operation)
        except Exception as error:
            return "", str(error)
        del module.operation.attributes["stable_mosaic.version"]
        return module.operation.get_asm(print_generic_op_form=True, enable_debug_info=True), ""


@pytest.fixture(scope="module")
def written(bin_dir, tmp_path_factory):
    """Every recorded body, written by us at several versions."""
    if not CORPUS.exists():
        pytest.skip("no recorded corpus: set SMALTI_CORPUS")
    folder = tmp_path_factory.mktemp("bodies")
    environment = {**os.environ, "SMALTI_CORPUS": str(CORPUS), "SMALTI_BYTECODE_OUT": str(folder)}
    test = [str(bin_dir / "smalti_interop_test"), "--gtest_filter=*WritesBodiesForJaxlibWhenAsked"]
    subprocess.run(test, env=environment, check=True, capture_output=True)
    return folder


@pytest.mark.parametrize("version", [8, 13, 15, 18])
def test_jaxlib_reads_what_we_write_as_the_original(written, version):
    same, unreadable, wrong = 0, 0, []
    for original in sorted(CORPUS.glob("*/*/kernel*.bc")):
        ours = written / original.relative_to(CORPUS).with_suffix(f".v{version}.bc")
        expected, refused = deserialised(original.read_bytes())
        if refused:
            unreadable += 1
            continue
        text, refused = deserialised(ours.read_bytes())
        if refused and "version" in refused.lower() and version > 15:
            pytest.skip(f"this jaxlib does not read version {version}")
        if text == expected:
            same += 1
        else:
            wrong.append((str(ours), refused[:300]))
    print(f"jaxlib {jax.lib.__version__}: {same} bodies alike, {unreadable} that it does not read itself")
    assert not wrong, wrong[:5]
    assert same >= 400
