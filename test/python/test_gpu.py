"""Code for NVIDIA GPUs, without one: run by this process (cuda-host), and assembled by ptxas where that is installed."""

import json
import os
import pathlib
import re
import shutil
import sys

import numpy as np
import pytest

from conftest import ROOT, bf16_array, tool_environment

CASES = ROOT / "test/data/cases"
# What has no code for GPUs yet, and why. Everything else below test/data/cases must run and agree with what JAX computed.
DEVICES = "a kernel that asks which device it is on, copies to another or signals it"
REFUSED = {
    "dist_all_reduce_ring": DEVICES,
    "dist_right_permute_barrier": DEVICES,
}


def test_what_is_refused_is_listed_for_gpus():
    assert (ROOT / "test/data/gpu_refused.txt").read_text().split() == sorted(REFUSED)


@pytest.mark.parametrize("seed", ["0", "7", "8", "9"])
def test_recorded_kernels_agree(run, seed):
    """Threads run in the order of their numbers, and in others, and products end early or late: no result depends on it."""
    done = run("conform", CASES, "--target", "cuda-host", "--seed", seed, "--json")
    cases = {c["case"]: c for c in json.loads(done.stdout)["cases"]}
    assert {n for n, c in cases.items() if c["status"] == "refused"} == set(REFUSED)
    assert all(cases[n]["code"] == "SM7201" for n in REFUSED)
    assert {n for n, c in cases.items() if c["status"] not in ("pass", "refused", "ran")} == set()


@pytest.mark.parametrize("case", REFUSED)
def test_sm7201_says_what_is_missing(run, case):
    done = run("run", CASES / case, "--target", "cuda-host")
    assert done.returncode == 3
    assert done.stderr.startswith("error[SM7201]: part of the kernel has no code for GPUs yet\n")
    assert f"  have: {REFUSED[case]}\n" in done.stderr
    assert done.stderr.endswith("  help: run it with --target cpu or interpret, or write this part with other ops\n")


@pytest.mark.parametrize("option", [["--semantics", "hlo"], ["--cores", "2"]])
def test_sm7202_options_of_the_machine(run, option):
    done = run("run", CASES / "add_grid_1d", "--target", "cuda-host", *option)
    what = " ".join(option) if option[0] != "--cores" else "--cores"
    assert done.stderr == (f"error[SM7202]: {what} is for the abstract machine: code for GPUs computes as --target cpu does\n"
                           "   in kernel 'add_k'\n  help: omit it, or choose --target interpret\n")


@pytest.mark.parametrize("kernel", ["place_after_branch", "reduction_onto_memory"])
@pytest.mark.parametrize("seed", ["0", "7", "8"])
def test_barriers_stand_where_memory_changes_hands(run, tmp_path, kernel, seed):
    """The threads of a block do not overtake each other: results are those of the abstract machine."""
    results = []
    for target in ("interpret", "cuda-host"):
        done = run("run", ROOT / f"test/data/gpu/{kernel}.mlir", "--in", "f32[256,128]", "--in", "f32[256,128]", "--out-shape",
                   "f32[256,128]", "--fill", "random", "--seed", seed, "--out", target, "--target", target)
        assert done.returncode == 0, done.stderr
        results.append(np.load(tmp_path / target / "out0.npy"))
    np.testing.assert_allclose(*results, rtol=1e-5, atol=1e-5)


def test_faults_are_explained_by_the_machine(run, tmp_path):
    """The code stops where an index leads out of a ref, and the machine says where: the same words as without a GPU."""
    assert run("run", CASES / "block_sparse_matmul", "--target", "cuda-host", "--step-limit", "3").stderr == run(
        "run", CASES / "block_sparse_matmul", "--step-limit", "3").stderr != ""


