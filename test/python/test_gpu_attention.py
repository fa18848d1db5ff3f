"""Attention as code for NVIDIA GPUs, executed by this process."""

import json
import re

import numpy as np
import pytest

from conftest import ROOT, bf16_array

ATTENTION = ["--in", "bf16[1,2,128,64]", "--in", "bf16[1,2,256,64]", "--in", "bf16[1,2,256,64]", "--out-shape", "bf16[1,2,128,64]"]


@pytest.mark.parametrize("kernel, products", [("attention", 2), ("attention_causal", 4)])
def test_attention_is_in_registers(run, kernel, products):
    """Scores, their maxima and sums, the left operand of the second product and its sums: nothing goes through memory, and
    threads wait for nothing but copies."""
    module = ROOT / f"test/data/gpu/{kernel}.mlir"
    shown = run("show", module, *ATTENTION, "--target", "cuda:h100").stdout
    assert "and 0 of global memory for values, 1 barriers\n" in shown, shown
    assert f"operands of {products} products are copied ahead over the steps of the grid: 4 stages of 16,384 bytes" in shown, shown
    assert "the same in all steps of a point are copied once: two buffers of 8,192 bytes" in shown, shown
    ptx = run("show", module, *ATTENTION, "--target", "cuda:h100", "--stage", "ptx").stdout
    from_registers = re.findall(r"wgmma\.mma_async\S+ \{[^}]*\}, \{[^}]*\},", ptx)
    assert len(from_registers) == products // 2 * 8, "of 128 keys, 16 at a time"
    assert ptx.count("shfl.sync.bfly") == products // 2 * 8, "the maximum and the sum of two rows, among four threads"
    assert "ex2.approx.ftz.f32" in ptx


@pytest.mark.parametrize("gpu", ["sm_80", "sm_86", "sm_89"])
@pytest.mark.parametrize("kernel, products", [("attention", 2), ("attention_causal", 4)])
def test_attention_is_in_registers_before_sm_90(run, kernel, products, gpu):
    """The same with `mma.sync`: each of four warps has whole rows."""
    module = ROOT / f"test/data/gpu/{kernel}.mlir"
    shown = run("show", module, *ATTENTION, "--target", f"cuda:{gpu}").stdout
    assert "  128 threads a block, 73,728 bytes of shared memory and 0 of global memory for values, " in shown, shown
    assert f"operands of {products} products are copied ahead over the steps of the grid: 4 stages of 16,384 bytes, by all threads" in shown, shown
    assert "the same in all steps of a point are copied once: one buffer of 8,192 bytes" in shown, shown
    assert " registers a thread" not in shown or ", 0 bytes spilled" in shown, shown  # where ptxas is installed
    ptx = run("show", module, *ATTENTION, "--target", f"cuda:{gpu}", "--stage", "ptx").stdout
    assert ptx.count("shfl.sync.bfly") == products // 2 * 8, "the maximum and the sum of two rows, among four threads"


def test_negligible_weights_need_not_be_replaced(run, tmp_path):
    """Exponents below -100 stay as they are, if the kernel says that the difference does not matter."""
    exact = (ROOT / "test/data/gpu/attention.mlir").read_text()
    scores = r"(math\.exp2 %\d+) (: vector<64x128xf32>)"
    assert len(re.findall(scores, exact)) == 1
    tolerant = tmp_path / "tolerant.mlir"
    tolerant.write_text(re.sub(scores, rf"\1 {{tolerance = array<f64: {2**-100}, 0.0>}} \2", exact))
    floors = []
    for module in ROOT / "test/data/gpu/attention.mlir", tolerant:
        floors.append(run("show", module, *ATTENTION, "--target", "cuda:h100", "--stage", "ptx").stdout.count("setp.lt"))
        done = run("run", module, *ATTENTION, "--fill", "random", "--seed", "2", "--target", "cuda-host:sm_90a", "--out", f"out{len(floors)}")
        assert done.returncode == 0, done.stderr
    assert floors[0] - floors[1] == 64, floors
    expected, got = (bf16_array(tmp_path / f"out{i}" / "out0.npy") for i in (1, 2))
    np.testing.assert_allclose(got, expected, rtol=2**-7, atol=2**-9)


