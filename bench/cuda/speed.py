"""Measures kernels, and PyTorch's for the same computations, on the NVIDIA GPU of this machine: ./do bench cuda --device

    python3 speed.py ROWS [--only PATTERN] [--json FILE] [--times N] [--seconds S]

ROWS is the folder that bench_cuda_kernels has written. Needs the smalti package and PyTorch. Each row is one computation; Smalti's kernel
is run with several choices of blocks, and the fastest counts. Both run alternately, N times, with the L2 cache flushed before each run and times
from events of the GPU; the table shows medians. Results are compared with those of PyTorch in f32 before anything is timed.
"""

import argparse
import json
import math
import pathlib
import re
import statistics
import subprocess
import sys
import time

try:
    import smalti
    import torch
    import torch.nn.functional as F
    from torch.nn.attention import SDPBackend, sdpa_kernel
except ImportError as missing:
    sys.exit(f"{missing}: this needs a Python with the smalti package and PyTorch; name it with SMALTI_PYTHON=…")
if not torch.cuda.is_available():
    sys.exit("PyTorch finds no GPU here")

TORCH = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16, "i32": torch.int32, "i8": torch.int8,
         "f8e4m3fn": torch.float8_e4m3fn}


def parsed(text):
    """The name of the dtype and the shape of a type such as bf16[8,128]."""
    name, sizes = re.fullmatch(r"(\w+)\[([\d,]*)\]", text).groups()
    return name, tuple(int(s) for s in sizes.split(",") if s)


def type_of(text):
    return smalti._arrays.type_from(*parsed(text))


def randoms(text, scale=1.0):
    name, shape = parsed(text)
    return (torch.randn(shape, device="cuda", dtype=torch.float32) * scale).to(TORCH[name])


class Clock:
    """Times of single runs, in microseconds."""

    def __init__(self):
        self.flushed = torch.empty(256 << 20, dtype=torch.uint8, device="cuda")

    def once(self, run):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        self.flushed.zero_()
        begin.record()
        run()
        end.record()
        end.synchronize()
        return 1e3 * begin.elapsed_time(end)

    def medians(self, runs, times):
        """The median time of each run; the runs alternate."""
        found = [[] for _ in runs]
        for run in runs:
            run()
        torch.cuda.synchronize()
        for _ in range(times):
            for run, seen in zip(runs, found):
                seen.append(self.once(run))
        return [statistics.median(f) for f in found]


def matmul(sizes, args):
    m, n, k, small = sizes["m"], sizes["n"], sizes["k"], sizes["dtype"] == "f8e4m3fn"
    x, y = args
    if small:
        one = torch.ones((), device="cuda")
        peers = {"cuBLAS": lambda: torch._scaled_mm(x, y.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16, use_fast_accum=True)}
        want = lambda: x.float() @ y.float().t()
    else:
        out = torch.empty(m, n, device="cuda", dtype=x.dtype)
        peers = {"cuBLAS": lambda: torch.matmul(x, y, out=out)}
        want = lambda: x.float() @ y.float()
    return peers, want, {"flops": 2 * m * n * k}


def grouped(sizes, args):
    x, y = args[-2:]
    m, n, k = sizes["m"], sizes["n"], sizes["k"]
    ends = torch.cumsum(torch.tensor(sizes["group_sizes"], device="cuda"), 0).to(torch.int32)
    out = torch.empty(m, n, device="cuda", dtype=x.dtype)

    def one_by_one(x=x, y=y, out=out):
        begin = 0
        for g, size in enumerate(sizes["group_sizes"]):
            torch.matmul(x[begin:begin + size], y[g], out=out[begin:begin + size])
            begin += size
        return out

    peers = {"PyTorch _grouped_mm": lambda: torch._grouped_mm(x, y, offs=ends),
             "cuBLAS, group by group": one_by_one,
             "cuBLAS, dense": lambda: torch.matmul(x, y[0], out=out)}
    want = lambda: one_by_one(x.float(), y.float(), torch.empty(m, n, device="cuda"))
    return peers, want, {"flops": 2 * m * n * k}


BACKENDS = {"cuDNN": SDPBackend.CUDNN_ATTENTION, "FlashAttention-2": SDPBackend.FLASH_ATTENTION}