@pytest.mark.parametrize("seed", ["0", "2", "3", "7"])
def test_blocks_end_after_their_copies(run, tmp_path, seed):
    """A step of a product whose operands are being copied ahead loads from outside its block: the copies still end before the block."""
    sys.path.insert(0, str(ROOT / "test/data/gpu"))
    from products import kernel

    space = "#tpu.memory_space<vmem>"
    load = f"""    %thirty = arith.constant 30 : i32
    %row = arith.muli %k, %thirty : i32
    %at = arith.index_cast %row : i32 to index
    %one = vector.load %x[%at, %c0] : memref<128x64xbf16, {space}>, vector<1x64xbf16>
    tpu.vector_store %z[%c0, %c0], %one {{strides = array<i32>}} : memref<128x128xbf16, {space}>, vector<1x64xbf16>,
    return
"""
    (tmp_path / "product.mlir").write_text(kernel(128, 128, 2048, 128, 128, 64, "bf16").replace("    return\n", load, 1))
    arguments = ["product.mlir", "--in", "bf16[128,2048]", "--in", "bf16[2048,128]", "--out-shape", "bf16[128,128]", "--fill", "random"]
    shown = run("show", *arguments[:-2], "--target", "cuda:h100").stdout
    assert "4 stages of 32,768 bytes, by an extra thread, in boxes" in shown, shown
    host, machine = (run("run", *arguments, "--target", target, "--seed", seed) for target in ("cuda-host", "interpret"))
    assert (host.stderr, host.returncode) == (machine.stderr, machine.returncode) and "SM4010" in host.stderr


def test_ptx_is_shown(run):
    done = run("show", CASES / "flash_attention_causal_f32", "--target", "cuda:h100", "--stage", "ptx")
    assert done.returncode == 0, done.stderr
    assert ".target sm_90a" in done.stdout and ".entry smalti_kernel(" in done.stdout
    for instruction in ("cp.async.bulk.tensor.2d", "shfl.sync.bfly.b32", "ld.shared.v4", "st.global", "fma.rn.f32"):
        assert instruction in done.stdout, instruction


def test_mbarriers_are_published_before_copies_of_boxes_use_them(run):
    """PTX ISA, "Async Proxy": the copies must see the initial values."""
    shapes = [word for shape in ("1,2,128,64", "1,2,256,64", "1,2,256,64") for word in ("--in", f"bf16[{shape}]")]
    ptx = run("show", ROOT / "test/data/gpu/attention.mlir", *shapes, "--out-shape", "bf16[1,2,128,64]", "--target", "cuda:h100", "--stage", "ptx").stdout
    after = ptx[ptx.rindex("mbarrier.init"):]
    assert "fence.proxy.async" in after[:after.index("bar.sync")], after[:2000]


UNARY = ("acos acosh asin asinh atan atanh cbrt ceil cos cosh erf erfc exp exp2 expm1 floor log log10 log1p log2 round roundeven rsqrt sin "
         "sinh sqrt tan tanh trunc absf").split()


def kernel_of_functions():
    """z = the sum of all functions of x, of remainders, powers and conversions."""
    lines, last = [], "%x0"
    for i, name in enumerate(UNARY):
        lines += [f"%f{i} = math.{name} %x0 : vector<64x128xf32>", f"%s{i} = arith.addf {last}, %f{i} : vector<64x128xf32>"]
        last = f"%s{i}"
    lines += [f"%r = arith.remf {last}, %x0 : vector<64x128xf32>", f"%p = math.powf %x0, {last} : vector<64x128xf32>",
              "%a = math.atan2 %r, %p : vector<64x128xf32>", "%w = arith.fptosi %a : vector<64x128xf32> to vector<64x128xi32>",
              "%c = math.ctpop %w : vector<64x128xi32>", "%l = math.ctlz %c : vector<64x128xi32>",
              "%d = arith.divsi %w, %l : vector<64x128xi32>", "%zv = arith.sitofp %d : vector<64x128xi32> to vector<64x128xf32>"]
    text = (ROOT / "examples/new/kernel.mlir").read_text().replace("NAME", "functions")
    begin, end = text.index("    %two ="), text.index("    tpu.vector_store")
    load = "%x0 = vector.load %x[%c0, %c0] : memref<64x128xf32, #tpu.memory_space<vmem>>, vector<64x128xf32>"
    return text[:begin] + "".join(f"    {line}\n" for line in [load, *lines]) + text[end:]


def test_every_function_is_selected(run, tmp_path):
    """What native code makes of functions, the ones with code of their own (sin of large numbers) among them."""
    (tmp_path / "functions.mlir").write_text(kernel_of_functions())
    arrays = ["--in", "f32[256,128]", "--in", "f32[256,128]", "--out-shape", "f32[256,128]"]
    for gpu in ("sm_80", "sm_90a"):
        done = run("show", "functions.mlir", *arrays, "--target", f"cuda:{gpu}", "--stage", "ptx")
        assert done.returncode == 0 and f".target {gpu}" in done.stdout, done.stderr
    done = run("run", "functions.mlir", *arrays, "--fill", "random", "--target", "cuda-host")
    assert done.returncode == 0, done.stderr


