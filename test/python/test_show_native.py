"""smalti show --target cpu: what native code a kernel becomes."""

import json
import re
import subprocess

import pytest

from console_examples import ROOT

CASES = ROOT / "test/data/cases"


@pytest.fixture
def show(smalti):
    def call(case, *arguments, path="/usr/bin:/bin"):
        return subprocess.run([smalti, "show", str(CASES / case), *arguments], capture_output=True, text=True,
                              env={"PATH": path}, timeout=120)
    return call


def test_figures_tiles_and_the_inner_loop(show):
    done = show("matmul_bf16_gelu", "--target", "cpu", "--target-cpu", "haswell")
    assert done.returncode == 0, done.stderr
    assert re.search(r"^kernel mm_k for haswell\n  [\d,]+ bytes of code, [\d,]+ spills, [\d,]+ bytes of values "
                     r"and packed operands; emitted in [\d.]+ ms, optimised in [\d.]+ ms, generated in [\d.]+ ms\n",
                     done.stdout), done.stdout
    assert "\n  product " in done.stdout
    assert re.search(r"inner loop, \d+ instructions, \d+ spills\n +\.LBB", done.stdout), done.stdout


def test_why_threads_share_nothing(show, smalti, tmp_path):
    shared = show("matmul_bf16_gelu", "--target", "cpu").stdout
    assert re.search(r"^  threads share the first (grid axis|[2-9] grid axes)$", shared, re.M), shared
    text = subprocess.run([smalti, "export", str(CASES / "add_grid_1d"), "--format", "text"], capture_output=True,
                          text=True, timeout=120).stdout
    before, _, last = text.rpartition("return %arg0 : i32")
    module = tmp_path / "one_block.mlir"
    module.write_text(before + "return %c0_i32 : i32" + last)
    arrays = [word for _ in range(2) for word in ("--in", "f32[4096]")]
    done = show(module, *arrays, "--out-shape", "f32[1024]", "--target", "cpu")
    assert "  in order: output 0 may have the same block at several points of grid axis 0\n" in done.stdout, done.stderr


def test_json(show):
    done = show("matmul_bf16_gelu", "--target", "cpu", "--json")
    kernel, = json.loads(done.stdout)["kernels"]
    assert kernel["code_bytes"] > 0 and kernel["products"] and kernel["ms"]["generate"] > 0
    assert kernel["inner_loop"]["instructions"] > 0


def test_without_llvm_mca_it_says_so(show, tmp_path):
    done = show("add_grid_1d", "--target", "cpu", path=str(tmp_path))
    assert done.returncode == 0 and "llvm-mca is not installed" in done.stdout, done.stdout


@pytest.mark.parametrize("stage, text", [("llvm", "define "), ("optimised", "define "), ("assembly", "\tret")])
def test_stages(show, stage, text):
    done = show("add_grid_1d", "--stage", stage, "--target-cpu", "haswell")
    assert done.returncode == 0 and text in done.stdout


def test_the_plan_is_a_table(show):
    done = show("matmul_bf16_gelu", "--stage", "plan", "--target-cpu", "haswell")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "kernel mm_k for haswell"
    assert "  rewrites: retile-matmul-grid" in lines
    assert "  operand   access  notes" in lines
    assert any(line.startswith("  output 0  view") for line in lines)
    assert any("x256 bf16·bf16→f32: tile 6x16" in line for line in lines), done.stdout


def test_the_plan_is_data(show):
    done = show("edges_reach_an_output", "--stage", "plan", "--json")
    kernel, = json.loads(done.stdout)["kernels"]
    access = {row["operand"]: row["access"] for row in kernel["plan"]["operands"]}
    assert "view or edge buffer" in access.values(), kernel["plan"]
    assert all(nest["phases"] >= 1 for nest in kernel["plan"]["nests"])
    assert not kernel.keys() & {"code_bytes", "spills", "ms"}, "no code is emitted for it"


def test_copies_are_in_the_plan(show):
    plan = show("dma_slices_sem_array", "--stage", "plan", "--json")
    copies = json.loads(plan.stdout)["kernels"][0]["plan"]["copies"]
    assert [c["position"] for c in copies] == [1, 2, 3] and all(c["dtype"] == "f32" and not c["remote"] for c in copies)
    remote = show("dist_right_permute_barrier", "--stage", "plan", "--target", "cpu")
    assert "  to another device" in remote.stdout, remote.stdout


def test_a_kernel_without_native_code_says_why(show):
    done = show(ROOT / "test/data/races/core_mesh_ordered.mlir", "--target", "cpu")
    assert done.returncode == 0 and "no native code, it runs on the machine: " in done.stdout


def test_kernels_of_several_devices_are_native(show):
    done = show("dist_right_permute_barrier", "--target", "cpu", "--stage", "llvm")
    assert done.returncode == 0 and "call ptr @smalti_cpu_peer(" in done.stdout


def test_what_is_checked(show):
    proved = show("matmul_bf16_gelu", "--target", "cpu", "--check")
    assert "  checked: all memory is proved to be written before it is read\n" in proved.stdout
    shadows = show(ROOT / "examples/mistakes/edge_block.mlir", "--target", "cpu", "--check", "--json")
    assert json.loads(shadows.stdout)["kernels"][0]["shadows"] == ["output 0"]
    machine = show("dist_right_permute_barrier", "--target", "cpu", "--check")
    assert "it runs on the machine: it uses tpu." in machine.stdout


@pytest.mark.parametrize("arguments, have", [([], "--target interpret with --stage all"),
                                             (["--stage", "windows", "--target", "cpu"],
                                              "--target cpu with --stage windows")])
def test_a_processor_without_native_code_to_show_is_refused(show, arguments, have):
    done = show("add_grid_1d", "--target-cpu", "haswell", *arguments)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr == (
        "error[SM1000]: --target-cpu names the processor of native code, which is not shown\n"
        "  need: --target cpu with --stage all, or --stage plan|llvm|optimised|assembly|ptx|sass\n"
        f"  have: {have}\n"
        "  help: leave it out, or show native code: --target cpu\n")


def test_no_name_is_no_processor(show):
    done = show("add_grid_1d", "--target", "cpu", "--target-cpu", "")
    assert done.returncode == 3 and done.stderr.startswith("error[SM7001]: there is no processor '' for "), done.stderr


def test_a_machine_without_native_code_says_so(show):
    done = show("add_grid_1d", "--target", "cpu", "--target-cpu", "i686-linux-gnu/haswell")
    assert "it runs on the machine: there is no native code for i686-unknown-linux-gnu\n" in done.stdout, done.stderr


def test_an_unknown_processor_is_refused(show):
    done = show("add_grid_1d", "--target", "cpu", "--target-cpu", "pentium9")
    assert done.returncode == 3 and done.stderr.startswith("error[SM7001]")
