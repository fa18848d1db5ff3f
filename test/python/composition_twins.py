"""The functions of test/ops/CompositionCases.cpp in plain ops of JAX."""

import jax
import jax.numpy as jnp
from jax import lax


def scaled_sine(x):
    return jnp.sin(x) * jnp.array([1.0, 1.0, 2.0, 2.0])[:, None]


def sum_of_blocks(x):
    return x[:2] ** 2 + x[2:] ** 2


def product(x, y):
    return jnp.tanh(x @ y)


def chosen_blocks(ids, x):
    blocks = x.reshape(2, 2, 6)
    return (blocks[ids] * (1.0 + ids.astype(jnp.float32))[:, None, None]).reshape(4, 6)


def doubled_head(x):
    return jnp.concatenate([x[:2] * 2, x[2:]])


def pipelined(x):
    return jnp.cos(x) * x


def attention(q, k, v):
    return jax.nn.softmax(q @ k.T) @ v


def steps(x):
    return lax.fori_loop(0, 3, lambda i, c: 0.5 * scaled_sine(c) + c, x)


def prefetched(x):
    def body(c, ids):
        following = chosen_blocks(ids, jnp.sin(c)) * 0.5
        return following, sum_of_blocks(following)

    last, sums = lax.scan(body, x, jnp.array([[1, 0], [0, 0], [1, 1]]))
    return last + jnp.concatenate([sums.sum(0), jnp.zeros((2, 6))])


def remembered(x):
    def body(state, row):
        value, (total, average) = state
        following = scaled_sine(value) + row
        return (following, (total + following.sum(), average * 0.5 + row)), following.max(0)

    (value, (total, average)), tops = lax.scan(body, (x, (jnp.float32(0), jnp.zeros(6))), x)
    return value * total + average + tops.sum(0)


def branches(x):
    return lax.cond(x.sum() > 0, lambda: scaled_sine(x), lambda: pipelined(x) + x)


def in_place(x):
    return doubled_head(jnp.sin(x)) * x


@jax.custom_vjp
def tripled_sine(x):
    return jnp.sin(x)


tripled_sine.defvjp(lambda x: (jnp.sin(x), x), lambda x, ct: (3.0 * ct * jnp.cos(x),))


def tripled(x):
    return tripled_sine(x) * x


def chosen(x):
    return lax.switch(jnp.abs(x.sum()).astype(jnp.int32) % 3,
                      [lambda: scaled_sine(x), lambda: doubled_head(x * x), lambda: jnp.tanh(x)])


def closed_over(x):
    return jax.grad(lambda y: scaled_sine(x * y).sum())(x) + jax.vmap(lambda row: row * pipelined(x).sum())(x)


def until(x):
    return lax.while_loop(lambda v: jnp.abs(v).sum() < 200.0, lambda v: v * 1.5 + 0.1 * scaled_sine(v), x)
