"""Pallas kernels over ops × dtypes × shapes: (name, make(interpret) -> function, arguments, rtol, atol)."""

import functools

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

import library_kernels

TOLERANCE = {"float32": (4e-6, 1e-6), "bfloat16": (1.6e-2, 1e-2), "float16": (2e-3, 1e-3)}
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, -2.5, 3.5, 1e-3, 88.0, -88.0, 300.0]


def _tolerance(dtype):
    return TOLERANCE.get(jnp.dtype(dtype).name, (0.0, 0.0))


def array(shape, dtype, seed=0, special=True, low=-4.0, high=4.0):
    rng = np.random.default_rng(seed)
    dtype = jnp.dtype(dtype)
    if dtype == jnp.bool_:
        return rng.integers(0, 2, shape).astype(bool)
    if jnp.issubdtype(dtype, jnp.integer):
        info = jnp.iinfo(dtype)
        values = rng.integers(int(info.min), int(info.max) + 1, shape).astype(np.int64)
        small = rng.integers(max(int(info.min), -3), min(int(info.max), 40) + 1, shape)
        return np.where(rng.random(shape) < 0.5, values, small).astype(dtype)
    values = rng.uniform(low, high, shape).astype(np.float32)
    if special:
        flat = values.reshape(-1)
        flat[: len(SPECIAL)] = SPECIAL[: flat.size]
    return values.astype(dtype)


def whole(function, out, *arguments, **kwargs):
    """A kernel without grid: o_ref[...] = function(*refs)."""

    def make(interpret):
        def kernel(*refs):
            *ins, o_ref = refs
            o_ref[...] = function(*[r[...] for r in ins])

        return pl.pallas_call(kernel, out_shape=out, interpret=interpret, **kwargs)

    return make


def _shape(shape, dtype):
    return jax.ShapeDtypeStruct(shape, dtype)


def elementwise():
    unary = {"exp": jnp.exp, "log": jnp.log, "tanh": jnp.tanh, "sin": jnp.sin, "cos": jnp.cos, "sqrt": jnp.sqrt,
             "rsqrt": lax.rsqrt, "abs": jnp.abs, "neg": jnp.negative, "floor": jnp.floor, "ceil": jnp.ceil,
             "round_even": lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN),
             "round_away": lambda x: lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO), "sign": jnp.sign,
             "logistic": lax.logistic, "exp2": jnp.exp2, "log1p": jnp.log1p, "erf": lax.erf, "is_nan": jnp.isnan,
             "is_finite": jnp.isfinite, "reciprocal": jnp.reciprocal, "square": jnp.square}
    for dtype in (jnp.float32, jnp.bfloat16):
        rtol, atol = _tolerance(dtype)
        for name, f in unary.items():
            x = array((16, 128), dtype, low=-6, high=6)
            # XLA's CPU computes a bf16 exp2 from a rounded product: far off
            if dtype == jnp.bfloat16 and name in ("erf", "log1p", "is_finite", "exp2"):
                continue
            if name in ("is_nan", "is_finite"):
                g, out = (lambda x, f=f: f(x).astype(jnp.int32)), _shape(x.shape, jnp.int32)
            else:
                g, out = f, _shape(x.shape, dtype)
            yield f"{name}_{jnp.dtype(dtype).name}", whole(g, out, x), (x,), rtol, atol
    binary = {"add": jnp.add, "sub": jnp.subtract, "mul": jnp.multiply, "max": jnp.maximum, "min": jnp.minimum}
    for dtype in (jnp.float32, jnp.bfloat16, jnp.int32, jnp.uint32, jnp.int16, jnp.int8):
        for name, f in binary.items():
            if dtype in (jnp.int16, jnp.int8) and name in ("mul", "sub"):
                continue
            x, y = array((8, 256), dtype, 1), array((8, 256), dtype, 2)
            yield f"{name}_{jnp.dtype(dtype).name}", whole(f, _shape(x.shape, dtype)), (x, y), *_tolerance(dtype)
    for dtype in (jnp.int32, jnp.uint32):
        ops = {"div": lax.div, "rem": lax.rem, "shl": lax.shift_left, "shr": lax.shift_right_logical,
               "sar": lax.shift_right_arithmetic, "and": jnp.bitwise_and, "or": jnp.bitwise_or, "xor": jnp.bitwise_xor}
        for name, f in ops.items():
            x, y = array((8, 128), dtype, 3), array((8, 128), dtype, 4)
            if name in ("shl", "shr", "sar"):
                y = (np.asarray(y).astype(np.int64) % 40).astype(dtype)
            yield f"{name}_{jnp.dtype(dtype).name}", whole(f, _shape(x.shape, dtype)), (x, y), 0.0, 0.0
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        for dtype in (jnp.float32, jnp.int32, jnp.uint32):
            x, y = array((8, 128), dtype, 5), array((8, 128), dtype, 6)
            y[:4] = x[:4]
            f = getattr(lax, name)
            g = lambda a, b, f=f: jnp.where(f(a, b), 1, 0).astype(jnp.int32)
            yield f"{name}_{jnp.dtype(dtype).name}", whole(g, _shape(x.shape, jnp.int32)), (x, y), 0.0, 0.0


