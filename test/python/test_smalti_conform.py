"""smalti.conform: recorded cases below folders."""

import json
import pathlib
import shutil

import numpy as np
import pytest
from interrupts import errors_after_ctrl_c

smalti = pytest.importorskip("smalti", reason="the Python package is not built (it needs nanobind and jaxlib)")

CASES = pathlib.Path(__file__).resolve().parents[1] / "data/cases"


@pytest.fixture
def folder(tmp_path):
    for name in ("add_grid_1d", "semaphore_regular"):
        shutil.copytree(CASES / name, tmp_path / "cases" / name)
    return tmp_path / "cases"


@pytest.mark.parametrize("target", ["cpu", "interpret"])
def test_cases_give_what_is_expected(target):
    found = smalti.conform(CASES, filter="matmul", target=target)
    assert found.is_good and not found.failures and len(found.cases) >= 4
    assert [case.name for case in found.cases] == sorted(case.name for case in found.cases)
    assert all(case.status == "pass" and case.max_error is not None and case.seconds > 0 for case in found.cases)


def test_one_case_and_several_folders(folder):
    assert [c.name for c in smalti.conform(folder / "add_grid_1d").cases] == ["add_grid_1d"]
    both = smalti.conform(folder / "add_grid_1d", folder)
    assert [c.name for c in both.cases] == ["add_grid_1d", "add_grid_1d", "semaphore_regular"]
    assert str(both) == "3 of 3 cases as expected"


def test_a_wrong_result_says_where(folder):
    expected = folder / "add_grid_1d/out0.npy"
    wrong = np.load(expected)
    wrong[(1,) * wrong.ndim] += 1
    np.save(expected, wrong)
    found = smalti.conform(folder)
    [case] = found.failures
    assert not found.is_good and case.status == "fail" and case.max_error == pytest.approx(1)
    assert str(found).startswith("add_grid_1d: fail (result 0: ") and str(found).endswith("\n1 of 2 cases as expected")
    assert "1 of " in case.wrong, case.wrong


def test_a_case_that_cannot_run_says_why(folder):
    (folder / "add_grid_1d/module.stablehlo.mlir").write_text("nonsense")
    [case] = smalti.conform(folder).failures
    assert case.status == "refused" and case.diagnostic.code == "SM1013"
    assert str(case).startswith("add_grid_1d: refused (SM1013 ")


def test_without_expected_results_a_case_only_runs(folder):
    path = folder / "add_grid_1d/case.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"results": []}))
    assert smalti.conform(folder / "add_grid_1d").cases[0].status == "ran"


def test_what_is_wrong_with_the_call(tmp_path):
    with pytest.raises(smalti.Error, match="SM1001"):
        smalti.conform(tmp_path / "nowhere")
    with pytest.raises(smalti.Error, match="SM1011"):
        smalti.conform(CASES, targett="cpu")
    with pytest.raises(ValueError) as caught:
        smalti.conform(CASES, filter="no such case")
    assert str(caught.value) == f"there is no recorded case whose name holds 'no such case' in {CASES}"
    with pytest.raises(ValueError, match="there is no recorded case in no folder"):
        smalti.conform()


def test_ctrl_c_ends_it():
    program = f"""
import smalti
print("running", flush=True)
while True:
    smalti.conform({str(CASES)!r}, filter="add_grid")
"""
    err = errors_after_ctrl_c(program)
    assert err.rstrip().endswith("KeyboardInterrupt"), err
