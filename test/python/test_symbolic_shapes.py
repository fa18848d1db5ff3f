"""Modules that jax.export writes with symbolic shapes: for arrays of any shapes that they allow they compute what JAX computes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

import smalti

F32, I32 = np.float32, np.int32
TARGETS = ("interpret", "cpu")


def exported(f, types, constraints=(), dynamic_blocks=False):
    """The module of f for arguments of types like ("b, 128", dtype), in JAX's bytes."""
    scope = jax.export.SymbolicScope(constraints)
    arguments = [jax.ShapeDtypeStruct(jax.export.symbolic_shape(shape, scope=scope) if shape else (), dtype) for shape, dtype in types]
    if not dynamic_blocks:
        return jax.export.export(jax.jit(f), platforms=["tpu"])(*arguments)
    from jax._src.pallas.core import pallas_export_experimental

    with pallas_export_experimental(dynamic_shapes=True):
        return jax.export.export(jax.jit(f), platforms=["tpu"])(*arguments)


def arrays(types, sizes, seed=0):
    rng = np.random.default_rng(seed)
    made = []
    for shape, dtype in types:
        dims = tuple(eval(d, dict(sizes)) for d in shape.split(",")) if shape else ()  # noqa: S307
        floats = jnp.issubdtype(dtype, jnp.floating)
        made.append(np.asarray(rng.standard_normal(dims) if floats else rng.integers(0, max(1, min(sizes.values())), dims)).astype(dtype))
    return made


def agree(got, expected, tolerance):
    assert len(got) == len(jax.tree.leaves(expected))
    for g, e in zip(got, jax.tree.leaves(expected)):
        assert g.dtype == e.dtype and g.shape == e.shape
        np.testing.assert_allclose(np.asarray(g, np.float64), np.asarray(e, np.float64), rtol=tolerance, atol=tolerance)


ONE = [("b, n", F32)]

