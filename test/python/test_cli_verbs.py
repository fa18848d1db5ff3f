"""The other verbs: check, show, describe, export, explain, env, new, and what all have in common."""

import json
import os
import re
import resource
import subprocess

import numpy as np
import pytest

from chips import CHIPS
from console_examples import ROOT

CASES = ROOT / "test/data/cases"
MISTAKES = ROOT / "examples/mistakes"
VERBS = ["run", "check", "conform", "show", "describe", "export", "compile", "cache", "chips", "explain", "env", "new"]


@pytest.fixture
def run(smalti, tmp_path):
    def call(*arguments, env=None, cwd=tmp_path):
        return subprocess.run([smalti, *map(str, arguments)], capture_output=True, text=True, cwd=cwd,
                              env={"PATH": "/usr/bin:/bin", **(env or {})}, timeout=300)
    return call


@pytest.mark.parametrize("verb", VERBS)
def test_help_teaches_by_an_example(run, verb):
    done = run(verb, "--help")
    assert done.returncode == 0
    assert "Example:" in done.stdout and f"smalti {verb}" in done.stdout and "--json" in done.stdout


def test_help_and_version(run):
    assert all(re.search(rf"^  {verb} ", run("--help").stdout, re.M) for verb in VERBS)
    assert re.fullmatch(r"smalti \d+\.\d+\.\d+ \(MLIR \d+\.\d+\.\d+\)\n", run("--version").stdout)
    assert run().returncode == 2


# check

@pytest.mark.parametrize("mistake", sorted(p.stem for p in MISTAKES.glob("*.mlir")))
def test_every_planted_mistake_is_named(run, mistake):
    done = run("check", MISTAKES / f"{mistake}.mlir")
    assert done.returncode == 3, done.stdout + done.stderr
    assert re.search(r"\[SM4\d{3}\]", done.stdout), done.stdout


def test_a_clean_kernel_has_no_findings(run):
    done = run("check", CASES / "matmul_bf16_gelu")
    assert done.returncode == 0
    assert done.stdout.endswith("nothing found\n")


def test_check_of_a_folder_is_a_table(run):
    done = run("check", CASES)
    assert done.returncode == 3, done.stdout
    assert re.search(r"^\d+ cases: 2 with findings, 0 refused or crashed, 0 with a wrong result$", done.stdout, re.M)
    # Two recordings are of what JAX has in undefined memory.
    findings = re.findall(r"^(\w+) +1 finding +(SM\d+)", done.stdout, re.M)
    assert findings == [("edges_reach_an_output", "SM4102"), ("undefined_int16", "SM4102")]


def test_check_of_one_module_ends_in_time(run):
    module = ROOT / "test/errors/SM9012/endless.mlir"
    arguments = ["--out-shape", "i32[1]", "--timeout-seconds", "2", "--step-limit", str(10**15)]
    for target in ("interpret", "cpu"):
        done = run("check", module, *arguments, "--target", target)
        assert done.returncode == 4 and done.stdout == (
            f"{module}: did not finish\nerror[SM9012]: the module timed out\n"
            "  need: at most 2 s\n"
            "  help: raise --timeout-seconds, or lower --step-limit to see where it hangs\n"), done.stderr


def test_check_with_a_limit_says_the_same(run):
    for module in (MISTAKES / "semaphore_left_over.mlir", CASES / "matmul_bf16_gelu", MISTAKES / "none.mlir"):
        limited, free = (run("check", module, "--json", *limit) for limit in (["--timeout-seconds", "60"], []))
        assert (limited.stdout, limited.returncode) == (free.stdout, free.returncode)


def test_check_json(run):
    done = run("check", MISTAKES / "semaphore_left_over.mlir", CASES / "add_grid_1d", "--json")
    assert done.returncode == 3
    first, second = json.loads(done.stdout)
    assert first["findings"][0]["code"].startswith("SM41") and first["findings"][0]["count"] >= 1
    assert second["findings"] == [] and second["error"] is None


def test_a_check_can_be_switched_off(run):
    assert run("check", MISTAKES / "semaphore_left_over.mlir", "--no-check-semaphores").returncode == 0


# show, describe

def test_show_tells_who_is_fetched_when(run):
    done = run("show", CASES / "add_grid_1d", "--stage", "windows", "--steps", "2")
    assert done.returncode == 0
    assert re.search(r"input 0 +vmem +f32\[4096\] +f32\[1024\] +\(i\)", done.stdout), done.stdout
    assert re.search(r"^ +0 +\(0\) +fetch \(0\) +fetch \(0\) +·$", done.stdout, re.M), done.stdout
    assert re.search(r"^ +1 +\(1\) +fetch \(1\) +fetch \(1\) +write \(0\)$", done.stdout, re.M), done.stdout
    assert re.search(r"^ +… +2 more$\n^ +end +· +· +write \(3\)$", done.stdout, re.M), done.stdout
    steps = json.loads(run("show", CASES / "add_grid_1d", "--json", "--stage", "windows").stdout)["kernels"][0]["steps"]
    assert [s["grid"] for s in steps] == [[0], [1], [2], [3], []]
    assert steps[1]["written_back"] == {"output 0": "(0)"}


