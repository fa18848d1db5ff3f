"""`smalti time`: what it prints and refuses, and that the model agrees with itself and with measured times."""

import json
import math
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

from chips import CHIPS
from conftest import ROOT

CASES = ROOT / "test/data/cases"
MEASURED = ROOT.parent / "shared/data/tpu_measurements.csv"


def time(smalti, *words, code=0):
    done = subprocess.run([smalti, "time", *map(str, words), "--json"], capture_output=True, text=True)
    assert done.returncode == code, done.stdout + done.stderr
    return json.loads(done.stdout)["modules"]


def test_every_chip_has_a_time_and_its_parts_add_up(smalti):
    (module,) = time(smalti, CASES / "flash_attention_causal_f32")
    assert set(module["chips"]) == set(CHIPS)
    for on in module["chips"].values():
        assert on["low_us"] < on["us"] < on["high_us"]
        assert sum(on["parts_us"].values()) == pytest.approx(on["us"], rel=1e-6)
        assert on["bound"] == max(on["parts_us"], key=on["parts_us"].get)
        assert 0 < on["roofline_fraction"] <= 1.05


def test_traffic_says_how_often_each_operand_moves(smalti):
    """A product whose left operand has one column of blocks: they stay while the right one's are fetched for each of 24 rows."""
    on = time(smalti, ROOT / "test/data/tpu_vmem/0008.mlir", "--chip", "v5e")[0]["chips"]["v5e"]
    (kernel,) = on["kernels"]
    times = {t["what"]: t["bytes"] / t["array_bytes"] for t in kernel["traffic"]}
    assert sum(t["bytes"] for t in kernel["traffic"]) == pytest.approx(kernel["hbm_bytes"] * kernel["cores"])
    assert times == {"input 0": 1, "input 1": 24, "output 0": 1}


def test_more_bandwidth_makes_a_kernel_that_waits_for_it_faster(smalti, tmp_path):
    chip = subprocess.run([smalti, "chips", "v5e", "--toml"], capture_output=True, text=True).stdout
    assert "value = 820" in chip
    (tmp_path / "fast.toml").write_text(chip.replace("value = 820", "value = 8200").replace('"v5e"', '"fast"'))
    (module,) = time(smalti, CASES / "rmsnorm_f32", "--chip", f"v5e,{tmp_path / 'fast.toml'}")
    assert module["chips"]["fast"]["us"] < module["chips"]["v5e"]["us"]
    assert module["chips"]["fast"]["parts_us"]["hbm"] < module["chips"]["v5e"]["parts_us"]["hbm"]


def test_a_case_brings_the_inputs_that_its_time_depends_on(smalti, tmp_path):
    case = CASES / "dynamic_grid"
    (module,) = time(smalti, case, "--chip", "v5e")
    steps = module["chips"]["v5e"]["kernels"][0]["steps"]
    assert steps > 0
    text = next(case.glob("*.mlir"))
    (module,) = time(smalti, text, "--chip", "v5e", code=3)
    assert module["chips"]["v5e"]["error"]["code"] == "SM6902"
    recorded = json.loads((case / "case.json").read_text())
    files = [a for a in sorted(case.glob("in*.npy"))]
    assert recorded and files
    words = [w for i, f in enumerate(files) for w in ("--in", f"{i}={f}")]
    (module,) = time(smalti, text, "--chip", "v5e", *words)
    assert module["chips"]["v5e"]["kernels"][0]["steps"] == steps


DYNAMIC = CASES / "dynamic_grid/module.stablehlo.mlir"
LOOKED_UP = CASES / "packed_cache_bf16/module.stablehlo.mlir"


def refusal(smalti, *words):
    done = subprocess.run([smalti, "time", *map(str, words)], capture_output=True, text=True, cwd=CASES)
    return done.returncode, done.stdout + done.stderr


def test_what_is_needed_is_said_by_the_number_of_the_modules_input(smalti):
    assert refusal(smalti, "dynamic_grid/module.stablehlo.mlir", "--chip", "v5e") == (3, (
        "dynamic_grid/module.stablehlo.mlir on v5e: no prediction\n"
        "error[SM6902]: the number of steps along grid axis 0 depends on data that is not given\n"
        "   in kernel '_lambda_'\n"
        "  have: it is input 0 of the module, i32[]\n"
        "  help: give it (--in 0=FILE.npy), or assume its value (--assume 0=NUMBER)\n"))