#: name: function, types of its arguments
PROGRAMS = {
    "slice": (lambda x: x[1:], ONE),
    "strided slice": (lambda x: x[:, ::2], ONE),
    "dynamic slice": (lambda x, i: lax.dynamic_slice_in_dim(x, i, x.shape[0] // 2, 0), [*ONE, ("", I32)]),
    "pad": (lambda x: jnp.pad(x, ((0, x.shape[0]), (1, 2))), ONE),
    "convolution": (lambda x, w: lax.conv_general_dilated(x, w, (2, 2), "SAME"), [("b, 3, n, n", F32), ("4, 3, 3, 3", F32)]),
    "pooling": (lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 2), (1, 2), "SAME"), ONE),
    "sort": (lambda x: jnp.sort(x, axis=0), ONE),
    "top_k": (lambda x: lax.top_k(x, (x.shape[1] + 1) // 2), ONE),
    "cumulative sum": (lambda x: jnp.cumsum(x, axis=1), ONE),
    "softmax": (lambda x: jax.nn.softmax(x, axis=-1), ONE),
    "take": (lambda x, i: jnp.take(x, i, axis=0), [("n, 64", F32), ("b", I32)]),
    "scatter": (lambda x, i, u: x.at[i].add(u), [("n, 64", F32), ("b", I32), ("b, 64", F32)]),
    "loop to a size": (lambda x: lax.fori_loop(0, x.shape[0], lambda i, c: c + x[i], jnp.zeros_like(x[0])), ONE),
    "scan": (lambda x: lax.scan(lambda c, r: (c + r, c * 2), jnp.zeros(x.shape[1]), x), ONE),
    "branches": (lambda x, p: lax.cond(p > 0, lambda y: y + 1, lambda y: y * 2, x), [*ONE, ("", I32)]),
    "product": (lambda x, w: jax.nn.relu(x @ w), [*ONE, ("n, 32", F32)]),
    "batched product": (lambda q, k: jnp.einsum("bqd,bkd->bqk", q, k), [("b, n, 64", F32)] * 2),
    "mean and variance": (lambda x: (x - x.mean(axis=0)) / jnp.sqrt(x.var(axis=0) + 1e-5), ONE),
    "argmax": (lambda x: jnp.argmax(x, axis=1), ONE),
    "tile": (lambda x: jnp.tile(x, (2, 3)), ONE),
    "roll": (lambda x: jnp.roll(x, 1, axis=0), ONE),
    "reversal": (lambda x: x[::-1], ONE),
    "stack and reshape": (lambda x: jnp.stack([x, x * 2]).transpose(1, 0, 2).reshape(x.shape[0], -1), ONE),
    "sizes as numbers": (lambda x: jnp.where(jnp.arange(x.shape[1]) < x.shape[0], x, 0.0), ONE),
    "triangle": (lambda x: jnp.tril(x @ x.T), ONE),
    "fourier transform": (lambda x: jnp.abs(jnp.fft.rfft(x, axis=1)), [("b, 128", F32)]),
    "cholesky": (lambda x: jnp.linalg.cholesky(x @ x.T + x.shape[0] * jnp.eye(x.shape[0])), ONE),
    "one-hot": (lambda i: jax.nn.one_hot(i, 64), [("b", I32)]),
    "gradient": (jax.grad(lambda x: jnp.sum(jnp.tanh(x @ x.T))), ONE),
    "batched update": (jax.vmap(lambda x, i: lax.dynamic_update_slice(x, jnp.ones((1,)), (i,))), [*ONE, ("b", I32)]),
    "bits": (lambda x: lax.bitcast_convert_type(x, jnp.uint8), ONE),
    "median": (lambda x: jnp.median(x, axis=1), ONE),
    "random numbers": (lambda x: jax.random.normal(jax.random.key(3), x.shape) + x, ONE),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_agree_with_jax(name):
    f, types = PROGRAMS[name]
    module = exported(f, types)
    for form in (module.mlir_module(), module.mlir_module_serialized):
        loaded = smalti.parse(form)
        assert loaded.has_symbolic_shapes
        for sizes in ({"b": 5, "n": 7}, {"b": 1, "n": 1}, {"b": 8, "n": 128}):
            inputs = arrays(types, sizes)
            agree(loaded.run(*inputs, target="cpu"), jax.jit(f)(*inputs), 2e-4)


# ---- kernels


def blockwise(kernel, x, *more, **options):
    """A kernel on blocks of 8 rows."""
    spec = pl.BlockSpec((8, x.shape[1]), lambda i: (i, 0))
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), grid=(pl.cdiv(x.shape[0], 8),),
                          in_specs=[spec] * (1 + len(more)), out_specs=spec, **options)(x, *more)


def softmax(x):
    def kernel(x, o):
        e = jnp.exp(x[...] - x[...].max(axis=1, keepdims=True))
        o[...] = e / e.sum(axis=1, keepdims=True)

    return blockwise(kernel, x)


def matmul(x, y):
    def kernel(x, y, o):
        @pl.when(pl.program_id(2) == 0)
        def _():
            o[...] = jnp.zeros_like(o)

        o[...] += x[...] @ y[...]

    (m, k), n = x.shape, y.shape[1]
    return pl.pallas_call(
        kernel, out_shape=jax.ShapeDtypeStruct((m, n), F32), grid=(m // 128, n // 128, k // 128),
        in_specs=[pl.BlockSpec((128, 128), lambda i, j, k: (i, k)), pl.BlockSpec((128, 128), lambda i, j, k: (k, j))],
        out_specs=pl.BlockSpec((128, 128), lambda i, j, k: (i, j)))(x, y)  # fmt: skip


def matmul_of_symbolic_blocks(x, y, blocks):
    """The rows and columns of a block are symbolic dimensions of the kernel."""
    n = blocks.shape[0]
    rows, columns = x.shape[0] // n, y.shape[1] // n

    def kernel(x, y, o):
        o[...] = x[...] @ y[...]

    return pl.pallas_call(
        kernel, out_shape=jax.ShapeDtypeStruct((x.shape[0], y.shape[1]), F32), grid=(n, n),
        in_specs=[pl.BlockSpec((rows, x.shape[1]), lambda i, j: (i, 0)), pl.BlockSpec((y.shape[0], columns), lambda i, j: (0, j))],
        out_specs=pl.BlockSpec((rows, columns), lambda i, j: (i, j)))(x, y)  # fmt: skip


def sizes_and_largest_integer(x):
    """The largest i32 is also the number that stands for the first symbolic dimension."""

    def kernel(x, o):
        o[...] = jnp.minimum(x[...], jnp.iinfo(I32).max) + x.shape[0] + jnp.where(x[...] > 2, 2147483647, x.shape[1])

    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)


def accumulate(x):
    def kernel(x, o, sums):
        i = pl.program_id(0)

        @pl.when(i == 0)
        def _():
            sums[...] = jnp.zeros_like(sums)

        sums[...] += x[...]

        @pl.when(i == pl.num_programs(0) - 1)
        def _():
            o[...] = sums[...]

    spec = lambda index: pl.BlockSpec((8, x.shape[1]), index)
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((8, x.shape[1]), F32), grid=(x.shape[0] // 8,),
                          in_specs=[spec(lambda i: (i, 0))], out_specs=spec(lambda i: (0, 0)),
                          scratch_shapes=[pltpu.VMEM((8, x.shape[1]), F32)])(x)  # fmt: skip


def add(x, y):
    def kernel(x, y, o):
        o[...] = x[...] + y[...]

    return blockwise(kernel, x, y, input_output_aliases={1: 0})


def join(x, y):
    """JAX writes the sum of the numbers of two dimensions as the size of what is joined."""

    def kernel(x, y, o):
        o[...] = jnp.concatenate([x[...], y[...] * 2, x[...]], 0)

    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((2 * x.shape[0] + y.shape[0], 128), F32))(x, y)


