"""The workloads of the cpu benchmark: one Row each."""

import dataclasses

GEMM_PEERS = ("MKL", "oneDNN", "OpenBLAS", "Eigen", "XLA", "PyTorch")


@dataclasses.dataclass
class Row:
    workload: str           # the name in tables
    spec: str               # the request to actors
    amount: float           # of work in one call
    unit: str               # of the rates
    limit: str              # spec of the loop that measures the limit
    peers: tuple = ()
    threads: tuple = ("one", "all")
    quick: bool = False     # part of --quick
    limit_unit: float = 1   # work of that loop per unit of work, such as bytes per element
    latency: bool = False   # the figure is a time; without flops the limit only shows whether a round is valid
    flops: float = 0        # of one call: gives a time a limit
    flop_limit: str = ""    # spec of a loop of multiply-adds: the limit is the longer of the times of both loops
    ours: str = "ours"     # our actor
    writer: str = ""       # the peer that writes the module that our actor runs; it is prepared even if it is not measured
    tolerance: float = 1e-3  # of results against each peer's, relative to the largest element


def matmuls():
    # At small sizes the library's blocks of 512 leave nothing for a second thread.
    halves = lambda n: f"bm={n // 2}" if n <= 512 else ""
    for n in (512, 1024, 2048, 4096, 1920, 3840):
        calls = " calls=1 " + halves(n) if n == 512 else ""  # with the wake-up latency of the pool
        yield Row(f"matmul f32 {n}", f"matmul n={n} dtype=f32{calls}", 2 * n**3, "GFLOP/s", "fma", GEMM_PEERS,
                  quick=n in (512, 1024))
    for n in (512, 1024, 2048, 1920):
        yield Row(f"matmul bf16 {n}", f"matmul n={n} dtype=bf16 {halves(n)}", 2 * n**3, "GFLOP/s", "bf16|fma",
                  ("MKL", "oneDNN", "XLA", "PyTorch"), quick=n == 1024, tolerance=1e-2)
    for n in (256, 1024, 2048):
        yield Row(f"matmul int8 {n}", f"matmul n={n} dtype=int8 {halves(n)}", 2 * n**3, "GOP/s", "int8",
                  ("MKL", "oneDNN", "XLA"), quick=n == 1024, tolerance=0)
    # Each weight is read once, and multiplied with a few rows: the products of a server that generates tokens.
    for dtype, size, peers in (("f32", 4, GEMM_PEERS), ("bf16", 2, ("MKL", "oneDNN", "XLA", "PyTorch"))):
        for m in (1, 8):
            yield Row(f"matmul {dtype}, {m} x 4096 x 4096", f"matmul m={m} k=4096 n=4096 dtype={dtype}", 4096**2 * size,
                      "GB/s", "read", peers, quick=(dtype, m) == ("f32", 1), tolerance=1e-3 if dtype == "f32" else 2e-2,
                      flops=2 * m * 4096**2, flop_limit=("fma" if dtype == "f32" else "bf16|fma") if m > 1 else "")


def blocks():
    for n in (128, 192, 256):
        yield Row(f"block {n}, dense", f"block n={n} steps=64", 2 * n**3, "GFLOP/s", "fma",
                  ("libxsmm", "MKL", "oneDNN", "OpenBLAS", "Eigen"), ("one",), quick=n == 128)
    for block, n in ((128, 1024), (256, 1024), (128, 2048), (256, 2048), (256, 4096)):
        yield Row(f"block {block}, leading dimension {n}", f"blocks n={n} block={block}", 2 * n**3, "GFLOP/s", "fma",
                  ("libxsmm", "oneDNN"), ("one",), quick=(block, n) == (256, 1024))