def test_a_number_that_a_region_computes_from_an_input_is_unknown(smalti, tmp_path):
    """All operands of the reduction are known; its body adds an input."""
    module = tmp_path / "module.stablehlo.mlir"
    module.write_text("""
module @m {
  func.func public @main(%rounds: tensor<i32>, %x: tensor<8xf32>) -> tensor<8xf32> {
    %numbers = stablehlo.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %n = "stablehlo.reduce"(%numbers, %zero) <{dimensions = array<i64: 0>}> ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %s = stablehlo.add %a, %rounds : tensor<i32>
      %t = stablehlo.add %s, %b : tensor<i32>
      stablehlo.return %t : tensor<i32>
    }) : (tensor<4xi32>, tensor<i32>) -> tensor<i32>
    %last:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<8xf32>
     cond {
      %more = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %next = stablehlo.add %i, %one : tensor<i32>
      %twice = stablehlo.add %v, %v : tensor<8xf32>
      stablehlo.return %next, %twice : tensor<i32>, tensor<8xf32>
    }
    return %last#1 : tensor<8xf32>
  }
}
""")
    for assumed in ([], ["--assume", "0=1"]):
        code, text = refusal(smalti, module, "--chip", "v5e", *assumed)
        assert code == 0 and "dominated by: ops around the kernels" in text, text


def test_numbers_are_assumed_of_inputs(smalti):
    """The same as giving an array of them."""
    for case, number, name in ((DYNAMIC, 3, "0"), (LOOKED_UP, 2, "1"), (LOOKED_UP, 7, "arg1")):
        (module,) = time(smalti, case, "--chip", "v5e", "--anyway", "--assume", f"{name}={number}")
        assert module["chips"]["v5e"]["error"] is None
    steps = [time(smalti, DYNAMIC, "--chip", "v5e", "--assume", f"0={n}")[0]["chips"]["v5e"]["kernels"][0]["steps"]
             for n in (1, 3, 5)]
    assert steps == [1, 3, 5]


@pytest.mark.parametrize("assume, message", [
    ("0=5,6", "error[SM1008]: --assume has a different number of elements than input 0\n"
              "  need: 1 number\n  have: 2 numbers\n"),
    ("7=5", "error[SM1008]: 'dynamic_grid/module.stablehlo.mlir' has no input 7\n"
            "  need: 2 inputs (0: i32[], 1: f32[64,128])\n  have: --assume 7=5\n  help: smalti describe lists them\n"),
    ("rows=5", "error[SM1008]: 'dynamic_grid/module.stablehlo.mlir' has no input rows\n"
               "  need: 2 inputs (0: i32[], 1: f32[64,128])\n  have: --assume rows=5\n  help: smalti describe lists them\n"),
    ("1=5", "error[SM1008]: --assume cannot stand for input 1\n"
            "  need: an input of integers: no time depends on floats\n  have: f32[64,128], and --assume 1=5\n"),
    ("0=99999999999", "error[SM1008]: --assume cannot stand for input 0\n"
                      "  need: numbers that fit i32[]\n  have: i32[], and --assume 0=99999999999\n"),
    ("k.py:3=4", "error[SM1008]: no kernel op of 'dynamic_grid/module.stablehlo.mlir' comes from line k.py:3\n"
                 "  need: FILE:LINE or FILE:LINE:COLUMN as messages print it\n  have: --assume k.py:3=4\n"
                 "  help: time the module without it: the message says which line the number comes from\n"),
    ("k.py:3=4,5", "error[SM1008]: line k.py:3 computes one number\n  need: 1 number\n  have: 2 numbers\n"),
    (["0=4", "0=5"], "error[SM1008]: --assume says twice what '0' is\n"
                     "  need: one value\n  have: --assume 0=4 --assume 0=5\n"),
    (["always", "never"], "error[SM1008]: --assume says twice what branches do\n"
                          "  need: one value\n  have: --assume always --assume never\n"),
    ("sometimes", "error[SM1000]: --assume cannot parse 'sometimes'\n"
                  "  need: always, never, INPUT=NUMBER, INPUT=NUMBER,NUMBER,… or FILE:LINE=NUMBER\n  have: sometimes\n"
                  "  help: --assume 2=16 says that every element of input 2 is 16\n"),
    ("0=few", "error[SM1000]: --assume cannot parse '0=few'\n"
              "  need: always, never, INPUT=NUMBER, INPUT=NUMBER,NUMBER,… or FILE:LINE=NUMBER\n  have: 0=few\n"
              "  help: --assume 2=16 says that every element of input 2 is 16\n"),
])
def test_an_assumption_that_fits_nothing(smalti, assume, message):
    for verb in ("time", "report"):
        words = [word for value in ([assume] if isinstance(assume, str) else assume) for word in ("--assume", value)]
        done = subprocess.run([smalti, verb, "dynamic_grid/module.stablehlo.mlir", "--chip", "v5e", *words],
                              capture_output=True, text=True, cwd=CASES)
        assert (done.returncode, done.stdout + done.stderr) == (2, message)