def test_sm7203_unknown_gpus(run):
    done = run("show", CASES / "add_grid_1d", "--target", "cuda:sm_35", "--stage", "ptx")
    assert done.returncode == 3 and done.stderr.startswith("error[SM7203]: there is no code for a GPU named 'sm_35'\n  need: sm_80 (a100 a30)")
    done = run("run", CASES / "add_grid_1d", "--target", "cuda-host:h10")
    assert done.returncode == 3 and done.stderr == (
        "error[SM7203]: there is no code for a GPU named 'h10'\n"
        "  need: sm_80 (a100 a30), sm_86 (a10 a40 rtx3090 rtxa6000), sm_89 (l4 l40 l40s rtx4090), sm_90, sm_90a (h100 h200 gh200)\n"
        "  help: name one of these; a folder to keep calls in has a slash: cuda-host:./h10\n"), done.stderr


@pytest.mark.parametrize("name", ["b200", "SM_100a"])
def test_sm7203_gpus_with_tensor_cores_of_another_kind(run, name):
    assert run("show", CASES / "add_grid_1d", "--target", f"cuda:{name}", "--stage", "ptx").stderr == (
        f"error[SM7203]: there is no code for the tensor cores of '{name}' (tcgen05)\n"
        "  need: sm_80 (a100 a30), sm_86 (a10 a40 rtx3090 rtxa6000), sm_89 (l4 l40 l40s rtx4090), sm_90, sm_90a (h100 h200 gh200)\n"
        "  help: name sm_90: its code runs there, with the instructions for tensor cores of older GPUs\n")


def has_ptxas():
    packages = [pathlib.Path(p) for p in (os.environ.get("VIRTUAL_ENV", ""), os.environ.get("CUDA_HOME", "")) if p]
    found = [f for p in packages for f in [*p.glob("lib/python3*/site-packages/nvidia/*/bin/ptxas"), *p.glob("bin/ptxas")]]
    return bool(found) or shutil.which("ptxas") is not None


@pytest.mark.parametrize("gpu", ["sm_80", "sm_90a"])
@pytest.mark.skipif(not has_ptxas(), reason="ptxas is not installed here (pip install nvidia-cuda-nvcc): nothing assembles the PTX")
def test_every_recorded_kernel_is_assembled(run, gpu):
    for case in sorted(p.name for p in CASES.iterdir() if (p / "case.json").exists()):
        if case in REFUSED:
            continue
        done = run("show", CASES / case, "--target", f"cuda:{gpu}", "--stage", "all", "--json")
        assert done.returncode == 0, case + done.stderr
        for kernel in json.loads(done.stdout)["kernels"]:
            assert kernel["registers"] > 0 and kernel["spill_bytes"] == 0, (case, kernel)
            assert 0 < kernel["resident_warps"] <= kernel["most_warps"] == 64 and kernel["resident_blocks"] > 0, (case, kernel)


def product_run(run, tmp_path, target, m, n, k, blocks, dtype, lhs_t=False, rhs_t=False, form="scratch", seed="0", precision=None):
    sys.path.insert(0, str(ROOT / "test/data/gpu"))
    from products import kernel, result_type
    (tmp_path / "product.mlir").write_text(kernel(m, n, k, *blocks, dtype, lhs_t, rhs_t, form, precision))
    lhs, rhs = ((k, m) if lhs_t else (m, k)), ((n, k) if rhs_t else (k, n))
    made = result_type(dtype)
    done = run("run", "product.mlir", "--in", f"{dtype}[{lhs[0]},{lhs[1]}]", "--in", f"{dtype}[{rhs[0]},{rhs[1]}]", "--out-shape",
               f"{made}[{m},{n}]", "--fill", "random", "--seed", seed, "--out", "out", "--target", target)
    assert done.returncode == 0, done.stderr
    bits = np.load(tmp_path / "out/out0.npy")
    if made in ("i32", "f32"):
        return bits
    return bits.astype(np.float32) if dtype == "f16" else (bits.view(np.uint16).astype(np.uint32) << 16).view(np.float32)


