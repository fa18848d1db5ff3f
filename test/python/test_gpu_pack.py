"""What ./do pack gpu packs, and the program that runs it (tools/gpu/run_calls), with a CUDA driver without a GPU (fake_cuda.c)."""

import json
import os
import pathlib
import re
import stat
import subprocess

import ml_dtypes
import numpy as np
import pytest

from conftest import ROOT

CASES = ROOT / "test/data/cases"
PERIOD = 1048573


@pytest.fixture(scope="session")
def run_calls(tmp_path_factory, fake_cuda):
    """Runs the program with a fake driver: its exit status, and its lines after those that describe the GPU."""
    program = tmp_path_factory.mktemp("run_calls") / "run_calls"
    sources = sorted((ROOT / "tools/gpu/run_calls").glob("*.c"))
    subprocess.run(["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", program, *sources, "-ldl", "-lm"], check=True)

    def run(*arguments, mode="works", **more):
        done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, env={**os.environ, **fake_cuda(mode), **more})
        assert done.returncode in (0, 1), (done.returncode, done.stdout, done.stderr)
        head, clocks, *lines, seconds = done.stdout.splitlines()
        assert seconds.endswith(" s in all") and head.startswith("a fake, compute capability ") and clocks == "clocks: up to 1980 MHz, memory 2619 MHz; L2 cache 50 MiB"
        return done.returncode, lines

    run.program, run.environment = program, fake_cuda
    return run


def ptxas(folder):
    """A ptxas that finds everything right, before any other: the environment in which it is found."""
    tool = folder / "lib/python3.99/site-packages/nvidia/cu99/bin/ptxas"
    tool.parent.mkdir(parents=True)
    tool.write_text('#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\nprintf "\\177ELF" >"$2"\n')
    tool.chmod(tool.stat().st_mode | stat.S_IEXEC)
    return {"VIRTUAL_ENV": str(folder)}


def test_calls_are_kept_for_a_gpu(run, run_calls, tmp_path):
    done = run("run", CASES / "alias_partial_update", "--target", f"cuda-host:{tmp_path}/calls", env=ptxas(tmp_path / "tools"))
    assert done.returncode == 0, done.stderr
    (call,) = (tmp_path / "calls").iterdir()
    text = (call / "call.txt").read_text()
    assert text == "".join(["smalti-gpu-call 4\n", *(f"code {a} points 2 threads 256 shared 4096 workspace 0 files cubin,ptx\n" for a in
                                                      ("sm_80", "sm_86", "sm_90a")), "alias 0\n", "result 16384 i32 file\n", "end\n"])
    assert {p.name for p in call.iterdir()} == {"call.txt", "result0.bin", "result0.before.bin",
                                                *(f"kernel.{a}.{e}" for a in ("sm_80", "sm_86", "sm_90a") for e in ("ptx", "cubin"))}
    # Nothing computes here: the result is as it was before.
    status, (line, _) = run_calls(tmp_path / "calls")
    assert status == 1 and line == f"FAILED {call}: result 0: 2048 elements differ, the first is element 1024"
    before, after = (call / "result0.before.bin"), (call / "result0.bin")
    before.write_bytes(after.read_bytes())
    report = tmp_path / "report.json"
    status, (line, last) = run_calls("--json", report, tmp_path / "calls")
    assert json.loads(report.read_text())["calls"][0]["folder"] == str(call)
    assert status == 0 and line.startswith(f"ok     {call}   2 blocks of 256 threads, cubin sm_90a, ") and last == "1 calls, 0 failed"


def test_a_machine_without_a_driver(run_calls):
    if pathlib.Path("/dev/nvidiactl").exists():
        pytest.skip("this machine has a GPU")
    said = subprocess.run([run_calls.program, "calls"], capture_output=True, text=True)
    assert (said.returncode, said.stdout) == (2, "there is no NVIDIA driver here: libcuda.so.1 cannot be loaded\n")


CALL = """smalti-gpu-call 4
code sm_80 points 4 threads 256 shared 0 workspace 0 files cubin,ptx
code sm_90a points 4 threads 128 shared 0 workspace 0 files cubin,ptx
map sm_90a array 0 bytes 4 extents 32,2 box 32,2
operand 256 file
result 16 f32 file
end
"""


