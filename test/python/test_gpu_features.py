"""Features of kernels in code for NVIDIA GPUs, run by this process: results and messages are those of the abstract machine."""

import json
import re
import subprocess
import sys

import numpy as np
import pytest

from conftest import ROOT, bf16_array

CASES = ROOT / "test/data/cases"


def log_of(done):
    """The lines that the kernel printed."""
    return [line for line in (done.stdout + done.stderr).splitlines() if line.lstrip().startswith("d0:")]


@pytest.mark.parametrize("case", ["debug_print_scalar", "debug_print_vector"])
@pytest.mark.parametrize("seed", ["0", "7"])
def test_debug_prints_come_in_the_order_of_the_grid(run, case, seed):
    expected, got = (run("run", CASES / case, "--target", target, "--seed", seed) for target in ("interpret", "cuda-host"))
    assert got.returncode == 0, got.stderr
    assert log_of(got) == log_of(expected) != []


PRINTS = """
module @prints {
  func.func @prints(%i: i32, %x: memref<64x128xf32, #tpu.memory_space<vmem>>, %o: memref<64x128xf32, #tpu.memory_space<vmem>>)
      attributes {dimension_semantics = [#tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: 4>, scalar_prefetch = 0 : i64,
                  scratch_operands = 0 : i64, tpu.core_type = #tpu.core_type<tc>,
                  window_params = [{transform_indices = @block, window_bounds = array<i64: 64, 128>},
                                   {transform_indices = @block, window_bounds = array<i64: 64, 128>}]} {
    %c0 = arith.constant 0 : index
    %v = vector.load %x[%c0, %c0] : memref<64x128xf32, #tpu.memory_space<vmem>>, vector<64x128xf32>
    %two = arith.constant dense<2.0> : vector<64x128xf32>
    %w = arith.mulf %v, %two : vector<64x128xf32>
    tpu.vector_store %o[%c0, %c0], %w {strides = array<i32>} : memref<64x128xf32, #tpu.memory_space<vmem>>, vector<64x128xf32>,
    %first = arith.constant 0 : i32
    %begins = arith.cmpi sgt, %i, %first : i32
    scf.if %begins {
      tpu.log "step" : [%i] : i32
      tpu.log_buffer "block" {shape = array<i64: 64, 128>} : %o : memref<64x128xf32, #tpu.memory_space<vmem>>
    }
    return
  }
  func.func @block(%i: i32) -> (i32, i32) {
    %c0 = arith.constant 0 : i32
    return %i, %c0 : i32, i32
  }
}
"""


def test_a_print_buffer_that_is_too_small_is_enlarged(run, tmp_path):
    """Three blocks of 32 KiB do not fit into the first buffer: the call runs again, and prints everything once."""
    (tmp_path / "prints.mlir").write_text(PRINTS)
    arguments = ["run", "prints.mlir", "--in", "f32[256,128]", "--out-shape", "f32[256,128]", "--fill", "random"]
    expected, got = (run(*arguments, "--target", target) for target in ("interpret", "cuda-host"))
    assert got.returncode == 0, got.stderr
    assert len(log_of(got)) == 6 and log_of(got) == log_of(expected)


def test_prints_go_through_the_driver(run, fake_cuda):
    """No kernel runs there, so nothing is printed: the buffer is copied in and out."""
    done = run("run", CASES / "debug_print_vector", "--target", "cuda", env=fake_cuda("works"))
    assert "error" not in done.stderr and log_of(done) == []


def unit_kernel():
    """The products of test/ir/rewrite/multiply_without_units.mlir, to run."""
    text = (ROOT / "test/ir/rewrite/multiply_without_units.mlir").read_text()
    module = text[text.index("module attributes"):]
    return "module {" + module[module.index("}", module.index("smalti.results")) + 3:]


@pytest.mark.parametrize("target", ["cpu", "cuda-host", "cuda-host:sm_80"])
def test_products_computed_step_by_step_on_a_matrix_unit(run, tmp_path, target):
    (tmp_path / "unit.mlir").write_text(unit_kernel())
    results = {}
    for name in ("interpret", target):
        done = run("run", "unit.mlir", "--in", "bf16[128,128]", "--in", "bf16[128,128]", "--out-shape", "f32[128,128]", "--out-shape",
                   "f32[128,128]", "--fill", "random", "--target", name, "--out", name)
        assert done.returncode == 0, done.stderr
        results[name] = [np.load(tmp_path / name / f"out{i}.npy") for i in range(2)]
    for got, expected in zip(results[target], results["interpret"]):
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-4)


