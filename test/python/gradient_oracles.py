"""What the kernels of test/gradients compute, in jnp: one function per case, of the case's inputs."""

import jax
import jax.numpy as jnp
from jax import lax
from jax.nn import gelu as jax_gelu


def tanh_gelu(x):
    return jax_gelu(x, approximate=True)


def blocks(x, rows):
    return x.reshape(-1, rows, *x.shape[1:])


def scaled_sine(x):
    return jnp.sin(x) * 2


gelu = tanh_gelu


def relu_squared(x):
    return jax.nn.relu(x)**2


def horner(x):
    c = jnp.ones_like(x)
    for _ in range(4):
        c = c * x * 0.5 + 1
    return c


def alternating(x):
    i, j = jnp.indices(x.shape)
    return jnp.where(i // 8 == j // 128, jnp.sin(x), x * x)


def two_sided(x):
    return jnp.where(x > 0, jnp.log1p(jnp.abs(x)), jnp.expm1(x))


def row_softmax(x):
    return jax.nn.softmax(x, axis=1)


def row_norm(x):
    centred = x - x.mean(1, keepdims=True)
    return centred * lax.rsqrt((centred**2).mean(1, keepdims=True) + 1e-3)


def log_softmax(x):
    return jax.nn.log_softmax(x, axis=1)


def rolled(x):
    return jnp.roll(x, 3, 1) * x


def fold(f, x, rows=8):
    state = jnp.zeros((rows, *x.shape[1:]), x.dtype)
    states = []
    for block in blocks(x, rows):
        state = f(state, block)
        states.append(state)
    return states


def folded_sum(x):
    return fold(lambda o, b: o + jnp.sin(b), x)[-1]


def folded_tanh(x):
    return fold(lambda o, b: jnp.tanh(o + b), x)[-1]


def folded_product(x):
    return fold(lambda o, b: (o + 1) * b, x)[-1]


def folded_maximum(x):
    return fold(jnp.maximum, x)[-1]


def product(x, y):
    return x * y


def transposed(x):
    return x.T


def reversed(x):  # noqa: A001 - named as the case
    return blocks(x, 8)[::-1].reshape(x.shape)**2


def biased(x, b):
    return jnp.tanh(x + b)


outer = product


def squeezed(x):
    return jnp.exp(x)


def halves(x):
    return jnp.concatenate([x[4:] * 3, x[:4] * x[4:]])


def strided(x):
    return x.at[0::2].set(x[1::2] * x[0::2])


def slabs(x):
    return jnp.sin(blocks(x, 8)[::-1].reshape(x.shape))


def edges(x):
    return x**3


def edge_weights(x, w):
    return x / (x**2).sum(1, keepdims=True) * w


def edge_sum(x):
    return (x**2).sum(0, keepdims=True)


def moments(x):
    return x.sum(1, keepdims=True), (x**2).sum(1, keepdims=True)


def matmul_revisited(x, y):
    return x @ y


matmul_scratch = matmul_revisited


def matmul_gelu(x, y):
    return tanh_gelu(x @ y)


def matmul_softmax(x, y):
    return jax.nn.softmax(x @ y, axis=1)


def gated_matmul(x, y, z):
    return jax.nn.silu(x @ y) * (x @ z)


def running_sum(x):
    return jnp.concatenate(fold(lambda s, b: s + b, x))


def moving_average(x):
    return jnp.concatenate(fold(lambda s, b: 0.75 * s + 0.25 * b * b, x))


def recurrent_tanh(x):
    return jnp.concatenate(fold(lambda s, b: jnp.tanh(0.5 * s + b), x))


def running_product(x):
    return jnp.concatenate(fold(lambda s, b: (1 + s) * b, x))


def running_maximum(x):
    return jnp.concatenate(fold(jnp.maximum, x))


def online_logsumexp(x):
    return jax.nn.logsumexp(x, axis=1, keepdims=True)


def online_attention(q, k, v):
    return jax.nn.softmax(q @ k.T * 0.125, axis=1) @ v


def variance(x):
    return x.var(1, keepdims=True)


scoped_fold = folded_tanh


def gathered_blocks(n, x):
    return jnp.sin(blocks(x, 8)[n].reshape(-1, x.shape[1]))


def scattered_blocks(n, x):
    return (jnp.zeros_like(blocks(x, 8)).at[n].set(blocks(x, 8))**2).reshape(x.shape)


def experts(e, x, w):
    return jnp.tanh(jnp.einsum("brk,bkn->brn", blocks(x, 8), w[e])).reshape(x.shape)


def masked_lengths(n, x):
    return jnp.where(jnp.arange(128) < jnp.repeat(n, 8)[:, None], jnp.exp(x), 0)


def segment_sums(n, x):
    return jnp.zeros((2, 8, 128), x.dtype).at[n].add(blocks(x, 8)**2).reshape(16, 128)


def chosen_functions(n, x):
    return jnp.where(jnp.repeat(n, 8)[:, None] > 0, jnp.sin(x), x * 3)


def first_blocks(x):
    return jnp.concatenate([x[:16]**2, x[16:]])


def selected_last(n, x):
    return x**2


def refetched_blocks(x):
    once = x[:32]**2
    return jnp.concatenate([once, once**2])


def kept_blocks(x):  # step 0 and 1: block 0 of x; 2 and 3: block 1, which step 1 has written
    y = x[:8]**2
    return jnp.concatenate([y, y, y**2, y**2])


def copied_rows(x):
    return jnp.cos(x)


def pipeline(x, y):
    return x * jnp.sin(y)


pipelined_matmul = matmul_revisited
vector_add = lambda x, y: x + y  # noqa: E731
stream = stream_pipelined = jnp.sin
softmax = softmax_of_parts = row_softmax


def layer_norm(x, scale, shift):
    centred = x - x.mean(1, keepdims=True)
    return centred * lax.rsqrt((centred**2).mean(1, keepdims=True) + 1e-5) * scale + shift


def rms_norm(x, scale):
    return x * lax.rsqrt((x * x).mean(1, keepdims=True) + 1e-5) * scale


matmul = matmul_revisited


def matmul_bias_gelu(x, y, b):
    return tanh_gelu(x @ y.T + b)


def tiled_dot(x, y, start):
    return start + x @ y


def flash_attention(q, k, v, bias=0, causal=False):
    group = q.shape[1] // k.shape[1]
    k, v = jnp.repeat(k, group, 1), jnp.repeat(v, group, 1)
    s = jnp.einsum("bhqd,bhkd->bhqk", q, k) * q.shape[3]**-0.5 + bias
    if causal:
        s = jnp.where(jnp.tril(jnp.ones(s.shape[2:], bool)), s, -jnp.inf)
    return jax.nn.softmax(s) @ v


flash_attention_bias = flash_attention


def flash_attention_causal(q, k, v):
    return flash_attention(q, k, v, causal=True)


def grouped_matmul(x, y, sizes):
    group = jnp.repeat(jnp.arange(sizes.shape[0]), sizes, total_repeat_length=x.shape[0])
    return jnp.einsum("mk,mkn->mn", x, y[group])


grouped_matmul_in_steps = grouped_matmul


def grouped_matmul_transposed_with_gradient(x, y, sizes):
    return grouped_matmul(x, jnp.swapaxes(y, 1, 2), sizes)


grouped_matmul_with_gradient = grouped_matmul
flash_attention_with_gradient = flash_attention
flash_attention_causal_with_gradient = flash_attention_causal


def paged_attention(q, k_pages, v_pages, lengths, table):
    group = q.shape[1] // k_pages.shape[0]
    gather = lambda p: jnp.repeat(p[:, table].reshape(p.shape[0], *table.shape[:1], -1, p.shape[3]), group, 0)  # noqa: E731
    k, v = gather(k_pages), gather(v_pages)  # [heads, batch, keys, size]
    s = jnp.einsum("bhd,hbkd->bhk", q, k) * q.shape[2]**-0.5
    s = jnp.where(jnp.arange(k.shape[2]) < lengths[:, None, None], s, -jnp.inf)
    return jnp.einsum("bhk,hbkd->bhd", jax.nn.softmax(s), v)


def block_sparse_matmul(m, y):
    whole = jnp.zeros((16, 256), m.dtype)
    for i, (r, c) in enumerate(((0, 1), (1, 0), (1, 1))):
        whole = whole.at[r * 8:r * 8 + 8, c * 128:c * 128 + 128].set(m[i])
    return whole @ y


def dma_copy(x):
    return x
