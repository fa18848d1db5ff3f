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
