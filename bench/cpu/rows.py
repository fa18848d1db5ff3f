"""The workloads of the cpu benchmark: one Row each."""

import dataclasses

GEMM_PEERS = ("MKL", "oneDNN", "OpenBLAS", "Eigen", "XLA", "PyTorch")


@dataclasses.dataclass
class Row:
    workload: str           # as people read it
    spec: str               # what actors are asked to prepare
    amount: float           # of work in one call
    unit: str               # of the rates
    limit: str              # spec of the limit's loop
    peers: tuple = ()
    threads: tuple = ("one", "all")
    quick: bool = False     # part of --quick
    limit_unit: float = 1   # work of the limit's loop per unit of work: bytes per element, say
    latency: bool = False   # the figure is a time, and the limit says only whether a round was clean
    tolerance: float = 1e-3  # of results against each peer's, relative to the largest element


def matmuls():
    for n in (512, 1024, 2048, 4096, 1920, 3840):
        calls = " calls=1" if n == 512 else ""  # with the wake of the pool
        yield Row(f"matmul f32 {n}", f"matmul n={n} dtype=f32{calls}", 2 * n**3, "GFLOP/s", "fma", GEMM_PEERS,
                  quick=n in (512, 1024))
    for n in (512, 1024, 2048, 1920):
        yield Row(f"matmul bf16 {n}", f"matmul n={n} dtype=bf16", 2 * n**3, "GFLOP/s", "bf16|fma",
                  ("MKL", "oneDNN", "XLA", "PyTorch"), quick=n == 1024, tolerance=1e-2)
    for n in (256, 1024, 2048):
        yield Row(f"matmul int8 {n}", f"matmul n={n} dtype=int8", 2 * n**3, "GOP/s", "int8",
                  ("MKL", "oneDNN", "XLA"), quick=n == 1024, tolerance=0)


def blocks():
    for n in (128, 192, 256):
        yield Row(f"block {n}, dense", f"block n={n} steps=64", 2 * n**3, "GFLOP/s", "fma",
                  ("libxsmm", "MKL", "oneDNN", "OpenBLAS", "Eigen"), ("one",), quick=n == 128)
    for block, n in ((128, 1024), (256, 1024), (128, 2048), (256, 2048), (256, 4096)):
        yield Row(f"blocks {block}, rows {n} apart", f"blocks n={n} block={block}", 2 * n**3, "GFLOP/s", "fma",
                  ("libxsmm", "oneDNN"), ("one",), quick=(block, n) == (256, 1024))


ROWS = [*matmuls(), *blocks()]