@pytest.fixture
def call(tmp_path):
    """A call whose kernel computes nothing."""
    folder = tmp_path / "call"
    folder.mkdir()
    (folder / "call.txt").write_text(CALL)
    for architecture in ("sm_80", "sm_90a"):
        (folder / f"kernel.{architecture}.ptx").write_text(".entry smalti_kernel")
        (folder / f"kernel.{architecture}.cubin").write_bytes(b"\177ELF\0")
    (folder / "operand0.bin").write_bytes(bytes(256))
    for file in ("result0.bin", "result0.before.bin"):
        (folder / file).write_bytes(np.arange(4, dtype=np.float32).tobytes())
    return folder


@pytest.mark.parametrize("mode, code", [("works", "cubin sm_90a"), ("a100", "cubin sm_80"), ("ptx", "PTX sm_90a (cubin refused: error 209)")])
def test_the_code_of_the_gpu_is_taken(run_calls, call, mode, code):
    status, (line, _) = run_calls(call, mode=mode)
    assert status == 0 and f", {code}, " in line, line


@pytest.mark.parametrize("files, code", [("ptx", "PTX sm_80"), ("cubin,ptx", "PTX sm_80")])
def test_older_code_is_assembled_for_newer_gpus(run_calls, call, files, code):
    """A cubin runs on GPUs of its major version only."""
    (call / "call.txt").write_text("".join(line for line in CALL.replace("cubin,ptx", files).splitlines(True) if "sm_90a" not in line))
    status, (line, _) = run_calls(call)
    assert status == 0 and f", {code}, " in line, line


@pytest.mark.parametrize("old, new, reason", [
    ("call 4", "call 99", "of version 99, and this program reads version 4"),
    ("smalti-gpu-call 4\n", "", "not the description of a call"),
    ("result 16 f32 file\nend\n", "", "incomplete: there is no line 'end'"),
    ("result 16 f32 file\n", "", "no results"),
    ("end\n", "en", "line 7: not understood"),
    ("end\n", "end\nend\n", "line 8: something after the end"),
    ("points 4 threads 256", "points 4 threads 0", "line 2: threads must be whole warps of 32"),
    ("points 4 threads 256", "points -4 threads 256", "line 2: not a launch"),
    ("points 4 threads 256", "points 99999999999999999999 threads 256", "line 2: not a launch"),
    ("workspace 0 files", "workspace -100 files", "line 2: not a launch"),
    ("cubin,ptx\ncode", "sass\ncode", "line 2: without files"),
    ("cubin,ptx\ncode", "ptx and more\ncode", "line 2: more than expected"),
    ("code sm_90a", "code sm_80", "line 3: the architecture is there already"),
    ("code sm_90a", "code gfx90a", "line 3: not an architecture"),
    ("map sm_90a", "map sm_86", "line 4: a tensor map for code that is not there"),
    ("array 0", "array 99999999", "line 4: not a tensor map"),
    ("array 0", "array 7", "a tensor map of array 7, and there are 2"),
    ("bytes 4 extents", "bytes 3 extents", "line 4: a tensor map of impossible sizes"),
    ("extents 32,2", "extents 64,2", "a tensor map of more bytes than array 0 has"),
    ("extents 32,2", "extents 32", "line 4: a tensor map of impossible sizes"),
    ("extents 32,2", "extents 1,1,1,1,1,1", "line 4: not a tensor map"),
    ("map sm_90a array 0 bytes 4 extents 32,2 box 32,2\n", "map sm_90a array 0 bytes 4 extents 32,2 box 32,2\n" * 33, "line 36: too many tensor maps"),
    ("operand 256 file", "operand -5 file", "line 5: not a number of bytes"),
    ("operand 256 file", "operand 256 somewhere", "line 5: neither file nor random nor as"),
    ("operand 256 file", "operand 256 as 0", "line 5: not the number of an earlier operand"),
    ("operand 256 file", "operand 256 random i32 0 1", "line 5: not a type, a centre and a radius"),
    ("operand 256 file", "alias 999999", "line 5: not the number of a result"),
    ("operand 256 file", "alias 3", "operand 0 is an alias of result 3, and there are 1"),
    ("operand 256 file\n", "operand 256 file\n" * 300, "line 261: too many arrays"),
    ("result 16 f32", "result 16 f31", "line 6: an unknown type"),
    ("result 16 f32", "result 15 f32", "line 6: not a whole number of elements"),
    ("f32 file", "f32 computed", "result 0 has no file to compare with"),
])
def test_malformed_descriptions_are_refused(run_calls, call, old, new, reason):
    assert CALL.count(old) >= 1
    (call / "call.txt").write_text(CALL.replace(old, new, 1))
    status, lines = run_calls(call)
    separator = ", " if reason.startswith("line ") else ": "
    assert (status, lines) == (1, [f"FAILED {call}: call.txt{separator}{reason}", "1 calls, 1 failed"])


