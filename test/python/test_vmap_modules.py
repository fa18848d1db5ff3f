"""Modules of batched kernels (test/ops/VmapModules.cpp) against those that JAX makes of the same functions: grid, blocks,
index maps, operands, aliases, and the ops of the kernel's body."""

import collections
import re
import subprocess

import pytest

jax = pytest.importorskip("jax", reason="JAX is not installed: nothing to compare with")

import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

ROWS = pl.BlockSpec((8, 128), lambda i: (i, 0))
TABLE = jax.ShapeDtypeStruct((16, 128), jnp.float32)


def scaled(x):
    def scaled(x_ref, o_ref):
        o_ref[...] = x_ref[...] * (pl.program_id(0) + pl.num_programs(0)).astype(jnp.float32)

    return pl.pallas_call(scaled, TABLE, grid=(2,), in_specs=[ROWS], out_specs=ROWS)(x)


def product(x, y):
    def product(x_ref, y_ref, o_ref, acc_ref):
        @pl.when(pl.program_id(1) == 0)
        def _():
            acc_ref[...] = jnp.zeros_like(acc_ref)

        acc_ref[...] += jnp.dot(x_ref[...], y_ref[...])

        @pl.when(pl.program_id(1) == pl.num_programs(1) - 1)
        def _():
            o_ref[...] = acc_ref[...]

    return pl.pallas_call(product, TABLE, grid=(2, 2),
                          in_specs=[pl.BlockSpec((8, 128), lambda i, k: (i, k)),
                                    pl.BlockSpec((128, 128), lambda i, k: (k, 0))],
                          out_specs=pl.BlockSpec((8, 128), lambda i, k: (i, 0)),
                          scratch_shapes=[pltpu.VMEM((8, 128), jnp.float32)],
                          compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "arbitrary")))(x, y)


def chosen(ids, x):
    def chosen(ids_ref, x_ref, o_ref):
        o_ref[...] = x_ref[...] * ids_ref[pl.program_id(0)].astype(jnp.float32)

    spec = pltpu.PrefetchScalarGridSpec(num_scalar_prefetch=1, grid=(2,),
                                        in_specs=[pl.BlockSpec((8, 128), lambda i, ids: (ids[i], 0))],
                                        out_specs=pl.BlockSpec((8, 128), lambda i, ids: (i, 0)))
    return pl.pallas_call(chosen, TABLE, grid_spec=spec)(ids, x)


def updated(x, before):
    def updated(x_ref, _, o_ref):
        o_ref[...] = x_ref[...] + 1

    return pl.pallas_call(updated, TABLE, grid=(1,), in_specs=[ROWS, ROWS], out_specs=ROWS,
                          input_output_aliases={1: 0})(x, before)


def whole(x):
    def whole(x_ref, o_ref):
        o_ref[...] = x_ref[...] + 1

    return pl.pallas_call(whole, TABLE)(x)


def f32(*shape):
    return jax.ShapeDtypeStruct(shape, jnp.float32)


def i32(*shape):
    return jax.ShapeDtypeStruct(shape, jnp.int32)


CASES = {
    "scaled": (jax.vmap(scaled), f32(3, 16, 128)),
    "scaled_twice": (jax.vmap(jax.vmap(scaled)), f32(2, 3, 16, 128)),
    "scaled_once": (jax.vmap(scaled), f32(1, 16, 128)),
    "product": (jax.vmap(product), f32(3, 16, 256), f32(3, 256, 128)),
    "product_shared": (jax.vmap(product, in_axes=(0, None)), f32(3, 16, 256), f32(256, 128)),
    "product_shared_twice": (jax.vmap(jax.vmap(product, in_axes=(None, 0)), in_axes=(0, None)), f32(2, 16, 256),
                             f32(3, 256, 128)),
    "chosen_shared": (jax.vmap(chosen, in_axes=(None, 0)), i32(2), f32(3, 16, 128)),
    "chosen_differing": (jax.vmap(chosen), i32(3, 2), f32(3, 16, 128)),
    "updated": (jax.vmap(updated), f32(3, 16, 128), f32(3, 16, 128)),
    "updated_shared": (jax.vmap(updated, in_axes=(0, None)), f32(3, 16, 128), f32(16, 128)),
    "whole": (jax.vmap(whole), f32(3, 16, 128)),
}


@pytest.fixture(scope="module")
def folder(bin_dir, tmp_path_factory):
    path = tmp_path_factory.mktemp("vmap")
    subprocess.run([str(bin_dir / "smalti_ops_oracle"), str(path), "--vmap"], check=True)
    for name, (f, *arguments) in CASES.items():
        exported = jax.export.export(jax.jit(f), platforms=["tpu"])(*arguments)
        (path / f"{name}.jax.mlir").write_text(exported.mlir_module())
    return path


def said(*command):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, check=True).stdout


CALL = re.compile(r"@tpu_custom_call\(.*\} : (\(.*?\) -> .*?)(?: loc.*)?$", re.M)
# JAX reads what a store overwrites, compares conditions with 0, and numbers of programs are computed there.
NOT_COMPARED = ["arith.constant", "arith.cmpi", "arith.extui", "arith.subi", "vector.load", "vector.shape_cast"]
ALIAS = re.compile(r"output_tuple_indices = \[(.*?)\],\s*operand_index = (\d+)")


@pytest.mark.parametrize("name", CASES)
def test_a_batched_kernel_is_that_of_jax(folder, smalti, name):
    ours, theirs = folder / f"{name}.mlir", folder / f"{name}.jax.mlir"
    texts = [path.read_text() for path in (ours, theirs)]
    calls = [CALL.findall(text) for text in texts]
    assert calls[0] == calls[1] and len(calls[0]) == 1  # the same types; in a loop where JAX has one
    assert ("stablehlo.while" in texts[0]) == ("stablehlo.while" in texts[1]) == (name == "chosen_differing")
    assert ALIAS.findall(texts[0]) == ALIAS.findall(texts[1])
    assert said(smalti, "show", ours, "--stage", "windows") == said(smalti, "show", theirs, "--stage", "windows")
    bodies = [said(smalti, "export", path, "--format", "generic") for path in (ours, theirs)]
    ops = [collections.Counter(re.findall(r'"((?:tpu|vector|arith|scf|memref)\.\w+)"', body)) for body in bodies]
    for count in ops:
        for op in NOT_COMPARED:
            del count[op]
    assert ops[0] == ops[1] and ops[0]


def test_every_module_has_a_twin(folder):
    assert {p.name.split(".")[0] for p in folder.glob("*.mlir")} == set(CASES)