def casts():
    pairs = [("float32", "bfloat16"), ("bfloat16", "float32"), ("float32", "int32"), ("int32", "float32"),
             ("float32", "int8"), ("int8", "float32"), ("int8", "int32"), ("int32", "int8"), ("int32", "int16"),
             ("uint8", "int32"), ("int32", "uint8"), ("uint32", "float32"), ("float32", "uint32"), ("bfloat16", "int32"),
             ("float32", "float8_e5m2"), ("float32", "float8_e4m3fn"), ("float8_e5m2", "float32"),
             ("float8_e4m3fn", "float32"), ("float32", "float8_e8m0fnu"), ("bfloat16", "float8_e8m0fnu"),
             ("float8_e8m0fnu", "float32"), ("float8_e8m0fnu", "bfloat16"), ("bool", "int32"), ("int32", "bool"), ("int4", "int32"), ("uint4", "int32"),
             ("int4", "float32")]
    for source, target in pairs:
        x = array((32, 128), source, 7, low=-200, high=300)
        yield f"cast_{source}_to_{target}", whole(lambda v, t=target: v.astype(t), _shape(x.shape, target)), (x,), 0.0, 0.0


def shapes():
    x = array((16, 256), jnp.float32, 8)
    cases = {
        "transpose": (lambda v: v.T, (256, 16)), "reshape_3d": (lambda v: v.reshape(16, 2, 128), (16, 2, 128)),
        "slice": (lambda v: v[4:12, 128:], (8, 128)), "concat_rows": (lambda v: jnp.concatenate([v, v[:8]], 0), (24, 256)),
        "concat_lanes": (lambda v: jnp.concatenate([v[:, :128], v], 1), (16, 384)),
        "roll_lanes": (lambda v: pltpu.roll(v, 7, 1), (16, 256)), "roll_rows": (lambda v: pltpu.roll(v, 3, 0), (16, 256)),
        "broadcast": (lambda v: jnp.broadcast_to(v[:1], (16, 256)) + v, (16, 256)),
        "sum_rows": (lambda v: jnp.sum(v[8:], axis=0, keepdims=True), (1, 256)),
        # rows without NaN: XLA's CPU loses it in some reductions
        "max_lanes": (lambda v: jnp.max(v[8:], axis=1, keepdims=True), (8, 1)),
        "min_all": (lambda v: jnp.full((8, 128), jnp.min(v[8:])), (8, 128)),
        "where_iota": (lambda v: jnp.where(lax.broadcasted_iota(jnp.int32, v.shape, 1) < 100, v, 0.0), (16, 256)),
        "repeat": (lambda v: jnp.tile(v[:8], (2, 1)), (16, 256)),
        "pad": (lambda v: jnp.pad(v, ((0, 8), (0, 128))), (24, 384)),
    }
    for name, (f, out) in cases.items():
        yield name, whole(f, _shape(out, jnp.float32)), (x,), 1e-5, 1e-5
    for axis in (0, 1):
        for name, f in (("argmax", jnp.argmax), ("argmin", jnp.argmin)):
            v = np.round(array((16, 256), jnp.float32, 9, special=False))
            g = lambda v, f=f, axis=axis: jnp.expand_dims(f(v, axis), axis)
            yield f"{name}_{axis}", whole(g, _shape((1, 256) if axis == 0 else (16, 1), jnp.int32)), (v,), 0.0, 0.0


def matmuls():
    for lhs, rhs, out in (("float32", "float32", "float32"), ("bfloat16", "bfloat16", "float32"),
                          ("bfloat16", "bfloat16", "bfloat16"), ("int8", "int8", "int32")):
        for dims in (((1,), (0,)), ((1,), (1,)), ((0,), (0,))):
            for m, k, n in ((64, 128, 128), (24, 72, 40)):
                a = array((m, k) if dims[0][0] == 1 else (k, m), lhs, 10, special=False)
                b = array((k, n) if dims[1][0] == 0 else (n, k), rhs, 11, special=False)
                f = functools.partial(lax.dot_general, dimension_numbers=(dims, ((), ())),
                                      preferred_element_type=jnp.dtype(out),
                                      precision=lax.Precision.HIGHEST if lhs == "float32" else None)
                name = f"dot_{lhs}_{out}_{dims[0][0]}{dims[1][0]}_{m}x{k}x{n}"
                yield name, whole(f, _shape((m, n), out)), (a, b), *((3e-5, 1e-4) if out != "int32" else (0.0, 0.0))


