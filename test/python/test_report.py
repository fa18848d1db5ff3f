"""`smalti report`: one HTML file. Chromium, where it is installed, opens it; elsewhere only its text is looked at."""

import json
import pathlib
import re
import shutil
import subprocess

import pytest

from conftest import ROOT

KERNEL = ROOT / "test/data/tpu_vmem/0008.mlir"


def report(smalti, *words):
    return subprocess.run([smalti, "report", *map(str, words)], capture_output=True, text=True)


@pytest.fixture(scope="module")
def page(smalti, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    done = report(smalti, KERNEL, "--chip", "v5e,v4", "-o", path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return path


def data_of(text):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)[1])


def test_it_is_one_file_that_asks_for_nothing(page):
    text = page.read_text()
    assert text.startswith("<!DOCTYPE html>") and "@@" not in re.sub(r"<script>.*?</script>", "", text, flags=re.S)
    assert "default-src 'none'" in text
    assert not re.search(r"<(script|link|img|iframe)[^>]*\b(src|href)=", text)


def test_its_data_are_those_of_check_show_and_time(smalti, page):
    data = data_of(page.read_text())
    assert list(data["chips"]) == ["v5e", "v4"]
    v5e = data["chips"]["v5e"]
    assert v5e["refusals"] == []
    shown = json.loads(subprocess.run([smalti, "show", KERNEL, "--stage", "vmem", "--chip", "v5e", "--json"], capture_output=True, text=True, check=True).stdout)
    assert v5e["vmem"] == shown["chips"]["v5e"]
    timed = json.loads(subprocess.run([smalti, "time", KERNEL, "--chip", "v5e", "--json"], capture_output=True, text=True, check=True).stdout)
    assert v5e["time"]["us"] == timed["modules"][0]["chips"]["v5e"]["us"]
    kernel = v5e["time"]["kernels"][0]
    lanes = {e["lane"] for e in kernel["events"]}
    assert {"body", "input 0", "input 1", "output 0"} <= lanes
    assert all(e["from_us"] < e["to_us"] for e in kernel["events"])
    ops = {line["place"]: line["ops"] for line in data["kernels"][0]["lines"]}
    assert any("tpu.matmul" in of for of in ops.values())
    assert {line["place"] for line in kernel["lines"]} <= set(ops)


def test_text_of_modules_cannot_become_markup(smalti, tmp_path):
    hostile = tmp_path / "<script>alert(1)<" / "script>.mlir"
    hostile.parent.mkdir()
    shutil.copy(KERNEL, hostile)
    text = report(smalti, hostile, "--chip", "v5e").stdout
    assert text.count("<script") == 3 and "alert(1)" in data_of(text)["module"]


def test_what_it_cannot_read_is_a_diagnostic(smalti, tmp_path):
    done = report(smalti, tmp_path / "none.mlir")
    assert done.returncode == 2 and "SM1001" in done.stderr
    assert "SM6609" in report(smalti, KERNEL, "--chip", "v9").stderr


CASE = ROOT / "test/data/cases/matmul_bf16_gelu"


@pytest.fixture(scope="module")
def measured(smalti, tmp_path_factory):
    folder = tmp_path_factory.mktemp("measured")
    done = report(smalti, CASE, "--chip", "v5e", "--target", "cpu", "--threads", "1", "--trace", folder / "trace.json", "-o", folder / "report.html")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return folder


def test_a_run_as_native_code_is_measured_by_step_and_line(measured):
    run = data_of((measured / "report.html").read_text())["cpu"]
    (kernel,) = run["kernels"]
    assert kernel["not_measured"] is None and kernel["threads"] == 1
    assert 0 < run["us"] and 0 < run["measured_us"]
    steps = kernel["first_steps"]
    assert [s["step"] for s in steps] == list(range(len(steps))) and len(steps) == kernel["steps"]
    assert all(a["to_us"] <= b["from_us"] for a, b in zip(steps, steps[1:]))
    # All of the call is some part's, and the steps lie in the call.
    total = sum(p["us"] for p in kernel["parts"])
    assert total <= kernel["us"] and steps[-1]["to_us"] <= kernel["us"]
    assert sum(s["to_us"] - s["from_us"] for s in steps) == pytest.approx(total, rel=0.5)
    (product,) = [p for p in kernel["parts"] if "tpu.matmul" in p["ops"]]
    assert product["places"] and product["times"] == kernel["steps"]
    assert any("math.tanh" in p["ops"] for p in kernel["parts"])