@pytest.mark.parametrize("blocks", [(512, 512, 512), (1024, 256, 512), (256, 1024, 128)])
def test_blocks_for_tpus_are_divided(run, tmp_path, blocks):
    """Sums of 256 × 128 elements are in registers, as if the blocks had that size."""
    sys.path.insert(0, str(ROOT / "test/data/gpu"))
    from products import kernel
    (tmp_path / "product.mlir").write_text(kernel(2048, 2048, 1024, *blocks, "bf16"))
    shown = run("show", "product.mlir", "--in", "bf16[2048,1024]", "--in", "bf16[1024,2048]", "--out-shape", "bf16[2048,2048]", "--target", "cuda:h100")
    assert "and 0 of global memory for values, " in shown.stdout, shown
    assert f"  blocks are divided into parts, which are the steps of a grid of 8 x 16 x {1024 // blocks[2]}\n" in shown.stdout, shown
    assert "operands of a product are copied ahead over the steps of the grid: 4 stages of 49,152 bytes, " in shown.stdout, shown


PRODUCTS = [(128, 256, 192, (128, 128, 64)), (256, 128, 128, (128, 64, 128)), (64, 64, 320, (64, 64, 160)), (16, 8, 16, (16, 8, 16)),
            (96, 136, 80, (48, 136, 80)), (100, 70, 90, (64, 64, 90)), (256, 384, 64, (256, 384, 64)),
            # More points than blocks, and steps of one chunk: copies run ahead over several steps and points.
            (384, 256, 256, (64, 128, 64)), (192, 192, 384, (64, 64, 128)),
            # Points in two groups of columns.
            (80, 160, 16, (16, 8, 16))]


@pytest.mark.parametrize("form", ["scratch", "result", "reduced"])
@pytest.mark.parametrize("dtype", ["bf16", "f16"])
def test_products_by_tensor_cores(run, tmp_path, dtype, form):
    """All orders of the operands (two with each dtype), whole and partial tiles, copies and products that end early and late:
    as on the machine."""
    for number, (m, n, k, blocks) in enumerate(PRODUCTS):
        if form != "scratch":
            blocks = (*blocks[:2], k)
        if form == "reduced" and n % blocks[1]:
            continue  # sums of what lies beyond the array are undefined
        first = (number + (dtype == "f16")) % 2
        for way in (first, first + 2):
            lhs_t, rhs_t = way % 2 == 1, way >= 2
            seed = str(number + way)
            arguments = (m, n, k, blocks, dtype, lhs_t, rhs_t, form, seed)
            expected = product_run(run, tmp_path, "interpret", *arguments)
            for gpu in ("sm_80", "sm_90a"):
                got = product_run(run, tmp_path, f"cuda-host:{gpu}", *arguments)
                # Sums in another order, then rounded to 8 or 11 bits.
                np.testing.assert_allclose(got, expected, rtol=2**-7 if dtype == "bf16" else 2**-9, atol=1e-2,
                                           err_msg=f"{gpu} {arguments}")


OTHER_TYPES = [  # dtype, precision, GPU, instruction
    ("i8", None, "sm_80", "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"),
    ("i8", None, "h100", "wgmma.mma_async.sync.aligned.m64n64k32.s32.s8.s8"),
    ("f8e4m3fn", None, "sm_89", "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32"),
    ("f8e4m3fn", None, "h100", "wgmma.mma_async.sync.aligned.m64n64k32.f32.e4m3.e4m3"),
    ("f8e5m2", None, "h100", "wgmma.mma_async.sync.aligned.m64n64k32.f32.e5m2.e5m2"),
    ("f32", "bf16", "sm_80", "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"),
    ("f32", "bf16", "h100", "wgmma.mma_async.sync.aligned.m64n64k8.f32.tf32.tf32"),
    ("f32", None, "sm_80", "fma.rn.f32"),
    ("f32", None, "h100", "fma.rn.f32"),
]