def grids():
    x = array((96, 384), jnp.float32, 12, special=False)

    def tiled(block, rows):
        def make(interpret):
            def kernel(x_ref, o_ref):
                o_ref[...] = x_ref[...] * 2.0 + jnp.float32(pl.program_id(0) * 10 + pl.program_id(1))

            spec = pl.BlockSpec(block, lambda i, j: (i, j))
            return pl.pallas_call(kernel, grid=(pl.cdiv(rows, block[0]), pl.cdiv(384, block[1])), in_specs=[spec],
                                  out_specs=spec, out_shape=_shape((rows, 384), jnp.float32), interpret=interpret)
        return make

    for block in ((8, 128), (32, 384), (40, 256), (96, 128)):
        yield f"tiled_{block[0]}x{block[1]}", tiled(block, 96), (x,), 0.0, 1e-6

    def prefetch(interpret):
        def kernel(index_ref, x_ref, o_ref):
            o_ref[...] = x_ref[...] + index_ref[pl.program_id(0)].astype(jnp.float32)

        spec = pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=1, grid=(6,), in_specs=[pl.BlockSpec((8, 384), lambda i, index: (index[i], 0))],
            out_specs=pl.BlockSpec((8, 384), lambda i, index: (i, 0)))
        return pl.pallas_call(kernel, grid_spec=spec, out_shape=_shape((48, 384), jnp.float32), interpret=interpret)

    yield "scalar_prefetch", prefetch, (np.array([5, 0, 11, 3, 3, 1], np.int32), x), 0.0, 1e-6

    def accumulate(interpret):
        def kernel(x_ref, o_ref):
            @pl.when(pl.program_id(1) == 0)
            def _():
                o_ref[...] = jnp.zeros_like(o_ref)

            o_ref[...] += x_ref[...]

        return pl.pallas_call(kernel, grid=(3, 12), in_specs=[pl.BlockSpec((8, 128), lambda j, i: (i, j))],
                              out_specs=pl.BlockSpec((8, 128), lambda j, i: (0, j)),
                              out_shape=_shape((8, 384), jnp.float32), interpret=interpret)

    yield "accumulate_in_output", accumulate, (x,), 1e-6, 1e-5

    def loops(interpret):
        def kernel(x_ref, o_ref):
            def body(i, total):
                return total + x_ref[pl.ds(i * 8, 8), :]

            o_ref[...] = lax.fori_loop(0, 12, body, jnp.zeros((8, 384), jnp.float32))

        return pl.pallas_call(kernel, out_shape=_shape((8, 384), jnp.float32), interpret=interpret)

    yield "fori_loop", loops, (x,), 1e-6, 1e-5


def unrolled_loops():
    x = array((96, 128), jnp.float32, 13, special=False)
    for unroll in (1, 2, 5, 12):
        def make(interpret, unroll=unroll):
            def kernel(x_ref, o_ref):
                def body(i, total):
                    return total + x_ref[pl.ds(i * 8, 8), :]

                o_ref[...] = lax.fori_loop(0, 12, body, jnp.zeros((8, 128), jnp.float32), unroll=unroll)

            return pl.pallas_call(kernel, out_shape=_shape((8, 128), jnp.float32), interpret=interpret)

        yield f"unroll_{unroll}", make, (x,), 0.0, 1e-5


def random_bits():
    def make(interpret):
        def kernel(key_ref, o_ref):
            key = jax.random.wrap_key_data(key_ref[...], impl="threefry2x32")
            o_ref[...] = jax.random.bits(key, (16, 128), jnp.uint32)

        return pl.pallas_call(kernel, in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM)],
                              out_shape=_shape((16, 128), jnp.uint32), interpret=interpret)

    def threefry(interpret):
        """Threefry-2x32 written out: adds, rotations and xors of 32-bit words."""
        rotations = ((13, 15, 26, 6), (17, 29, 16, 24))

        def kernel(x_ref, y_ref, a_ref, b_ref):
            keys = (jnp.uint32(7), jnp.uint32(42), jnp.uint32(7 ^ 42 ^ 0x1BD11BDA))
            a, b = x_ref[...] + keys[0], y_ref[...] + keys[1]
            for group in range(5):
                for r in rotations[group % 2]:
                    a = a + b
                    b = (lax.shift_left(b, jnp.uint32(r)) | lax.shift_right_logical(b, jnp.uint32(32 - r))) ^ a
                a = a + keys[(group + 1) % 3]
                b = b + keys[(group + 2) % 3] + jnp.uint32(group + 1)
            a_ref[...] = a
            b_ref[...] = b

        return pl.pallas_call(kernel, out_shape=[_shape((16, 128), jnp.uint32)] * 2, interpret=interpret)

    count = np.arange(16 * 128, dtype=np.uint32).reshape(16, 128)
    yield "threefry", threefry, (count, count + np.uint32(2048)), 0.0, 0.0
    yield "jax_random_bits", make, (np.array([0, 42], np.uint32),), 0.0, 0.0


def all_kernels():
    own = (elementwise, casts, shapes, matmuls, grids, unrolled_loops, random_bits)
    for family in (*own, *library_kernels.FAMILIES):
        for name, make, arguments, rtol, atol in family():
            yield f"{family.__name__}/{name}", make, arguments, rtol, atol
