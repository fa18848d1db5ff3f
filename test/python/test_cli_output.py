"""What every verb prints: --json means the same everywhere, -o writes it to a file, and no failed write is lost."""

import importlib.util
import json
import pathlib
import re
import shutil
import subprocess

import pytest

from console_examples import ROOT

CASE = ROOT / "test/data/cases/add_grid_1d"
# Arguments with which a verb works; every row of the verb table needs a line here.
ARGUMENTS = {
    "run": [CASE],
    "check": [CASE],
    "conform": [CASE],
    "show": [CASE],
    "describe": [CASE],
    "export": [CASE],
    "compile": [CASE, "--pjrt-plugin", "{libtpu}"],
    "cache": ["--cache", "{tmp}/cache"],
    "cache warm": [CASE, "--cache", "{tmp}/cache"],
    "time": [CASE],
    "tune": ["softmax", "--operand", "f32[1024,2048]", "--chip", "v5e"],
    "report": [CASE],
    "chips": [],
    "explain": [],
    "env": [],
    "new": ["{tmp}/hello"],
}

# Verbs whose -o writes what they make, a module or an executable, instead of what they print.
MAKERS = ("export", "compile")


def libtpu():
    """The TPU compiler, which `compile` asks; skips where it is not installed."""
    spec = importlib.util.find_spec("libtpu")
    if spec is None:
        pytest.skip("needs libtpu from PyPI")
    return str(pathlib.Path(spec.origin).parent / "libtpu.so")


def verbs_of_the_tool(smalti):
    """The verb table, as --help prints it; the verbs of a verb stand in its own --help."""
    def listed(*verb):
        text = subprocess.run([smalti, *verb, "--help"], capture_output=True, text=True, check=True).stdout
        _, _, below = text.partition("Subcommands:\n")
        return re.findall(r"^  (\w+) ", below.partition("\n\n")[0], re.M)
    return [name for verb in listed() for name in [verb, *(f"{verb} {inner}" for inner in listed(verb))]]


@pytest.fixture
def call(smalti, tmp_path):
    def run(verb, *options, stdout=subprocess.PIPE, **more):
        places = {"{tmp}": str(tmp_path), "{libtpu}": libtpu() if verb == "compile" else ""}
        arguments = [str(a) for a in [*verb.split(), *ARGUMENTS[verb], *options]]
        for name, place in places.items():
            arguments = [a.replace(name, place) for a in arguments]
        shutil.rmtree(tmp_path / "hello", ignore_errors=True)
        return subprocess.run([smalti, *arguments], stdout=stdout, stderr=subprocess.PIPE, text=True, cwd=tmp_path,
                              env={"PATH": "/usr/bin:/bin", "SMALTI_CACHE": "off"}, timeout=300, **more)
    return run


def timeless(text):
    """Without what differs from run to run."""
    return re.sub(r" +", " ", re.sub(r"\d+(\.\d+)? s\b|\"(milli)?seconds\": [^,\n]*| +\d+\.\d +", "", text))


def test_the_table_has_all_verbs(smalti):
    assert verbs_of_the_tool(smalti) == list(ARGUMENTS)


@pytest.mark.parametrize("verb", ARGUMENTS)
def test_help_says_it(call, verb):
    text = call(verb, "--help").stdout
    assert re.search(r"^  --json\b.* print JSON instead of tables", text, re.M), text
    assert re.search(r"^  -o,--output FILE  ", text, re.M), text


@pytest.mark.parametrize("verb", ARGUMENTS)
def test_json_is_one_document_on_standard_output(call, verb):
    done = call(verb, "--json")
    assert done.returncode == 0 and done.stderr == ""
    assert json.loads(done.stdout)


@pytest.mark.parametrize("verb", [v for v in ARGUMENTS if v not in MAKERS])
@pytest.mark.parametrize("options", [[], ["--json"]], ids=["text", "json"])
def test_o_writes_the_same_to_a_file(call, verb, options, tmp_path):
    call(verb, *options)  # fills the cache
    plain = call(verb, *options)
    filed = call(verb, *options, "-o", "out.txt")
    assert (filed.returncode, filed.stdout) == (plain.returncode, "") == (0, "")
    assert timeless((tmp_path / "out.txt").read_text()) == timeless(plain.stdout)