def test_code_that_is_not_measured_has_no_stamps(smalti, measured):
    shown = subprocess.run([smalti, "show", CASE, "--target", "cpu", "--stage", "llvm"], capture_output=True, text=True, check=True).stdout
    assert "define i32 @smalti_kernel" in shown and "Stamp" not in shown and "smaltiCpuStep" not in shown


def test_the_measured_steps_are_in_the_trace_too(measured):
    events = json.loads((measured / "trace.json").read_text())["traceEvents"]
    names = {e["args"]["name"] for e in events if e["name"] == "process_name"}
    assert names == {"mm_k on v5e", "mm_k on cpu, measured"}


def test_a_kernel_that_is_not_native_says_so(smalti):
    data = json.loads(report(smalti, ROOT / "test/data/cases/dist_all_reduce_ring", "--chip", "v5e", "--target", "cpu", "--json").stdout)
    assert {k["not_measured"] for k in data["cpu"]["kernels"]} == {"it runs on several devices"}


def test_only_native_runs_are_measured(smalti, tmp_path):
    done = report(smalti, CASE, "--target", "interpret")
    assert (done.returncode, done.stderr) == (2, (
        "error[SM1000]: reports show the models' predictions for chips, and runs of the target cpu\n"
        "  need: --target cpu, or none\n  have: --target interpret\n  help: name chips with --chip\n"))
    bare = tmp_path / "bare.mlir"
    subprocess.run([smalti, "export", CASE, "-o", bare], check=True)
    done = report(smalti, bare, "--target", "cpu")
    assert done.returncode == 2 and "SM1012" in done.stderr  # how large its arrays are is not known
    assert report(smalti, bare, "--chip", "v5e").returncode == 0


@pytest.mark.skipif(not shutil.which("chromium"), reason="needs Chromium (Debian: chromium)")
def test_chromium_shows_the_run(measured, tmp_path):
    done = subprocess.run(["chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}",
                           "--virtual-time-budget=10000", "--enable-logging=stderr", "--dump-dom", f"{(measured / 'report.html').as_uri()}#cpu"],
                          capture_output=True, text=True, timeout=120)
    assert "Uncaught" not in done.stderr, done.stderr
    shown = re.sub(r"<script.*?</script>", "", done.stdout, flags=re.S)
    for title in ["Grid steps of mm_k", "Source lines of mm_k"]:
        assert f"<h2>{title}</h2>" in shown, title
    assert "tpu.matmul" in shown and "<canvas" in shown


def test_inputs_that_the_time_depends_on_are_given_or_assumed(smalti):
    module = ROOT / "test/data/cases/dynamic_grid/module.stablehlo.mlir"
    for words, code in (((), "SM6902"), (("--assume", "0=5"), None)):
        time = json.loads(report(smalti, module, "--chip", "v5e", "--json", *words).stdout)["chips"]["v5e"]["time"]
        assert (time["error"] or {}).get("code") == code


def test_warnings_are_those_of_check(smalti, page):
    done = subprocess.run([smalti, "check", KERNEL, "--legality-only", "--chip", "v5e,v4", "--json"], capture_output=True, text=True)
    said = json.loads(done.stdout)["modules"][0]["chips"]
    shown = data_of(page.read_text())["chips"]
    assert {c: [w["code"] for w in said[c]["warnings"]] for c in said} == {c: [w["code"] for w in shown[c]["warnings"]] for c in shown}


@pytest.mark.skipif(not shutil.which("chromium"), reason="needs Chromium (Debian: chromium)")
@pytest.mark.parametrize("chip", ["v5e", "v4"])
def test_chromium_shows_it(page, chip, tmp_path):
    done = subprocess.run(["chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}",
                           "--virtual-time-budget=10000", "--enable-logging=stderr", "--dump-dom", f"{page.as_uri()}#{chip}"],
                          capture_output=True, text=True, timeout=120)
    assert "Uncaught" not in done.stderr and "Refused to" not in done.stderr, done.stderr
    shown = re.sub(r"<script.*?</script>", "", done.stdout, flags=re.S)
    assert re.search(rf'aria-pressed="true"[^>]*>{chip}<|>{chip}</button>', shown)
    for title in ["What the compiler says", "Where the time goes", "Roofline", "Units of k", "Pipeline of k", "Source lines of k", "VMEM of k"]:
        assert f"<h2>{title}</h2>" in shown, title
    assert shown.count("<canvas") >= 5