def test_all_types_are_known(run_calls, call, tmp_path):
    """Those of results inside kernels, which are not complex, with the bytes of their elements."""
    types = re.findall(r'\{"(\w+)", \d+, (\d+), Kind::(?!complex)', (ROOT / "src/base/DType.cpp").read_text())
    assert len(types) == 25
    for name, size in types:
        (tmp_path / name).mkdir()
        for file in call.iterdir():
            (tmp_path / name / file.name).write_bytes(file.read_bytes())
        (tmp_path / name / "call.txt").write_text(CALL.replace("result 16 f32", f"result 16 {name}"))
    assert run_calls(*(tmp_path / name for name, _ in types))[1][-1] == "25 calls, 0 failed"
    for name, size in types:
        (tmp_path / name / "call.txt").write_text(CALL.replace("result 16 f32", f"result {16 + int(size) // 2} {name}"))
    failed = sum(size != "1" for _, size in types)
    lines = run_calls(*(tmp_path / name for name, _ in types))[1]
    assert sum("not a whole number of elements" in line for line in lines) == failed


@pytest.mark.parametrize("bytes_before_the_end", range(1, len("result 16 f32 file\nend\n"), 4))
def test_a_truncated_description_is_refused(run_calls, call, bytes_before_the_end):
    (call / "call.txt").write_text(CALL[:-1 - bytes_before_the_end])
    status, (line, _) = run_calls(call)
    assert status == 1 and line.startswith(f"FAILED {call}: call.txt")


@pytest.mark.parametrize("file, content, reason", [
    ("call.txt", b"\0\1\2", "call.txt: not text"),
    ("operand0.bin", None, "operand0.bin: No such file or directory"),
    ("operand0.bin", bytes(100), "operand0.bin: 100 bytes, and call.txt says 256"),
    ("operand0.bin", "folder", "operand0.bin: cannot be read"),
    ("result0.before.bin", None, "result0.before.bin: No such file or directory"),
    ("result0.bin", None, "result0.bin: No such file or directory"),
    ("result0.bin", bytes(17), "result0.bin: 17 bytes, and call.txt says 16"),
    ("kernel.sm_90a.cubin", None, "kernel.sm_90a.cubin: No such file or directory"),
    ("kernel.sm_90a.cubin", b"", "kernel.sm_90a.cubin: empty"),
])
def test_malformed_files_are_refused(run_calls, call, file, content, reason):
    (call / file).unlink()
    if content == "folder":
        (call / file).mkdir()
    elif content is not None:
        (call / file).write_bytes(content)
    assert run_calls(call) == (1, [f"FAILED {call}: {reason}", "1 calls, 1 failed"])


def test_ptx_that_is_malformed_or_not_there(run_calls, call):
    (call / "kernel.sm_90a.ptx").write_text(".entry")
    assert run_calls(call, mode="ptx") == (1, [f"FAILED {call}: kernel.sm_90a.ptx: the driver cannot assemble the kernel: error 218, no",
                                               "1 calls, 1 failed"])
    (call / "kernel.sm_90a.ptx").unlink()
    assert run_calls(call, mode="ptx")[1][0] == f"FAILED {call}: kernel.sm_90a.ptx: No such file or directory"


def test_folders_without_calls_fail(run_calls, tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "back").symlink_to(tmp_path)
    assert run_calls(tmp_path) == (1, [f"FAILED {tmp_path}/empty: call.txt: No such file or directory", "1 calls, 1 failed"])
    assert run_calls(tmp_path / "none")[1][0] == f"FAILED {tmp_path}/none: No such file or directory"


