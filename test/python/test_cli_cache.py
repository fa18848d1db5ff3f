"""smalti cache: where compiled kernels are kept, and how to be rid of them."""

import json
import re
import shutil
import subprocess

import pytest

from console_examples import ROOT

CASE = ROOT / "test/data/cases/add_grid_1d"


@pytest.fixture
def native(smalti, tmp_path):
    def call(folder):
        return subprocess.run([smalti, "run", str(CASE), "--target", "cpu", "--cache", str(folder)], timeout=60,
                              capture_output=True, text=True, env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)})
    return call


@pytest.fixture
def cache(smalti, tmp_path):
    def call(*arguments, **env):
        return subprocess.run([smalti, "cache", *arguments], capture_output=True, text=True, timeout=60,
                              env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), **env})
    return call


def entry(folder, name="a", size=100):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / (name * 64 + ".kernel")).write_bytes(b"x" * size)


def test_the_folder_follows_the_environment(cache, tmp_path):
    assert cache().stdout.startswith(f"folder   {tmp_path}/.cache/smalti\n")
    assert cache(XDG_CACHE_HOME=f"{tmp_path}/xdg").stdout.startswith(f"folder   {tmp_path}/xdg/smalti\n")
    assert cache(SMALTI_CACHE=f"{tmp_path}/mine").stdout.startswith(f"folder   {tmp_path}/mine\n")
    assert cache("--cache", f"{tmp_path}/flag", SMALTI_CACHE="off").stdout.startswith(f"folder   {tmp_path}/flag\n")
    assert cache("--cache", "off").stdout == "no folder: compiled kernels are not kept\n"


def test_what_is_in_it(cache, tmp_path):
    entry(tmp_path / ".cache/smalti", "a", 1000)
    entry(tmp_path / ".cache/smalti", "b", 500)
    (tmp_path / ".cache/smalti/notes.txt").write_text("mine")
    done = cache()
    assert done.returncode == 0
    assert done.stdout.splitlines()[1:] == ["kernels  2", "bytes    1,500 of 268,435,456"]
    assert json.loads(cache("--json", "--cache-limit-mib", "1").stdout) == {
        "folder": f"{tmp_path}/.cache/smalti", "entries": 2, "bytes": 1500, "limit_bytes": 1 << 20}


def test_looking_makes_no_folder(cache, tmp_path):
    for words in [], ["--json"], ["--clear"]:
        done = cache("--cache", f"{tmp_path}/kernels/below", *words)
        assert (done.returncode, done.stderr) == (0, "") and f"{tmp_path}/kernels/below" in done.stdout
    assert not (tmp_path / "kernels").exists()


def test_clear_and_warm_are_two_commands(cache):
    done = cache("--clear", "warm", "module.mlir")
    assert (done.returncode, done.stderr) == (2, (
        "error[SM1000]: --clear and warm cannot be combined\n  help: first smalti cache --clear, then smalti cache warm\n"))


def test_clear_takes_kernels_only(cache, tmp_path):
    folder = tmp_path / ".cache/smalti"
    entry(folder, "a", 1000)
    (folder / "notes.txt").write_text("mine")
    assert "removed  1 kernels, 1,000 bytes\n" in cache("--clear").stdout
    assert [f.name for f in folder.iterdir()] == ["notes.txt"]
    assert json.loads(cache("--clear", "--json").stdout)["removed"] == {"entries": 0, "bytes": 0}


def test_a_folder_that_cannot_be_made_is_refused(cache, tmp_path):
    (tmp_path / "file").write_text("")
    done = cache("--cache", f"{tmp_path}/file/below")
    assert done.returncode == 3
    assert done.stderr == (f"error[SM7002]: compiled kernels cannot be stored in '{tmp_path}/file/below': Not a directory\n"
                           "  help: name a folder that you may write to: SMALTI_CACHE, or SMALTI_CACHE=off\n")


