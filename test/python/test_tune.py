"""`smalti tune`: rankings of modules and of the library's kernels, the file of what was found, and wrong input."""

import json
import os
import subprocess
import tomllib

import pytest

from conftest import ROOT

CASES = ROOT / "test/data/cases"
MATMUL = ["matmul", "--operand", "bf16[2048,2048]", "--operand", "bf16[2048,2048]"]


def run(smalti, *words, code=0, **environment):
    done = subprocess.run([smalti, "tune", *map(str, words)], capture_output=True, text=True, env={**os.environ, **environment})
    assert done.returncode == code, done.stdout + done.stderr
    return done


def ranked(smalti, *words, code=0):
    (module,) = json.loads(run(smalti, *words, "--json", code=code).stdout)["modules"]
    return module


def test_a_modules_blocks_are_ranked(smalti):
    module = ranked(smalti, CASES / "add_grid_1d", "--chip", "v5e,v6e")
    assert [k["target"] for k in module["kernels"]] == ["v5e", "v6e"]
    for kernel in module["kernels"]:
        candidates = kernel["candidates"]
        times = [c["us"] for c in candidates if c["us"] is not None]
        assert times == sorted(times) and len(times) > 1
        (now,) = (c for c in candidates if c["as_it_is"])
        assert times[0] <= now["us"]
        for c in candidates:
            assert (c["us"] is None) == (c["error"] is not None)
            assert len(c["blocks"]) == 3


def test_the_time_of_a_module_as_it_is_is_that_of_smalti_time(smalti):
    (kernel,) = ranked(smalti, CASES / "add_grid_1d", "--chip", "v5e")["kernels"]
    timed = subprocess.run([smalti, "time", CASES / "add_grid_1d", "--chip", "v5e", "--json"], capture_output=True, text=True)
    (module,) = json.loads(timed.stdout)["modules"]
    (now,) = (c for c in kernel["candidates"] if c["as_it_is"])
    assert now["us"] == pytest.approx(module["chips"]["v5e"]["kernels"][0]["us"])


def test_most_limits_the_candidates(smalti):
    (few,) = ranked(smalti, CASES / "add_grid_1d", "--chip", "v5e", "--most", 2)["kernels"]
    assert len(few["candidates"]) == 2 and not few["all"]


def test_a_kernel_of_the_library_and_the_file(smalti, tmp_path):
    file = tmp_path / "tuned.toml"
    done = run(smalti, *MATMUL, "--chip", "v5e", "--tuned", file)
    assert "matmul of bf16[2048,2048], bf16[2048,2048] on v5e: " in done.stdout
    assert f"written to {file}: 1 entry" in done.stdout
    (entry,) = tomllib.loads(file.read_text())["tuned"]
    assert entry["kernel"] == "matmul" and entry["target"] == "v5e" and entry["by"] == "model"
    assert entry["operands"] == ["bf16[2048,2048]"] * 2 and set(entry["candidate"]) == {"block_m", "block_n", "block_k"}
    text = file.read_text()
    run(smalti, *MATMUL, "--chip", "v5e", SMALTI_TUNED=str(file))
    assert file.read_text() == text
    run(smalti, CASES / "add_grid_1d", "--chip", "v6e", "--tuned", file)
    entries = tomllib.loads(file.read_text())["tuned"]
    assert [e["target"] for e in entries] == ["v5e", "v6e"] and entries[1]["kernel"].startswith("module: ")


def test_this_machine_measures(smalti):
    module = ranked(smalti, "softmax", "--operand", "f32[256,512]", "--target", "cpu")
    (kernel,) = module["kernels"]
    assert kernel["measured"] and kernel["target"] == "cpu"
    assert all(c["us"] > 0 for c in kernel["candidates"] if c["error"] is None)


def refusal(smalti, *words, code):
    done = run(smalti, *words, code=code)
    return done.stderr + done.stdout