def attention(sizes, args):
    q, k, v = args
    causal = sizes["causal"]
    peers = {}
    for name, backend in BACKENDS.items():
        def run(backend=backend):
            with sdpa_kernel(backend):
                return F.scaled_dot_product_attention(q, k, v, is_causal=causal)
        peers[name] = run
    length = sizes["length"]

    def want():
        if length > 4096:
            return peers["FlashAttention-2"]().float()
        return F.scaled_dot_product_attention(q.float(), k.float(), v.float(), is_causal=causal)

    flops = 4 * sizes["batch"] * sizes["heads"] * length * length * sizes["size"] / (2 if causal else 1)
    return peers, want, {"flops": flops}


def attention_backward(sizes, args):
    """The gradients of queries, keys and values; sum(cotangent * result), delta, is counted as well."""
    q, k, v, d, _, _, delta = args
    causal = sizes["causal"]
    peers = {}
    for name, backend in BACKENDS.items():
        leaves = [x.detach().requires_grad_() for x in (q, k, v)]
        try:
            with sdpa_kernel(backend):
                result = F.scaled_dot_product_attention(*leaves, is_causal=causal)
        except Exception:
            continue
        peers[name] = lambda result=result, leaves=leaves: torch.autograd.grad(result, leaves, d, retain_graph=True)

    def want():
        wide = [x.float().requires_grad_() for x in (q, k, v)]
        result = F.scaled_dot_product_attention(*wide, is_causal=causal)
        dq, dk, dv = torch.autograd.grad(result, wide, d.float())
        return {"delta": [delta], "queries": [dq], "keys": [dk, dv]}

    flops = 10 * sizes["batch"] * sizes["heads"] * sizes["length"] ** 2 * sizes["size"] / (2 if causal else 1)
    return peers, want, {"flops": flops}


def log2_sums(q, k, causal):
    """The logarithm to base 2 of the sum of each row of exp(scores), in parts that fit into memory."""
    scale, rows = q.shape[-1] ** -0.5, torch.arange(q.shape[2], device="cuda")
    sums = torch.empty(q.shape[:3], device="cuda")
    for b in range(q.shape[0]):
        for h in range(q.shape[1]):
            s = q[b, h].float() @ k[b, h].float().t() * scale
            if causal:
                s.masked_fill_(rows[None, :] > rows[:, None], -torch.inf)
            sums[b, h] = torch.logsumexp(s, -1) / math.log(2)
    return sums


def row_wise(function, wide):
    def make(sizes, args):
        x = args[0]
        moved = 2 * x.numel() * x.element_size()
        return {"PyTorch": lambda: function(*args)}, (lambda: wide(*[a.float() for a in args])), {"bytes": moved}

    return make


def decode(sizes, args):
    lengths, table, q = args[:3]
    pages = (len(args) - 3) // 2
    k, v = args[3], args[3 + pages]
    b, kh, page, size, length = sizes["batch"], sizes["key_heads"], sizes["page"], sizes["size"], sizes["length"]

    def want():
        at = table.view(b, -1).long()
        keys = k[:, at].permute(1, 0, 2, 3, 4).reshape(b, kh, length, size).float()
        values = v[:, at].permute(1, 0, 2, 3, 4).reshape(b, kh, length, size).float()
        return torch.softmax(q.float() @ keys.transpose(2, 3) / size ** 0.5, -1) @ values

    dense_k, dense_v = (torch.randn(b, kh, length, size, device="cuda", dtype=k.dtype) for _ in range(2))

    def sdpa():  # of keys that are not in pages
        return F.scaled_dot_product_attention(q.reshape(b, kh, -1, size), dense_k, dense_v)

    return {"PyTorch SDPA, dense": sdpa}, want, {"bytes": 2 * 2 * b * kh * length * size}


def chain_of(x):
    return x * torch.sigmoid(1.702 * x) + 1


PEERS = {
    "matmul": matmul,
    "attention": attention,
    "attention backward": attention_backward,
    "decode": decode,
    "grouped": grouped,
    "softmax": row_wise(lambda x: torch.softmax(x, -1), lambda x: torch.softmax(x, -1)),
    "rms_norm": row_wise(lambda x, w: F.rms_norm(x, (x.shape[1],), w[0], 1e-5), lambda x, w: F.rms_norm(x, (x.shape[1],), w[0], 1e-5)),
    "layer_norm": row_wise(lambda x, w, b: F.layer_norm(x, (x.shape[1],), w[0], b[0]), lambda x, w, b: F.layer_norm(x, (x.shape[1],), w[0], b[0])),
    "chain": row_wise(torch.compile(chain_of), chain_of),
}