def test_a_kernel_without_an_end_in_sight_has_no_time(smalti, tmp_path):
    np.save(tmp_path / "steps.npy", np.int32(2_000_000_000))
    program = CASES / "dynamic_grid/module.stablehlo.mlir"

    def limited(verb):
        return subprocess.run([smalti, verb, program, "--chip", "v5e", "--in", f"0={tmp_path}/steps.npy",
                               "--timeout-seconds", "1"], capture_output=True, text=True, timeout=60)
    done = limited("time")
    message = re.sub(r"\d+ scalar", "N scalar", done.stdout.split("no prediction\n")[1])
    assert (done.returncode, message) == (4, (
        "error[SM9012]: the model of the kernel's time timed out\n   in kernel '_lambda_'\n  need: at most 1 s\n"
        "  have: N scalar instructions of its grid and loops so far\n"
        "  help: check the bounds of its loops, or raise --timeout-seconds\n")), done.stdout
    for verb in ("report", "tune"):
        assert "SM9012" in limited(verb).stdout


def test_a_bare_kernel_has_no_time(smalti):
    bare = "../../errors/SM9012/endless.mlir"
    for verb in ("time", "tune"):
        done = subprocess.run([smalti, verb, bare, "--chip", "v5e"], capture_output=True, text=True, cwd=CASES)
        assert (done.returncode, (done.stdout + done.stderr)) == (2, (
            f"error[SM1012]: '{bare}' is a bare kernel: it does not say how large the arrays are\n"
            "  need: a module with the calls of its kernels (StableHLO), or a folder with case.json\n"
            "  have: blocks only\n"
            "  help: jax.export.export(jax.jit(f), platforms=['tpu']) and smalti.jax.export write such modules\n"))


@pytest.mark.parametrize("words", [["--trace", "-"], ["--trace", "x", "-o", "x"]])
def test_a_trace_has_a_file_of_its_own(smalti, words, tmp_path):
    done = subprocess.run([smalti, "time", CASES / "add_grid_1d", "--chip", "v5e", *words], cwd=tmp_path,
                          capture_output=True, text=True)
    assert (done.returncode, done.stderr, list(tmp_path.iterdir())) == (2, (
        "error[SM1000]: --trace writes to a file of its own\n"
        f"  need: the name of a file, and another one than that of -o\n  have: --trace {words[1]}\n"), [])


def test_an_input_is_given_or_assumed(smalti):
    assert refusal(smalti, "dynamic_grid/module.stablehlo.mlir", "--in", "dynamic_grid/in0.npy", "--assume", "0=4") == (2, (
        "error[SM1008]: input 0 is both given and assumed\n"
        "  need: either --in or --assume\n  have: both --in and --assume 0=4\n"))


def test_an_unknown_chip_and_a_missing_file(smalti):
    done = subprocess.run([smalti, "time", CASES / "add_grid_1d", "--chip", "v99"], capture_output=True, text=True)
    assert done.returncode == 3 and "error[SM6609]: there is no chip 'v99'" in done.stderr
    (module,) = time(smalti, "no_such_file.mlir", "--chip", "v5e", code=2)
    assert module["error"]["code"] == "SM1001"


def test_an_input_that_the_module_does_not_take(smalti):
    case = CASES / "add_grid_1d"
    (module,) = time(smalti, case, "--chip", "v5e", "--in", f"7={case / 'in0.npy'}", code=2)
    assert module["error"]["message"].endswith("has no input 7")


def test_what_the_compiler_refuses_has_no_time_but_anyway(smalti):
    import csv
    folder = ROOT / "test/data/tpu_legality"
    refused = next(r["id"] for r in csv.DictReader(open(folder / "verdicts.csv"))
                   if r["v5e_verdict"] != "ok" and "scoped" not in r["v5e_error"] and r["group"] == "dtype")
    (module,) = time(smalti, folder / f"{refused}.mlir", "--chip", "v5e", code=3)
    error = module["chips"]["v5e"]["error"]
    assert (error["code"], error["message"], error["help"]) == (
        "SM6904", "the compiler of v5e refuses the kernel, so there is no time to predict",
        "see the advice below; smalti time --anyway predicts a time nevertheless")
    # The first reason of the compiler is the verdict of check.
    judged = json.loads(subprocess.run([smalti, "check", folder / f"{refused}.mlir", "--chip", "v5e", "--legality-only", "--json"],
                                       capture_output=True, text=True).stdout)["modules"][0]["chips"]["v5e"]
    (reason,) = error["related"]
    assert reason["code"] == judged["code"] and error["have"] == f"{reason['code']}: {reason['message']}" and reason["help"]
    (module,) = time(smalti, folder / f"{refused}.mlir", "--chip", "v5e", "--anyway")
    assert module["chips"]["v5e"]["us"] > 0


