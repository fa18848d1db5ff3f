"""The model of this folder in PyTorch: python twin_torch.py TEXT [STEPS] prints the loss of every step. Needs PyTorch, and
JAX for the random numbers that it starts from."""

import pathlib
import sys
import time

import numpy as np
import torch
import torch.nn.functional as F
from twin import BATCH, BETA1, BETA2, CONTEXT, DECAY, EPSILON, HEADS, RATE, WIDTH, random_model


def tensors(tree):
    if isinstance(tree, dict):
        return {k: tensors(v) for k, v in tree.items()}
    if isinstance(tree, (list, tuple)):
        return [tensors(v) for v in tree]
    return torch.from_numpy(np.array(tree)).requires_grad_()


def leaves(tree):
    if isinstance(tree, torch.Tensor):
        return [tree]
    return [leaf for v in (tree.values() if isinstance(tree, dict) else tree) for leaf in leaves(v)]


def norm(x, parameters):
    return F.layer_norm(x, (WIDTH,), *parameters, eps=1e-5)


def attention(layer, x):
    size = WIDTH // HEADS
    q, k, v = (x @ layer["qkv"]).reshape(BATCH, CONTEXT, 3, HEADS, size).permute(2, 0, 3, 1, 4)
    attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    return attended.transpose(1, 2).reshape(x.shape) @ layer["out"]


def loss(model, tokens, targets):
    x = (model["embedding"][tokens] + model["positions"]).reshape(-1, WIDTH)
    for layer in model["layers"]:
        x = x + attention(layer, norm(x, layer["norm1"]))
        x = x + F.gelu(norm(x, layer["norm2"]) @ layer["up"], approximate="tanh") @ layer["down"]
    return F.cross_entropy(norm(x, model["norm"]) @ model["head"], targets.reshape(-1))


def main(path, steps=200):
    text = pathlib.Path(path).read_bytes().decode("latin-1")
    alphabet = sorted(set(text), key=lambda c: (ord(c) + 128) % 256)  # as signed characters
    tokens = np.array([alphabet.index(c) for c in text])
    model = tensors(random_model(len(alphabet), 0))
    optimiser = torch.optim.AdamW(leaves(model), RATE, (BETA1, BETA2), EPSILON, DECAY)
    seconds = 0.0
    for i in range(steps):
        starts = [(i * BATCH + b) * 7919 % (len(text) - CONTEXT - 1) for b in range(BATCH)]
        begin = time.perf_counter()
        optimiser.zero_grad()
        value = loss(model, torch.from_numpy(np.stack([tokens[s:s + CONTEXT] for s in starts])),
                     torch.from_numpy(np.stack([tokens[s + 1:s + 1 + CONTEXT] for s in starts])))
        value.backward()
        optimiser.step()
        print(i, f"{value.item():.6f}")
        seconds += time.perf_counter() - begin if i >= 10 else 0
    if steps > 10:
        print(f"{seconds / (steps - 10) * 1e3:.2f} ms a step", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:3]))
