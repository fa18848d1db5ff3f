"""smalti conform: verdicts, exit codes, the JSON that programs read, cases that cannot take others with them."""

import json
import os
import shutil
import subprocess

import numpy as np
import pytest

from console_examples import ROOT

CASES = ROOT / "test/data/cases"


@pytest.fixture
def conform(smalti, tmp_path):
    def call(*arguments):
        report = tmp_path / "report.json"
        done = subprocess.run([smalti, "conform", *map(str, arguments), "--json", str(report)], capture_output=True,
                              text=True, timeout=600)
        return done, json.loads(report.read_text()) if report.exists() else None
    return call


@pytest.fixture
def three(tmp_path):
    """A right case, a wrong one and one that is refused."""
    folder = tmp_path / "cases"
    for name in ("a/right", "b/wrong", "b/refused"):
        shutil.copytree(CASES / "add_grid_1d", folder / name)
    out = np.load(folder / "b/wrong/out0.npy")
    out[3] += 0.5
    np.save(folder / "b/wrong/out0.npy", out)
    module = folder / "b/refused/module.stablehlo.mlir"
    module.write_text(module.read_text().replace("stablehlo.custom_call", "stablehlo.fft", 1))
    (folder / "versions").mkdir()
    return folder


def test_the_projects_own_cases(conform):
    done, report = conform(CASES)
    bad = [c for c in report["cases"] if c["status"] not in ("pass", "ran")]
    assert done.returncode == 0 and not bad, done.stdout


def test_the_json(conform, three):
    done, report = conform(three)
    assert done.returncode == 1
    assert list(report) == ["passed", "failed", "refused", "crashed", "ran", "cases"]
    assert [report[k] for k in ("passed", "failed", "refused", "crashed", "ran")] == [1, 1, 1, 0, 0]
    assert [(c["case"], c["status"]) for c in report["cases"]] == [
        ("a/right", "pass"), ("b/refused", "refused"), ("b/wrong", "fail")]
    for c in report["cases"]:
        assert list(c) == ["case", "status", "code", "max_error", "seconds"]
        assert c["seconds"] >= 0
    right, refused, wrong = report["cases"]
    assert right["code"] is None and right["max_error"] < 1e-5
    assert refused["code"].startswith("SM2") and refused["max_error"] is None
    assert wrong["code"] is None and abs(wrong["max_error"] - 0.5) < 1e-5


def test_the_table(conform, three):
    done, _ = conform(three)
    assert "b/wrong" in done.stdout and "at (3): got" in done.stdout and "result 0 (3)" in done.stdout
    assert "1 passed, 1 failed, 1 refused, 0 crashed, 0 ran, in " in done.stdout


def test_expected_failures_decide_the_exit_code(conform, three, tmp_path):
    listed = tmp_path / "expected"
    listed.write_text("# known\nb/wrong  # a reason\nb/refused\n")
    assert conform(three, "--expected-failures", listed)[0].returncode == 0
    listed.write_text("b/wrong\n")
    assert conform(three, "--expected-failures", listed)[0].returncode == 1
    listed.write_text("b/wrong\nb/refused\na/right\n")
    done, _ = conform(three, "--expected-failures", listed)
    assert done.returncode == 1
    assert done.stderr == "a/right is listed as an expected failure, but does not fail: take it off the list\n"
    listed.write_text("b/wrong\nb/refused\nwrong\n")
    done, _ = conform(three, "--expected-failures", listed)
    assert done.returncode == 1
    assert done.stderr == "wrong is listed as an expected failure, but no case has this name\n"
    assert conform(three, "--expected-failures", listed, "--filter", "right")[0].returncode == 0, "others are excluded"
    done, _ = conform(three, "--expected-failures", tmp_path / "none")
    assert done.returncode == 2 and "SM1001" in done.stderr


def test_filter_and_failures_only(conform, three):
    done, report = conform(three, "--filter", "right")
    assert done.returncode == 0 and [c["case"] for c in report["cases"]] == ["a/right"]
    done, _ = conform(three, "--failures-only")
    assert "a/right" not in done.stdout and "b/wrong" in done.stdout


def test_several_folders_and_a_case_itself(conform, three):
    _, report = conform(three / "a", CASES / "semaphore_regular")
    assert [c["case"] for c in report["cases"]] == ["right", "semaphore_regular"]


def test_no_case(conform, tmp_path):
    done, report = conform(tmp_path)
    assert done.returncode == 2 and report is None
    assert done.stderr == (f"error[SM1016]: there is no recorded case here\n  need: folders with case.json\n"
                           f"  have: '{tmp_path}'\n")


def test_missing_inputs_are_ones_and_nothing_expected_is_ran(conform, tmp_path):
    case = tmp_path / "cases/c"
    shutil.copytree(CASES / "add_grid_1d", case)
    for f in case.glob("*.npy"):
        f.unlink()
    data = json.loads((case / "case.json").read_text())
    data["results"] = data["tolerance"] = None
    for a in data["args"]:
        a["file"] = None
    (case / "case.json").write_text(json.dumps(data))
    done, report = conform(tmp_path / "cases")
    assert done.returncode == 0 and report["ran"] == 1
    assert report["cases"][0] | {"seconds": 0} == {"case": "c", "status": "ran", "code": None, "max_error": None, "seconds": 0}


def test_a_case_that_hangs_is_a_crash_with_a_code(conform, tmp_path):
    case = tmp_path / "cases/hangs"
    shutil.copytree(CASES / "add_grid_1d", case)
    (case / "module.stablehlo.mlir").unlink()
    os.mkfifo(case / "module.stablehlo.mlir")
    shutil.copytree(CASES / "add_grid_1d", tmp_path / "cases/right")
    done, report = conform(tmp_path / "cases", "--timeout-seconds", "1")
    assert done.returncode == 1
    assert [(c["status"], c["code"]) for c in report["cases"]] == [("crash", "SM9012"), ("pass", None)]
    assert ("\nhangs:\nerror[SM9012]: the case timed out\n  need: at most 1 s\n"
            "  help: raise --timeout-seconds, or lower --step-limit to see where it hangs\n") in done.stdout


def test_findings_fail_a_case_only_when_checking(conform, tmp_path):
    case = tmp_path / "cases/left_over"
    case.mkdir(parents=True)
    shutil.copy(ROOT / "examples/mistakes/semaphore_left_over.mlir", case / "module.stablehlo.mlir")
    (case / "case.json").write_text("{}")
    done, report = conform(tmp_path / "cases")
    assert done.returncode == 0 and report["ran"] == 1
    done, report = conform(tmp_path / "cases", "--check")
    assert done.returncode == 1 and report["cases"][0]["code"].startswith("SM41")


def test_json_to_standard_output(smalti):
    done = subprocess.run([smalti, "conform", str(CASES), "--filter", "add_grid", "--json", "-"], capture_output=True, text=True)
    assert json.loads(done.stdout)["passed"] == 1
