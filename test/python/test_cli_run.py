"""smalti run: inputs, results, comparison, exit codes, whole messages."""

import json
import os
import shutil
import subprocess

import numpy as np
import pytest

from console_examples import ROOT

CASES = ROOT / "test/data/cases"


@pytest.fixture
def run(smalti, tmp_path):
    def call(*arguments, env=None):
        return subprocess.run([smalti, *map(str, arguments)], capture_output=True, text=True, cwd=tmp_path,
                              env={"PATH": "/usr/bin:/bin", **(env or {})}, timeout=120)
    return call


def test_a_recorded_case_is_run_and_compared(run):
    done = run("run", CASES / "add_grid_1d")
    assert done.returncode == 0 and done.stderr == ""
    assert "f32[4096]" in done.stdout and "as expected" in done.stdout


def test_results_are_written(run, tmp_path):
    assert run("run", CASES / "add_grid_1d", "--out", "results").returncode == 0
    got = np.load(tmp_path / "results/out0.npy")
    np.testing.assert_allclose(got, np.load(CASES / "add_grid_1d/out0.npy"), rtol=1e-6)


def test_inputs_of_the_user_replace_the_recorded_ones(run, tmp_path):
    x = np.arange(4096, dtype=np.float32)
    np.save(tmp_path / "x.npy", x)
    done = run("run", CASES / "add_grid_1d/module.stablehlo.mlir", "--in", "x.npy", "--in", "x.npy", "--out", ".")
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(np.load(tmp_path / "out0.npy"), 2 * x)


def test_fortran_order_and_big_endian_inputs(run, tmp_path):
    shape = np.load(CASES / "rmsnorm_f32/in0.npy").shape
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    other = np.load(CASES / "rmsnorm_f32/in1.npy")
    np.save(tmp_path / "c.npy", x)
    np.save(tmp_path / "f.npy", np.asfortranarray(x).astype(">f4"))
    np.save(tmp_path / "w.npy", other)
    for name in ("c", "f"):
        done = run("run", CASES / "rmsnorm_f32/module.stablehlo.mlir", "--in", f"{name}.npy", "--in", "w.npy", "--out", name)
        assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(np.load(tmp_path / "c/out0.npy"), np.load(tmp_path / "f/out0.npy"))


def test_a_wrong_result_exits_with_1(run, tmp_path):
    shutil.copytree(CASES / "add_grid_1d", tmp_path / "case")
    expected = np.load(tmp_path / "case/out0.npy")
    expected[5] += 1
    expected[7] = np.nan
    np.save(tmp_path / "case/out0.npy", expected)
    done = run("run", "case")
    assert done.returncode == 1
    assert "WRONG" in done.stdout
    assert "result 0: 2 of 4,096 elements are wrong, first at (5): got" in done.stdout
    assert "(1 by being NaN on one side only)" in done.stdout


def test_json_says_the_same(run):
    done = run("run", CASES / "add_grid_1d", "--json")
    out = json.loads(done.stdout)
    assert [r["as_expected"] for r in out["results"]] == [True]
    assert out["results"][0]["dtype"] == "f32" and out["results"][0]["shape"] == [4096]
    assert out["inputs"][1]["from"] == "in1.npy"
    assert out["statistics"]["grid_steps"] == 4
    assert {"log", "findings", "seconds", "module"} <= out.keys()


def test_debug_prints_are_shown(run):
    done = run("run", CASES / "debug_print_scalar")
    assert done.returncode == 0
    assert "printed by the kernel:" in done.stdout


def test_options_come_from_the_environment_too(run):
    done = run("run", CASES / "add_grid_1d", env={"SMALTI_SEMANTICS": "hlo", "SMALTI_JSON": "1"})
    assert done.returncode == 0
    json.loads(done.stdout)


@pytest.mark.parametrize("extra", [["--semantics", "hlo"], ["--naive-pipeline"], ["--dma", "eager"], ["--dma", "on-wait"],
                                   ["--seed", "3"], ["--step-quantum", "1"], ["--numerics", "f32"], ["--check"]])