def attention():
    peers = ("PyTorch", "ggml", "XLA")
    for dtype, tolerance in (("f32", 1e-4), ("bf16", 2e-2)):
        for dim in (64, 128):
            for causal in (0, 1):
                # Square blocks follow the diagonal; long blocks of keys need less rescaling.
                blocks = "bq=256 bk=256" if causal else "bq=256 bk=1024"
                name = f"attention {dtype}, 2048 keys, size {dim}" + (", causal" if causal else "")
                yield Row(name, f"attention heads=4 length=2048 dim={dim} causal={causal} dtype={dtype} {blocks}",
                          4 * 4 * 2048**2 * dim / (2 if causal else 1), "GFLOP/s",
                          "fma" if dtype == "f32" else "bf16|fma", peers,
                          quick=dtype == "f32" and dim == 64 and not causal, tolerance=tolerance)
    for dtype, tolerance, size in (("f32", 1e-4, 4), ("bf16", 2e-2, 2)):
        read = 2 * 8 * 16384 * 128 * size
        yield Row(f"decode {dtype}, 16384 keys", f"attention heads=8 queries=1 length=16384 dim=128 dtype={dtype}", read,
                  "GB/s", "read", peers, quick=dtype == "f32", tolerance=tolerance)
        # Eight queries share the keys and values read: if memory is fast, their two products take longer.
        yield Row(f"decode {dtype}, 8 queries per key",
                  f"attention heads=8 queries=8 length=16384 dim=128 dtype={dtype}", read, "GB/s", "read", peers,
                  tolerance=tolerance, flops=2 * 2 * 8 * 8 * 16384 * 128, flop_limit="fma" if dtype == "f32" else "bf16|fma")
        yield Row(f"decode {dtype}, pages of 16", f"paged heads=8 length=16384 dim=128 page=16 dtype={dtype}", read,
                  "GB/s", f"read page_bytes={16 * 128 * size}", ("PyTorch",), quick=dtype == "f32", tolerance=tolerance)


