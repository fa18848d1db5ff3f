"""Results of programs around kernels: new memory whatever the program returns, and the same values as JAX computes."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
import scipy.special
import smalti
from jax import lax

MODULE = "module @m {{\n func.func public @main({}) -> ({}) {{\n{}\n}}\n}}"


def exported(function, *arguments, platforms=("tpu",)):
    return smalti.parse(jax.export.export(jax.jit(function), platforms=platforms)(*arguments).mlir_module())


def same(function, *arguments, **tolerance):
    """Smalti's results against JAX's, as a program for a TPU."""
    results = exported(function, *arguments).run(*map(np.asarray, arguments), target="cpu")
    expected = jax.tree.leaves(jax.jit(function)(*arguments))
    for result, want in zip(results, expected, strict=True):
        want = np.asarray(want)
        assert result.dtype == want.dtype and result.shape == want.shape
        np.testing.assert_allclose(*(np.asarray(a, np.complex128 if a.dtype.kind == "c" else np.float64) for a in (result, want)),
                                   **{"rtol": 0, "equal_nan": True, **tolerance})


@pytest.mark.parametrize("target", ["cpu", "interpret"])
@pytest.mark.parametrize("returned", ["%x, %x", "%x, %y", "%y, %z", "%c, %c"])
def test_results_share_no_memory(target, returned):
    body = f"""  %y = stablehlo.reshape %x : (tensor<4xf32>) -> tensor<2x2xf32>
  %z = stablehlo.reshape %y : (tensor<2x2xf32>) -> tensor<4xf32>
  %c = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  return {returned} : {', '.join('tensor<2x2xf32>' if v == '%y' else 'tensor<4xf32>' for v in returned.split(', '))}"""
    types = ", ".join("tensor<2x2xf32>" if v == "%y" else "tensor<4xf32>" for v in returned.split(", "))
    executable = smalti.parse(MODULE.format("%x: tensor<4xf32>", types, body)).compile(target=target)
    x = np.array([1, 2, 3, 4], np.float32)
    first, second = executable(x)
    assert not np.shares_memory(first, x) and not np.shares_memory(second, x) and not np.shares_memory(first, second)
    first[...] = 7
    assert second.ravel().tolist() == x.tolist() == [1, 2, 3, 4]
    assert [r.ravel().tolist() for r in executable(x)] == [[1, 2, 3, 4]] * 2, "constants of the program are its own"


def test_results_outlive_a_temporary_input():
    executable = smalti.parse(MODULE.format("%x: tensor<1000xf32>", "tensor<1000xf32>", "  return %x : tensor<1000xf32>")).compile()
    results = [executable(np.full(1000, i, np.float32))[0] for i in range(20)]
    assert [r[500] for r in results] == list(range(20))


@pytest.mark.parametrize("dtype", ["f32", "f64", "i32", "i1"])
@pytest.mark.parametrize("part", ["f32", "f64"])
def test_real_numbers_become_complex(dtype, part):
    kind = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "i1": np.bool_}[dtype]
    module = smalti.parse(MODULE.format(f"%x: tensor<6x{dtype}>", f"tensor<6xcomplex<{part}>>", f"""
  %c = stablehlo.convert %x : (tensor<6x{dtype}>) -> tensor<6xcomplex<{part}>>
  return %c : tensor<6xcomplex<{part}>>"""))
    x = np.arange(6).astype(kind)
    for _ in range(20):  # among memory that was used before
        np.full(64, 9.0)
        assert module.run(x, target="cpu")[0].tolist() == x.astype(np.complex128).tolist()


@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("op", ["real", "imag"])
def test_parts_of_real_numbers(op, dtype):
    module = smalti.parse(MODULE.format(f"%x: tensor<6x{dtype}>", f"tensor<6x{dtype}>", f"""
  %c = stablehlo.{op} %x : (tensor<6x{dtype}>) -> tensor<6x{dtype}>
  return %c : tensor<6x{dtype}>"""))
    x = np.arange(6).astype({"f32": np.float32, "f64": np.float64}[dtype])
    assert module.run(x, target="cpu")[0].tolist() == (x.tolist() if op == "real" else [0.0] * 6)


def test_loops_that_change_arrays_in_place():
    def swap(x):  # both arrays are read after one has been changed
        def body(i, carry):
            a, b = carry
            return b.at[i].set(a[i] + b[i]), a.at[i].mul(2)
        return lax.fori_loop(0, 8, body, (x, x))

    def stacked(x):
        def step(carry, row):
            carry = carry.at[1].add(row[0])
            return carry, (carry, carry * row)
        return lax.scan(step, x[0], x)

    def nested(x):
        def outer(i, a):
            return lax.fori_loop(0, 3, lambda j, b: b.at[j].add(a[i] + x[j, 0]), a)
        return lax.fori_loop(0, 4, outer, x[0]), x

    def branches(x):
        def step(a, i):
            a = lax.cond(i % 2 == 0, lambda: a.at[i].set(-1), lambda: a)
            b = lax.switch(i % 3, [lambda: a, lambda: a.at[0].add(i), lambda: a * 2])
            return b, a[i]
        return lax.scan(step, x[0], jnp.arange(8))

    x = jnp.arange(64, dtype=jnp.float32).reshape(8, 8)
    same(swap, x[0])
    same(stacked, x)
    same(nested, x)
    same(branches, x)


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.bfloat16, jnp.int32, jnp.uint8, jnp.int16])
def test_scatter_of_windows(dtype):
    x = jnp.arange(60).reshape(6, 10).astype(dtype)
    rows, columns = jnp.array([4, 0, 4, 9, -7]), jnp.array([1, 3, 1, 2, 0])
    new = (jnp.arange(50).reshape(5, 10) + 100).astype(dtype)
    same(lambda x, r, n: x.at[r[:2]].set(n[:2]), x, rows, new)
    same(lambda x, r, n: x.at[r[3:]].set(n[:2], mode="drop"), x, rows, new)
    same(lambda x, r, c, n: x.at[r[:2], c[:2]].set(n[0, :2]), x, rows, columns, new)
    same(lambda x, r, c, n: x.at[r, c].add(n[0, :5], mode="drop"), x, rows, columns, new)
    same(lambda x, c, n: x.at[:, c[1:4]].set(n[:, :3].repeat(2, 0)[:6]), x, columns, new)
    same(lambda x, c, n: x.at[1:4, c[1]].set(n[0, :3]), x, columns, new)


VALUES = np.array([3, -0.0, 0.0, np.nan, 1, np.inf, -np.inf, -1, 3, -np.nan, 2, 1, 0.5, -0.0, 7, 7], np.float32)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, ml_dtypes.bfloat16, np.float16, np.int32, np.uint8, np.int8, np.uint32, np.bool_])
def test_sort_by_keys(dtype):
    rng = np.random.default_rng(3)
    whole = np.issubdtype(dtype, np.integer) or dtype == np.bool_
    with np.errstate(invalid="ignore"):
        x = (rng.integers(-100, 100, (5, 16)) if whole else np.stack([rng.permutation(VALUES) for _ in range(5)])).astype(dtype)
    with jax.enable_x64(True) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64():
        for axis in (0, 1):
            same(lambda x: jnp.sort(x, axis=axis), x)
            same(lambda x: jnp.argsort(x, axis=axis, descending=True), x)
        rows = rng.integers(0, 3, (5, 16)).astype(np.int32)
        for keys in (1, 2, 3):
            same(lambda r, x: lax.sort((r, x, jnp.arange(80, dtype=np.int32).reshape(5, 16)), num_keys=keys), rows, x)


def test_sort_by_complex_numbers():
    x = np.empty(VALUES.shape, np.complex64)
    x.real, x.imag = VALUES, VALUES[::-1]
    same(jnp.sort, x)


@pytest.mark.parametrize("compare", [
    "%r = stablehlo.compare GT, %b, %a, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>",
    "%p = stablehlo.multiply %a, %a : tensor<f32>\n%q = stablehlo.multiply %b, %b : tensor<f32>\n"
    "%r = stablehlo.compare LT, %p, %q, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>",
    # no keys: a difference
    "%z = stablehlo.constant dense<0.0> : tensor<f32>\n%d = stablehlo.subtract %a, %b : tensor<f32>\n"
    "%r = stablehlo.compare LT, %d, %z, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>",
    # two keys, with select
    "%p = stablehlo.multiply %a, %a : tensor<f32>\n%q = stablehlo.multiply %b, %b : tensor<f32>\n"
    "%l = stablehlo.compare LT, %p, %q, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
    "%e = stablehlo.compare EQ, %q, %p, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
    "%g = stablehlo.compare GT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
    "%r = stablehlo.select %e, %g, %l : tensor<i1>, tensor<f32>".replace("tensor<i1>, tensor<f32>", "tensor<i1>, tensor<i1>"),
])
def test_sort_by_other_comparisons(compare):
    orders = {"GT, %b": lambda v: v, "%d =": lambda v: v, "select": lambda v: (v * v, -v), "%p =": lambda v: v * v}
    key = next(order for text, order in orders.items() if text in compare)
    module = smalti.parse(MODULE.format("%x: tensor<40xf32>", "tensor<40xf32>", f"""
  %s = "stablehlo.sort"(%x) <{{dimension = 0 : i64, is_stable = true}}> ({{
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
  {compare}
  stablehlo.return %r : tensor<i1>
  }}) : (tensor<40xf32>) -> tensor<40xf32>
  return %s : tensor<40xf32>"""))
    x = np.random.default_rng(0).integers(-9, 9, 40).astype(np.float32)
    assert module.run(x, target="cpu")[0].tolist() == sorted(x.tolist(), key=key)


def test_top_k_and_its_approximation():
    x = np.stack([np.random.default_rng(i).permutation(np.concatenate([VALUES[~np.isnan(VALUES)], np.arange(20)])) for i in range(3)])
    x = x.astype(np.float32)
    same(lambda x: lax.top_k(x, 7), x)
    values, indices = exported(lambda x: lax.approx_max_k(x, 5), x).run(x, target="cpu")
    assert values.tolist() == np.sort(x, 1)[:, ::-1][:, :5].tolist()
    assert np.take_along_axis(x, indices, 1).tolist() == values.tolist()


def test_products_of_bools():
    a, b = (np.random.default_rng(i).random((2, 5, 5)) < 0.3 for i in (1, 2))
    same(lambda a, b: a[0] @ b[0], a, b)
    same(lambda a, b: jnp.einsum("bij,bjk->bik", a, b), a, b)
    for numbers in ("i32", "f32", "i8"):
        module = smalti.parse(MODULE.format("%a: tensor<5x5xi1>, %b: tensor<5x5xi1>", f"tensor<5x5x{numbers}>", f"""
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<5x5xi1>, tensor<5x5xi1>) -> tensor<5x5x{numbers}>
  return %0 : tensor<5x5x{numbers}>"""))
        assert module.run(a[0], b[0], target="cpu")[0].tolist() == (a[0].astype(int) @ b[0].astype(int)).tolist()


def test_placements_change_no_values():
    x = np.arange(6, dtype=np.float32)
    module = smalti.parse(MODULE.format("%x: tensor<6xf32>", "tensor<6xf32>", """
  %0 = stablehlo.custom_call @annotate_device_placement(%x) {has_side_effect = true, mhlo.frontend_attributes =
      {_xla_buffer_placement = "pinned_host"}} : (tensor<6xf32>) -> tensor<6xf32>
  %1 = stablehlo.add %0, %0 : tensor<6xf32>
  return %1 : tensor<6xf32>"""))
    assert module.run(x, target="cpu")[0].tolist() == (2 * x).tolist()


def test_programs_for_several_platforms():
    x = np.arange(3, dtype=np.float32)
    module = exported(lambda x: x + 1, x, platforms=("cpu", "tpu"))
    assert len(module.arguments) == 1
    assert module.run(x, target="cpu")[0].tolist() == [1, 2, 3]
    module = exported(lambda x: lax.platform_dependent(x, cpu=lambda v: v + 1, tpu=lambda v: v + 2), x, platforms=("cpu", "tpu"))
    assert len(module.arguments) == 1
    assert module.run(x, target="cpu")[0].tolist() == [2, 3, 4]  # the last platform's


def test_what_only_exports_write_out():
    x, w, sizes = np.ones((8, 4), np.float32), np.ones((2, 4, 3), np.float32), np.array([3, 5], np.int32)
    text = jax.jit(lax.ragged_dot).trace(x, w, sizes).lower(lowering_platforms=("tpu",)).as_text()
    with pytest.raises(smalti.Error) as refused:
        smalti.parse(text)
    assert refused.value.diagnostic.help == "export the function with jax.export, which writes it as ops of StableHLO"
    same(lax.ragged_dot, x, w, sizes, rtol=1e-5)


@pytest.mark.parametrize("dtype", ["int2", "int4", "uint4", "float4_e2m1fn", "float8_e8m0fnu", "float8_e4m3b11fnuz", "float8_e4m3fn"])
def test_narrow_numbers_are_sorted_by_their_values(dtype):
    numbers = np.array([3, -8, 7, 0, -1, 2, 5, -4, 2])
    x = (2.0 ** numbers if dtype == "float8_e8m0fnu" else numbers % 4 - 2 if dtype == "int2" else abs(numbers) if dtype[0] == "u" else numbers).astype(dtype)
    f = lambda x: (jnp.sort(x), jnp.argsort(x), *lax.top_k(x, 3))  # noqa: E731
    wide = x.astype(np.float32)
    wanted = np.sort(wide), np.argsort(wide, stable=True), -np.sort(-wide)[:3], np.argsort(-wide, stable=True)[:3]
    for target in ("interpret", "cpu"):
        for got, want in zip(exported(f, x).run(x, target=target), wanted, strict=True):
            np.testing.assert_array_equal(got.astype(np.float32), want)


def test_erf_inv_of_f64():
    with jax.enable_x64(True):
        x = np.concatenate([np.linspace(-1, 1, 1001), 1 - 2.0 ** -np.arange(2, 53), [1e-300, -0.0, np.nan, 1.5, -np.inf]])
        text = jax.jit(lax.erf_inv).trace(x).lower(lowering_platforms=("tpu",)).as_text()
        np.testing.assert_allclose(smalti.parse(text).run(x)[0], scipy.special.erfinv(x), rtol=1e-14)  # JAX's own: 1e-10


def test_layouts_change_no_values():
    from jax.experimental.layout import Layout, with_layout_constraint
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    f = jax.jit(lambda x: with_layout_constraint(x + 1, Layout((1, 0))) * 2)
    np.testing.assert_array_equal(smalti.parse(f.trace(x).lower(lowering_platforms=("tpu",)).as_text()).run(x)[0], (x + 1) * 2)


@pytest.mark.parametrize("form", ["text", "artifact"])
@pytest.mark.parametrize("platforms", [("cpu", "tpu"), ("tpu", "cpu"), ("cuda", "tpu", "cpu")])
def test_programs_for_several_platforms_run_as_for_a_tpu(platforms, form):
    x = np.random.default_rng(0).normal(size=(8, 128)).astype(np.float32)
    square = x[:, :8]
    functions = [(jnp.argsort, x), (lambda x: lax.approx_max_k(x, 2), x), (lambda x: jnp.fft.rfft(x).real, x), (lambda x: jnp.linalg.cholesky(x @ x.T + 9 * jnp.eye(8)), square),
                 (lambda x: lax.fori_loop(0, 3, lambda i, c: jnp.linalg.qr(c)[1], x), square), (jnp.sin, x)]
    for f, argument in functions:
        made = jax.export.export(jax.jit(f), platforms=platforms)(argument)
        module = smalti.parse(made.mlir_module() if form == "text" else made.mlir_module_serialized)
        for got, want in zip(module.run(argument, target="cpu"), jax.tree.leaves(jax.jit(f)(argument)), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)


def test_what_nothing_uses_is_not_computed():
    """Text, since JAX removes most of it: a product, a call and a loop without end."""
    text = """module @m {
  func.func public @main(%x: tensor<8xf32>) -> tensor<8xf32> {
    %d = stablehlo.dot_general %x, %x, contracting_dims = [0] x [0] : (tensor<8xf32>, tensor<8xf32>) -> tensor<f32>
    %c = call @other(%x) : (tensor<8xf32>) -> tensor<8xf32>
    %e = stablehlo.add %c, %c : tensor<8xf32>
    %r = stablehlo.add %x, %x : tensor<8xf32>
    return %r : tensor<8xf32>
  }
  func.func private @other(%x: tensor<8xf32>) -> tensor<8xf32> {
    %0 = stablehlo.while(%a = %x) : tensor<8xf32>
    cond {
      %t = stablehlo.constant dense<true> : tensor<i1>
      stablehlo.return %t : tensor<i1>
    } do {
      stablehlo.return %a : tensor<8xf32>
    }
    return %0 : tensor<8xf32>
  }
}"""
    x = np.arange(8, dtype=np.float32)
    assert smalti.parse(text).run(x, target="cpu")[0].tolist() == (2 * x).tolist()


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint16", "int64", "float32", "bfloat16", "float16", "float64", "int4"])
def test_signs_and_quotients_that_round_down(dtype):
    with jax.enable_x64(True):
        x = np.array([0, 1, 2, 3, 7, 127] if dtype[0] == "u" else [-8, -7, -1, 0, 1, 2, 7]).astype(dtype)
        if dtype not in ("int4",) and "float" in dtype:
            x = np.concatenate([x, np.array([-0.0, np.nan, np.inf, -np.inf]).astype(dtype)])
        for got, want in zip(exported(lambda x: (lax.sign(x), lax.sign(x) + x), x).run(x, target="cpu"), (lax.sign(x), lax.sign(x) + x), strict=True):
            np.testing.assert_array_equal(got.astype(np.float64), np.asarray(want).astype(np.float64))
            np.testing.assert_array_equal(np.signbit(got.astype(np.float64)), np.signbit(np.asarray(want).astype(np.float64)))
        if "float" not in dtype and dtype != "int4":
            same(lambda x: (x // 3, x % 3, x // jnp.asarray(-3).astype(x.dtype) if dtype[0] != "u" else x), x)


@pytest.mark.parametrize("shape,axis", [((7, 9), 0), ((7, 9), 1), ((4, 1, 5), 2), ((3, 4, 5), 1), ((6,), 0)])
def test_elements_taken_along_axes(shape, axis):
    r = np.random.default_rng(0)
    x = r.normal(size=shape).astype(np.float32)
    index = r.integers(-shape[axis], shape[axis], shape).astype(np.int32)
    same(lambda x, i: jnp.take_along_axis(x, i, axis), x, index)
    same(lambda x, i: jnp.take_along_axis(x, i, axis, mode="clip"), x, index * 3)
    same(lambda x, i: jnp.put_along_axis(x, abs(i) % shape[axis], 7.0, axis, inplace=False), x, index)
    same(lambda x, i: x.at[i[:2, ..., None][..., 0] % shape[0]].add(1.0, mode="drop"), x, index)


@pytest.mark.parametrize("element,dtype,word", [("f32", np.float32, np.int32), ("bf16", ml_dtypes.bfloat16, np.int16), ("f16", np.float16, np.int16), ("f64", np.float64, np.int64)])
def test_floats_are_compared_in_total_order(element, dtype, word):
    values = np.array([0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 1e-7, -3]).astype(dtype)
    values = np.concatenate([values, -values[6:7]])
    x, y = (np.ascontiguousarray(a.ravel()) for a in np.meshgrid(values, values))
    bits = [a.view(word) for a in (x, y)]
    a, b = (np.where(k < 0, k ^ np.iinfo(word).max, k) for k in bits)
    n = x.size
    for direction, want in {"LT": a < b, "LE": a <= b, "EQ": a == b, "NE": a != b, "GT": a > b, "GE": a >= b}.items():
        text = f"""module @m {{ func.func public @main(%x: tensor<{n}x{element}>, %y: tensor<{n}x{element}>) -> tensor<{n}xi1> {{
          %0 = stablehlo.compare {direction}, %x, %y, TOTALORDER : (tensor<{n}x{element}>, tensor<{n}x{element}>) -> tensor<{n}xi1>
          return %0 : tensor<{n}xi1> }} }}"""
        np.testing.assert_array_equal(smalti.parse(text).run(x, y, target="cpu")[0].astype(bool), want)