@pytest.mark.parametrize("mode, reason", [
    ("small", "call.txt: no code for compute capability 7.0; the first is for sm_80"),
    ("full", "the driver cannot allot memory: error 2, out of memory"),
    ("early", "the kernel ended early: 1"),
    ("faulty", "the driver cannot run the kernel to its end: error 700, an illegal memory access was encountered"),
    ("later", "the driver cannot run the kernel to its end: error 700, an illegal memory access was encountered"),  # in the launches that are timed
    ("hanging", "the kernel has not ended after 0.1 s"),
    ("ending", "the process was ended by a signal"),
])
def test_what_the_driver_refuses(run_calls, call, tmp_path, mode, reason):
    """A kernel that faults or hangs takes the GPU from its process: another one continues."""
    report = tmp_path / "report.json"
    failed = f"FAILED {call}: {reason}"
    assert run_calls("--kernel-seconds", "0.1", "--json", report, call, call, mode=mode) == (1, [failed, failed, "2 calls, 2 failed"])
    assert json.loads(report.read_text())["calls"] == [{"folder": str(call), "failed": reason}] * 2


def test_nothing_begins_after_its_time(run_calls, call):
    assert run_calls("--seconds", 0, call) == (1, [f"FAILED {call}: not run: there was no time", "1 calls, 1 failed"])


INF, NAN = np.inf, np.nan


@pytest.mark.parametrize("want, got, is_right", [
    (INF, INF, True), (INF, 1.0, False), (INF, -INF, False), (1.0, INF, False), (-INF, -INF, True), (INF, NAN, False), (NAN, INF, False),
    (NAN, NAN, True), (NAN, 1.0, False), (1.0, NAN, False), (1.0, 1 + 1e-6, True), (1.0, 1.001, False), (1e6, 1e6 + 1, True), (0.0, -0.0, True)])
@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16, np.float16])
def test_results_are_compared(run_calls, call, dtype, want, got, is_right):
    if want == 1e6 and dtype == np.float16:
        want, got = want / 100, got / 100  # f16 ends at 65504
    name = {"float32": "f32", "bfloat16": "bf16", "float16": "f16"}[np.dtype(dtype).name]
    (call / "call.txt").write_text(CALL.replace("16 f32", f"{4 * np.dtype(dtype).itemsize} {name}"))
    for file, value in (("result0.bin", want), ("result0.before.bin", got)):
        (call / file).write_bytes(np.array([0, value, 0, 0]).astype(dtype).tobytes())
    if dtype != np.float32 and want == 1 and got == 1.001:
        is_right = True  # 16 bits
    status, (line, _) = run_calls(call)
    assert (status == 0) == is_right, line
    if not is_right:
        assert line.startswith(f"FAILED {call}: result 0: 1 elements differ, the first is element 1: ")


def mixed(h):
    h = h.astype(np.uint32)
    h ^= h >> np.uint32(16)
    h *= np.uint32(0x85ebca6b)
    h ^= h >> np.uint32(13)
    h *= np.uint32(0xc2b2ae35)
    return h ^ h >> np.uint32(16)


DTYPES = {"f32": np.float32, "bf16": ml_dtypes.bfloat16, "f8e4m3fn": ml_dtypes.float8_e4m3fn}


def generated(number, dtype, shape, centre=0.0, radius=1.0):
    """As tools/gpu/run_calls/generate.h describes it."""
    i = np.arange(np.prod(shape), dtype=np.int64) % PERIOD
    start = mixed(np.array([number + 1]))
    u = (mixed(i.astype(np.uint32) ^ start) >> np.uint32(8)).astype(np.float64) / 2**23 - 1
    return (centre + radius * u).astype(np.float32).astype(DTYPES[dtype]).astype(np.float64).reshape(shape)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


ATTENTION = (2, 2, 96, 16)  # batch, heads, length, size
ATTENTION_SIZES = "batch=2 heads=2 length=96 size=16"


def attention(arrays, causal):
    q, k, v = arrays[:3]
    scores = q @ k.swapaxes(2, 3) / 4
    return softmax(np.where(np.tri(96, dtype=bool), scores, -np.inf) if causal else scores) @ v


def weights(arrays, causal):
    q, k, v, d, logarithms, delta = arrays
    p = np.exp2(q @ k.swapaxes(2, 3) / 4 * np.log2(np.e) - logarithms.reshape(2, 2, 96, 1))
    p = p * np.tri(96) if causal else p
    return p, p * (d @ v.swapaxes(2, 3) - delta.reshape(2, 2, 96, 1))


def keys(arrays, causal):
    p, e = weights(arrays, causal)
    return [e.swapaxes(2, 3) @ arrays[0] / 4, p.swapaxes(2, 3) @ arrays[3]]