@pytest.mark.parametrize("form", ["scratch", "result"])
@pytest.mark.parametrize("dtype, precision, gpu, instruction", OTHER_TYPES)
def test_products_of_other_types(run, tmp_path, dtype, precision, gpu, instruction, form):
    """Sums of integers are exact, f32 is f32 unless the kernel asks for less, and fp8 is exact before it is added up."""
    for number, (m, n, k, blocks) in enumerate([(128, 192, 256, (64, 64, 128)), (100, 72, 80, (64, 72, 80))]):
        blocks = (*blocks[:2], blocks[2] if form == "scratch" else k)
        for way in range(4):
            arguments = (m, n, k, blocks, dtype, way % 2 == 1, way >= 2, form, str(number + way), precision)
            expected, got = (product_run(run, tmp_path, t, *arguments) for t in ("interpret", f"cuda-host:{gpu}"))
            tolerance = 0 if dtype == "i8" else 5e-2 if precision else 1e-3  # TF32 has 10 bits of the mantissa
            np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance, err_msg=str(arguments))
    product_run(run, tmp_path, "interpret", 64, 64, 128, (64, 64, 128), dtype, precision=precision)
    out = "i32" if dtype == "i8" else "f32"
    ptx = run("show", "product.mlir", "--in", f"{dtype}[64,128]", "--in", f"{dtype}[128,64]", "--out-shape", f"{out}[64,64]", "--target",
              f"cuda:{gpu}", "--stage", "ptx").stdout
    assert instruction in ptx and ("mma" in instruction) == ("mma." in ptx)


def test_fp8_is_for_tensor_cores_that_have_it(run, tmp_path):
    product_run(run, tmp_path, "interpret", 64, 64, 128, (64, 64, 128), "f8e4m3fn")
    ptx = run("show", "product.mlir", "--in", "f8e4m3fn[64,128]", "--in", "f8e4m3fn[128,64]", "--out-shape", "f32[64,64]", "--target", "cuda:sm_80",
              "--stage", "ptx").stdout
    assert "mma." not in ptx and "fma.rn.f32" in ptx


@pytest.mark.parametrize("gpu,instruction", [("sm_80", "mma.sync.aligned.m16n8k16"), ("h100", "wgmma.mma_async.sync.aligned.m64n256k16")])
def test_products_have_the_instructions_of_the_gpu(run, tmp_path, gpu, instruction):
    product_run(run, tmp_path, "interpret", 128, 256, 64, (128, 256, 64), "bf16")
    done = run("show", "product.mlir", "--in", "bf16[128,64]", "--in", "bf16[64,256]", "--out-shape", "bf16[128,256]", "--target",
               f"cuda:{gpu}", "--stage", "ptx")
    assert instruction in done.stdout
    assert ("cp.async.cg.shared.global" if gpu == "sm_80" else "cp.async.bulk.tensor.2d.shared::cluster.global") in done.stdout
    assert ("ldmatrix.sync.aligned.m8n8.x4" in done.stdout) == (gpu == "sm_80")
    shown = run("show", "product.mlir", "--in", "bf16[128,64]", "--in", "bf16[64,256]", "--out-shape", "bf16[128,256]", "--target", f"cuda:{gpu}")
    assert "shared memory and 0 of global memory for values" in shown.stdout  # the sums are in registers


@pytest.mark.parametrize("gpu, k, block, stages", [
    ("h100", 256, 64, "4 stages of 49,152 bytes, by an extra thread, in boxes"),
    ("a100", 256, 64, "3 stages of 49,152 bytes, by all threads"),
    ("h100", 160, 80, "4 stages of 49,152 bytes, by all threads"),  # rows of 128 bytes do not divide the depth of a block
])
def test_operands_are_copied_ahead_over_steps(run, tmp_path, gpu, k, block, stages):
    product_run(run, tmp_path, "interpret", 128, 256, k, (128, 256, block), "bf16")
    shown = run("show", "product.mlir", "--in", f"bf16[128,{k}]", "--in", f"bf16[{k},256]", "--out-shape", "bf16[128,256]", "--target", f"cuda:{gpu}")
    assert f"operands of a product are copied ahead over the steps of the grid: {stages}\n" in shown.stdout, shown.stdout


@pytest.mark.parametrize("blocks, group", [((256, 128, 64), "16 along axis 1 by all of axis 0"), ((128, 256, 64), "16 along axis 0 by all of axis 1"),
                                           ((64, 128, 64), "16 along axis 0 by all of axis 1"), ((64, 64, 64), "8 along axis 1 by all of axis 0")])
def test_points_in_flight_are_a_rectangle(run, tmp_path, blocks, group):
    """About as many bytes of blocks of the left operand as of the right."""
    product_run(run, tmp_path, "interpret", 512, 512, 64, blocks, "bf16")
    shown = run("show", "product.mlir", "--in", "bf16[512,64]", "--in", "bf16[64,512]", "--out-shape", "bf16[512,512]", "--target", "cuda:h100")
    assert f"  the points of the first 2 grid axes are blocks, ordered in groups of up to {group}\n" in shown.stdout, shown.stdout