@pytest.mark.parametrize("gpu", ["sm_80", "sm_89", "sm_90a"])
def test_exact_attention_of_f32_is_in_registers(run, gpu):
    """Multiply-adds of threads, which take weights from their neighbours: of two rows and 64 keys."""
    case = ROOT / "test/data/cases/flash_attention_causal_f32"
    shown = run("show", case, "--target", f"cuda:{gpu}").stdout
    assert "and 0 of global memory for values, " in shown, shown
    assert "operands of 2 products are copied ahead over the steps of the grid: 4 stages of 16,384 bytes, " in shown, shown
    assert " registers a thread" not in shown or ", 0 bytes spilled" in shown, shown  # where ptxas is installed
    ptx = run("show", case, "--target", f"cuda:{gpu}", "--stage", "ptx").stdout
    assert ptx.count("shfl.sync.idx") == 2 * 64


def jax_attention(folder, kernel):
    """The arguments for a kernel of JAX: splash attention, whose first two inputs say which blocks the causal mask leaves, and
    flash attention."""
    queries, keys = {"splash_attention": ("bf16[1,128,128]", "bf16[1,256,128]"), "flash_attention_causal": ("bf16[1,2,256,64]",) * 2}[kernel]
    first = []
    if kernel == "splash_attention":
        np.save(folder / "next.npy", np.array([[[0, 1]]], np.int8))
        np.save(folder / "mask.npy", np.array([[[1, 2]]], np.int8))
        np.save(folder / "positions.npy", np.repeat(np.arange(128, dtype=np.int32)[:, None], 128, 1))
        first = ["next.npy", "mask.npy"]
    arrays = first + [queries, keys, keys] + ["positions.npy"] * bool(first)
    return [ROOT / f"test/data/gpu/jax_{kernel}.mlir", *[word for a in arrays for word in ("--in", a)], "--out-shape", queries]


