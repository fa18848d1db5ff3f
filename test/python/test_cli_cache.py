"""smalti cache: where compiled kernels are kept, and how to be rid of them."""

import json
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
    assert done.stderr == (f"error[SM7002]: compiled kernels cannot be kept in '{tmp_path}/file/below': Not a directory\n"
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


def test_a_run_goes_on_without_a_folder(native, tmp_path):
    (tmp_path / "file").write_text("")
    done = native(tmp_path / "file/below")
    assert done.returncode == 0 and "as expected" in done.stdout
    assert done.stderr.startswith("note[SM7002]: compiled kernels cannot be kept"), done.stderr


def test_help_teaches_by_an_example(cache):
    done = cache("--help")
    assert done.returncode == 0
    assert "Example:" in done.stdout and "smalti cache --clear" in done.stdout and "--json" in done.stdout