def test_sm7201_units_whose_state_outlives_a_branch(run, tmp_path):
    text = unit_kernel()
    pop = "    %sum = tpu.matmul_pop 3 {mxu_index = 0 : i32} : vector<128x128xf32>\n"
    branch = ("    %yes = arith.constant true\n    %sum = scf.if %yes -> (vector<128x128xf32>) {\n  " + pop.replace("%sum", "%taken") +
              "      scf.yield %taken : vector<128x128xf32>\n    } else {\n      scf.yield %second : vector<128x128xf32>\n    }\n")
    (tmp_path / "unit.mlir").write_text(text.replace(pop, branch))
    done = run("run", "unit.mlir", "--in", "bf16[128,128]", "--in", "bf16[128,128]", "--out-shape", "f32[128,128]", "--out-shape",
               "f32[128,128]", "--target", "cuda-host")
    assert done.stderr.startswith("error[SM7201]: part of the kernel has no code for GPUs yet\n") and "  have: tpu.matmul_" in done.stderr


READS_SCRATCH = """
module @k {
  func.func @k(%i: i32, %x: memref<8x128xf32, #tpu.memory_space<vmem>>, %o: memref<8x128xf32, #tpu.memory_space<vmem>>,
               %s: memref<8x128xf32, #tpu.memory_space<vmem>>)
      attributes {dimension_semantics = [#tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: 4>, scalar_prefetch = 0 : i64,
                  scratch_operands = 1 : i64, tpu.core_type = #tpu.core_type<tc>,
                  window_params = [{transform_indices = @block, window_bounds = array<i64: 8, 128>},
                                   {transform_indices = @block, window_bounds = array<i64: 8, 128>}]} {
    %c0 = arith.constant 0 : index
    %first = arith.constant FIRST : i32
    %begins = arith.cmpi eq, %i, %first : i32
    scf.if %begins {
      %zero = arith.constant dense<0.0> : vector<8x128xf32>
      tpu.vector_store %s[%c0, %c0], %zero {strides = array<i32>} : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>,
    }
    %v = vector.load %x[%c0, %c0] : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>
    %a = vector.load %s[%c0, %c0] : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>
    %sum = arith.addf %a, %v : vector<8x128xf32>
    tpu.vector_store %s[%c0, %c0], %sum {strides = array<i32>} : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>,
    tpu.vector_store %o[%c0, %c0], %sum {strides = array<i32>} : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>,
    return
  }
  func.func @block(%i: i32) -> (i32, i32) {
    %c0 = arith.constant 0 : i32
    return %i, %c0 : i32, i32
  }
}
"""


def check_scratch(run, tmp_path, first, target):
    (tmp_path / "k.mlir").write_text(READS_SCRATCH.replace("FIRST", first))
    return run("check", "k.mlir", "--in", "f32[32,128]", "--out-shape", "f32[32,128]", "--fill", "random", "--target", target)


def test_checked_code_runs_to_its_end(run, tmp_path):
    """Scratch that is set in the first step is never read undefined: the machine does not run."""
    done = check_scratch(run, tmp_path, "0", "cuda-host")
    assert (done.returncode, done.stdout, done.stderr) == (0, "k.mlir: ran to its end, nothing found\n", "")


def test_checks_find_what_the_machine_finds(run, tmp_path):
    """Scratch that is set in the second step: the same report as without code for GPUs."""
    expected, got = (check_scratch(run, tmp_path, "1", target) for target in ("interpret", "cuda-host"))
    assert (got.returncode, got.stdout, got.stderr) == (expected.returncode, expected.stdout, expected.stderr)
    assert "finding[SM4102]: output 0 depends on uninitialised memory" in got.stdout + got.stderr and got.returncode != 0


def test_recorded_kernels_with_checks_end_as_on_the_machine(run):
    """Kernels whose results have undefined elements are found on every target."""
    def found(target):
        done = run("conform", CASES, "--target", target, "--check", "--json")
        return {c["case"] for c in json.loads(done.stdout)["cases"] if c["status"] not in ("pass", "ran", "refused")}
    assert found("cuda-host") == found("interpret")


