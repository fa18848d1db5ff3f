"""--target tpu: programs on the devices of a PJRT plugin: that of test/pjrt, XLA's for CPUs, and libtpu without a TPU."""

import importlib.util
import json
import os
import pathlib
import signal
import subprocess
import time

import pytest

from console_examples import ROOT

CASES = ROOT / "test/data/cases"


@pytest.fixture(scope="module")
def fake(bin_dir):
    file = bin_dir.parent / "lib/libsmalti_fake_pjrt.so"
    assert file.exists(), f"{file} is missing: ./do build"
    return str(file)


@pytest.fixture
def run(smalti, tmp_path):
    def call(*arguments, **variables):
        return subprocess.run([smalti, *map(str, arguments)], capture_output=True, text=True, cwd=tmp_path, timeout=300,
                              env={"PATH": "/nowhere", **{k: str(v) for k, v in variables.items()}})
    return call


def test_a_case_on_a_device(run, fake):
    done = run("run", CASES / "matmul_bf16_gelu", "--target", f"tpu:{fake}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "as expected" in done.stdout and done.stderr == ""


def test_a_case_on_four_devices(run, fake):
    done = run("run", CASES / "dist_all_reduce_ring", "--target", f"tpu:{fake}", FAKE_PJRT_DEVICES=4)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "as expected" in done.stdout


def test_the_plugin_may_be_named_by_a_variable(run, fake):
    done = run("run", CASES / "add_grid_1d", "--target", "tpu", TPU_LIBRARY_PATH=fake)
    assert done.returncode == 0 and "as expected" in done.stdout
    done = run("run", CASES / "add_grid_1d", SMALTI_TARGET=f"tpu:{fake}")
    assert done.returncode == 0 and "as expected" in done.stdout


def test_without_a_tpu_a_sentence_says_so(run):
    if any(pathlib.Path("/dev").glob("accel*")) or any(pathlib.Path("/dev/vfio").glob("[0-9]*")):
        pytest.skip("this machine may have a TPU")
    done = run("run", CASES / "add_grid_1d", "--target", "tpu")
    assert done.returncode == 3
    assert done.stderr == (
        "error[SM5008]: the target 'tpu' cannot run here\n"
        "  have: this machine has no TPU: there is neither /dev/accel0 nor a Google device in /dev/vfio\n"
        "  help: run it on a TPU VM (smalti explain SM5008 says how to get one), or simulate it: --target sim:v5e\n")


def test_libtpu_without_a_tpu_says_what_it_misses(run):
    package = importlib.util.find_spec("libtpu")
    if not package:
        pytest.skip("Google's TPU compiler (PyPI: libtpu) is not installed")
    if any(pathlib.Path("/dev").glob("accel*")) or any(pathlib.Path("/dev/vfio").glob("[0-9]*")):
        pytest.skip("this machine may have a TPU")
    libtpu = str(pathlib.Path(package.origin).parent / "libtpu.so")
    done = run("run", CASES / "add_grid_1d", "--target", f"tpu:{libtpu}")
    assert done.returncode == 3
    assert done.stderr.startswith("error[SM6803]: the plugin did not find devices\n")
    assert done.stderr.endswith("  help: run it on a machine with a TPU; smalti compile needs none\n")


def test_a_file_that_is_no_plugin(run):
    done = run("run", CASES / "add_grid_1d", "--target", "tpu:/lib/x86_64-linux-gnu/libz.so.1")
    assert done.returncode == 3
    assert done.stderr == (
        "error[SM6802]: '/lib/x86_64-linux-gnu/libz.so.1' is not a PJRT plugin that can be used\n"
        "  need: a shared library for this processor with the function GetPjrtApi\n"
        "  have: a library without that function\n"
        "  help: give the plugin itself, e.g. libtpu.so\n")


@pytest.mark.parametrize("entry", [3, 8, 10, 16, 20, 22, 55, 70])
def test_a_crash_of_the_plugin_is_a_diagnostic_and_nothing_is_written(run, fake, tmp_path, entry):
    done = run("run", CASES / "add_grid_1d", "--target", f"tpu:{fake}", "--out", "results", FAKE_PJRT_CRASH=entry)
    assert done.returncode == 3
    assert done.stderr == (
        "error[SM6810]: the plugin of the devices crashed in this run\n"
        f"   in target 'tpu'\n   in plugin '{fake}'\n"
        "  have: signal 6 (Aborted): latency_table_vf.cc:719] Operation not supported: kFake\n"
        "  help: the plugin itself crashed: check with smalti compile whether its compiler accepts the kernels, and with "
        "--target interpret whether they are correct\n")
    assert not (tmp_path / "results").exists()


def test_a_hang_of_the_plugin_ends_in_time(run, fake):
    begin = time.monotonic()
    done = run("run", CASES / "add_grid_1d", "--target", f"tpu:{fake}", "--timeout-seconds", 1, FAKE_PJRT_HANG=55)
    assert time.monotonic() - begin < 20
    assert done.returncode == 3
    assert done.stderr == (
        "error[SM6811]: the devices timed out in this run\n"
        f"   in target 'tpu'\n   in plugin '{fake}'\n"
        "  need: at most 1 s\n"
        "  help: raise --timeout-seconds: it includes starting the devices and compiling\n")


def test_who_ends_the_tool_ends_the_plugin(smalti, fake, tmp_path):
    """Nobody is left who has the devices."""
    tool = subprocess.Popen([smalti, "run", CASES / "add_grid_1d", "--target", f"tpu:{fake}"], cwd=tmp_path,
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                            env={"PATH": "/nowhere", "FAKE_PJRT_HANG": "55"})
    children = pathlib.Path(f"/proc/{tool.pid}/task/{tool.pid}/children")
    for _ in range(500):
        child = children.read_text().split()
        if child:
            break
        time.sleep(0.01)
    tool.send_signal(signal.SIGTERM)
    tool.wait(timeout=20)
    for _ in range(500):
        if not os.path.exists(f"/proc/{child[0]}") or pathlib.Path(f"/proc/{child[0]}/stat").read_text().split()[2] == "Z":
            return
        time.sleep(0.01)
    raise AssertionError("the child is still there")


def test_errors_of_the_device_keep_its_words(run, fake):
    done = run("run", CASES / "add_grid_1d", "--target", f"tpu:{fake}",
               FAKE_PJRT_LATE_MS=20, FAKE_PJRT_LATE_ERROR="the interconnect is down")
    assert done.returncode == 3
    assert done.stderr == (
        "error[SM6803]: the plugin did not take operand 0 of device 10 (fake chip)\n"
        f"   in plugin '{fake}'\n"
        "  have: INTERNAL: the interconnect is down\n")


def test_json_has_the_refusal(run, fake):
    done = run("run", CASES / "add_grid_1d", "--target", f"tpu:{fake}", "--json", FAKE_PJRT_CRASH=55)
    assert done.returncode == 3
    assert json.loads(done.stdout)["error"]["code"] == "SM6810"


def test_conform_runs_all_cases_in_one_process(run, fake):
    done = run("conform", CASES, "--filter", "_grid", "--target", f"tpu:{fake}", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["passed"] == 2


def test_a_crash_in_one_case_is_its_own(run, fake):
    done = run("conform", CASES, "--filter", "matmul", "--target", f"tpu:{fake}", FAKE_PJRT_CRASH_ON="i8")
    assert done.returncode == 1
    lines = {line.split()[0]: line.split()[1] for line in done.stdout.splitlines() if "matmul" in line and "crash" in line
             or "pass" in line.split()}
    assert lines["matmul_bf16_gelu"] == "pass" and lines["matmul_int8"] == "crash"
    assert "error[SM6810]: the plugin of the devices crashed in this case\n" in done.stdout


def test_checks_are_the_machines(run, fake):
    """Devices check nothing, so that no plugin is needed for a check."""
    done = run("run", CASES / "add_grid_1d", "--target", f"tpu:{fake}", "--check", FAKE_PJRT_CRASH=3)
    assert done.returncode == 0, done.stderr
    assert "as expected" in done.stdout


def test_a_check_needs_no_tpu(run):
    for arguments in (["check"], ["run", "--check"]):
        done = run(*arguments, CASES / "add_grid_1d", SMALTI_TARGET="tpu")
        assert done.returncode == 0, done.stdout + done.stderr


def test_show_starts_no_plugin(run, fake):
    """What is shown is watched, which only the machine can be."""
    shown = run("show", CASES / "add_grid_1d", "--stage", "windows", SMALTI_TARGET=f"tpu:{fake}", FAKE_PJRT_CRASH=3)
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout == run("show", CASES / "add_grid_1d", "--stage", "windows").stdout


# ---- XLA's CPU plugin: a runtime that is not ours

PLAIN = """module @plain attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%arg0: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>}, %arg1: tensor<6xf32>) -> (tensor<4x3xf32>, tensor<8x6xf32>) {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"y"}, {"x"}]>] out_shardings=[<@mesh, [{}, {}]>] manual_axes={"x", "y"} (%arg2: tensor<4x3xf32>) {
      %2 = "stablehlo.all_reduce"(%arg2) ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %s = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %s : tensor<f32>
      }) {replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids} : (tensor<4x3xf32>) -> tensor<4x3xf32>
      sdy.return %2 : tensor<4x3xf32>
    } : (tensor<8x6xf32>) -> tensor<4x3xf32>
    %1 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<6xf32>) -> tensor<8x6xf32>
    %3 = stablehlo.add %1, %arg0 : tensor<8x6xf32>
    return %0, %3 : tensor<4x3xf32>, tensor<8x6xf32>
  }
}
"""
TRANSPOSE = """module @transposed {
  func.func public @main(%arg0: tensor<5x7xTYPE>) -> tensor<7x5xTYPE> {
    %0 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<5x7xTYPE>) -> tensor<7x5xTYPE>
    return %0 : tensor<7x5xTYPE>
  }
}
"""
TYPES = ["i1", "i2", "i4", "ui4", "i8", "ui8", "i16", "ui16", "i32", "ui32", "i64", "f16", "bf16", "f32", "f64", "f8E5M2",
         "f8E4M3FN", "f4E2M1FN", "complex<f32>"]


@pytest.fixture(scope="module")
def xla_cpu():
    file = os.environ.get("SMALTI_CPU_PJRT")
    if not file and (package := importlib.util.find_spec("lammps_jax_pjrt_cpu")):
        file = str(pathlib.Path(package.origin).parent / "pjrt_c_api_cpu_plugin.so")
    if not file:
        pytest.skip("XLA's CPU plugin (PyPI: lammps-jax-pjrt-cpu, or SMALTI_CPU_PJRT) is not installed")
    return file


def results_of(run, tmp_path, module, target, *options):
    (tmp_path / "module.mlir").write_text(module)
    done = run("run", "module.mlir", "--fill", "random", "--target", target, *options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("dtype", TYPES)
def test_every_element_type_on_xla(run, xla_cpu, tmp_path, dtype):
    module = TRANSPOSE.replace("TYPE", dtype)
    assert results_of(run, tmp_path, module, f"tpu:{xla_cpu}") == results_of(run, tmp_path, module, "interpret")


def test_arguments_split_in_another_order(run, fake, tmp_path):
    """Over both axes of the mesh, the inner one first; a sum over all devices, and what no device has by itself."""
    (tmp_path / "module.mlir").write_text(PLAIN)
    wanted, got = (run("run", "module.mlir", "--fill", "random", "--target", target, FAKE_PJRT_DEVICES=4)
                   for target in ("interpret", f"tpu:{fake}"))
    assert got.returncode == 0, got.stderr
    assert got.stdout == wanted.stdout


def test_four_devices_of_xla(run, xla_cpu, tmp_path):
    assert results_of(run, tmp_path, PLAIN, f"tpu:{xla_cpu}") == results_of(run, tmp_path, PLAIN, "interpret")


def test_a_kernel_is_for_tpus(run, xla_cpu):
    done = run("run", CASES / "add_grid_1d", "--target", f"tpu:{xla_cpu}")
    assert done.returncode == 3
    assert done.stderr.startswith("error[SM6806]: the compiler for cpu refuses this: for a reason of its own\n")
    assert "custom call to tpu_custom_call" in done.stderr