@pytest.mark.parametrize("case", ["add_grid_1d", "dma_slices_sem_array", "dist_right_permute_barrier"])
def test_every_way_to_run_gives_the_same(run, case, extra):
    done = run("run", CASES / case, *extra)
    assert done.returncode == 0, done.stdout + done.stderr


# The source of a copy is overwritten before the wait. A view of part of the columns as rows has no native code.
OVERWRITTEN = """
module {
  func.func @late(%x: memref<8x256xf32, #tpu.memory_space<vmem>>, %o: memref<8x256xf32, #tpu.memory_space<hbm>>, %a: memref<8x256xf32, #tpu.memory_space<vmem>>, %sem: memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) attributes {scalar_prefetch = 0 : i64, scratch_operands = 2 : i64, tpu.core_type = #tpu.core_type<tc>, dimension_semantics = []} {
    %z = arith.constant 0 : index
    %c0 = arith.constant 0 : i32
    %v = vector.load %x[%z, %z] : memref<8x256xf32, #tpu.memory_space<vmem>>, vector<8x256xf32>
    vector.store %v, %a[%z, %z] : memref<8x256xf32, #tpu.memory_space<vmem>>, vector<8x256xf32>
    tpu.enqueue_dma source(%a : memref<8x256xf32, #tpu.memory_space<vmem>>) target(%o : memref<8x256xf32, #tpu.memory_space<hbm>>) target_semaphore(%sem : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>)
    %half = tpu.memref_slice %a[%c0, %c0] : memref<8x256xf32, #tpu.memory_space<vmem>> -> memref<8x128xf32, #tpu.memory_space<vmem>>
    %flat = tpu.memref_reshape %half : memref<8x128xf32, #tpu.memory_space<vmem>> -> memref<4x256xf32, #tpu.memory_space<vmem>>
    %zero = arith.constant dense<0.0> : vector<4x256xf32>
    vector.store %zero, %flat[%z, %z] : memref<4x256xf32, #tpu.memory_space<vmem>>, vector<4x256xf32>
    tpu.wait_dma2 semaphore(%sem : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) src(%a : memref<8x256xf32, #tpu.memory_space<vmem>>) dst(%o : memref<8x256xf32, #tpu.memory_space<hbm>>)
    return
  }
}
"""


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize("options, mean", [(["--target", "cpu", "--threads", "1"], 1),
                                           (["--target", "cpu", "--dma", "eager"], 1),
                                           (["--target", "interpret", "--dma", "eager"], 1),
                                           (["--target", "interpret", "--dma", "on-wait"], 0.5)])
def test_copies_complete_at_their_start_on_cpu_also_without_native_code(run, tmp_path, native, options, mean):
    text = OVERWRITTEN
    if native:  # the same elements without the view as other rows
        text = "\n".join(line for line in text.splitlines() if "reshape" not in line).replace("4x256xf32", "8x128xf32").replace("%flat[", "%half[")
    module = tmp_path / "overwritten.mlir"
    module.write_text(text)
    where = [module, "--in", "f32[8,256]", "--fill", "ones", "--out-shape", "f32[8,256]"]
    shown = run("show", *where, "--target", "cpu", "--stage", "plan").stdout
    assert ("it runs on the machine" in shown) != native, shown
    done = run("run", *where, *options, "--json")
    [result] = json.loads(done.stdout)["results"]
    assert result["mean"] == mean, result


@pytest.mark.parametrize("check", ["run", "check"])
def test_checks_find_sources_that_are_overwritten_on_cpu_too(run, tmp_path, check):
    module = tmp_path / "overwritten.mlir"
    module.write_text(OVERWRITTEN)
    done = run(check, module, "--in", "f32[8,256]", "--fill", "ones", "--out-shape", "f32[8,256]", "--target", "cpu",
               *(["--check"] if check == "run" else []))
    assert done.returncode == 3 and "SM4107" in done.stdout + done.stderr, done.stdout + done.stderr