def test_kernels_are_kept_and_taken(native, tmp_path):
    first = native(tmp_path / "kernels")
    entries = list((tmp_path / "kernels").iterdir())
    assert first.returncode == 0 and len(entries) == 1, first.stdout + first.stderr
    second = native(tmp_path / "kernels")
    assert (second.returncode, second.stdout) == (0, first.stdout)
    assert list((tmp_path / "kernels").iterdir()) == entries
    entries[0].write_bytes(entries[0].read_bytes()[:-100])  # damaged: compiled again
    third = native(tmp_path / "kernels")
    assert (third.returncode, third.stdout, third.stderr) == (0, first.stdout, "")
    assert len(entries[0].read_bytes()) > 100


class Build:
    """A copy of the tool whose build ID is changed by `edit`, or gone."""

    def __init__(self, bin_dir, folder, edit=lambda build_id: build_id):
        for below in ("bin", "lib"):
            (folder / below).mkdir(parents=True)
        shutil.copy(bin_dir / "smalti", folder / "bin/smalti")
        library = next((bin_dir.parent / "lib").glob("libsmalti.so.*.*.*"))
        content = library.read_bytes()
        at = content.index(b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0")  # name's and ID's sizes, NT_GNU_BUILD_ID
        note = content[at:at + 36]
        (folder / "lib" / ".".join(library.name.split(".")[:-1])).write_bytes(content.replace(note, edit(note)))
        self.folder = folder

    def __call__(self, *arguments):
        return subprocess.run([self.folder / "bin/smalti", *arguments], capture_output=True, text=True, timeout=60,
                              env={"PATH": "/usr/bin:/bin", "LD_LIBRARY_PATH": str(self.folder / "lib")})


def test_entries_belong_to_a_build_and_not_to_a_file(bin_dir, tmp_path):
    """Code of another build is not taken; a copy elsewhere, made at another time, is the same build."""
    folder = tmp_path / "kernels"
    same, copied = Build(bin_dir, tmp_path / "a"), Build(bin_dir, tmp_path / "b")
    other = Build(bin_dir, tmp_path / "c", lambda note: note[:-1] + bytes([note[-1] ^ 1]))
    run = ["run", str(CASE), "--target", "cpu", "--cache", str(folder)]
    for build, entries in (same, 1), (copied, 1), (other, 2):
        done = build(*run)
        assert done.returncode == 0 and done.stderr == "", done.stderr
        assert len(list(folder.iterdir())) == entries


def test_without_a_build_id_nothing_is_kept(bin_dir, tmp_path):
    folder = tmp_path / "kernels"
    nameless = Build(bin_dir, tmp_path / "a", lambda note: note[:8] + b"\x7f\0\0\0" + note[12:])
    message = (f"[SM7002]: compiled kernels cannot be stored in '{folder}': this program has no build ID\n"
               "  help: link it with --build-id (gcc: -Wl,--build-id)\n")
    done = nameless("run", str(CASE), "--target", "cpu", "--cache", str(folder))
    assert done.returncode == 0 and "as expected" in done.stdout and done.stderr == "note" + message
    done = nameless("cache", "--cache", str(folder))
    assert (done.returncode, done.stderr) == (3, "error" + message)
    assert not folder.exists()


def test_a_run_goes_on_without_a_folder(native, tmp_path):
    (tmp_path / "file").write_text("")
    done = native(tmp_path / "file/below")
    assert done.returncode == 0 and "as expected" in done.stdout
    assert done.stderr.startswith("note[SM7002]: compiled kernels cannot be stored"), done.stderr


def test_warming_compiles_without_running(cache, native, tmp_path):
    folder = tmp_path / "kernels"
    cold = cache("warm", str(CASE), "--cache", str(folder), "--json")
    assert cold.returncode == 0, cold.stdout + cold.stderr
    [row] = json.loads(cold.stdout)
    assert row["module"] == str(CASE) and row["error"] is None
    assert [(k["kernel"], k["state"], k["reason"]) for k in row["kernels"]] == [("add_k", "compiled", "")]
    assert row["kernels"][0]["object_bytes"] > 0
    entries = {f: f.stat().st_ino for f in folder.iterdir()}
    assert len(entries) == 1
    assert json.loads(cache("warm", str(CASE), "--cache", str(folder), "--json").stdout)[0]["kernels"][0]["state"] == "was there"
    assert native(folder).returncode == 0
    assert {f: f.stat().st_ino for f in folder.iterdir()} == entries, "a run takes what was compiled ahead"
    checked = cache("warm", str(CASE), "--cache", str(folder), "--check", "--json")
    assert json.loads(checked.stdout)[0]["kernels"][0]["state"] == "was there", "all is proved: no other code"


def test_warming_folders_says_what_has_no_code(cache, tmp_path):
    done = cache("warm", str(CASE.parent), "--cache", str(tmp_path / "kernels"))
    assert done.returncode == 0, done.stdout + done.stderr
    lines = {line.split()[0].split("/")[-1]: line for line in done.stdout.splitlines()[1:]}
    assert "compiled" in lines["matmul_int8"]
    assert "compiled" in lines["dist_right_permute_barrier"]
    cores = cache("warm", str(ROOT / "test/data/races/core_mesh_ordered.mlir"), "--cache", str(tmp_path / "kernels"))
    assert re.search(r" not native +it copies to another device or core, or signals it \(tpu.sem_signal, kernels.py:\d+:\d+\)\n$",
                     cores.stdout), cores.stdout


def test_warming_goes_on_after_a_module_that_is_refused(cache, tmp_path):
    (tmp_path / "bad.mlir").write_text("module {")
    done = cache("warm", str(tmp_path / "bad.mlir"), str(CASE), "--cache", str(tmp_path / "kernels"))
    assert done.returncode == 3
    assert done.stderr.startswith(f"{tmp_path}/bad.mlir:\nerror[SM2"), done.stderr
    assert "add_k" in done.stdout and len(list((tmp_path / "kernels").iterdir())) == 1


@pytest.mark.parametrize("arguments, code, message", [
    (["warm", "none.mlir"], 2, "none.mlir:\nerror[SM1001]: cannot read 'none.mlir': No such file or directory\n"),
    (["warm"], 2, "error[SM1000]: modules is required\n  help: smalti cache warm --help lists the options\n"),
    (["warm", "x", "--jbos", "2"], 2, "error[SM1000]: unknown option '--jbos'\n  help: did you mean --jobs?\n"),
    (["warm", str(CASE), "--cache", "off"], 2, "error[SM1000]: there is no folder for compiled kernels\n"
     "  help: name one: --cache FOLDER, or SMALTI_CACHE\n"),
    (["warm", str(CASE), "--timeout-seconds", "-1"], 2, "error[SM1011]: --timeout-seconds cannot be '-1'\n"
     "  need: a number from 0 to 86400\n  help: timeout-seconds: time after which a case or checked module counts as crashed, and the limit of the "
     "run of show and of the model of each kernel in time, report and tune (0: 60); the limit of a run (0: none)\n"),
])
def test_warming_whole_messages(cache, arguments, code, message):
    done = cache(*arguments)
    assert (done.returncode, done.stderr) == (code, message)


def test_warming_without_memory_or_time_is_said(cache, tmp_path):
    done = cache("warm", str(CASE), "--cache", str(tmp_path / "kernels"), "--child-memory-mib", "1")
    assert done.returncode in (0, 4) and (done.returncode == 0 or "error[SM901" in done.stderr), done.stderr


def test_help_teaches_by_an_example(cache):
    done = cache("--help")
    assert done.returncode == 0
    assert "Example:" in done.stdout and "smalti cache --clear" in done.stdout and "--json" in done.stdout
