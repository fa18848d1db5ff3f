"""Exports: jaxlib reads them, and they say which line of the user's source an op comes from, as JAX's own modules do."""

import inspect
import pathlib
import re
import subprocess

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is not installed: nothing to compare with")

import jax.numpy as jnp
from jax.experimental import pallas as pl


def double(x_ref, o_ref):
    o_ref[...] = x_ref[...] + x_ref[...]


def program(x):
    y = pl.pallas_call(double, out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32))(x)
    return jnp.cumsum(jnp.sin(y)[jnp.array([1, 3])], axis=1), jnp.sort(y, axis=0), y.at[2].add(1.0)


def place_of(function, words):
    """file:line:column of `words` in a function of this file; columns from 1."""
    lines, first = inspect.getsourcelines(function)
    (offset,) = [i for i, line in enumerate(lines) if words in line]
    return f"{__file__}:{first + offset}:{lines[offset].index(words) + 1}"


@pytest.fixture
def module(tmp_path):
    lowered = jax.jit(program).trace(jnp.zeros((8, 128))).lower(lowering_platforms=("tpu",))
    path = tmp_path / "module.mlir"
    path.write_text(lowered.as_text(debug_info=True))
    return path


def exported(smalti, path):
    done = subprocess.run([smalti, "export", "--format", "stablehlo", path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def locations(text):
    """mnemonic → places (columns from 1) of a module with locations at its ops."""
    found = {}
    for name, file, line, column in re.findall(r'stablehlo\.(\w+)\b[^\n]* loc\("([^"]+)":(\d+):(\d+)\)', text):
        found.setdefault(name, set()).add(f"{file}:{line}:{int(column) + 1}")
    return found


def test_exported_ops_name_the_users_lines(smalti, module):
    places = locations(exported(smalti, module))
    assert places["sine"] == {place_of(program, "jnp.sin(y)")}
    assert places["custom_call"] == {place_of(program, "pl.pallas_call")}


def test_sj6_exports_are_read_by_jaxlib_and_again(smalti, module, tmp_path):
    from jax._src.interpreters import mlir
    from jax._src.lib.mlir import ir

    text = exported(smalti, module)
    with mlir.make_ir_context():
        read = ir.Module.parse(text)
        assert read.operation.verify()
        names = {op.operation.name for f in read.body for op in f.regions[0].blocks[0]}
    assert {"stablehlo.custom_call", "stablehlo.sine"} <= names
    again = tmp_path / "again.mlir"
    again.write_text(text)
    assert exported(smalti, again) == text


def test_a_bare_kernel_becomes_a_program_with_the_given_arrays(smalti, tmp_path):
    """A Mosaic module does not say how large its arrays are: the command line does."""
    kernel = pathlib.Path(__file__).parents[1] / "data/gpu/attention.mlir"
    queries, keys = "bf16[1,2,128,64]", "bf16[1,2,256,64]"
    command = [smalti, "export", "--format", "stablehlo", kernel, "--in", queries, "--in", keys, "--in", keys]
    done = subprocess.run([*command, "--out-shape", queries], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "(tensor<1x2x128x64xbf16>, tensor<1x2x256x64xbf16>, tensor<1x2x256x64xbf16>) -> tensor<1x2x128x64xbf16>" in done.stdout
    without = subprocess.run(command, capture_output=True, text=True)
    assert without.returncode == 2 and "SM1012" in without.stderr


def test_exported_linear_algebra_is_read_by_jaxlib_and_again(smalti, tmp_path):
    from jax._src.interpreters import mlir
    from jax._src.lib.mlir import ir

    def f(x, w, a, b):
        y = jax.lax.conv_general_dilated(x, w, (1, 2), ((1, 0), (0, 2)), (2, 1), (1, 2), ("NHWC", "HWIO", "NHWC"),
                                         feature_group_count=2, precision="highest")
        return y, jnp.linalg.cholesky(a), jax.scipy.linalg.solve_triangular(a, b, trans=1)

    shapes = [jnp.zeros(s) for s in [(2, 7, 6, 4), (3, 3, 2, 8), (3, 3), (3, 2)]]
    path, again = tmp_path / "f.mlir", tmp_path / "again.mlir"
    path.write_text(jax.export.export(jax.jit(f), platforms=["tpu"])(*shapes).mlir_module())
    text = exported(smalti, path)
    with mlir.make_ir_context():
        assert ir.Module.parse(text).operation.verify()
    assert "#stablehlo.conv<raw" in text and "stablehlo.cholesky" in text and "#stablehlo<transpose TRANSPOSE>" in text
    again.write_text(text)
    assert exported(smalti, again) == text


def test_a_kernels_mistake_is_at_the_users_line(smalti, tmp_path):
    def outside(x_ref, o_ref):
        first = x_ref[0:1, :]
        o_ref[...] = x_ref[...]
        o_ref[pl.ds(x_ref[0, 0].astype(jnp.int32) + 8, 1), :] = first

    def f(x):
        return pl.pallas_call(outside, out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32))(x)

    path = tmp_path / "outside.mlir"
    path.write_text(jax.export.export(jax.jit(f), platforms=["tpu"])(jnp.zeros((8, 128))).mlir_module())
    np.save(tmp_path / "x.npy", np.zeros((8, 128), np.float32))
    done = subprocess.run([smalti, "run", path, "--in", tmp_path / "x.npy"], capture_output=True, text=True)
    assert "error[SM4010]" in done.stderr
    assert f"--> {place_of(outside, 'o_ref[pl.ds(')}\n" in done.stderr