def test_show_prints_the_ir(run):
    done = run("show", CASES / "add_grid_1d", "--stage", "kernel")
    assert done.returncode == 0 and "arith.addf" in done.stdout
    done = run("show", CASES / "add_grid_1d", "--stage", "generic")
    assert '"arith.addf"' in done.stdout
    done = run("show", CASES / "add_grid_1d", "--stage", "program")
    assert "kernel_call add_k (%0, %1) : f32[4096]" in done.stdout


def test_show_says_that_there_are_no_kernels(run, tmp_path):
    module = tmp_path / "plain.mlir"
    module.write_text("""module @plain {
  func.func public @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    %0 = stablehlo.add %x, %x : tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}
""")
    for arguments in (["--stage", "kernel"], ["--stage", "windows"], ["--target", "cpu"], ["--stage", "plan"]):
        done = run("show", module, *arguments)
        assert (done.returncode, done.stdout) == (0, "")
        assert done.stderr == "note: the module has no kernels; --stage program shows its ops\n"
    assert run("show", module, "--stage", "program").stderr == ""


def test_describe(run):
    done = run("describe", CASES / "block_sparse_matmul")
    assert done.returncode == 0
    for word in ("StableHLO text", "main", "kernel", "grid", "prefetch 0", "tpu.matmul"):
        assert word in done.stdout, word
    out = json.loads(run("describe", CASES / "add_grid_1d", "--json").stdout)
    assert out["kind"] == "StableHLO text" and out["arguments"][0] == {"dtype": "f32", "shape": [4096]}
    assert out["kernels"][0]["ops"]["arith.addf"] == 1 and out["kernels"][0]["grid"] == "4"


# export

@pytest.mark.parametrize("form", ["text", "generic", "bytecode", "stablehlo"])
def test_what_is_exported_runs_again(run, tmp_path, form):
    done = run("export", CASES / "add_grid_1d", "--format", form, "-o", f"kernel.{form}")
    assert done.returncode == 0, done.stderr
    shapes = [] if form == "stablehlo" else ["--out-shape", "f32[4096]"]
    files = [x for i in range(2) for x in ("--in", CASES / f"add_grid_1d/in{i}.npy")]
    done = run("run", f"kernel.{form}", *files, *shapes, "--out", "results")
    assert done.returncode == 0, done.stderr
    np.testing.assert_allclose(np.load(tmp_path / "results/out0.npy"), np.load(CASES / "add_grid_1d/out0.npy"), rtol=1e-6)


@pytest.mark.parametrize("version", range(8, 19))
def test_every_bytecode_version_is_written(run, tmp_path, version):
    done = run("export", CASES / "matmul_bf16_gelu", "--format", "bytecode", "--version", version, "-o", "k.bc")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "k.bc").read_bytes().startswith(b"ML\xefR")
    done = run("describe", "k.bc")
    assert done.returncode == 0 and "stable_mosaic bytecode" in done.stdout and "a bare kernel" in done.stdout


def test_wrong_export(run):
    assert run("export", CASES / "add_grid_1d", "--format", "pdf").returncode == 2
    assert run("export", CASES / "add_grid_1d", "--version", "7").returncode == 2
    done = run("export", CASES / "add_grid_1d", "--kernel", "other")
    assert done.returncode == 2 and "error[SM1020]" in done.stderr and "0: add_k" in done.stderr


# explain, env, new

def test_explain(run):
    listed = run("explain").stdout
    pages = sorted((ROOT / "docs/errors").glob("SM*.md"))
    assert all(p.stem in listed for p in pages)
    assert run("explain", "sm1012").stdout == run("explain", "1012").stdout == (ROOT / "docs/errors/SM1012.md").read_text()
    done = run("explain", "SM1099")
    assert done.returncode == 2 and done.stderr.startswith("error[SM1019]: there is no code 'SM1099'\n  help: the nearest are SM10")