MESSAGES = [
    (["run"], 2, "error[SM1000]: module is required\n  help: smalti run --help lists the options\n"),
    (["rnu", "x"], 2, "error[SM1000]: unknown verb 'rnu'\n  help: did you mean 'smalti run'?\n"),
    (["run", "x", "--chekc"], 2, "error[SM1000]: unknown option '--chekc'\n  help: did you mean --check?\n"),
    (["run", "none.mlir"], 2, "error[SM1001]: cannot read 'none.mlir': No such file or directory\n"),
    (["run", "x", "--dma", "lazy"], 2,
     "error[SM1011]: --dma cannot be 'lazy'\n  need: auto|eager|on-wait|random\n"
     "  help: dma: when a copy's data moves between its start and its wait; auto: at random on the target interpret and in checks, at the start on other targets\n"),
    (["run", CASES / "add_grid_1d", "--net", "fast"], 2,
     "error[SM1011]: net cannot be 'fast'\n  need: latency in microseconds and bandwidth in GB/s: two numbers from 0 to 10^9 with a comma between\n"
     "  have: fast\n  help: SMALTI_NET=20,12.5 is a network of 100 Gbit/s; a bandwidth of 0 is unlimited\n"),
    (["run", CASES / "add_grid_1d", "--target", "gpu"], 2,
     "error[SM1011]: --target cannot be 'gpu'\n  need: interpret|cpu|cuda[:GPU|NUMBER|GPU@NUMBER]|cuda-host[:GPU|FOLDER]|sim:CHIP|tpu[:PLUGIN]\n  help: target: what runs the kernels (smalti env describes each)\n"),
    (["run", CASES / "add_grid_1d", "--in", "f32[2", "--in", "f32[2"], 2,
     "error[SM1001]: cannot read 'f32[2': No such file or directory\n"),
    (["run", CASES / "add_grid_1d/module.stablehlo.mlir", "--out-shape", "f32[8]"], 2,
     f"error[SM1000]: '{CASES / 'add_grid_1d/module.stablehlo.mlir'}' already defines its results\n  need: f32[4096]\n"
     "  have: --out-shape f32[8]\n"
     "  help: leave --out-shape out: it is for bare kernels, which do not say how large arrays are\n"),
]


@pytest.mark.parametrize("arguments, code, message", MESSAGES, ids=[" ".join(map(str, m[0][:3])) for m in MESSAGES])
def test_whole_messages(run, arguments, code, message):
    done = run(*arguments)
    assert (done.returncode, done.stderr) == (code, message)


@pytest.mark.parametrize("variable, value, allowed, what", [
    ("SMALTI_TARGET", "nope", "interpret|cpu|cuda[:GPU|NUMBER|GPU@NUMBER]|cuda-host[:GPU|FOLDER]|sim:CHIP|tpu[:PLUGIN]", "target: what runs the kernels (smalti env describes each)"),
    ("SMALTI_THREADS", "-1", "a number from 0 to 1024",
     "threads: threads of native code that share parallel grid axes; 0: one per core"),
    ("SMALTI_THREADS", "1000000000", "a number from 0 to 1024",
     "threads: threads of native code that share parallel grid axes; 0: one per core"),
    ("SMALTI_THREADS", "two", "a number from 0 to 1024",
     "threads: threads of native code that share parallel grid axes; 0: one per core"),
    ("SMALTI_CACHE_LIMIT_MIB", "-1", "a number from 0 to 1099511627776",
     "cache-limit-mib: size limit of that folder; the least recently used kernels are removed first"),
    ("SMALTI_CHECK", "perhaps", "on|off", "check: run with the checks that are enabled below"),
])
def test_nonsense_in_the_environment_names_its_variable(run, variable, value, allowed, what):
    done = run("run", CASES / "add_grid_1d", env={variable: value})
    assert (done.returncode, done.stderr) == (
        2, f"error[SM1011]: {variable} cannot be '{value}'\n  need: {allowed}\n  help: {what}\n")


def test_explain_repeats_what_was_typed(run):
    done = run("explain", "foo")
    assert (done.returncode, done.stderr) == (
        2, "error[SM1019]: there is no code 'foo'\n  help: smalti explain lists them all\n")
    done = run("explain", "SM9999")
    assert done.stderr == "error[SM1019]: there is no code 'SM9999'\n  help: the nearest are SM9001, SM9002, SM9003\n"


