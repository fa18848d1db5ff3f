"""StableHLO portable artifacts, as jax.export writes them: read like the text of the same module (plain ops: test_plain_ops.py)."""

import json
import os
import pathlib
import random
import subprocess

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is not installed: nothing writes artifacts")

import jax.numpy as jnp
from jax import export, lax
from jax.experimental import pallas as pl
from jax.sharding import AbstractMesh, NamedSharding
from jax.sharding import PartitionSpec as P
from smalti_record import record


def exported(function, *arguments):
    return export.export(jax.jit(function), platforms=["tpu"])(*arguments)


def add_kernel(x_ref, y_ref, o_ref):
    o_ref[...] = x_ref[...] + y_ref[...]


def with_kernel(x, y):
    block = pl.BlockSpec((8, 128), lambda i: (i, 0))
    z = pl.pallas_call(add_kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), grid=(x.shape[0] // 8,),
                       in_specs=[block, block], out_specs=block, name="add_kernel")(x, y)
    return jnp.where(z > 0, z, 0).sum(axis=1), jnp.argsort(z[0]), (z * 2).astype(jnp.bfloat16)


@pytest.fixture(scope="module")
def artifact(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kernel")
    module = exported(with_kernel, jnp.ones((16, 128)), jnp.ones((16, 128)))
    (folder / "module.bc").write_bytes(module.mlir_module_serialized)
    (folder / "module.mlir").write_text(module.mlir_module())
    for i in range(2):
        np.save(folder / f"in{i}.npy", np.random.default_rng(i).standard_normal((16, 128)).astype(np.float32))
    return folder


@pytest.mark.parametrize("target", ["interpret", "cpu"])
def test_kernels_inside_run_as_from_text(smalti, artifact, target):
    def results(module):
        done = subprocess.run([smalti, "run", module, "--in", "in0.npy", "--in", "in1.npy", "--target", target, "--out",
                               f"{module}.{target}"], cwd=artifact, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return [np.load(artifact / f"{module}.{target}/out{i}.npy") for i in range(3)]
    for got, expected in zip(results("module.bc"), results("module.mlir")):
        np.testing.assert_array_equal(got, expected)


def test_describe_says_what_it_is(smalti, artifact):
    def describe(module):
        return json.loads(subprocess.run([smalti, "describe", module, "--json"], cwd=artifact, capture_output=True,
                                         text=True, check=True).stdout)
    binary, text = describe("module.bc"), describe("module.mlir")
    assert binary.pop("kind") == "StableHLO portable artifact" and text.pop("kind") == "StableHLO text"
    assert {**binary, "module": ""} == {**text, "module": ""}


MESH = AbstractMesh((2,), ("x",))


def collectives(x):
    return (lax.psum(x, "x"), lax.ppermute(x, "x", [(0, 1), (1, 0)]), lax.all_gather(x, "x"),
            lax.all_to_all(x, "x", 0, 1, tiled=True), lax.psum_scatter(x, "x", tiled=True) + lax.axis_index("x"))


SHARDED = {
    "arguments": lambda x: x * 2,
    "shard_map": jax.shard_map(lambda x: lax.psum(x, "x"), mesh=MESH, in_specs=P("x"), out_specs=P()),
    "constraint": lambda x: lax.with_sharding_constraint(x * 2, NamedSharding(MESH, P(None, "x"))),
    "collectives": jax.shard_map(collectives, mesh=MESH, in_specs=P("x"), out_specs=P("x"), check_vma=False),
}


@pytest.mark.parametrize("name", SHARDED)
def test_shardings_are_those_of_the_text(smalti, tmp_path, name):
    module = exported(SHARDED[name], jax.ShapeDtypeStruct((4, 6), jnp.float32, sharding=NamedSharding(MESH, P("x"))))
    (tmp_path / "module.bc").write_bytes(module.mlir_module_serialized)
    (tmp_path / "module.mlir").write_text(module.mlir_module())
    def program(path):
        done = subprocess.run([smalti, "export", path, "--format", "stablehlo"], cwd=tmp_path, capture_output=True,
                              text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout
    assert "sdy.sharding" in program("module.bc")
    assert program("module.bc") == program("module.mlir")


def test_encodings_of_other_dialects_are_refused_by_name(smalti, tmp_path):
    module = exported(SHARDED["arguments"],
                      jax.ShapeDtypeStruct((4, 6), jnp.float32, sharding=NamedSharding(MESH, P("x"))))
    (tmp_path / "m.bc").write_bytes(module.mlir_module_serialized.replace(b"\0sdy\0", b"\0abc\0"))
    done = subprocess.run([smalti, "export", "m.bc", "--format", "stablehlo"], cwd=tmp_path, capture_output=True,
                          text=True)
    assert done.returncode == 3
    assert "error[SM2105]: an attribute or type has a dialect whose encoding is not known" in done.stderr
    assert "dialect 'abc'" in done.stderr


def test_places_are_the_user_s_lines(smalti, artifact):
    out = subprocess.run([smalti, "export", "module.bc", "--format", "stablehlo"], cwd=artifact, capture_output=True,
                         text=True, check=True).stdout
    line = next(i for i, text in enumerate(pathlib.Path(__file__).read_text().splitlines(), 1) if "jnp.argsort(z[0])" in text)
    assert f'test_portable_artifacts.py":{line}:' in out


@pytest.mark.parametrize("version", ["1.0.0", "1.8.0"])
def test_older_versions_are_read(smalti, artifact, tmp_path, version):
    """What StableHLO's own writer makes for older readers: other versions of ops."""
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import stablehlo
    with ir.Context() as context:
        stablehlo.register_dialect(context)
        module = stablehlo.deserialize_portable_artifact(context, (artifact / "module.bc").read_bytes())
        older = stablehlo.serialize_portable_artifact(module, version)
    (tmp_path / "older.bc").write_bytes(older)
    def out(path):
        return subprocess.run([smalti, "export", path, "--format", "stablehlo"], capture_output=True, text=True,
                              check=True).stdout
    assert out(tmp_path / "older.bc").count("stablehlo.") == out(artifact / "module.bc").count("stablehlo.")


def test_what_no_program_holds_is_refused_by_name(smalti, tmp_path):
    (tmp_path / "m.bc").write_bytes(exported(lambda x: jax.lax.rng_uniform(x, 1.0, (4,)), jnp.float32(0)).mlir_module_serialized)
    done = subprocess.run([smalti, "run", "m.bc"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 3
    assert "error[SM2002]: op 'stablehlo.rng' is not supported around kernels" in done.stderr


def test_damaged_artifacts_are_refused_or_run(smalti, artifact, tmp_path):
    """Bytes are changed, cut off, put in: a diagnostic or a result, never a crash, and soon."""
    original = (artifact / "module.bc").read_bytes()
    rng = random.Random(0)
    refused = 0
    for i in range(200):
        data = bytearray(original)
        for _ in range(rng.choice([1, 1, 2, 5])):
            at = rng.randrange(len(data))
            kind = rng.randrange(4)
            if kind == 0:
                data[at] = rng.randrange(256)
            elif kind == 1:
                data[at] ^= 1 << rng.randrange(8)
            elif kind == 2:
                del data[at:at + rng.choice([1, 3, 100])]
            else:
                data[at:at] = bytes(rng.randrange(256) for _ in range(rng.choice([1, 4])))
        (tmp_path / "m.bc").write_bytes(data)
        done = subprocess.run([smalti, "describe", "m.bc"], cwd=tmp_path, capture_output=True, timeout=20)
        assert done.returncode in (0, 2, 3), (i, done.returncode, done.stderr)
        assert done.returncode == 0 or b"error[SM" in done.stderr
        refused += done.returncode != 0
    assert refused > 100