def grouped(x, y):
    return np.concatenate([x[begin:end] @ y[g] for g, (begin, end) in enumerate([(0, 7), (7, 7), (7, 40)])])


def decode(q, k, v):
    """Of 2 sequences of 2 pages of 8, with 16 and 9 keys."""
    table = np.array(DECODE[1]).reshape(2, 2)
    result = np.zeros(q.shape)
    for b, length in enumerate(DECODE[0]):
        keys, values = (x[:, table[b]].reshape(2, 16, 16)[:, :length] for x in (k, v))
        result[b] = softmax(q[b] @ keys.swapaxes(1, 2) / 4) @ values
    return result


DECODE = ([16, 9], [3, 0, 2, 1])
FOUR = [("bf16", ATTENTION)] * 4
CHECKS = {  # kind and sizes: operands, the function of them, results
    "matmul m=40 n=96 k=200 transposed=0": ([("bf16", (40, 200)), ("bf16", (200, 96))], np.matmul, "bf16"),
    "matmul m=20 n=30 k=64 transposed=1": ([("f8e4m3fn", (20, 64)), ("f8e4m3fn", (30, 64))], lambda x, y: x @ y.T, "bf16"),
    "matmul m=1200 n=8 k=1000 transposed=0": ([("f32", (1200, 1000)), ("f32", (1000, 8))], np.matmul, "f32"),  # more than a period
    "grouped m=40 n=24 k=32 groups=3 end0=7 end1=7 end2=40": ([("bf16", (40, 32)), ("bf16", (3, 32, 24))], grouped, "bf16"),
    "softmax rows=20 columns=50": ([("f32", (20, 50))], softmax, "f32"),
    "chain rows=20 columns=50": ([("bf16", (20, 50))], lambda x: x / (1 + np.exp(-1.702 * x)) + 1, "bf16"),
    "rms_norm rows=20 columns=50": ([("bf16", (20, 50)), ("bf16", (1, 50))],
                                    lambda x, w: x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-5) * w, "bf16"),
    "layer_norm rows=20 columns=50": ([("f32", (20, 50)), ("f32", (1, 50)), ("f32", (1, 50))],
                                      lambda x, w, b: (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * w + b, "f32"),
    f"attention {ATTENTION_SIZES} causal=0": (FOUR[:3], lambda *a: attention(a, False), "bf16"),
    f"attention {ATTENTION_SIZES} causal=1": (FOUR[:3], lambda *a: attention(a, True), "bf16"),
    f"queries {ATTENTION_SIZES} causal=0": (FOUR + [("f32", (2, 2, 96, 1))] * 2, lambda *a: weights(a, False)[1] @ a[1] / 4, "bf16"),
    f"queries {ATTENTION_SIZES} causal=1": (FOUR + [("f32", (2, 2, 96, 1))] * 2, lambda *a: weights(a, True)[1] @ a[1] / 4, "bf16"),
    f"keys {ATTENTION_SIZES} causal=0": (FOUR + [("f32", (2, 2, 1, 96))] * 2, lambda *a: keys(a, False), "bf16"),
    f"keys {ATTENTION_SIZES} causal=1": (FOUR + [("f32", (2, 2, 1, 96))] * 2, lambda *a: keys(a, True), "bf16"),
    f"delta {ATTENTION_SIZES}": (FOUR[:2], lambda x, y: (x * y).sum(-1), "f32"),
    "decode batch=2 heads=4 key_heads=2 length=16 page=8 size=16": (
        [("bf16", (2, 2, 2, 16)), ("bf16", (2, 4, 8, 16)), ("bf16", (2, 4, 8, 16))], decode, "bf16"),
}


