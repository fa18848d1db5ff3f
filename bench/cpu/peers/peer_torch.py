"""PyTorch in eager mode, as an actor: peer_torch.py THREADS. Results go to the given arrays where PyTorch supports that."""

import sys

import torch
import torch.nn.functional as F

from actor import Unable, element, element_i8, serve

torch.set_num_threads(int(sys.argv[1]))
torch.set_grad_enabled(False)
DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16}


def operand(shape, seed, dtype="f32"):
    if dtype == "int8":
        return torch.from_numpy(element_i8(shape, seed))
    return torch.from_numpy(element(shape, seed)).to(DTYPES[dtype])


def numbers(tensor):
    return lambda: tensor.float().numpy()


def matmul(s):
    dtype, n = s.get("dtype", "f32"), s.int("n")
    if dtype == "int8":
        raise Unable("no product of int8 into i32")
    m, k = s.int("m", n), s.int("k", n)
    x, y = operand((m, k), 1, dtype), operand((k, n), 2, dtype)
    out = torch.empty((m, n), dtype=DTYPES[dtype])
    return lambda: torch.mm(x, y, out=out), numbers(out)


def grouped(s):
    sizes, k, n = [int(v) for v in s["sizes"].split(",")], s.int("k"), s.int("n")
    x, y = operand((sum(sizes), k), 1), operand((len(sizes), k, n), 2)
    out = torch.empty((sum(sizes), n))
    parts = list(zip(x.split(sizes), y, out.split(sizes)))

    def run():
        for a, b, c in parts:
            torch.mm(a, b, out=c)
    return run, numbers(out)


def kept(function):
    """A function whose result cannot be told where to go."""
    last = [None]

    def run():
        last[0] = function()
    return run, lambda: last[0].float().numpy()


def attention(s):
    dtype, causal = s.get("dtype", "f32"), bool(s.int("causal"))
    heads, size, keys = s.int("heads"), s.int("dim"), s.int("length")
    q = operand((1, heads, s.int("queries", keys), size), 1, dtype)
    k, v = (operand((1, heads, keys, size), seed, dtype) for seed in (2, 3))
    return kept(lambda: F.scaled_dot_product_attention(q, k, v, is_causal=causal))