def given(module):
    """The inputs whose elements are in the file: the first ones."""
    return [torch.tensor(values, device="cuda", dtype=torch.int32).reshape(parsed(text)[1])
            for values, text in zip(module["given"], module["arguments"])]


def inputs(row, module):
    texts = module["arguments"]
    if row["kind"] == "grouped":
        return given(module) + [randoms(t) for t in texts[len(module["given"]):]]
    if row["kind"] == "matmul":
        return [randoms(t) for t in texts]
    if row["kind"] == "decode":
        s = row["sizes"]
        lengths = torch.full((s["batch"],), s["length"], device="cuda", dtype=torch.int32)
        table = torch.randperm(s["batch"] * (s["length"] // s["page"]), device="cuda").to(torch.int32)
        pages = (len(texts) - 3) // 2
        k, v = randoms(texts[3]), randoms(texts[-1])
        return [lengths, table, randoms(texts[2])] + [k] * pages + [v] * pages
    if row["kind"] == "attention backward":
        q, k, v, d = (randoms(t) for t in texts[:4])
        causal = row["sizes"]["causal"]
        result = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
        return [q, k, v, d, result, log2_sums(q, k, causal), (d.float() * result.float()).sum(-1, keepdim=True)]
    return [randoms(t) for t in texts]


def load(folder, module):
    return smalti.load(folder / module["file"], [type_of(t) for t in module["arguments"]], [type_of(t) for t in module["results"]])


def bound(folder, module, args):
    """The program and its results as tensors of PyTorch."""
    begin = time.perf_counter()
    program = load(folder, module).compile(target="cuda").bind(*args)
    return program, [torch.from_dlpack(r) for r in program.results], time.perf_counter() - begin


def error_of(got, want):
    got, want = got.reshape(want.shape).double(), want.double()
    return ((got - want).norm() / want.norm()).item()


def measure(folder, row, clock, times):
    args = inputs(row, row["modules"][-1])
    peers, want, work = PEERS[row["kind"]](row["sizes"], args)
    found = {"name": row["name"], "ours": {}, "peers": {}, **work}
    stream = torch.cuda.current_stream().cuda_stream
    wanted = want()
    if not isinstance(wanted, dict):
        wanted = {"": [wanted]}
    best = {}
    for module in row["modules"]:
        part, choice = module["part"], f"{module['part']} {module['blocks']}".strip()
        try:
            program, results, seconds = bound(folder, module, inputs_again(row, args, module))
            for result in results:
                result.fill_(float("nan"))
            program.launch(stream)
            program.wait()
            error = max(error_of(*pair) for pair in zip(results, wanted[part], strict=True))
            (us,) = clock.medians([lambda: program.launch(stream)], 5)
        except Exception as e:
            found["ours"][choice] = {"failed": str(e)[:300]}
            continue
        found["ours"][choice] = {"us": us, "error": error, "compile": seconds}
        if error < 2e-2 and (part not in best or us < best[part][0]):
            best[part] = us, choice, program
    usable = {}
    for name, run in peers.items():
        try:
            run()
            usable[name] = run
        except Exception as e:
            found["peers"][name] = {"failed": str(e)[:200]}

    def ours():
        for _, _, program in best.values():
            program.launch(stream)

    complete = best.keys() == wanted.keys()
    medians = clock.medians(list(usable.values()) + [ours] * complete, times)
    for name, us in zip(usable, medians):
        found["peers"][name] = {"us": us}
    if complete:
        found["best"] = {"blocks": ", ".join(choice for _, choice, _ in best.values()), "us": medians[-1]}
    return found


def empty_kernel():
    """A function that launches an empty kernel with the driver alone."""
    from cuda.bindings import driver
    ptx = b".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry nothing() { ret; }\0"
    error, module = driver.cuModuleLoadData(ptx)
    error, function = driver.cuModuleGetFunction(module, b"nothing")
    return lambda: driver.cuLaunchKernel(function, 1, 1, 1, 128, 1, 1, 0, 0, 0, 0)


def measure_launches(folder, row):
    """Microseconds per launch, averaged over many; milliseconds to compile for the first time and again."""
    module = row["modules"][0]
    program, _, first = bound(folder, module, inputs(row, module))
    graph = load(folder, module)
    again = []
    for _ in range(5):
        begin = time.perf_counter()
        graph.compile(target="cuda")
        again.append(time.perf_counter() - begin)
    x, out = torch.randn(1, 128, device="cuda"), torch.empty(1, 128, device="cuda")
    runs = {"Smalti": program.launch, "PyTorch": lambda: torch.add(x, 1, out=out)}
    try:
        runs["the driver, from Python"] = empty_kernel()
    except Exception as e:
        print("      no launches by the driver:", e)
    count, found = 2000, {name: [] for name in runs}
    for _ in range(7):
        for name, run in runs.items():
            torch.cuda.synchronize()
            begin = time.perf_counter()
            for _ in range(count):
                run()
            torch.cuda.synchronize()
            found[name].append((time.perf_counter() - begin) / count * 1e6)
    found = {name: statistics.median(f) for name, f in found.items()}
    print(row["name"] + ": " + ", ".join(f"{name} {us:.2f} us" for name, us in found.items()) +
          f"; compiled in {1e3 * first:.0f} ms, again in {1e3 * statistics.median(again):.1f} ms", flush=True)
    return {"name": row["name"], "launches": found, "compile_ms": 1e3 * first, "compile_again_ms": 1e3 * statistics.median(again)}


def inputs_again(row, args, module):
    """The inputs of another choice of blocks, with the same random numbers."""
    if row["kind"] == "attention backward":
        if module["part"] == "delta":
            return args[3:5]
        return args[:4] + [sums.reshape(parsed(module["arguments"][-1])[1]) for sums in args[5:]]
    if row["kind"] == "grouped":
        return given(module) + args[len(module["given"]):]
    if row["kind"] != "decode":
        return args
    pages = (len(module["arguments"]) - 3) // 2
    k, v = args[3], args[-1]
    return args[:3] + [k] * pages + [v] * pages


def line(found):
    us = found.get("best", {}).get("us")
    peer = min((p["us"] for p in found["peers"].values() if "us" in p), default=None)
    def rate(t):
        if not t:
            return "-"
        return f"{found['flops'] / t / 1e6:.0f} TFLOP/s" if "flops" in found else f"{found['bytes'] / t / 1e3:.0f} GB/s"
    ratio = f"{peer / us:.2f}" if us and peer else "-"
    ours = f"{us:.1f}" if us else "-"
    return f"{found['name']:42} {found.get('best', {}).get('blocks', '-'):16} {ours:>10} us {rate(us):>14} | {peer or 0:10.1f} us {rate(peer):>14} | {ratio}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("rows", type=pathlib.Path)
    parser.add_argument("--only", default="", help="rows whose name matches this pattern")
    parser.add_argument("--json", help="write all figures to this file")
    parser.add_argument("--times", type=int, default=15, help="runs of each")
    parser.add_argument("--seconds", type=float, default=1e9, help="no row begins after this time")
    a = parser.parse_args()
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = False
    clock = Clock()
    begin, all_found = time.time(), []
    big = torch.empty(1 << 30, dtype=torch.uint8, device="cuda")
    (us,) = clock.medians([lambda: big[: 1 << 29].copy_(big[1 << 29:])], 15)
    print(torch.cuda.get_device_name(), "PyTorch", torch.__version__, f"copy {2 * (1 << 29) / us / 1e3:.0f} GB/s", flush=True)
    del big
    for row in json.loads((a.rows / "rows.json").read_text()):
        if not re.search(a.only, row["name"]) or not row["modules"]:
            continue
        if time.time() - begin > a.seconds:
            print("out of time before", row["name"])
            break
        try:
            if row["kind"] == "launch":
                all_found.append(measure_launches(a.rows, row))
                continue
            found = measure(a.rows, row, clock, a.times)
        except Exception as e:
            print(f"{row['name']}: {type(e).__name__}: {str(e)[:300]}", flush=True)
            torch.cuda.synchronize()
            continue
        all_found.append(found)
        print(line(found), flush=True)
        for blocks, f in found["ours"].items():
            if "failed" in f or f["error"] > 2e-2:
                print("     ", blocks, f, flush=True)
        for name, f in found["peers"].items():
            if "failed" in f:
                print("     ", name, f, flush=True)
    if a.json:
        pathlib.Path(a.json).write_text(json.dumps(all_found, indent=1))
    print(subprocess.run(["nvidia-smi", "--query-gpu=clocks.sm,clocks.mem,power.draw,temperature.gpu", "--format=csv,noheader"], capture_output=True,
                         text=True).stdout)


if __name__ == "__main__":
    sys.exit(main())