def benchmark(folder, check, row="a row", part="", work="flops 2e9"):
    """A benchmark of the check, and what its results should be."""
    operands, function, dtype = CHECKS[check]
    folder.mkdir(parents=True)
    stored = DECODE if check.startswith("decode") else ()
    lines = ["smalti-gpu-call 4", "code sm_80 points 4 threads 128 shared 0 workspace 0 files ptx"]
    for i, values in enumerate(stored):
        (folder / f"operand{i}.bin").write_bytes(np.array(values, np.int32).tobytes())
        lines.append(f"operand {4 * len(values)} file")
    arrays = []
    for i, (of, shape) in enumerate(operands, len(stored)):
        centre, radius = (3, 1) if len(operands) == 6 and i == 4 else (0, 2) if i == 0 else (0, 1)
        arrays.append(generated(i, of, shape, centre, radius))
        lines.append(f"operand {arrays[-1].size * np.dtype(DTYPES[of]).itemsize} random {of} {centre} {radius}")
    results = function(*arrays)
    results = [r.astype(np.float32).astype(DTYPES[dtype]) for r in (results if isinstance(results, list) else [results])]
    lines += [f"result {r.nbytes} {dtype} computed" for r in results]
    lines += [f"row {row}", *([f"part {part}"] if part else []), "blocks 2 × 3", f"work {work}", f"check {check}", "end", ""]
    (folder / "call.txt").write_text("\n".join(lines))
    (folder / "kernel.sm_80.ptx").write_text(".entry smalti_kernel")
    return len(stored) + len(operands), results


def give(folder, first, results):
    """What the kernel is to compute."""
    folder.mkdir(exist_ok=True)
    for i, result in enumerate(results, first):
        (folder / f"{i}.bin").write_bytes(result.tobytes())
    return {"FAKE_CUDA_ARRAYS": str(folder)}


@pytest.mark.parametrize("check", CHECKS)
def test_results_of_benchmarks_are_checked(run_calls, tmp_path, check):
    first, results = benchmark(tmp_path / "kernels/1", check)
    command = ["--benchmark", tmp_path / "kernels", "--buffer", 1]
    status, lines = run_calls(*command, **give(tmp_path / "results", first, results))
    assert status == 0 and " ok, error " in lines[4], lines
    assert lines[-1] == "1 kernels, 0 failed, 0 left out"
    # The last row of each result is among the samples.
    for r in range(len(results)):
        wrong = [x.copy() for x in results]
        wrong[r].reshape(-1)[-1] = -3 * float(wrong[r].reshape(-1)[-1]) - 1
        status, lines = run_calls(*command, **give(tmp_path / "results", first, wrong))
        assert status == 1 and lines[4].endswith("  FAILED") and "wrong " in lines[5], lines
        wrong[r].reshape(-1)[0] = np.nan
        status, lines = run_calls(*command, **give(tmp_path / "results", first, wrong))
        assert status == 1 and lines[5].endswith(f"result {r}: 1 elements are NaN or were not written"), lines


def test_the_benchmark_prints_a_table(run_calls, tmp_path):
    kernels, report = tmp_path / "kernels", tmp_path / "report.json"
    for i, part in enumerate(("one", "one", "two")):
        first, results = benchmark(kernels / str(i), "matmul m=40 n=96 k=200 transposed=0", "products", part)
    benchmark(kernels / "3", "matmul m=40 n=96 k=200 transposed=0", "moves × 4", work="bytes 1e6")
    text = (kernels / "3/call.txt").read_text()
    (kernels / "3/call.txt").write_text(text.replace("check matmul m=40 n=96 k=200 transposed=0\n", ""))
    # The fake driver's times are all 1 ms.
    status, lines = run_calls("--benchmark", kernels, "--buffer", 4, "--json", report, **give(tmp_path / "results", first, results))
    assert status == 0
    assert [" ".join(line.split()) for line in lines[:-1]] == [
        "", "a copy of 4 MiB: 8 GB/s, counting reads and writes; each time is the median of 7", "",
        "kernel blocks code us rate of copy results",
        *[f"products, {part} 2 × 3 PTX sm_80 1000.0 2 TFLOP/s - ok, error 2.1e-03 of 512 elements" for part in ("one", "one", "two")],
        "products all parts 2000.0",
        "moves × 4 2 × 3 PTX sm_80 1000.0 1 GB/s 0.12 not verified"]
    assert len({line.index(" PTX sm_80 ") for line in lines if "PTX" in line}) == 1
    kept = json.loads(report.read_text())
    assert (kept["gpu"], kept["capability"], kept["driver"], kept["clock_mhz"]) == ("a fake", 9, 12.4, 1980)
    assert [(r["row"], r["part"], r["us"]) for r in kept["benchmark"]] == [
        ("products", "one", 1000), ("products", "one", 1000), ("products", "two", 1000), ("products", "all", 2000), ("moves × 4", "", 1000)]
    status, lines = run_calls("--benchmark", kernels, "--buffer", 1, "--seconds", 0)
    assert status == 0 and lines[-1] == "4 kernels, 0 failed, 4 left out"