@pytest.mark.parametrize("gpu", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("kernel", ["splash_attention", "flash_attention_causal"])
def test_attention_of_jax_is_in_registers(run, tmp_path, kernel, gpu):
    """They keep maxima and sums in all lanes of a register; splash attention multiplies f32 by widened bf16."""
    arguments = jax_attention(tmp_path, kernel)
    shown = run("show", *arguments, "--target", f"cuda:{gpu}").stdout
    assert "and 0 of global memory for values, " in shown, shown
    assert "operands of 2 products are copied ahead over the steps of the grid: " in shown, shown
    assert " registers a thread" not in shown or ", 0 bytes spilled" in shown, shown  # where ptxas is installed
    if gpu == "sm_90a":
        assert "  2 warp groups issue products in turns\n" in shown, shown
        ptx = run("show", *arguments, "--target", f"cuda:{gpu}", "--stage", "ptx").stdout
        from_registers = len(re.findall(r"wgmma\.mma_async\S+ \{[^}]*\}, \{[^}]*\},", ptx))
        assert from_registers == 128 // 16 * (3 if kernel == "splash_attention" else 1), "of 128 keys, 16 at a time"
        # Weights that are rounded to bf16 are powers of 2 of one product; splash attention keeps them in f32.
        assert (ptx.count("fma.rn.f32") < ptx.count("ex2.approx")) == (kernel == "flash_attention_causal")
    for target in ("interpret", f"cuda-host:{gpu}"):
        done = run("run", *arguments, "--fill", "random", "--seed", "3", "--target", target, "--out", target)
        assert done.returncode == 0, done.stderr
    expected, got = (bf16_array(tmp_path / t / "out0.npy") for t in ("interpret", f"cuda-host:{gpu}"))
    np.testing.assert_allclose(got, expected, rtol=2**-7, atol=2**-9)


@pytest.mark.parametrize("gpu", ["sm_80", "sm_90a"])
def test_large_blocks_of_queries_are_divided(run, tmp_path, gpu):
    """JAX's flash attention in blocks of 512 queries, with a causal mask, which counts rows from the beginning of a block."""
    module = ROOT / "test/data/gpu/jax_flash_attention_of_512_queries.stablehlo.mlir"
    shown = run("show", module, "--target", f"cuda:{gpu}").stdout
    assert "  256 threads a block, " in shown and "and 0 of global memory for values, " in shown, shown
    assert "operands of 2 products are copied ahead over the steps of the grid: " in shown, shown
    for target in ("cpu", f"cuda-host:{gpu}"):
        done = run("run", module, "--fill", "random", "--seed", "3", "--target", target, "--out", target)
        assert done.returncode == 0, done.stderr
    expected, got = (bf16_array(tmp_path / t / "out0.npy") for t in ("cpu", f"cuda-host:{gpu}"))
    np.testing.assert_allclose(got, expected, rtol=2**-7, atol=2**-9)


@pytest.mark.parametrize("gpu", ["sm_80", "sm_90", "sm_90a"])
@pytest.mark.parametrize("kernel", ["attention", "attention_causal"])
@pytest.mark.parametrize("seed", ["0", "5"])
def test_attention_agrees(run, tmp_path, kernel, gpu, seed):
    for target in ("interpret", f"cuda-host:{gpu}"):
        done = run("run", ROOT / f"test/data/gpu/{kernel}.mlir", *ATTENTION, "--fill", "random", "--seed", seed, "--target", target, "--out", target)
        assert done.returncode == 0, done.stderr
    expected, got = (bf16_array(tmp_path / t / "out0.npy") for t in ("interpret", f"cuda-host:{gpu}"))
    np.testing.assert_allclose(got, expected, rtol=2**-7, atol=2**-9)


@pytest.mark.parametrize("kernel, largest_first", [("attention_of_two_groups", False), ("attention_of_two_groups_causal", True)])
def test_warp_groups_take_turns_in_attention(run, tmp_path, kernel, largest_first):
    """Two warp groups compute blocks of 128 queries. Points of causal attention have different numbers of products."""
    module = ROOT / f"test/data/gpu/{kernel}.mlir"
    arrays = [a.replace("[1,2,128,64]", "[1,2,256,64]") for a in ATTENTION]
    shown = run("show", module, *arrays, "--target", "cuda:h100", "--json")
    assert shown.returncode == 0, shown.stdout
    code = json.loads(shown.stdout)["kernels"][0]
    assert (code["turns"], code["largest_first"], code["resident_bytes"]) == (2, largest_first, 128 * 128), code
    assert "  2 warp groups issue products in turns\n" in run("show", module, *arrays, "--target", "cuda:h100").stdout
    for seed in ("0", "3", "4"):
        for target in ("interpret", "cuda-host"):
            done = run("run", module, *arrays, "--fill", "random", "--seed", seed, "--target", target, "--out", target + seed)
            assert done.returncode == 0, done.stderr
        expected, got = (bf16_array(tmp_path / f"{t}{seed}" / "out0.npy") for t in ("interpret", "cuda-host"))
        np.testing.assert_allclose(got, expected, rtol=2**-7, atol=2**-9)


BACKWARD = {"queries": (["f32[1,2,256,1]"] * 2, 1), "keys": (["f32[1,2,1,256]"] * 2, 2)}


@pytest.mark.parametrize("gpu", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("of", BACKWARD)
def test_gradients_of_attention_are_in_registers(run, of, gpu):
    """Scores and weights, their cotangents, the left operands of the last products, and the sums of all products."""
    sums, results = BACKWARD[of]
    arrays = [word for a in ["bf16[1,2,256,64]"] * 4 + sums for word in ("--in", a)] + ["--out-shape", "bf16[1,2,256,64]"] * results
    module = ROOT / f"test/data/gpu/attention_backward_{of}_causal.mlir"
    shown = run("show", module, *arrays, "--target", f"cuda:{gpu}").stdout
    assert "and 0 of global memory for values, " in shown, shown
    assert f"operands of {results + 2} products are copied ahead over the steps of the grid: " in shown, shown
    assert "the same in all steps of a point are copied once: " in shown, shown
    if gpu == "sm_90a":
        assert " registers a thread" not in shown or ", 0 bytes spilled" in shown, shown  # where ptxas is installed
        ptx = run("show", module, *arrays, "--target", f"cuda:{gpu}", "--stage", "ptx").stdout
        assert len(re.findall(r"wgmma\.mma_async\S+ \{[^}]*\}, \{[^}]*\},", ptx)) == 8, "left operands in registers"


@pytest.mark.parametrize("gpu", ["sm_80", "sm_90a"])
def test_gradients_of_128_columns_are_in_registers(run, gpu):
    """208 registers a thread: two sums of 128 × 128, scores, their cotangents, and weights."""
    keys, sums = "bf16[1,2,256,128]", "f32[1,2,1,256]"
    arrays = [word for a in [keys] * 4 + [sums] * 2 for word in ("--in", a)] + ["--out-shape", keys] * 2
    shown = run("show", ROOT / "test/data/gpu/attention_backward_keys_of_two_chunks.mlir", *arrays, "--target", f"cuda:{gpu}").stdout
    assert "and 0 of global memory for values, " in shown, shown
    assert "operands of 4 products are copied ahead over the steps of the grid: " in shown, shown


@pytest.mark.parametrize("stages, turns", [(3, 0), (4, 2)])
def test_all_chunks_of_a_turn_fit_into_the_stages(run, tmp_path, stages, turns):
    """Here, a turn has one chunk for each of the two products with operands in registers, and two for the scores of the next
    step. With three stages, the group whose turn it is would wait for stages that the other has not read."""
    module = ROOT / "test/data/gpu/attention_backward_keys_of_two_chunks.mlir"
    arrays = [word for a in ["bf16[1,2,256,128]"] * 4 + ["f32[1,2,1,256]"] * 2 for word in ("--in", a)] + ["--out-shape", "bf16[1,2,256,128]"] * 2
    parameters = ["--gpu-params", f"num_stages={stages}"]
    shown = json.loads(run("show", module, *arrays, "--target", "cuda:h100", *parameters, "--json").stdout)["kernels"][0]
    assert (shown["stages"], shown["turns"]) == (stages, turns), shown
    for seed in ("0", "1"):
        for target, more in (("cpu", []), ("cuda-host", parameters)):
            done = run("run", module, *arrays, "--fill", "random", "--seed", seed, "--target", target, *more, "--out", target + seed)
            assert done.returncode == 0, done.stderr
        for out in ("out0.npy", "out1.npy"):
            expected, got = (bf16_array(tmp_path / (t + seed) / out) for t in ("cpu", "cuda-host"))
            assert np.array_equal(np.isfinite(got), np.isfinite(expected))
            scale = np.abs(expected[np.isfinite(expected)]).max()
            np.testing.assert_allclose(got / scale, expected / scale, rtol=2**-6, atol=2**-8)


def decoding(folder, lengths, pages):
    """The arguments for four queries per sequence, for all of its keys."""
    np.save(folder / "lengths.npy", np.array(lengths, np.int32))
    np.save(folder / "pages.npy", np.array(pages, np.int32))
    return [ROOT / "test/data/gpu/decode.mlir", "--in", "lengths.npy", "--in", "pages.npy", "--in", "bf16[2,2,4,128]", "--in", "bf16[2,6,128,128]",
            "--in", "bf16[2,6,128,128]", "--out-shape", "bf16[2,2,4,128]"]


@pytest.mark.parametrize("gpu", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("lengths", [(300, 77), (0, 384), (1, 128)])
def test_decoding_streams_pages(run, tmp_path, lengths, gpu):
    """Pages are looked up: four warps multiply, with most of their rows beyond the end, and pages are copied ahead, but not
    those that a length says are not needed."""
    arguments = decoding(tmp_path, lengths, [3, 0, 5, 1, 2, 4])
    shown = run("show", *arguments, "--target", f"cuda:{gpu}").stdout
    assert "and 0 of global memory for values" in shown, shown
    assert "operands of 2 products are copied ahead over the steps of the grid" in shown, shown
    if gpu == "sm_90a":
        assert " registers a thread" not in shown or ", 0 bytes spilled" in shown, shown  # where ptxas is installed
    for target in ("interpret", f"cuda-host:{gpu}"):
        done = run("run", *arguments, "--fill", "random", "--seed", "3", "--target", target, "--out", target)
        assert done.returncode == 0, done.stderr
    expected, got = (bf16_array(tmp_path / t / "out0.npy") for t in ("interpret", f"cuda-host:{gpu}"))
    np.testing.assert_allclose(got, expected, rtol=2**-7, atol=2**-9)


@pytest.mark.parametrize("page", [6, -1, 2**31 - 1])
def test_pages_outside_the_array_are_not_read(run, tmp_path, page):
    """Blocks are copied before the step that finds that they are outside."""
    arguments = decoding(tmp_path, (300, 77), [3, 0, page, 1, 2, 4])
    warnings = {}
    for target in ("interpret", "cuda-host:sm_80", "cuda-host:sm_90a"):
        done = run("run", *arguments, "--fill", "random", "--target", target, "--out", target)
        warnings[target] = done.stderr[done.stderr.index("warning[SM4111]"):]
    assert warnings["cuda-host:sm_80"] == warnings["cuda-host:sm_90a"] == warnings["interpret"]
    expected = bf16_array(tmp_path / "interpret" / "out0.npy")
    for target in warnings:  # the second sequence has other pages
        np.testing.assert_allclose(bf16_array(tmp_path / target / "out0.npy")[1], expected[1], rtol=2**-7, atol=2**-9)
    assert np.isnan(expected[0]).all() and not np.isnan(expected[1]).any()