@pytest.mark.parametrize("form", ["text", "bytecode"])
def test_the_output_of_export_is_the_module(smalti, tmp_path, form):
    """-o writes the module; --json tells of it, and holds it when no file does."""
    def export(*options):
        done = subprocess.run([smalti, "export", str(CASE), "--format", form, *options], capture_output=True, cwd=tmp_path)
        assert done.returncode == 0 and done.stderr == b""
        return done.stdout
    module = export()
    report = json.loads(export("--json", "-o", "module"))
    assert (tmp_path / "module").read_bytes() == module
    assert report == {"file": "module", "format": form, "bytes": len(module)}
    inside = json.loads(export("--json"))
    if form == "text":
        assert inside == {"file": None, "format": form, "bytes": len(module), "text": module.decode()}
    else:
        import base64
        assert base64.b64decode(inside["base64"]) == module


def test_conform_writes_json_beside_its_table(call, tmp_path):
    done = call("conform", "--json", "out.json")
    assert done.returncode == 0 and "1 passed" in done.stdout
    written = json.loads((tmp_path / "out.json").read_text())
    for options in (["--json", "-"], ["--json"]):
        assert timeless(call("conform", *options).stdout) == timeless((tmp_path / "out.json").read_text())
    assert written["passed"] == 1


def test_a_folder_behind_json_is_one_of_cases(smalti):
    done = subprocess.run([smalti, "conform", "--json", str(CASE)], capture_output=True, text=True)
    assert done.returncode == 0 and json.loads(done.stdout)["passed"] == 1


@pytest.mark.parametrize("arguments", [["run", "none.mlir"], ["show", "none.mlir"], ["check", "none.mlir"],
                                       ["check", "."], ["conform", "."], ["explain", "SM1099"],
                                       ["show", str(ROOT / "test/errors/SM9012/endless.mlir"), "--out-shape", "i32[1]",
                                        "--step-limit", "1000"]], ids=lambda a: " ".join(a)[:15])
def test_a_refusal_is_one_document_too(smalti, tmp_path, arguments):
    done = subprocess.run([smalti, *arguments, "--json"], capture_output=True, text=True, cwd=tmp_path)
    out = json.loads(done.stdout)
    assert done.returncode >= 2 and done.stderr == ""
    assert (out[0] if isinstance(out, list) else out)["error"]["code"].startswith("SM")
    filed = subprocess.run([smalti, *arguments, "--json", "-o", "out.json"], capture_output=True, text=True, cwd=tmp_path)
    assert filed.returncode == done.returncode and filed.stdout == ""
    assert json.loads((tmp_path / "out.json").read_text()) == out


@pytest.mark.parametrize("options", [[], ["--json"], ["--help"]], ids=["text", "json", "help"])
@pytest.mark.parametrize("verb", ARGUMENTS)
def test_a_full_disk_is_noticed(call, verb, options):
    with open("/dev/full", "w") as full:
        done = call(verb, *options, stdout=full)
    assert (done.returncode, done.stderr) == (2, "error[SM1006]: cannot write to standard output: No space left on device\n"
                                                 "  help: write to a file: -o FILE\n")


@pytest.mark.parametrize("verb", ARGUMENTS)
def test_a_closed_standard_output_is_noticed(call, smalti, verb, tmp_path):
    arguments = " ".join(str(a).replace("{tmp}", str(tmp_path)) for a in ARGUMENTS[verb])
    done = subprocess.run(["bash", "-c", f"{smalti} {verb} {arguments} >&-"], capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, "error[SM1006]: cannot write to standard output: Bad file descriptor\n"
                                                 "  help: write to a file: -o FILE\n")


def test_files_do_not_become_a_closed_standard_output(smalti, tmp_path):
    done = subprocess.run(["bash", "-c", f"{smalti} run {CASE} --out results --json -o out.json <&- >&- 2>&-"], cwd=tmp_path)
    assert done.returncode == 0
    assert json.loads((tmp_path / "out.json").read_text())["results"][0]["as_expected"]
    assert (tmp_path / "results/out0.npy").read_bytes().startswith(b"\x93NUMPY")


def test_a_file_that_cannot_be_written_is_an_error(call):
    done = call("explain", "-o", "/nowhere/out.txt")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == ("error[SM1006]: cannot write '/nowhere/out.txt': No such file or directory\n"
                           "  help: write to a folder that exists and that you may write to\n")