@pytest.mark.parametrize("old, new, reason", [
    ("row a row\n", "", "call.txt: not of a benchmark: there is no line 'row'"),
    ("work flops", "work hours", "call.txt, line 7: not an amount of work"),
    ("check softmax", "check hardmax", "call.txt: an unknown check: 'hardmax'"),
    ("columns=50", "", "call.txt: the check 'softmax' needs 'columns'"),
    ("columns=50", "columns=0", "call.txt: the check has an impossible size"),
    ("rows=20", "rows=30", "call.txt: the check's sizes exceed the result's"),
    ("columns=50", "columns", "call.txt, line 8: not a list of sizes"),
])
def test_malformed_benchmarks_are_refused(run_calls, tmp_path, old, new, reason):
    folder = tmp_path / "kernels/1"
    first, results = benchmark(folder, "softmax rows=20 columns=50")
    (folder / "call.txt").write_text((folder / "call.txt").read_text().replace(old, new))
    status, lines = run_calls("--benchmark", tmp_path / "kernels", "--buffer", 1, **give(tmp_path / "results", first, results))
    assert status == 1 and f"FAILED {folder}: {reason}" in lines, lines


@pytest.mark.parametrize("mode", ["faulty", "hanging", "ending"])
def test_benchmarks_go_on_after_a_fault(run_calls, tmp_path, call, mode):
    """Here even the copy that is measured first: there is no benchmark, but the calls have run."""
    benchmark(tmp_path / "kernels/1", "softmax rows=20 columns=50")
    said = subprocess.run([run_calls.program, "--benchmark", tmp_path / "kernels", "--buffer", "1", "--kernel-seconds", "0.1", call],
                          capture_output=True, text=True, env={**os.environ, **run_calls.environment(mode)})
    assert "1 calls, 1 failed\n" in said.stdout
    if mode == "ending":
        assert said.returncode == 1 and "1 kernels, 1 failed, 0 left out\n" in said.stdout
    else:
        assert said.returncode == 2 and "\nno benchmark: the " in said.stdout


@pytest.mark.parametrize("arguments", [[], ["--times", "none", "calls"], ["--times", "0", "calls"], ["--json"], ["--what", "1", "calls"]])
def test_options_that_are_not_there(run_calls, arguments):
    said = subprocess.run([run_calls.program, *arguments], capture_output=True, text=True)
    assert said.returncode == 2 and said.stdout.startswith("usage: run_calls [--benchmark FOLDER] ")


def test_benchmarks_are_packed(run_calls, bin_dir, tmp_path):
    """One of bench/cuda, as the program reads it; nothing computes."""
    if not (bin_dir / "bench_cuda_pack").exists():
        pytest.skip("the benchmarks are not built")
    subprocess.run([bin_dir / "bench_cuda_kernels", tmp_path / "rows"], check=True, capture_output=True)
    subprocess.run([bin_dir / "bench_cuda_pack", tmp_path / "rows", tmp_path / "kernels", "grouped"], check=True, capture_output=True,
                   env={**os.environ, **ptxas(tmp_path / "tools"), "XDG_CACHE_HOME": str(tmp_path)})
    (folder,) = (tmp_path / "kernels").iterdir()
    text = (folder / "call.txt").read_text()
    # Before sm_90a, blocks are divided: there are more points.
    assert [line.split()[1:4:2] for line in text.splitlines() if line.startswith("code ")] == [["sm_80", "1088"], ["sm_86", "2176"], ["sm_90a", "1088"]]
    assert text.endswith(
        "\noperand 67108864 random bf16 0 1\noperand 268435456 random bf16 0 1\nresult 67108864 bf16 computed\n"
        "row grouped bf16 8192 × 4096 × 4096, 8 groups\nblocks 128 × 256 × 64\nwork flops 274877906944\n"
        "check grouped k=4096 m=8192 n=4096 groups=8 end0=1365 end1=2048 end2=3413 end3=4096 end4=5461 end5=6144 end6=7509 end7=8192\nend\n")
    status, lines = run_calls("--benchmark", tmp_path / "kernels", "--buffer", 1)
    assert status == 1 and " cubin sm_90a " in lines[4] and lines[5] == f"FAILED {folder}: result 0: 33554432 elements are NaN or were not written"