@pytest.mark.parametrize("case", sorted(p.name for p in CASES.iterdir() if (p / "case.json").exists()))
def test_every_case_has_a_time_or_a_reason(smalti, case):
    done = subprocess.run([smalti, "time", CASES / case, "--chip", "v6e", "--anyway", "--json"], capture_output=True,
                          text=True)
    assert done.returncode in (0, 3), done.stderr
    (module,) = json.loads(done.stdout)["modules"]
    on = module["chips"]["v6e"]
    if on["error"]:
        assert on["error"]["code"] in ("SM6902", "SM6903") and on["error"]["help"]
    else:
        assert on["us"] > 0


@pytest.mark.parametrize("case", ["dist_all_reduce_ring", "dist_right_permute_barrier"])
def test_kernels_of_several_devices_wait_for_each_other(smalti, case, tmp_path):
    """What one device sends another one sends to it: twice the rate of links and half a hop make it faster."""
    (module,) = time(smalti, CASES / case, "--chip", "v5e")
    slow = module["chips"]["v5e"]
    assert slow["parts_us"]["ici"] > 0
    assert sum(slow["parts_us"].values()) == pytest.approx(slow["us"], rel=1e-6)
    chip = subprocess.run([smalti, "chips", "v5e", "--toml"], capture_output=True, text=True).stdout
    assert "hop_latency_us = 1\n" in chip
    (tmp_path / "near.toml").write_text(chip.replace("hop_latency_us = 1\n", "hop_latency_us = 0.5\n"))
    (module,) = time(smalti, CASES / case, "--chip", tmp_path / "near.toml")
    assert module["chips"]["v5e"]["parts_us"]["ici"] < slow["parts_us"]["ici"]


@pytest.mark.skipif(not (ROOT / "build/tpu-model/modules").is_dir() or not MEASURED.exists(),
                    reason="the exported kernels of measured rows are not here (./do bench tpu-model)")
def test_the_bench_writes_a_prediction_for_each_row_that_it_built(bin_dir, tmp_path):
    out = tmp_path / "out.json"
    done = subprocess.run([sys.executable, ROOT / "bench/tpu-model/tpu-model.py", "--json", out, "--family", "matmul"],
                          capture_output=True, text=True, env={**os.environ, "SMALTI_BIN_DIR": str(bin_dir)})
    assert done.returncode == 0, done.stderr
    rows = json.loads(out.read_text())
    assert rows and all(r["low_us"] < r["predicted_us"] < r["high_us"] for r in rows)


def test_the_bench_says_what_is_lacking(tmp_path):
    bench = ROOT / "bench/tpu-model/tpu-model.py"
    done = subprocess.run([sys.executable, bench, "--rows", tmp_path / "none.csv"], capture_output=True, text=True)
    assert done.returncode == 1 and "name the measured rows with --rows" in done.stderr
    (tmp_path / "rows.csv").write_text("id,tier,metric,block_sizes,kernel\nA,B,time,x,pallas\n")
    done = subprocess.run([sys.executable, bench, "--rows", tmp_path / "rows.csv"], capture_output=True, text=True)
    assert done.returncode == 1 and "none of the rows is one of tier A" in done.stderr