def ragged():
    """JAX's ragged paged attention, as in an LLM server: 32 query heads, 8 key heads, bf16. Decoding is bound by reading
    the cache, the other rows by the products, half of which the causal mask removes."""
    key_bytes, key_flops = 2 * 8 * 128 * 2, 4 * 32 * 128
    yield Row("ragged paged attention, decode 8 x 2048", f"ragged tokens=8 queries={','.join('1' * 8)} keys={','.join(['2048'] * 8)}",
              8 * 2048 * key_bytes, "GB/s", f"read page_bytes={16 * key_bytes}", ("PyTorch",), ours="module", tolerance=2e-2)
    yield Row("ragged paged attention, prefill 512", "ragged tokens=512 queries=512 keys=512", 512 * 512 // 2 * key_flops,
              "GFLOP/s", "bf16|fma", ("PyTorch",), ours="module", tolerance=2e-2)
    yield Row("ragged paged attention, 4 decode and 384 prefill", "ragged tokens=512 queries=1,1,1,1,384 keys=2048,2048,2048,2048,384",
              (4 * 2048 + 384 * 384 // 2) * key_flops, "GFLOP/s", "bf16|fma", ("PyTorch",), ours="module", tolerance=2e-2)


def grouped():
    sizes = (64, 320, 128, 448, 192, 256, 512, 128)  # 2048 rows
    yield Row("grouped matmul, 8 groups", f"grouped sizes={','.join(map(str, sizes))} k=1024 n=1024",
              2 * sum(sizes) * 1024 * 1024, "GFLOP/s", "fma", ("MKL", "OpenBLAS", "PyTorch", "XLA"), quick=True)
    yield Row("grouped matmul, one group of 2048 rows", "matmul m=2048 n=1024 k=1024 dtype=f32", 2 * sum(sizes) * 1024 * 1024,
              "GFLOP/s", "fma", ("MKL", "OpenBLAS"))


def on_rows():
    peers = {"softmax": ("oneDNN", "PyTorch", "XLA"), "rms_norm": ("PyTorch", "XLA"), "layer_norm": ("oneDNN", "PyTorch", "XLA")}
    for kind, names in peers.items():
        yield Row(f"{kind} 64x1024, in cache", f"{kind} rows=64 columns=1024", 64 * 1024, "Gelem/s", "copy bytes=262144",
                  names, ("one",), quick=kind != "layer_norm", limit_unit=8)
        yield Row(f"{kind} 16384x1024, DRAM", f"{kind} rows=16384 columns=1024", 16384 * 1024, "Gelem/s", "copy", names,
                  limit_unit=8)
    for kind in ("gelu", "silu", "tanh", "exp"):
        yield Row(f"{kind} 64x1024, in cache", f"{kind} rows=64 columns=1024", 64 * 1024, "Gelem/s", "copy bytes=262144",
                  ("oneDNN", "PyTorch", "XLA"), ("one",), quick=kind == "exp", limit_unit=8)
    yield Row("max(xy + x, 0) / 2 - y, DRAM", "chain rows=16384 columns=1024", 16384 * 1024, "Gelem/s", "triad",
              ("XLA", "PyTorch"), quick=True, limit_unit=12)


def gradients():
    """Forward pass and gradients of all operands for a cotangent: the library's `…_with_gradient` under jit."""
    peers = ("PyTorch", "XLA")
    yield Row("matmul f32 1024 and its gradients", "matmul_gradients n=1024", 3 * 2 * 1024**3, "GFLOP/s", "fma", peers)
    for causal in (0, 1):
        yield Row(f"attention f32, 2048 keys, size 64{', causal' if causal else ''}, and its gradients",
                  f"attention_gradients heads=4 length=2048 dim=64 causal={causal}",
                  14 * 4 * 2048**2 * 64 / (2 if causal else 1), "GFLOP/s", "fma", peers)
    sizes = (64, 320, 128, 448, 192, 256, 512, 128)
    yield Row("grouped matmul, 8 groups, and its gradients",
              f"grouped_gradients sizes={','.join(map(str, sizes))} k=1024 n=1024", 3 * 2 * sum(sizes) * 1024 * 1024,
              "GFLOP/s", "fma", peers)
    for kind in ("rms_norm", "layer_norm"):
        for rows, where in ((64, "in cache"), (16384, "DRAM")):
            yield Row(f"{kind} {rows}x1024, {where}, and its gradients", f"{kind}_gradients rows={rows} columns=1024",
                      rows * 1024, "Gelem/s", "copy bytes=262144" if rows == 64 else "copy", peers,
                      ("one",) if rows == 64 else ("one", "all"), limit_unit=20)


def times():
    for kind in ("plain", "matmul", "attention"):
        yield Row(f"compile {kind}", f"compile kind={kind} when=warm", 1, "ms", "fma", ("XLA",), ("one",), True, latency=True)
    yield Row("compile plain, first in process", "compile kind=plain when=first", 1, "ms", "fma", (), ("one",), latency=True)
    yield Row("compile attention, from the cache", "compile kind=attention when=kept", 1, "ms", "fma", (), ("one",),
              latency=True)
    yield Row("compile attention, from the cache, first in process", "compile kind=attention when=cached", 1, "ms", "fma", (), ("one",),
              latency=True)
    # Measures the operating system's threads, not Smalti's pool.
    yield Row("thread-pool wake-up latency after a pause", "wake", 1, "µs", "fma", (), ("all",), True, latency=True, ours="threads")
    yield Row("call of an empty kernel", "empty", 1, "µs", "fma", ("PyTorch", "XLA"), quick=True, latency=True)


def whole():
    token = 6 * 2 * (4 * 384**2 + 2 * 384 * 1536 + 2 * 128 * 384)  # flops per token of the encoder
    for batch in (1, 16):
        yield Row(f"MiniLM, {batch} x 128 tokens", f"minilm batch={batch} tokens=128", 1, "ms", "fma", ("PyTorch",),
                  quick=batch == 1, latency=True, tolerance=1e-2, flops=batch * 128 * token)
    for kind, what, flops in (("add64", "add in 64 steps", 0), ("matmul512", "matmul 1024 in 512 steps", 2 * 1024**3),
                              ("attention64", "attention in 64 steps", 4 * 1024**2 * 64),
                              ("attention256", "attention in 256 steps, vmap", 4 * 4 * 1024**2 * 64)):
        yield Row(f"interpret=True: {what}", f"pallas kind={kind} us=20000", 1, "ms", "fma", ("XLA",), ("one",),
                  kind == "add64", latency=True, flops=flops, ours="module", writer="XLA", tolerance=1e-4)


def checks():
    """Kernels compared with themselves under --check; the ratio is the slowdown, at most 3."""
    for what, spec, amount, unit, limit, limit_unit in (
            ("add 256x256, in cache", "squares rows=256 columns=256 block=128 dtype=f32", 256 * 256, "Gelem/s", "copy bytes=262144", 12),
            ("add 4096x4096, DRAM", "squares rows=4096 columns=4096 block=256 dtype=f32", 4096**2, "Gelem/s", "triad", 12),
            ("add 250x250, partial blocks of 128", "squares rows=250 columns=250 block=128 dtype=f32", 250 * 250, "Gelem/s",
             "copy bytes=262144", 12),
            ("add 4000x4000, partial blocks of 256", "squares rows=4000 columns=4000 block=256 dtype=f32", 4000**2, "Gelem/s",
             "triad", 12),
            ("add int8 1000x1000, partial blocks of 256", "squares rows=1000 columns=1000 block=256 dtype=int8", 1000**2,
             "Gelem/s", "copy", 3),
            ("2x + 1 of 1024x1024, manual copies", "streamed rows=1024 columns=1024 br=64", 1024**2, "Gelem/s", "copy", 8),
            ("decode f32, pages of 16", "paged heads=8 length=4096 dim=128 page=16 dtype=f32", 2 * 8 * 4096 * 128 * 4, "GB/s",
             f"read page_bytes={16 * 128 * 4}", 1),
            ("softmax 64x1024", "softmax rows=64 columns=1024", 64 * 1024, "Gelem/s", "copy bytes=262144", 8),
            ("softmax 60x1000, partial blocks of 8", "softmax rows=60 columns=1000 br=8", 60 * 1000, "Gelem/s",
             "copy bytes=262144", 8),
            ("rms_norm 1020x1024, partial blocks of 64", "rms_norm rows=1020 columns=1024 br=64", 1020 * 1024, "Gelem/s",
             "copy", 8),
            ("matmul f32 1024", "matmul n=1024 dtype=f32", 2 * 1024**3, "GFLOP/s", "fma", 1),
            ("matmul f32 1000, partial blocks of 256", "matmul n=1000 dtype=f32 bm=256 bn=256 bk=256", 2 * 1000**3,
             "GFLOP/s", "fma", 1),
            ("attention f32, 2048 keys, size 64", "attention heads=4 length=2048 dim=64 causal=0 dtype=f32 bq=256 bk=1024",
             4 * 4 * 2048**2 * 64, "GFLOP/s", "fma", 1),
            ("grouped matmul, 8 groups", "grouped sizes=64,320,128,448,192,256,512,128 k=1024 n=1024",
             2 * 2048 * 1024 * 1024, "GFLOP/s", "fma", 1)):
        yield Row(f"check: {what}", spec, amount, unit, limit, ("--check",), ("one",), limit_unit=limit_unit, tolerance=1e-5)


def loops():
    """Loops that may be endless, whose iterations are counted (docs/cpu.md, Limits), compared with code that does not count."""
    for kind, what, iterations in (("scalar", "scalars, 4 ops per iteration", 1_000_000), ("vector", "vectors of 8x128, 2 ops per iteration", 20_000)):
        yield Row(f"counted loop: {what}", f"loops kind={kind} n={iterations}", iterations, "Gelem/s", "fma", ("uncounted",), ("one",),
                  ours="module", tolerance=0)


ROWS = [*matmuls(), *blocks(), *attention(), *ragged(), *grouped(), *on_rows(), *gradients(), *times(), *checks(), *loops(), *whole()]
