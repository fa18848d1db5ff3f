"""--numerics tpu in native code and on GPUs: products of f32 with operands that are rounded to bf16, as on the machine."""

import numpy as np
import pytest

from conftest import ROOT, bf16_array

CASES = ROOT / "test/data/cases"
TARGETS = ["cpu", "cuda-host:sm_80", "cuda-host:sm_90a"]

# A product of f32[32,64] and f32[64,128] with a precision.
PRODUCT = """
module {
  func.func @product(%i: i32, %x: memref<32x64xf32, #tpu.memory_space<vmem>>, %y: memref<64x128xf32, #tpu.memory_space<vmem>>, %o: memref<32x128xf32, #tpu.memory_space<vmem>>) attributes {iteration_bounds = array<i64: 1>, scalar_prefetch = 0 : i64, scratch_operands = 0 : i64, tpu.core_type = #tpu.core_type<tc>, dimension_semantics = [#tpu.dimension_semantics<arbitrary>], window_params = [{transform_indices = @whole, window_bounds = array<i64: 32, 64>}, {transform_indices = @whole, window_bounds = array<i64: 64, 128>}, {transform_indices = @whole, window_bounds = array<i64: 32, 128>}]} {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : vector<32x128xf32>
    %a = vector.load %x[%c0, %c0] : memref<32x64xf32, #tpu.memory_space<vmem>>, vector<32x64xf32>
    %b = vector.load %y[%c0, %c0] : memref<64x128xf32, #tpu.memory_space<vmem>>, vector<64x128xf32>
    %p = "tpu.matmul"(%a, %b, %zero) <{dimension_numbers = #tpu.dot_dimension_numbers<[1], [0], [0], [1], [0, 0, 1, 1], [], []>, transpose_lhs_hint = falsePRECISION}> : (vector<32x64xf32>, vector<64x128xf32>, vector<32x128xf32>) -> vector<32x128xf32>
    "tpu.vector_store"(%p, %o, %c0, %c0) <{operandSegmentSizes = array<i32: 1, 1, 2, 0>, strides = array<i32>, add = false}> : (vector<32x128xf32>, memref<32x128xf32, #tpu.memory_space<vmem>>, index, index) -> ()
    return
  }
  func.func @whole(%i: i32) -> (i32, i32) {
    %c0 = arith.constant 0 : i32
    return %c0, %c0 : i32, i32
  }
}
"""
ARRAYS = ["--in", "f32[32,64]", "--in", "f32[64,128]", "--out-shape", "f32[32,128]"]


def product(run, folder, precision, target, numerics):
    module = folder / "product.mlir"
    attribute = f", precision = #tpu.contract_precision<{precision}>" if precision else ""
    module.write_text(PRODUCT.replace("PRECISION", attribute))
    done = run("run", module, *ARRAYS, "--fill", "random", "--seed", "4", "--numerics", numerics, "--target", target, "--out", "out")
    assert done.returncode == 0, done.stderr
    return np.load(folder / "out/out0.npy")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("precision", ["", "bf16x3", "fp32"])
def test_se3_passes_of_a_product(run, tmp_path, precision, target):
    """One pass is that of the machine; three and six are products of f32, which are as exact or more."""
    machine = product(run, tmp_path, precision, "interpret", "tpu")
    exact = product(run, tmp_path, precision, "interpret", "f32")
    got = product(run, tmp_path, precision, target, "tpu")
    if precision:
        np.testing.assert_allclose(got, exact, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(got, machine, rtol=1e-3, atol=1e-3)
    else:
        np.testing.assert_allclose(got, machine, rtol=1e-5, atol=1e-5)
        assert np.abs(got - exact).max() > 1e-3, "the operands are rounded"


@pytest.mark.parametrize("target", TARGETS)
def test_se3_attention_of_f32(run, tmp_path, target):
    for where in ("interpret", target):
        run("run", CASES / "flash_attention_causal_f32", "--numerics", "tpu", "--target", where, "--out", where)
    expected, got = (np.load(tmp_path / where / "out0.npy") for where in ("interpret", target))
    np.testing.assert_allclose(got, expected, rtol=2**-7, atol=2**-8)


def test_code_shows_the_rounded_products(run):
    """Products of bf16 instead of f32, in the plan of native code and on tensor cores."""
    def shown(*options):
        return run("show", CASES / "flash_attention_causal_f32", *options).stdout

    plan = ["--stage", "plan", "--target-cpu", "znver4"]  # which multiplies bf16
    assert "f32·f32→f32" in shown(*plan) and "bf16·bf16→f32" in shown(*plan, "--numerics", "tpu")
    gpu = ["--target", "cuda:sm_90a", "--stage", "ptx"]
    assert "wgmma.mma_async" not in shown(*gpu) and ".bf16.bf16" in shown(*gpu, "--numerics", "tpu")


def test_splash_attention_rounds_its_weights(run, tmp_path):
    """It keeps them in f32: three bf16 each without the option, one with it."""
    np.save(tmp_path / "next.npy", np.array([[[0, 1]]], np.int8))
    np.save(tmp_path / "mask.npy", np.array([[[1, 2]]], np.int8))
    np.save(tmp_path / "positions.npy", np.repeat(np.arange(128, dtype=np.int32)[:, None], 128, 1))
    queries, keys = "bf16[1,128,128]", "bf16[1,256,128]"
    arrays = [word for a in ("next.npy", "mask.npy", queries, keys, keys, "positions.npy") for word in ("--in", a)]
    command = [ROOT / "test/data/gpu/jax_splash_attention.mlir", *arrays, "--out-shape", queries, "--numerics", "tpu"]
    ptx = run("show", *command, "--target", "cuda:sm_90a", "--stage", "ptx").stdout
    assert ptx.count("wgmma.mma_async") == 128 // 16 * 2, "scores and weights times values, 16 at a time"
    for target in ("interpret", *TARGETS):
        done = run("run", *command, "--fill", "random", "--seed", "3", "--target", target, "--out", target)
        assert done.returncode == 0, done.stderr
    expected = bf16_array(tmp_path / "interpret/out0.npy")
    for target in TARGETS:
        np.testing.assert_allclose(bf16_array(tmp_path / target / "out0.npy"), expected, rtol=2**-7, atol=2**-8)


def test_only_the_machine_rounds_in_convolutions(run, tmp_path):
    case = CASES / "conv_2d_grouped"
    for target in ("interpret", "cpu"):
        run("run", case, "--numerics", "tpu", "--target", target, "--out", target)
    np.testing.assert_array_equal(*(np.load(tmp_path / t / "out0.npy") for t in ("interpret", "cpu")))
    why = "only the machine rounds the operands of convolutions and of matrix units as a TPU does"
    assert why in run("show", case, "--numerics", "tpu", "--stage", "plan").stdout
    done = run("run", case, "--numerics", "tpu", "--target", "cuda-host")
    assert done.returncode == 3
    assert "error[SM7201]: part of the kernel has no code for GPUs yet\n" in done.stderr and f"  have: {why}\n" in done.stderr