@pytest.mark.parametrize("gpu, m, n, threads", [("sm_90a", 256, 128, 384), ("sm_90a", 128, 256, 384), ("sm_90a", 128, 128, 288),
                                                ("sm_90a", 64, 128, 160), ("sm_90", 256, 128, 544), ("sm_80", 256, 128, 512)])
def test_threads_that_copy_leave_registers_to_many_sums(run, tmp_path, gpu, m, n, threads):
    product_run(run, tmp_path, "interpret", m, n, 128, (m, n, 64), "bf16")
    command = ["show", "product.mlir", "--in", f"bf16[{m},128]", "--in", f"bf16[128,{n}]", "--out-shape", f"bf16[{m},{n}]", "--target", f"cuda:{gpu}"]
    ptx = run(*command, "--stage", "ptx").stdout
    assert f".maxntid {threads}\n" in ptx
    changes = [line.strip() for line in ptx.splitlines() if "setmaxnreg" in line]
    shares = threads == 384
    assert sorted(changes) == (["setmaxnreg.dec.sync.aligned.u32 24;", "setmaxnreg.inc.sync.aligned.u32 240;"] if shares else [])
    shown = run(*command).stdout
    assert ("  registers are shared out anew: 240 to each of these threads, 24 to each of 128 others, of which one copies\n" in shown) == shares
    if shares and shutil.which("ptxas"):
        assert "  168 registers a thread at the launch, 0 bytes spilled, " in shown
        assert "  12 of 64 warps (1 block) fit on a multiprocessor at once, limited by registers\n" in shown


def test_sums_begin_at_0_without_being_cleared(run, tmp_path):
    product_run(run, tmp_path, "interpret", 64, 64, 128, (64, 64, 64), "bf16")
    ptx = run("show", "product.mlir", "--in", "bf16[64,128]", "--in", "bf16[128,64]", "--out-shape", "bf16[64,64]", "--target", "cuda:h100",
              "--stage", "ptx").stdout
    assert "wgmma" in ptx and "0f00000000" not in ptx


def test_descriptors_of_a_step_are_two_addresses_and_constants(run, tmp_path):
    """Addresses that are known to be the same in a warp: ptxas keeps them in its uniform registers, between products stand few instructions."""
    product_run(run, tmp_path, "interpret", 256, 128, 128, (256, 128, 64), "bf16")
    ptx = run("show", "product.mlir", "--in", "bf16[256,128]", "--in", "bf16[128,128]", "--out-shape", "bf16[256,128]", "--target", "cuda:h100",
              "--stage", "ptx").stdout
    assert ptx.count("wgmma.mma_async") == 8 and ptx.count("shfl.sync.idx.b32") == 2


def test_results_are_stored_in_rows(run, tmp_path):
    """16 bytes per thread, without a barrier of the block: warp groups do not wait for each other at the end of a step."""
    product_run(run, tmp_path, "interpret", 128, 256, 128, (128, 256, 64), "bf16")
    ptx = run("show", "product.mlir", "--in", "bf16[128,128]", "--in", "bf16[128,256]", "--out-shape", "bf16[128,256]", "--target", "cuda:h100",
              "--stage", "ptx").stdout
    # Four loops more store rows that are not known to be aligned.
    assert ptx.count("cvt.rn.bf16x2.f32") == 64 and ptx.count("st.global.v4.b32") == 16 + 4, "of 128 sums of a thread"
    assert "bar.sync 1" not in ptx


@pytest.mark.parametrize("gpu", ["sm_80", "sm_90a"])
def test_values_around_a_product_are_there(run, tmp_path, gpu):
    """A product whose operands are boxes brings no barrier: what is written before it and read after it has one."""
    for seed in ("0", "36", "38", "40"):
        arguments = (64, 64, 128, (64, 64, 128), "bf16", False, False, "around", seed)
        np.testing.assert_allclose(product_run(run, tmp_path, f"cuda-host:{gpu}", *arguments), product_run(run, tmp_path, "interpret", *arguments),
                                   rtol=2**-7, atol=1e-2)