MULTIPLES = ("mod(m, 128) == 0", "mod(n, 128) == 0", "mod(k, 128) == 0")
OF_BLOCKS = ("mod(floordiv(m, g), 8) == 0", "mod(k, 128) == 0", "mod(floordiv(n, g), 128) == 0")

#: name: function, types, what it computes, sizes, constraints, whether blocks are symbolic
KERNELS = {
    "rows": (softmax, [("r, 512", F32)], lambda x: jax.nn.softmax(x, axis=1), [{"r": 8}, {"r": 21}], (), False),
    "symbolic columns": (softmax, [("r, c", F32)], lambda x: jax.nn.softmax(x, axis=1), [{"r": 8, "c": 128}, {"r": 21, "c": 300}], (), True),
    "batch": (jax.vmap(softmax), [("b, r, 512", F32)], lambda x: jax.nn.softmax(x, axis=-1), [{"b": 2, "r": 8}, {"b": 1, "r": 9}], (), False),
    "products around": (lambda x, w: softmax(jax.nn.gelu(x @ w)), [("r, 64", F32), ("64, 512", F32)],
                        lambda x, w: jax.nn.softmax(jax.nn.gelu(x @ w), axis=1), [{"r": 8}, {"r": 21}], (), False),
    "matmul": (matmul, [("m, k", F32), ("k, n", F32)], jnp.matmul, [{"m": 128, "k": 128, "n": 128}, {"m": 256, "k": 384, "n": 128}], MULTIPLES, False),
    "matmul of symbolic blocks": (matmul_of_symbolic_blocks, [("m, k", F32), ("k, n", F32), ("g, u", F32)], lambda x, y, g: x @ y,
                                  [{"m": 64, "k": 256, "n": 512, "g": 2, "u": 1}, {"m": 8, "k": 128, "n": 128, "g": 1, "u": 3}], OF_BLOCKS, True),
    "sizes": (sizes_and_largest_integer, [("r, c", I32)],
              lambda x: jnp.minimum(x, 2147483647) + x.shape[0] + jnp.where(x > 2, 2147483647, x.shape[1]), [{"r": 8, "c": 128}, {"r": 3, "c": 200}], (), True),
    "scratch": (accumulate, [("8*r, c", F32)], lambda x: x.reshape(-1, 8, x.shape[1]).sum(0), [{"r": 1, "c": 128}, {"r": 6, "c": 256}], (), True),
    "concatenation": (join, [("r, 128", F32), ("s, 128", F32)], lambda x, y: jnp.concatenate([x, y * 2, x], 0), [{"r": 8, "s": 16}, {"r": 1, "s": 3}],
                      (), True),
    "aliases": (add, [("8*r, 128", F32)] * 2, lambda x, y: x + y, [{"r": 1}, {"r": 4}], (), False),
    "aliases of symbolic blocks": (add, [("8*r, c", F32)] * 2, lambda x, y: x + y, [{"r": 1, "c": 128}, {"r": 4, "c": 256}], (), True),
}  # fmt: skip


@pytest.mark.parametrize("name", KERNELS)
def test_sj6_symbolic_dimensions_are_specialised(name):
    f, types, computes, all_sizes, constraints, dynamic_blocks = KERNELS[name]
    module = smalti.parse(exported(f, types, constraints, dynamic_blocks).mlir_module_serialized)
    for sizes in all_sizes:
        inputs = arrays(types, sizes)
        expected = [np.asarray(e) for e in jax.tree.leaves(computes(*inputs))]
        for target in TARGETS:
            agree(module.run(*inputs, target=target), expected, 2e-5)