def test_wrong_words(smalti):
    assert refusal(smalti, *MATMUL, code=2) == (
        "error[SM1000]: candidates are tuned for chips or for this machine\n  need: --chip with chips, or --target cpu\n"
        "  have: neither\n  help: smalti tune matmul.mlir --chip v5e\n")
    assert refusal(smalti, *MATMUL, "--chip", "v5e", "--target", "cpu", code=2) == (
        "error[SM1000]: candidates are tuned for chips or for this machine\n  need: --chip with chips, or --target cpu\n"
        "  have: both\n  help: smalti tune matmul.mlir --chip v5e\n")
    assert refusal(smalti, *MATMUL, "--target", "interpret", code=2) == (
        "error[SM1000]: candidates are not tuned on 'interpret'\n"
        "  need: --target cpu, or --chip with the chips that the model knows\n")
    assert refusal(smalti, "matmull", "--chip", "v5e", code=2) == (
        "error[SM1001]: 'matmull' is neither a file nor a kernel of the library\n"
        "  need: a module, a folder with case.json, or one of matmul, flash_attention, grouped_matmul, softmax, layer_norm, "
        "rms_norm\n  help: did you mean 'matmul'?\n")
    assert refusal(smalti, "matmul", "--operand", "bf16[8,8]", "--chip", "v5e", code=2) == (
        "error[SM1000]: matmul takes different operands\n  need: --operand 2 times: x [m, k], y [k, n]\n  have: 1 operand\n"
        "  help: --operand 'bf16[512,512]' for each of them\n")
    assert "error[SM1014]: 'bf17[8,8]' is not an array type" in refusal(
        smalti, "softmax", "--operand", "bf17[8,8]", "--chip", "v5e", code=2)
    assert "error[SM6609]: there is no chip 'v99'" in refusal(smalti, *MATMUL, "--chip", "v99", code=3)
    assert refusal(smalti, "matmul", "--operand", "bf16[8]", "--operand", "bf16[8]", "--chip", "v5e", code=3) == (
        "matmul of bf16[8], bf16[8] on v5e: 0 of 1 candidate run, times by the model\n"
        "  refused: 1 candidate, SM6701: matmul takes matrices\n")


def test_modules_whose_blocks_do_not_change(smalti):
    assert refusal(smalti, CASES / "add_grid_1d", "--target", "cpu", code=3) == (
        "error[SM6913]: the blocks of a module are changed for the model alone\n"
        f"  need: a library kernel with --target cpu, or --chip\n  have: {CASES / 'add_grid_1d'}\n"
        "  help: make its block sizes candidates where it is written: pl::autotune\n")
    text = refusal(smalti, CASES / "dma_slices_sem_array", "--chip", "v5e", code=3)
    assert "error[SM6913]: kernel '" in text and "cannot have blocks of other sizes" in text
    assert "error[SM1020]: " in refusal(smalti, CASES / "add_grid_1d", "--chip", "v5e", "--kernel", "other", code=2)


def test_a_broken_file_is_refused_before_the_work(smalti, tmp_path):
    file = tmp_path / "tuned.toml"
    file.write_text('[[tuned]]\nkernel = "k"\nus = "fast"\n')
    assert refusal(smalti, *MATMUL, "--chip", "v5e", "--tuned", file, code=3) == (
        f"error[SM6912]: 'us' cannot be this\n  --> {file}:3:6\n  need: a time in µs, more than 0\n"
        "  help: delete the entry, or the file, to have it tuned again\n")
    assert file.read_text().startswith("[[tuned]]\nkernel")


def test_a_chip_with_too_little_vmem_has_no_candidate(smalti, tmp_path):
    chip = subprocess.run([smalti, "chips", "v5e", "--toml"], capture_output=True, text=True).stdout
    small = tmp_path / "small.toml"
    small.write_text(chip.replace('name = "v5e"', 'name = "small"').replace(
        "vmem_default_limit_bytes = { value = 16_777_216", "vmem_default_limit_bytes = { value = 65_536"))
    done = run(smalti, *MATMUL, "--chip", small, code=3)
    assert " on small: 0 of " in done.stdout and "refused: " in done.stdout and "SM6605: Ran out of memory in memory space vmem" in done.stdout