@pytest.mark.parametrize("target", ["interpret", "cpu"])
def test_a_grid_without_end_is_not_tried(run, tmp_path, target):
    text = (ROOT / "examples/new/kernel.mlir").read_text()
    (tmp_path / "long.mlir").write_text(text.replace("NAME", "hello").replace("iteration_bounds = array<i64: 4>",
                                                     "iteration_bounds = array<i64: 1000000000000>"))
    done = run("run", "long.mlir", "--target", target, "--in", "f32[256,128]", "--in", "f32[256,128]",
               "--out-shape", "f32[256,128]")
    assert (done.returncode, done.stderr) == (3, "error[SM4104]: the grid has more steps than the step limit\n"
                                              "   in kernel 'hello'\n"
                                              "  need: at most 200000000 instructions and grid steps\n"
                                              "  have: a grid of 1000000000000\n"
                                              "  help: make the grid smaller, or raise the step limit\n")


def test_errors_in_json(run):
    done = run("run", "none.mlir", "--json")
    assert done.returncode == 2 and done.stderr == ""
    assert json.loads(done.stdout)["error"]["code"] == "SM1001"


def test_a_hostile_module_is_refused(run, tmp_path):
    text = (CASES / "add_grid_1d/module.stablehlo.mlir").read_text()
    for n, broken in enumerate([text[: len(text) // 2], text.replace("TUz", "TUx", 1), text.replace("tensor<", "tensor<9999999999999999999x"),
                                "module {", "module @m { func.func public @main() { stablehlo.add } }", "(" * 100000 + "module stablehlo."]):
        (tmp_path / f"{n}.mlir").write_text(broken)
        done = run("run", f"{n}.mlir")
        assert done.returncode == 3, (n, done.stdout, done.stderr)
        assert done.stderr.startswith("error[SM2"), done.stderr


def test_out_folder_that_cannot_be_made(run):
    done = run("run", CASES / "add_grid_1d", "--out", "/proc/x")
    assert done.returncode == 2 and "error[SM1006]" in done.stderr


# What never ends is not waited for.

def test_pipes_are_read(run, smalti):
    text = (CASES / "add_grid_1d/module.stablehlo.mlir").read_text()
    done = subprocess.run([smalti, "describe", "/dev/stdin"], input=text, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stdout.startswith("/dev/stdin: StableHLO text\n"), done.stderr


@pytest.mark.parametrize("verb", ["run", "check", "show", "describe", "export"])
def test_a_pipe_of_nobody_is_not_waited_for(run, tmp_path, verb):
    os.mkfifo(tmp_path / "pipe")
    done = run(verb, "pipe")
    assert done.returncode == 2 and "cannot read 'pipe': nothing came through this pipe for 2 s" in done.stdout + done.stderr


def test_devices_are_not_read(run, tmp_path):
    done = run("run", "/dev/zero")
    assert (done.returncode, done.stderr) == (2, "error[SM1001]: cannot read '/dev/zero': it is neither a file nor a pipe\n")
    os.mkfifo(tmp_path / "pipe.npy")
    for path in ("/dev/zero", "pipe.npy"):
        done = run("run", CASES / "add_grid_1d", "--in", path, "--in", path)
        assert done.returncode == 2 and done.stderr == f"error[SM1001]: cannot read '{path}': it is not a regular file\n"


# Undefined memory that reaches a result is said; finding it costs nothing where no result looks undefined.

NOTE = "note: undefined memory reaches the results; smalti check reports its origin\n"


@pytest.mark.parametrize("target", ["interpret", "cpu"])
def test_undefined_results_are_said(run, target):
    done = run("run", ROOT / "examples/mistakes/missing_init.mlir", "--target", target, env={"SMALTI_CACHE": "off"})
    assert done.returncode == 0 and "nan nan nan" in done.stdout and done.stderr == NOTE
    done = run("run", ROOT / "examples/mistakes/missing_init.mlir", "--target", target, "--json", env={"SMALTI_CACHE": "off"})
    assert json.loads(done.stdout)["results"][0]["nan_count"] == 65536 and done.stderr == NOTE


def test_a_nan_that_was_computed_is_no_undefined_memory(run, tmp_path):
    x = np.full(4096, np.nan, np.float32)
    np.save(tmp_path / "x.npy", x)
    done = run("run", CASES / "add_grid_1d/module.stablehlo.mlir", "--in", "x.npy", "--in", "x.npy")
    assert done.returncode == 0 and "4,096" in done.stdout and done.stderr == ""


def test_with_check_the_findings_say_it(run):
    done = run("run", ROOT / "examples/mistakes/missing_init.mlir", "--check")
    assert done.returncode == 3 and "finding[SM4102]" in done.stderr and NOTE not in done.stderr


PART_OF_AN_OUTPUT = """module {
  func.func @k(%o: memref<32x128xi8, #tpu.memory_space<vmem>>) attributes {dimension_semantics = [], scalar_prefetch = 0 : i64, scratch_operands = 0 : i64, window_params = []} {
    %c0 = arith.constant 0 : index
    %v = arith.constant dense<-128> : vector<ROWSx128xi8>
    tpu.vector_store %o[%c0, %c0], %v {strides = array<i32>} : memref<32x128xi8, #tpu.memory_space<vmem>>, vector<ROWSx128xi8>,
    return
  }
}
"""
UNUSED_ROWS_OUTSIDE = """module {
  func.func @k(%x: memref<8x128xf32, #tpu.memory_space<vmem>>, %o: memref<8x128xf32, #tpu.memory_space<vmem>>) attributes {dimension_semantics = [], scalar_prefetch = 0 : i64, scratch_operands = 0 : i64, window_params = []} {
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %outside = vector.load %x[%c4, %c0] : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>
    %inside = vector.load %x[%c0, %c0] : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>
    %all = arith.constant dense<true> : vector<8x128xi1>
    %s = arith.select %all, %inside, %outside : vector<8x128xi1>, vector<8x128xf32>
    tpu.vector_store %o[%c0, %c0], %s {strides = array<i32>} : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>,
    return
  }
}
"""


@pytest.mark.parametrize("target", ["interpret", "cpu"])
@pytest.mark.parametrize("rows, notes", [(8, NOTE), (32, "")])
def test_rows_of_the_least_small_integer_are_looked_into(run, tmp_path, target, rows, notes):
    (tmp_path / "k.mlir").write_text(PART_OF_AN_OUTPUT.replace("ROWS", str(rows)))
    done = run("run", "k.mlir", "--out-shape", "i8[32,128]", "--target", target, env={"SMALTI_CACHE": "off"})
    assert done.returncode == 0 and done.stderr == notes


@pytest.mark.parametrize("target", ["interpret", "cpu"])
def test_earlier_contents_of_an_edge_block_are_said(run, target):
    """On `interpret` the elements outside the array are those of an earlier block, on `cpu` NaN."""
    done = run("run", ROOT / "examples/mistakes/edge_block.mlir", "--target", target, env={"SMALTI_CACHE": "off"})
    assert done.returncode == 0 and ("nan" in done.stdout) == (target == "cpu") and done.stderr == NOTE


@pytest.mark.parametrize("target", ["interpret", "cpu"])
def test_elements_outside_of_a_ref_are_said_if_they_are_used(run, tmp_path, target):
    done = run("run", ROOT / "examples/mistakes/out_of_bounds.mlir", "--target", target, env={"SMALTI_CACHE": "off"})
    assert done.returncode == 0 and done.stderr.startswith(NOTE + "\nwarning[SM4010]")
    (tmp_path / "k.mlir").write_text(UNUSED_ROWS_OUTSIDE)
    np.save(tmp_path / "x.npy", np.full((8, 128), np.nan, np.float32))
    done = run("run", "k.mlir", "--out-shape", "f32[8,128]", "--in", "x.npy", "--target", target, env={"SMALTI_CACHE": "off"})
    assert done.returncode == 0 and done.stderr.startswith("\nwarning[SM4010]")


def test_json_has_the_note(run):
    for module, notes in ((ROOT / "examples/mistakes/missing_init.mlir", [NOTE.removeprefix("note: ").strip()]), (CASES / "add_grid_1d", [])):
        assert json.loads(run("run", module, "--json").stdout)["notes"] == notes