def in_branch(tmp_path, condition):
    """A product with sums in scratch, of which a branch adds the steps."""
    sys.path.insert(0, str(ROOT / "test/data/gpu"))
    from products import kernel
    text = kernel(128, 128, 256, 128, 128, 64, "bf16")
    begin, end = text.index("%a = vector.load"), text.index("%ends = ")
    text = text[:begin] + condition + "scf.if %holds {\n" + text[begin:end] + "}\n" + text[end:]
    (tmp_path / "product.mlir").write_text(text)
    return ["--in", "bf16[128,256]", "--in", "bf16[256,128]", "--out-shape", "bf16[128,128]", "--fill", "random"]


@pytest.mark.parametrize("gpu", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("steps", ["slt", "sgt", "ne"])
def test_products_in_branches_of_the_grid_are_copied_ahead(run, tmp_path, gpu, steps):
    """The operands of the steps that multiply, and of no other."""
    arrays = in_branch(tmp_path, f"%two = arith.constant 2 : i32\n%holds = arith.cmpi {steps}, %k, %two : i32\n")
    shown = run("show", "product.mlir", *arrays, "--target", f"cuda:{gpu}")
    assert "operands of a product are copied ahead over the steps of the grid" in shown.stdout, shown
    results = []
    for target, seed in (("interpret", "1"), (f"cuda-host:{gpu}", "1")):
        assert run("run", "product.mlir", *arrays, "--target", target, "--seed", seed, "--out", target).returncode == 0
        results.append(bf16_array(tmp_path / target / "out0.npy"))
    assert (results[0] != 0).any()
    np.testing.assert_allclose(results[1], results[0], rtol=2**-7, atol=2**-9)


def test_products_in_branches_of_values_are_not_copied_ahead(run, tmp_path):
    arrays = in_branch(tmp_path, "%value = vector.load %acc[%c0, %c0] : memref<128x128xf32, #tpu.memory_space<vmem>>, vector<1x1xf32>\n"
                       "%one = vector.extract %value[0, 0] : f32 from vector<1x1xf32>\n%limit = arith.constant 1.0 : f32\n"
                       "%holds = arith.cmpf olt, %one, %limit : f32\n")
    shown = run("show", "product.mlir", *arrays, "--target", "cuda:h100")
    assert shown.returncode == 0 and "copied ahead" not in shown.stdout, shown


def test_products_without_users_are_not_copied(run, tmp_path):
    """More chunks than stages: whoever copied them would wait for a product that is never computed."""
    (tmp_path / "unused.mlir").write_text("""module {
  func.func @k(%i: i32, %x: memref<8x128xbf16, #tpu.memory_space<vmem>>, %y: memref<128x128xbf16, #tpu.memory_space<vmem>>,
      %o: memref<8x128xf32, #tpu.memory_space<vmem>>) attributes {dimension_semantics = [#tpu.dimension_semantics<arbitrary>],
      iteration_bounds = array<i64: 16>, scalar_prefetch = 0 : i64, scratch_operands = 0 : i64, tpu.core_type = #tpu.core_type<tc>,
      window_params = [{transform_indices = @rows, window_bounds = array<i64: 8, 128>},
                       {transform_indices = @all, window_bounds = array<i64: 128, 128>},
                       {transform_indices = @rows, window_bounds = array<i64: 8, 128>}]} {
    %c0 = arith.constant 0 : index
    %a = vector.load %x[%c0, %c0] : memref<8x128xbf16, #tpu.memory_space<vmem>>, vector<8x128xbf16>
    %b = vector.load %y[%c0, %c0] : memref<128x128xbf16, #tpu.memory_space<vmem>>, vector<128x128xbf16>
    %z = arith.constant dense<0.0> : vector<8x128xf32>
    %one = arith.constant dense<1.0> : vector<8x128xf32>
    %p = tpu.matmul %a, %b, %z {dimension_numbers = #tpu.dot_dimension_numbers<[1], [0], [0], [1], [0, 0, 1, 1], [], []>, transpose_lhs_hint = false} : vector<8x128xbf16>, vector<128x128xbf16>, vector<8x128xf32> -> vector<8x128xf32>
    tpu.vector_store %o[%c0, %c0], %one {strides = array<i32>} : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>,
    return
  }
  func.func @rows(%i: i32) -> (i32, i32) {
    %c0 = arith.constant 0 : i32
    return %i, %c0 : i32, i32
  }
  func.func @all(%i: i32) -> (i32, i32) {
    %c0 = arith.constant 0 : i32
    return %c0, %c0 : i32, i32
  }
}
""")
    arrays = ["--in", "bf16[128,128]", "--in", "bf16[128,128]", "--out-shape", "f32[128,128]"]
    done = run("run", "unused.mlir", *arrays, "--target", "cuda-host", "--out", "out")
    assert done.returncode == 0, done.stderr
    assert (np.load(tmp_path / "out/out0.npy") == 1).all()


@pytest.mark.parametrize("dtype, elements", [("f32", 4), ("bf16", 8), ("i8", 8)])
def test_elements_are_accessed_by_16_bytes(run, tmp_path, dtype, elements):
    """A thread loads and stores consecutive elements at once; without values that threads share there is no barrier."""
    block = f"memref<8x1024x{dtype}, #tpu.memory_space<vmem>>"
    (tmp_path / "copy.mlir").write_text(f"""module {{
  func.func @copy(%i: i32, %x: {block}, %o: {block}) attributes {{dimension_semantics = [#tpu.dimension_semantics<parallel>],
      iteration_bounds = array<i64: 4>, scalar_prefetch = 0 : i64, scratch_operands = 0 : i64, tpu.core_type = #tpu.core_type<tc>,
      window_params = [{{transform_indices = @rows, window_bounds = array<i64: 8, 1024>}},
                       {{transform_indices = @rows, window_bounds = array<i64: 8, 1024>}}]}} {{
    %c0 = arith.constant 0 : index
    %v = vector.load %x[%c0, %c0] : {block}, vector<8x1024x{dtype}>
    tpu.vector_store %o[%c0, %c0], %v {{strides = array<i32>}} : {block}, vector<8x1024x{dtype}>,
    return
  }}
  func.func @rows(%i: i32) -> (i32, i32) {{
    %c0 = arith.constant 0 : i32
    return %i, %c0 : i32, i32
  }}
}}
""")
    done = run("show", "copy.mlir", "--target", "cuda:h100", "--stage", "ptx", "--in", f"{dtype}[32,1024]", "--out-shape",
               f"{dtype}[32,1024]")
    assert done.returncode == 0, done.stderr
    vector = {"f32": "v4.b32", "bf16": "v4.b32", "i8": "v2.b32"}[dtype]
    per_thread = 8 * 1024 // 256 // elements
    assert len(re.findall(rf"ld\.global\.{vector}", done.stdout)) == per_thread, done.stdout
    assert len(re.findall(rf"st\.global\.{vector}", done.stdout)) == per_thread, done.stdout
    assert "bar.sync" not in done.stdout
    assert ".minnctapersm 1\n" in done.stdout


@pytest.mark.parametrize("gpu", ["sm_80", "sm_89", "sm_90a"])
def test_scratch_in_registers_takes_values_with_the_same_elements_per_thread(run, tmp_path, gpu):
    """A scratch that one product is added to, and another one, with other tiles, is stored to."""
    arrays = ["bf16[64,384]", "bf16[384,128]", "bf16[64,32]", "bf16[32,128]"]
    inputs = [word for a in arrays for word in ("--in", a)]
    for target in ("interpret", f"cuda-host:{gpu}"):
        done = run("run", ROOT / "test/data/gpu/scratch_of_two_products.mlir", *inputs, "--out-shape", "f32[64,128]", "--fill", "random",
                   "--target", target, "--out", target)
        assert done.returncode == 0, done.stderr
    expected, got = (np.load(tmp_path / t / "out0.npy") for t in ("interpret", f"cuda-host:{gpu}"))
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("seed", ["0", "3", "4"])
def test_turns_end_with_each_point_of_a_single_step(run, tmp_path, seed):
    """Points without further steps: the next one may belong to another block of threads."""
    arguments = [ROOT / "test/data/gpu/attention_of_single_steps.mlir", "--in", "bf16[384,128]", *["--out-shape", "f32[384,128]"] * 2]
    assert "2 warp groups issue products in turns" in run("show", *arguments, "--target", "cuda:sm_90a").stdout
    for target in ("interpret", "cuda-host:sm_90a"):
        done = run("run", *arguments, "--fill", "random", "--seed", seed, "--target", target, "--out", target)
        assert done.returncode == 0, done.stderr
    for result in ("out0.npy", "out1.npy"):
        expected, got = (np.load(tmp_path / t / result) for t in ("interpret", "cuda-host:sm_90a"))
        np.testing.assert_allclose(got, expected, rtol=2**-7, atol=2**-5)
