"""all-MiniLM-L6-v2 in NumPy: what the encoder must compute. The error function in float64, everything else in float32."""

import json
import math

import numpy as np

ERF = np.vectorize(math.erf, otypes=[np.float64])


def read_safetensors(path):
    """All tensors of a file by name."""
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    types = {"F32": np.float32, "F16": np.float16, "I64": np.int64}
    tensors = {}
    for name, entry in json.loads(data[8:8 + length]).items():
        if name != "__metadata__":
            begin, end = (8 + length + offset for offset in entry["data_offsets"])
            tensors[name] = np.frombuffer(data[begin:end], types[entry["dtype"]]).reshape(entry["shape"])
    return tensors


class Encoder:
    def __init__(self, folder):
        self.config = json.loads((folder / "config.json").read_text())
        self.weights = read_safetensors(folder / "model.safetensors")

    def linear(self, x, name):
        return x @ self.weights[name + ".weight"].T + self.weights[name + ".bias"]

    def norm(self, x, name):
        centred = x - x.mean(-1, keepdims=True)
        variance = (centred * centred).mean(-1, keepdims=True)
        scaled = centred / np.sqrt(variance + np.float32(self.config["layer_norm_eps"]))
        return scaled * self.weights[name + ".weight"] + self.weights[name + ".bias"]

    def attention(self, x, at):
        heads, hidden = self.config["num_attention_heads"], self.config["hidden_size"]
        q, k, v = (self.linear(x, f"{at}.self.{part}").reshape(len(x), heads, -1).swapaxes(0, 1)
                   for part in ("query", "key", "value"))
        scores = q @ k.swapaxes(1, 2) / np.float32(math.sqrt(hidden // heads))
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        mixed = (scores / scores.sum(-1, keepdims=True)) @ v
        return self.norm(self.linear(mixed.swapaxes(0, 1).reshape(len(x), hidden), f"{at}.output.dense") + x,
                         f"{at}.output.LayerNorm")

    def tokens(self, ids):
        """The last layer's output for every token of one text."""
        table = "embeddings.{}_embeddings.weight"
        x = (self.weights[table.format("word")][ids] + self.weights[table.format("token_type")][0]
             + self.weights[table.format("position")][:len(ids)])
        x = self.norm(x, "embeddings.LayerNorm")
        for layer in range(self.config["num_hidden_layers"]):
            at = f"encoder.layer.{layer}"
            x = self.attention(x, f"{at}.attention")
            wide = self.linear(x, f"{at}.intermediate.dense")
            wide = (0.5 * wide * (1 + ERF(wide / math.sqrt(2)))).astype(np.float32)
            x = self.norm(self.linear(wide, f"{at}.output.dense") + x, f"{at}.output.LayerNorm")
        return x

    def embed(self, ids):
        pooled = self.tokens(ids).mean(0)
        return pooled / np.linalg.norm(pooled)