def test_grids_follow_from_sizes_of_64_bits():
    def double(x):
        def kernel(x, o):
            o[...] = x[...] * 2

        spec = pl.BlockSpec((8, 128), lambda i: (i, jnp.int32(0)))  # a Python integer has 64 bits here
        return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), grid=(x.shape[0] // 8,), in_specs=[spec], out_specs=spec)(x)

    for dynamic_blocks in (False, True):
        with jax.enable_x64(True):
            module = smalti.parse(exported(double, [("8*r, 128", F32)], (), dynamic_blocks).mlir_module())
        for rows in (8, 40):
            x = arrays([("r, 128", F32)], {"r": rows})[0]
            agree(module.run(x, target="cpu"), [x * 2], 0)


def test_a_specialised_module_is_what_jax_exports_for_these_shapes():
    """The same grid, types and operands: bounds of the grid are no operands any more."""
    module = smalti.parse(exported(softmax, [("r, 512", F32)]).mlir_module()).with_arguments(np.zeros((24, 512), F32))
    assert not module.has_symbolic_shapes
    assert [str(t) for t in (*module.arguments, *module.results)] == ["f32[24,512]"] * 2
    text = module.export_stablehlo()
    assert "?" not in text.split("backend_config")[0]
    again = smalti.parse(text)
    x = arrays([("24, 512", F32)], {"r": 24})[0]
    np.testing.assert_array_equal(again.run(x)[0], module.run(x)[0])


def test_modules_say_what_they_leave_open():
    module = smalti.parse(exported(matmul, [("m, k", F32), ("k, n", F32)], MULTIPLES).mlir_module(), "product.mlir")
    assert str(module) == "<smalti.Module 'jit_matmul': (f32[?,?], f32[?,?]) -> (f32[?,?])>"
    assert module.arguments[0].shape == (-1, -1)
    x = np.ones((128, 128), F32)
    assert module.with_arguments(x, x).with_arguments(x, x).arguments[0].shape == (128, 128)
    assert module.check(x, x, chip="v5e").findings == ()
    needed = """error[SM1021]: 'product.mlir' has symbolic shapes: its arguments say how large arrays are
  need: the types of its arguments (--in; with_arguments in C++ and Python)
  have: (f32[?,?], f32[?,?]), where args[0].shape = (m, k), args[1].shape = (k, n)
  help: for example: --in x.npy --in 'f32[256,128]'
"""
    for use in (module.compile, module.export_stablehlo, module.recorded_inputs):
        with pytest.raises(smalti.Error) as e:
            use()
        assert str(e.value) == needed.rstrip("\n") or str(e.value) == needed
    with pytest.raises(smalti.Error, match="SM1021"):
        module.make_inputs()


def test_shapes_that_violate_a_constraint_are_refused_with_jaxs_words():
    module = smalti.parse(exported(matmul, [("m, k", F32), ("k, n", F32)], MULTIPLES).mlir_module(), "product.mlir")
    with pytest.raises(smalti.Error) as e:
        module.run(np.ones((100, 128), F32), np.ones((128, 128), F32))
    message = str(e.value)
    assert message.startswith("error[SM2015]: the shapes of the arguments violate a constraint of the module\n  --> product.mlir:")
    assert "have: Input shapes do not match the symbolic shape constraint" in message
    assert "'m' = 100 from specification 'm'" in message and "https" not in message
    with pytest.raises(smalti.Error, match=r"'k' = 128"):
        module.run(np.ones((128, 128), F32), np.ones((256, 128), F32))
    with pytest.raises(smalti.Error, match=r"SM1008"):
        module.run(np.ones((128, 128), F32))
    with pytest.raises(smalti.Error, match=r"need: f32\[\?,\?\]\n  have: i32\[128,128\]"):
        module.run(np.ones((128, 128), F32), np.ones((128, 128), I32))


def test_any_number_of_shapes_runs():
    module = smalti.parse(exported(lambda x: x * 2, [("b, 2", F32)]).mlir_module())
    for rows in [*range(1, 150), *range(1, 5)]:
        x = np.full((rows, 2), rows, F32)
        np.testing.assert_array_equal(module.run(x)[0], x * 2)


def test_lists_of_numbers_are_arguments():
    module = smalti.parse(exported(lambda x: x * 2, [("b, n", F32)]).mlir_module())
    np.testing.assert_array_equal(module.run([[1, 2], [3, 4]])[0], [[2, 4], [6, 8]])