def run_on_paper(smalti, *words):
    done = subprocess.run([smalti, "run", *map(str, words), "--json"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def test_a_run_on_paper_computes_results_and_the_time_of_smalti_time(smalti):
    case = CASES / "add_grid_1d"
    got = run_on_paper(smalti, case, "--target", "sim:v5e")
    assert [r["as_expected"] for r in got["results"]] == [True]
    (module,) = time(smalti, case, "--chip", "v5e")
    assert got["time"]["us"] == module["chips"]["v5e"]["us"] > 0
    done = subprocess.run([smalti, "run", case, "--target", "sim:v5e"], capture_output=True, text=True)
    assert " on v5e: " in done.stdout and "where the time goes" in done.stdout


def test_a_run_on_paper_has_the_chips_numerics_unless_others_are_asked_for(smalti, tmp_path):
    """S-E: operands of f32 products are rounded to bf16 at DEFAULT precision."""
    import numpy as np

    case = CASES / "flash_attention_causal_f32"
    text = next(case.glob("*.mlir"))
    files = [w for f in sorted(case.glob("in*.npy")) for w in ("--in", str(f))]

    def results(name, *words):
        run_on_paper(smalti, text, *files, "--out", tmp_path / name, *words)
        return np.load(tmp_path / name / "out0.npy")

    paper = results("paper", "--target", "sim:v5e")
    assert not np.array_equal(paper, results("f32", "--target", "interpret"))
    np.testing.assert_array_equal(paper, results("tpu", "--target", "interpret", "--numerics", "tpu"))
    np.testing.assert_array_equal(results("both", "--target", "sim:v5e", "--numerics", "f32"),
                                  results("again", "--target", "interpret", "--numerics", "f32"))


def test_what_a_chips_compiler_refuses_does_not_run_on_paper(smalti):
    done = subprocess.run([smalti, "run", CASES / "add_grid_1d", "--target", "sim:v99"], capture_output=True, text=True)
    assert done.returncode == 3 and "error[SM6609]: there is no chip 'v99'" in done.stderr


def test_against_another_chip_and_another_module(smalti):
    case, other = CASES / "flash_attention_causal_f32", CASES / "rmsnorm_f32"
    for against in ("v6e", other):
        done = subprocess.run([smalti, "time", case, "--chip", "v5e", "--against", against, "--json"],
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        compared = json.loads(done.stdout)
        a, b = (next(iter(m["chips"].values())) for m in compared["modules"])
        assert compared["ratio"] == pytest.approx(b["us"] / a["us"])
        (alone,) = time(smalti, case, "--chip", "v5e")
        assert a["us"] == alone["chips"]["v5e"]["us"] != b["us"]
    done = subprocess.run([smalti, "time", case, "--against", "v6e"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (2, (
        "error[SM1000]: --against compares one module on one chip with another\n"
        "  need: a module, and --chip with one chip\n  have: 1 module on 5 chips\n"))


def test_the_bench_names_the_python_that_it_lacks(tmp_path, monkeypatch):
    sys.path.insert(0, str(ROOT / "bench/tpu-model"))
    import importlib.util
    spec = importlib.util.spec_from_file_location("tpu_model", ROOT / "bench/tpu-model/tpu-model.py")
    bench = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bench)
    monkeypatch.setenv("SMALTI_PYTHON312", str(tmp_path / "none"))
    with pytest.raises(SystemExit, match="none is no Python 3.12, which JAX and tokamax need"):
        bench.base_python()
    monkeypatch.delenv("SMALTI_PYTHON312")
    for variable, folder in (("PYENV_ROOT", "pyenv"), ("UV_PYTHON_INSTALL_DIR", "uv"), ("PATH", "path")):
        monkeypatch.setenv(variable, str(tmp_path / folder))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "none"))
    with pytest.raises(SystemExit, match="install one .* or name it with SMALTI_PYTHON312"):
        bench.base_python()


def test_the_range_follows_from_what_the_time_is_made_of(smalti, tmp_path):
    chip = subprocess.run([smalti, "chips", "v5e", "--toml"], capture_output=True, text=True).stdout

    def time_with(**known):
        text = chip
        for key in ("everything", "issue_slots", "transcendental", "vmem", "hbm", "copy_latency", "step_overhead", "ici", "ops",
                    "below", "above"):
            text = re.sub(rf"^{key} = .*$", f"{key} = {known.get(key, 0)}", text, count=1, flags=re.M)
        (tmp_path / "mine.toml").write_text(text)
        (module,) = time(smalti, CASES / "flash_attention_causal_f32", "--chip", tmp_path / "mine.toml")
        return module["chips"]["v5e"]

    sure = time_with(below=2, above=3)
    assert sure["low_us"] == sure["us"] == sure["high_us"]
    on = time_with(everything=0.1, below=2, above=3)
    assert on["low_us"] == pytest.approx(on["us"] * math.exp(-0.2))
    assert on["high_us"] == pytest.approx(on["us"] * math.exp(0.3))
    # Of a part that takes the share s of the time, and of all of it: their squares add up.
    share = on["parts_us"]["step_overhead"] / on["us"]
    assert 0 < share < 1
    both = time_with(everything=0.1, step_overhead=0.5, below=1, above=1)
    assert both["high_us"] == pytest.approx(both["us"] * math.exp(math.hypot(0.1, 0.5 * share)))
    assert time_with(transcendental=0.5, below=1, above=1)["high_us"] > on["us"]