def test_env_says_where_values_come_from(run):
    out = json.loads(run("env", "--json", "--seed", "3", env={"SMALTI_DMA": "eager", "SMALTI_TARGT": "x"}).stdout)
    rows = {r["option"]: r for r in out["options"]}
    assert (rows["seed"]["value"], rows["seed"]["origin"]) == ("3", "command line")
    assert (rows["dma"]["value"], rows["dma"]["origin"]) == ("eager", "environment")
    assert rows["cores"]["origin"] == "built in"
    assert out["misspelt"] == [{"variable": "SMALTI_TARGT", "nearest": "SMALTI_TARGET"}]
    targets = {t["name"]: t["available"] for t in out["targets"]}
    assert list(targets) == ["interpret", "cpu", "cuda", "cuda-host", "sim", "tpu"]
    assert targets["interpret"] and targets["cpu"] and targets["cuda-host"] and targets["sim"]  # a GPU or a TPU there may be, or not
    assert rows["target"]["allowed"] == "interpret|cpu|cuda[:GPU|NUMBER|GPU@NUMBER]|cuda-host[:GPU|FOLDER]|sim:CHIP|tpu[:PLUGIN]"
    done = run("env", env={"SMALTI_TARGT": "x"})
    assert done.returncode == 0 and "SMALTI_STEP_LIMIT" in done.stdout
    assert done.stderr == "SMALTI_TARGT is not an option of Smalti; did you mean SMALTI_TARGET?\n"


def test_a_wrong_variable_is_refused_by_every_verb(run):
    done = run("explain", env={"SMALTI_JOBS": "many"})
    assert done.returncode == 2 and "error[SM1011]: SMALTI_JOBS cannot be 'many'" in done.stderr


def test_new_prints_a_folder_as_a_shell_takes_it(run, tmp_path):
    for folder, word in (("my kernels", "'my kernels'"), ("x'y", "'x'\\''y'"), ("sub/k_1.x", "sub/k_1.x")):
        assert f"\n  cd {word}\n" in run("new", folder, cwd=tmp_path).stdout
    assert "\n  cd ./-k\n" in run("new", "--", "-k", cwd=tmp_path).stdout


def test_a_file_of_facts_is_that_of_one_chip(run):
    done = run("chips", "--toml")
    assert (done.returncode, done.stderr) == (2, (
        f"error[SM1000]: --toml prints the file of one chip\n  need: a chip: {', '.join(CHIPS)}\n  have: none\n"
        "  help: for example: smalti chips v5e --toml\n"))


def test_names_of_a_module_are_printed_without_control_characters(run, tmp_path):
    """They can neither drive a terminal nor forge lines of a message."""
    name = "k\\1B[31m\\0Aerror[SM0000]: forged"
    shown = []
    for file, old, new in ((MISTAKES / "semaphore_left_over.mlir", r'kernel_name = "\w+"', f'kernel_name = "{name}"'),
                           (ROOT / "test/errors/SM9012/endless.mlir", r"func.func @\w+", f'func.func @"{name}"')):
        (tmp_path / file.name).write_text(re.sub(old, lambda _: new, file.read_text(), count=1))
        shown += [run("describe", file.name), run("show", file.name, "--stage", "windows"), run("describe", file.name, "--json")]
    for done in shown:
        assert done.returncode == 0 and "\x1b" not in done.stdout and "\nerror" not in done.stdout, done.stdout
        assert "k\\x1b[31m\\x0aerror[SM0000]: forged" in done.stdout.replace("\\\\", "\\"), done.stdout


def test_new_works_as_its_readme_says(run, smalti, tmp_path):
    assert run("new", "hello").returncode == 0
    again = run("new", "hello")
    assert again.returncode == 2 and "error[SM1018]" in again.stderr
    readme = (tmp_path / "hello/README.md").read_text()
    commands = [line for block in re.findall(r"```sh\n(.*?)```", readme, re.S) for line in block.splitlines()]
    assert len(commands) >= 4
    environment = {**os.environ, "PATH": f"{os.path.dirname(smalti)}:{os.environ['PATH']}"}
    for command in commands:
        if not command.startswith("smalti"):
            continue
        done = subprocess.run(["bash", "-c", command], cwd=tmp_path / "hello", env=environment, capture_output=True, text=True)
        assert done.returncode == 0, command + "\n" + done.stdout + done.stderr
    x, y, z = (np.load(tmp_path / "hello" / f) for f in ("x.npy", "y.npy", "results/out0.npy"))
    np.testing.assert_allclose(z, 2 * x + y, rtol=1e-6)


def test_new_leaves_nothing_where_files_do_not_fit(smalti, tmp_path):
    """Files may hold 64 KiB: the module can be written, the arrays cannot."""
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))
    done = subprocess.run([smalti, "new", "above/hello"], capture_output=True, text=True, cwd=tmp_path, preexec_fn=limit,
                          restore_signals=False)  # SIGXFSZ is ignored, as Python does
    assert done.returncode == 2 and "error[SM1006]" in done.stderr
    assert not list(tmp_path.iterdir())