def paged(s):
    """PyTorch has no attention over pages on CPUs: they are gathered first."""
    dtype, heads, size, keys, page = s.get("dtype", "f32"), s.int("heads"), s.int("dim"), s.int("length"), s.int("page")
    q = operand((1, heads, 1, size), 1, dtype)
    k, v = (operand((heads, keys // page, page, size), seed, dtype) for seed in (2, 3))
    table = torch.arange(keys // page) * 5 % (keys // page)

    def run():
        gather = lambda pages: pages.index_select(1, table).view(1, heads, keys, size)
        return F.scaled_dot_product_attention(q, gather(k), gather(v))
    return kept(run)


def ragged(s):
    """As bench_cpu_module's: a causal attention for each sequence, whose pages are gathered first."""
    heads, key_heads, size, pages, page, most = 32, 8, 128, 1024, 16, 8
    q = operand((s.int("tokens"), heads, size), 1, "bf16")
    cache = operand((pages, page, 2 * key_heads, size), 2, "bf16")
    table = (torch.arange(pages) * 5 % pages).view(most, pages // most)
    queries, keys = ([int(v) for v in s[key].split(",")] for key in ("queries", "keys"))
    if any(n not in (1, length) for n, length in zip(queries, keys)):
        raise Unable("a prefill after old tokens")

    def attend(rows, pages_of, length):
        kv = cache.index_select(0, pages_of[:-(-length // page)]).view(-1, key_heads, 2, size)[:length]
        k, v = kv.permute(2, 1, 0, 3)
        out = F.scaled_dot_product_attention(rows.transpose(0, 1)[None], k[None], v[None], is_causal=len(rows) > 1,
                                             enable_gqa=True)
        return out[0].transpose(0, 1)

    def run():
        return torch.cat([attend(rows, *which) for rows, *which in zip(q[:sum(queries)].split(queries), table, keys)])
    return kept(run)


def rows(s):
    return operand((s.int("rows"), s.int("columns")), 1)


def into(function):
    def make(s):
        x = rows(s)
        out = torch.empty_like(x)
        return lambda: function(x, out), numbers(out)
    return make


def layer_norm(s):
    x, n = rows(s), s.int("columns")
    scale, shift = operand((n,), 2), operand((n,), 3)
    return kept(lambda: F.layer_norm(x, (n,), scale, shift, 1e-5))


def rms_norm(s):
    x, n = rows(s), s.int("columns")
    scale = operand((n,), 2)
    return kept(lambda: F.rms_norm(x, (n,), scale, 1e-5))


def chain(s):
    x, y = rows(s), operand((s.int("rows"), s.int("columns")), 2)
    out = torch.empty_like(x)

    def run():
        torch.mul(x, y, out=out)
        out.add_(x).clamp_(min=0).mul_(0.5).sub_(y)
    return run, numbers(out)


def minilm(s):
    """The encoder of all-MiniLM-L6-v2; weights as in ours/MiniLm.cpp."""
    hidden, wide, heads, seed = 384, 1536, 12, [0]

    def weights(*shape, about=0.):
        seed[0] += 1
        return about + operand(shape, seed[0]) * 0.1

    linear = lambda outputs, inputs: (weights(outputs, inputs), weights(outputs))
    norm = lambda: (weights(hidden, about=1.), weights(hidden))
    words, positions, types, first = weights(30522, hidden), weights(512, hidden), weights(2, hidden), norm()
    layers = []
    for _ in range(6):
        attend = [linear(hidden, hidden) for _ in range(4)]
        layers.append((attend, norm(), linear(wide, hidden), linear(hidden, wide), norm()))
    batch, tokens = s.int("batch"), s.int("tokens")
    ids = (torch.arange(batch * tokens) * 7 % 30522).view(batch, tokens)
    normed = lambda x, n: F.layer_norm(x, (hidden,), n[0], n[1], 1e-12)

    def run():
        x = normed(words[ids] + positions[:tokens] + types[0], first)
        for (q, k, v, o), after, up, down, last in layers:
            split = lambda part: F.linear(x, *part).view(batch, tokens, heads, -1).transpose(1, 2)
            mixed = F.scaled_dot_product_attention(split(q), split(k), split(v))
            x = normed(F.linear(mixed.transpose(1, 2).reshape(batch, tokens, hidden), *o) + x, after)
            x = normed(F.linear(F.gelu(F.linear(x, *up)), *down) + x, last)
        return F.normalize(x.mean(1))
    return kept(run)


def gradients(function, *shapes):
    """The function and its gradients along operand 9. Results one after the other."""
    operands = [operand(shape, 1 + i).requires_grad_() for i, shape in enumerate(shapes)]
    last, cotangent = [None], None

    def run():
        nonlocal cotangent
        with torch.enable_grad():
            y = function(*operands)
            if cotangent is None:
                cotangent = operand(tuple(y.shape), 9)
            last[0] = (y.detach(), *torch.autograd.grad(y, operands, cotangent))
    return run, lambda: torch.cat([r.flatten() for r in last[0]]).numpy()


def attention_gradients(s):
    shape = (1, s.int("heads"), s.int("length"), s.int("dim"))
    causal = bool(s.int("causal"))
    return gradients(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=causal), shape, shape, shape)


def grouped_gradients(s):
    sizes, k, n = [int(v) for v in s["sizes"].split(",")], s.int("k"), s.int("n")
    return gradients(lambda x, y: torch.cat([a @ b for a, b in zip(x.split(sizes), y)]), (sum(sizes), k), (len(sizes), k, n))


def norm_gradients(function, weights):
    def make(s):
        n = s.int("columns")
        return gradients(lambda x, *w: function(x, (n,), *w, eps=1e-5), (s.int("rows"), n), *[(n,)] * weights)
    return make


def empty(s):
    x = torch.zeros(1)
    return lambda: x.neg_(), None


serve({"matmul": matmul, "grouped": grouped, "attention": attention, "paged": paged,
       "ragged": ragged,
       "softmax": into(lambda x, out: torch.softmax(x, 1, out=out)), "layer_norm": layer_norm, "rms_norm": rms_norm,
       "gelu": into(lambda x, out: torch.ops.aten.gelu.out(x, approximate="tanh", out=out)),
       "silu": into(lambda x, out: torch.ops.aten.silu.out(x, out=out)),
       "tanh": into(lambda x, out: torch.tanh(x, out=out)), "exp": into(lambda x, out: torch.exp(x, out=out)),
       "chain": chain, "minilm": minilm, "empty": empty,
       "matmul_gradients": lambda s: gradients(torch.matmul, *[(s.int("n"),) * 2] * 2),
       "attention_gradients": attention_gradients, "grouped_gradients": grouped_gradients,
       "rms_norm_gradients": norm_gradients(F.rms_norm, 1), "layer_norm_gradients": norm_gradients(F.layer_norm, 2)})
