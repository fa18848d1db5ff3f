"""Programs whose meshes are spread over MPI processes, against the same programs in one process."""

import filecmp
import os
import re
import shutil
import subprocess
import threading
import time

import pytest

from conftest import ROOT
from console_examples import MPI_IN_A_CONTAINER

CASES = ROOT / "test/data/cases"
MPIRUN = shutil.which("mpirun")
needs_mpi = pytest.mark.skipif(not MPIRUN, reason="no mpirun on this machine (Debian: openmpi-bin)")


def mpirun(processes, *command, **variables):
    return subprocess.run([MPIRUN, "-n", str(processes), *map(str, command)], capture_output=True, text=True,
                          timeout=600, env=os.environ | MPI_IN_A_CONTAINER | variables)


@pytest.fixture(scope="module")
def mpi_library(bin_dir):
    if not (bin_dir.parent / "lib/libsmalti_mpi.so").exists():
        pytest.skip("built without MPI (Debian: libopenmpi-dev)")


def test_mpi_on_without_a_launcher(smalti):
    done = subprocess.run([smalti, "run", CASES / "dist_all_reduce_ring", "--mpi", "on"], capture_output=True, text=True)
    assert done.returncode == 3
    assert done.stderr == (
        "error[SM5014]: the program cannot be spread over processes\n"
        "  need: processes started by an MPI launcher, and Smalti's library for that MPI\n"
        "  have: a process that was not started by an MPI launcher\n"
        "  help: mpirun -n 2 PROGRAM\n")


@needs_mpi
@pytest.mark.parametrize("processes", [2, 4])
@pytest.mark.parametrize("target", ["interpret", "cpu"])
def test_every_function_of_devices_gives_the_same(mpi_library, bin_dir, tmp_path, target, processes):
    """Collectives, the guide's kernels and the library's, each on all its devices: the C++ program is the same."""
    oracle = bin_dir / "smalti_devices_oracle"
    alone = tmp_path / "alone"
    subprocess.run([oracle, alone], check=True, env=dict(os.environ, SMALTI_TARGET=target))
    done = mpirun(processes, "sh", "-c", f'"{oracle}" "{tmp_path}/rank${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}"', SMALTI_TARGET=target)
    unshared = [line for line in done.stderr.splitlines() if line.startswith("error[")]
    assert all(line.startswith("error[SM5013]") for line in unshared), done.stderr
    compared = 0
    for expected in sorted(alone.glob("*/out*.npy")):
        for rank in range(processes):
            got = tmp_path / f"rank{rank}" / expected.relative_to(alone)
            if not got.exists():
                continue
            compared += 1
            assert filecmp.cmp(expected, got, shallow=False), got
    assert compared >= 30 * processes


@needs_mpi
def test_the_first_process_reports(mpi_library, smalti, tmp_path):
    """A recorded program: results are compared and written once."""
    folder = tmp_path / "out"
    done = mpirun(2, smalti, "run", CASES / "dist_all_reduce_ring", "--out", folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("as expected") == 1
    assert [p.name for p in folder.iterdir()] == ["out0.npy"]


@needs_mpi
def test_processes_that_cannot_share_a_mesh(mpi_library, smalti):
    done = mpirun(3, smalti, "run", CASES / "dist_all_reduce_ring")
    assert done.returncode != 0
    assert "error[SM5013]: the processes cannot share the devices of a mesh evenly\n" in done.stderr
    assert "  need: a multiple of 3 devices, as many for each process\n" in done.stderr


@needs_mpi
@pytest.mark.parametrize("launcher", [[], ["--enable-recovery"]], ids=["as it is", "with recovery"])
@pytest.mark.parametrize("how", ["waiting", "computing"])
def test_a_process_that_dies_is_named_by_the_others(mpi_library, bin_dir, how, launcher, record_property):
    """Within 2 s on an idle machine, most of which `computing` computes; the limit here allows for a busy one."""
    process = subprocess.Popen([MPIRUN, *launcher, "-n", "2", str(bin_dir / "smalti_devices_dies"), how], text=True,
                               stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, env=os.environ | MPI_IN_A_CONTAINER)
    killer = threading.Timer(60, process.kill)
    killer.start()
    times, stderr = {}, ""
    for line in process.stderr:
        times.setdefault(line, time.monotonic())
        stderr += line
    killer.cancel()
    assert process.wait() != 0 or launcher  # with recovery, Open MPI's launcher gives 0 whatever its processes give
    assert "error[SM5011]: another process has stopped running the program\n" in stderr
    assert re.search(r"have: process 1 on \S+ has died\n", stderr), stderr
    took = times["error[SM5011]: another process has stopped running the program\n"] - times["dies now\n"]
    record_property("seconds until the report", round(took, 3))
    print(f"reported after {took:.3f} s")
    assert took < 10


@needs_mpi
def test_a_process_that_ends_early_is_named_by_the_others(mpi_library, bin_dir):
    done = mpirun(2, bin_dir / "smalti_devices_dies", "ends")
    assert done.returncode != 0
    assert "error[SM5011]: another process has stopped running the program\n" in done.stderr
    assert re.search(r"have: process 1 on \S+ has ended\n  help: see the output of that process\n", done.stderr), done.stderr


@needs_mpi
def test_a_process_that_dies_leaves_nothing_half_written(mpi_library, smalti, tmp_path):
    """It dies while the first process, which would write the results, waits for its message."""
    folder = tmp_path / "out"
    run = f'"{smalti}" run "{CASES / "dist_all_reduce_ring"}" --out "{folder}"'
    done = mpirun(2, "sh", "-c", f"[ ${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}} = 1 ] || exec {run}; {run} & sleep 3; kill -9 $!; sleep 3",
                  SMALTI_NET="5000000,0")
    assert done.returncode != 0
    assert re.search(r"have: process 1 on \S+ has died\n", done.stderr), done.stderr
    assert not folder.exists() or not list(folder.iterdir())