def test_the_page_of_features_states_what_gpus_support(bin_dir):
    """The tests of its rows run with code for GPUs: they pass, or are refused where the page says so."""
    done = subprocess.run([sys.executable, ROOT / "tools/features.py", "--run", bin_dir / "smalti_lang_test"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(done.stdout.split()[0]) >= 90


ACCUMULATOR_WRITTEN_LATE = """
module {
  func.func @kernel(%i: i32, %x: memref<16x128xf32, #tpu.memory_space<vmem>>, %y: memref<128x128xf32, #tpu.memory_space<vmem>>,
                    %o: memref<16x128xf32, #tpu.memory_space<vmem>>, %s: memref<16x128xf32, #tpu.memory_space<vmem>>)
      attributes {scalar_prefetch = 0 : i64, scratch_operands = 1 : i64, tpu.core_type = #tpu.core_type<tc>,
                  iteration_bounds = array<i64: 2>, window_params = [{transform_indices = @whole, window_bounds = array<i64: 16, 128>},
                    {transform_indices = @whole, window_bounds = array<i64: 128, 128>},
                    {transform_indices = @whole, window_bounds = array<i64: 16, 128>}],
                  dimension_semantics = [#tpu.dimension_semantics<arbitrary>]} {
    %c0 = arith.constant 0 : index
    %first = arith.constant 0 : i32
    %zero = arith.constant dense<0.0> : vector<16x128xf32>
    %isFirst = arith.cmpi eq, %i, %first : i32
    %a = vector.load %x[%c0, %c0] : memref<16x128xf32, #tpu.memory_space<vmem>>, vector<16x128xf32>
    %b = vector.load %y[%c0, %c0] : memref<128x128xf32, #tpu.memory_space<vmem>>, vector<128x128xf32>
    BEFORE
    %d = tpu.matmul %a, %b, %zero {dimension_numbers = #tpu.dot_dimension_numbers<[1], [0], [0], [1], [0, 0, 1, 1], [], []>, transpose_lhs_hint = false} : vector<16x128xf32>, vector<128x128xf32>, vector<16x128xf32> -> vector<16x128xf32>
    BETWEEN
    %old = vector.load %s[%c0, %c0] : memref<16x128xf32, #tpu.memory_space<vmem>>, vector<16x128xf32>
    %sum = arith.addf %old, %d : vector<16x128xf32>
    STORE(%sum, %s)
    %all = vector.load %s[%c0, %c0] : memref<16x128xf32, #tpu.memory_space<vmem>>, vector<16x128xf32>
    STORE(%all, %o)
    return
  }
  func.func @whole(%i: i32) -> (i32, i32) {
    %zero = arith.constant 0 : i32
    return %zero, %zero : i32, i32
  }
}
"""


@pytest.mark.parametrize("before, between", [("", "STORE(%zero, %s)"), ("STORE(%a, %s)", "scf.if %isFirst { STORE(%zero, %s) }"),
                                             ("", "scf.if %isFirst { STORE(%zero, %s) }"),
                                             ("scf.if %isFirst { STORE(%zero, %s) }", "")])
def test_an_accumulator_may_be_written_after_the_product(run, tmp_path, before, between):
    """A product that is added to scratch is added to what the load sees: stores between product and load count."""
    text = ACCUMULATOR_WRITTEN_LATE.replace("BEFORE", before).replace("BETWEEN", between)
    text = re.sub(r"STORE\((%\w+), (%\w+)\)", r'"tpu.vector_store"(\1, \2, %c0, %c0) <{operandSegmentSizes = array<i32: 1, 1, 2, 0>, '
                  r"strides = array<i32>, add = false}> : (vector<16x128xf32>, memref<16x128xf32, #tpu.memory_space<vmem>>, index, "
                  r"index) -> ()", text)
    (tmp_path / "late.mlir").write_text(text)
    results = []
    for target in ("interpret", "cuda-host"):
        done = run("run", "late.mlir", "--in", "f32[16,128]", "--in", "f32[128,128]", "--out-shape", "f32[16,128]", "--fill", "random",
                   "--out", target, "--target", target)
        assert done.returncode == 0, done.stderr
        results.append(np.load(tmp_path / target / "out0.npy"))
    np.testing.assert_allclose(*results, rtol=1e-5, atol=1e-4)


def test_products_of_jax_have_no_barrier_in_their_steps(run, tmp_path):
    """JAX loads what a store is about to replace: such loads are dropped, and the product is added to scratch in registers."""
    jax = pytest.importorskip("jax", reason="JAX is not installed: it makes the kernel")
    import jax.numpy as jnp
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import tpu as pltpu

    def kernel(x_ref, y_ref, o_ref, sums_ref):
        @pl.when(pl.program_id(2) == 0)
        def begin():
            sums_ref[...] = jnp.zeros_like(sums_ref)

        sums_ref[...] += jnp.dot(x_ref[...], y_ref[...], preferred_element_type=jnp.float32)

        @pl.when(pl.program_id(2) == pl.num_programs(2) - 1)
        def end():
            o_ref[...] = sums_ref[...].astype(o_ref.dtype)

    matrix = jax.ShapeDtypeStruct((256, 256), jnp.bfloat16)
    call = pl.pallas_call(kernel, grid=(2, 1, 2), out_shape=matrix, scratch_shapes=[pltpu.VMEM((128, 256), jnp.float32)],
                          in_specs=[pl.BlockSpec((128, 128), lambda i, j, k: (i, k)), pl.BlockSpec((128, 256), lambda i, j, k: (k, j))],
                          out_specs=pl.BlockSpec((128, 256), lambda i, j, k: (i, j)),
                          compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "parallel", "arbitrary")))
    module = tmp_path / "product.mlir"
    module.write_text(jax.jit(call).trace(matrix, matrix).lower(lowering_platforms=("tpu",)).as_text())
    shown = run("show", module, "--target", "cuda:sm_90a").stdout
    assert "0 of global memory for values, 1 barriers\n" in shown, shown
    for target in ("interpret", "cuda-host:sm_90a", "cuda-host:sm_80"):
        done = run("run", module, "--fill", "random", "--target", target, "--out", target)
        assert done.returncode == 0, done.stderr
    expected, *got = (bf16_array(tmp_path / t / "out0.npy") for t in ("interpret", "cuda-host:sm_90a", "cuda-host:sm_80"))
    for g in got:
        np.testing.assert_allclose(g, expected, rtol=2**-7, atol=2**-6)
