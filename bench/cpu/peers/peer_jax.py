"""XLA:CPU through JAX, as an actor: peer_jax.py. Also Pallas' own interpreter (interpret=True), and the module that our
side runs at the same time."""

import pathlib
import sys

import jax
import jax.numpy as jnp
import numpy as np

from actor import element, element_i8, serve

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "interpret"))
DTYPES = {"f32": jnp.float32, "bf16": jnp.bfloat16}


def operand(shape, seed, dtype="f32"):
    if dtype == "int8":
        return jnp.asarray(element_i8(shape, seed))
    return jnp.asarray(element(shape, seed)).astype(DTYPES[dtype])


def compiled(function, *arguments):
    call = jax.jit(function).lower(*arguments).compile()
    last = [None]

    def run():
        last[0] = call(*arguments)
        last[0].block_until_ready()
    return run, lambda: np.asarray(last[0].astype(jnp.float32))


def matmul(s):
    dtype, n = s.get("dtype", "f32"), s.int("n")
    m, k = s.int("m", n), s.int("k", n)
    wide = jnp.int32 if dtype == "int8" else jnp.float32
    return compiled(lambda x, y: jnp.dot(x, y, preferred_element_type=wide), operand((m, k), 1, dtype),
                    operand((k, n), 2, dtype))


def grouped(s):
    sizes, k, n = [int(v) for v in s["sizes"].split(",")], s.int("k"), s.int("n")
    return compiled(jax.lax.ragged_dot, operand((sum(sizes), k), 1), operand((len(sizes), k, n), 2),
                    jnp.asarray(sizes, jnp.int32))


def attend(causal):
    to = lambda x: jnp.swapaxes(x, 1, 2)
    return lambda q, k, v: to(jax.nn.dot_product_attention(to(q), to(k), to(v), is_causal=causal))


def attention(s):
    dtype, heads, size, keys = s.get("dtype", "f32"), s.int("heads"), s.int("dim"), s.int("length")
    shape = lambda length: (1, heads, length, size)
    return compiled(attend(bool(s.int("causal"))), operand(shape(s.int("queries", keys)), 1, dtype), operand(shape(keys), 2, dtype),
                    operand(shape(keys), 3, dtype))


def of_rows(function, weights=0):
    def make(s):
        n = s.int("columns")
        return compiled(function, operand((s.int("rows"), n), 1), *(operand((n,), 2 + w) for w in range(weights)))
    return make


def rms_norm(x, scale):
    return x * jax.lax.rsqrt(jnp.mean(x * x, 1, keepdims=True) + 1e-5) * scale


def layer_norm(x, scale, shift):
    centred = x - jnp.mean(x, 1, keepdims=True)
    return centred * jax.lax.rsqrt(jnp.mean(centred * centred, 1, keepdims=True) + 1e-5) * scale + shift


def chain(s):
    shape = (s.int("rows"), s.int("columns"))
    return compiled(lambda x, y: jnp.maximum(x * y + x, 0) * 0.5 - y, operand(shape, 1), operand(shape, 2))


def gradients(function, *shapes):
    """The function and its gradients along operand 9. Results one after the other."""
    operands = [operand(shape, 1 + i) for i, shape in enumerate(shapes)]
    cotangent = operand(jax.eval_shape(function, *operands).shape, 9)

    def both(operands, cotangent):
        y, back = jax.vjp(function, *operands)
        return y, *back(cotangent)
    call = jax.jit(both).lower(operands, cotangent).compile()
    last = [None]

    def run():
        last[0] = jax.block_until_ready(call(operands, cotangent))
    return run, lambda: np.concatenate([np.ravel(r) for r in last[0]])


def grouped_gradients(s):
    sizes, k, n = [int(v) for v in s["sizes"].split(",")], s.int("k"), s.int("n")
    return gradients(lambda x, y: jax.lax.ragged_dot(x, y, jnp.asarray(sizes, jnp.int32)), (sum(sizes), k),
                     (len(sizes), k, n))


def norm_gradients(function, weights):
    return lambda s: gradients(function, (s.int("rows"), s.int("columns")), *[(s.int("columns"),)] * weights)


def empty(s):
    x = jnp.zeros((8, 128))
    call = jax.jit(lambda x: x + 1)
    return lambda: call(x).block_until_ready(), None


def compiling(s):
    """What tracing and compiling a function costs that was not seen before."""
    count = [0]

    def run():
        count[0] += 1
        c = 1 + count[0] * 1e-3
        if s["kind"] == "plain":
            jax.jit(lambda x, y: x * c + y).lower(*[jnp.zeros((8, 128))] * 2).compile()
        elif s["kind"] == "matmul":
            jax.jit(lambda x, y: jnp.dot(x, y) * c).lower(*[jnp.zeros((256, 256))] * 2).compile()
        else:
            jax.jit(lambda q, k, v: jax.nn.dot_product_attention(q, k, v, scale=c)).lower(
                *[jnp.zeros((1, 512, 1, 64))] * 3).compile()
    return run, None


def pallas(s):
    """interpret=True of a kernel, whose module for our side is written to `path`."""
    import kernels
    make, shapes = {
        "add64": (lambda i: kernels.add(8192, 64, i), [(8192, 128)] * 2),
        "matmul512": (lambda i: kernels.matmul(1024, 128, i), [(1024, 1024)] * 2),
        "attention64": (lambda i: kernels.flash_attention(1024, 64, 128, i), [(1024, 64)] * 3),
        "attention256": (lambda i: jax.vmap(kernels.flash_attention(1024, 64, 128, i)), [(4, 1024, 64)] * 3),
    }[s["kind"]]
    arguments = [jnp.asarray(element(shape, 1 + i)) for i, shape in enumerate(shapes)]
    exported = jax.export.export(jax.jit(make(False)), platforms=["tpu"])(*arguments)
    pathlib.Path(s["path"]).write_text(exported.mlir_module())
    return compiled(make(True), *arguments)


serve({"matmul": matmul, "grouped": grouped, "attention": attention,
       "softmax": of_rows(lambda x: jax.nn.softmax(x, 1)), "rms_norm": of_rows(rms_norm, 1),
       "layer_norm": of_rows(layer_norm, 2), "gelu": of_rows(lambda x: jax.nn.gelu(x, approximate=True)),
       "silu": of_rows(jax.nn.silu), "tanh": of_rows(jnp.tanh), "exp": of_rows(jnp.exp), "chain": chain,
       "empty": empty, "compile": compiling, "pallas": pallas,
       "matmul_gradients": lambda s: gradients(jnp.matmul, *[(s.int("n"),) * 2] * 2),
       "attention_gradients": lambda s: gradients(attend(bool(s.int("causal"))),
                                                  *[(1, s.int("heads"), s.int("length"), s.int("dim"))] * 3),
       "grouped_gradients": grouped_gradients, "rms_norm_gradients": norm_gradients(rms_norm, 1),
       "layer_norm_gradients": norm_gradients(layer_norm, 2)})
