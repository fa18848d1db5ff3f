"""`--chip` in every verb: it judges, or is refused by name; nothing that runs depends on it."""

import json
import subprocess

import pytest

from chips import CHIPS
from conftest import ROOT

CASES = ROOT / "test/data/cases"


def smalti_does(smalti, *words, env=None):
    import os
    return subprocess.run([smalti, *map(str, words)], capture_output=True, text=True, cwd=CASES, env={**os.environ, **(env or {})})


@pytest.mark.parametrize("target", ["interpret", "cpu"])
def test_run_judges_beside_the_results(smalti, target):
    case = "high_halves_of_products"  # which v4 and v5e refuse
    plain = smalti_does(smalti, "run", case, "--target", target)
    judged = smalti_does(smalti, "run", case, "--target", target, "--chip", "all")
    assert judged.returncode == plain.returncode == 0
    assert judged.stdout.startswith(plain.stdout)
    assert [line.split(" by the compiler of ")[1].split(",")[0] for line in judged.stdout.splitlines() if "by the compiler" in line] == CHIPS
    a, b = (json.loads(smalti_does(smalti, "run", case, "--target", target, "--json", *more).stdout) for more in ((), ("--chip", "v5e")))
    assert list(b["chips"]) == ["v5e"] and "chips" not in a
    assert [r["mean"] for r in a["results"]] == [r["mean"] for r in b["results"]]


def test_describe_and_export_say_what_check_says(smalti):
    said = {verb: json.loads(smalti_does(smalti, verb, "add_grid_1d", *more, "--chip", "all", "--json").stdout)
            for verb, more in (("describe", ()), ("check", ("--legality-only",)))}
    assert said["describe"]["chips"] == said["check"]["modules"][0]["chips"]
    assert list(said["describe"]["chips"]) == CHIPS
    for case in ("add_grid_1d", "cast_f32_to_e4m3"):
        for chip in CHIPS:
            check = smalti_does(smalti, "check", case, "--legality-only", "--chip", chip)
            export = smalti_does(smalti, "export", case, "--chip", chip, "-o", "/dev/null")
            assert check.returncode == export.returncode, (case, chip, export.stderr)


def test_conform_and_check_of_folders_have_a_column(smalti):
    done = smalti_does(smalti, "conform", ".", "--filter", "cast", "--chip", "all", "--json")
    cases = {c["case"]: c for c in json.loads(done.stdout)["cases"]}
    assert done.returncode == 0 and all(list(c["chips"]) == CHIPS for c in cases.values())
    refusing = [chip for chip in CHIPS if not cases["cast_f32_to_e4m3"]["chips"][chip]["accepted"]]
    table = smalti_does(smalti, "conform", ".", "--filter", "cast", "--chip", "all").stdout
    assert "by the compilers of TPUs" in table.splitlines()[0]
    if refusing:
        assert f"refused by {', '.join(refusing)} (" in table
    check = smalti_does(smalti, "check", ".", "--filter", "cast", "--chip", "all")
    assert check.returncode == (3 if refusing else 0), check.stdout
    assert f"{1 if refusing else 0} that compilers of TPUs refuse" in check.stdout


def test_other_verbs_refuse_it_by_name(smalti):
    takes = "accepted by: run, check, conform, show, describe, export, compile, time, tune, report, env"
    for words in (["cache", "--chip", "v5e"], ["cache", "warm", "add_grid_1d", "--chip", "v5e"], ["explain", "SM1000", "--chip", "v5e"],
                  ["new", "x", "--chip", "v5e"], ["chips", "--chip", "v5e"]):
        verb = " ".join(words[:2]) if words[1] == "warm" else words[0]
        done = smalti_does(smalti, *words)
        assert (done.returncode, done.stderr) == (2, f"error[SM1000]: smalti {verb} does not accept --chip\n  help: {takes}\n")


@pytest.mark.parametrize("chip", ["v55", ""])
@pytest.mark.parametrize("verb", ["run", "check", "conform", "show", "describe", "export", "compile", "time", "report"])
def test_an_unknown_chip_is_refused_before_anything_runs(smalti, verb, chip):
    done = smalti_does(smalti, verb, "add_grid_1d", "--chip", chip, *(["--stage", "vmem"] if verb == "show" else []))
    assert done.returncode in (2, 3) and f"there is no chip '{chip}'" in done.stderr and done.stdout == ""


@pytest.mark.parametrize("verb", ["run", "describe", "conform", "cache", "env"])
def test_the_environment_changes_no_exit_code(smalti, verb):
    words = [verb] + ({"cache": [], "env": []}.get(verb, ["high_halves_of_products"]))
    assert smalti_does(smalti, *words, env={"SMALTI_CHIP": "all"}).returncode == 0


def test_all_is_every_chip_once(smalti):
    for names in ("all", "v5e,all", "all,v5e"):
        chips = json.loads(smalti_does(smalti, "check", "add_grid_1d", "--legality-only", "--chip", names, "--json").stdout)["modules"][0]["chips"]
        assert sorted(chips) == CHIPS
