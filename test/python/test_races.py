"""Races between a kernel and its copies, cores and devices (test/data/races), against JAX's own detector."""

import json
import re
import subprocess
import sys

import pytest

from console_examples import ROOT

RACES = ROOT / "test/data/races"
CLEAN = ["copy_waited", "one_semaphore_all_waited", "cores_have_blocks", "core_mesh_ordered", "senders_have_receivers",
         "permute_both", "ring_sum_with_capacity", "gather_ring", "flag_by_semaphore"]
RACY = {
    "copy_read_early": "SM4108",
    "copy_source_overwritten": "SM4107",
    "one_semaphore_first_waited": "SM4108",
    "cores_share_a_block": "SM4113",
    "core_mesh_unordered": "SM4113",
    "senders_share_a_receiver": "SM4113",
    "permute_wrong_neighbour": "SM4114",
    "permute_read_early": "SM4113",
    "ring_sum_without_capacity": "SM4113",
    "flag_by_time": "SM4113",
}
# What they do depends on the counts that they read.
POLLING = ["deadlock_by_arrival", "polls_then_waits", "deadlock_by_two_polls", "polls_until"]
OF_RACES = {"SM4107", "SM4108", "SM4113", "SM4114"}


@pytest.fixture
def check(smalti):
    def call(*arguments):
        done = subprocess.run([smalti, "check", *map(str, arguments)], capture_output=True, text=True, timeout=300)
        return done
    return call


def options(name):
    return ["--cores", "2"] if name.startswith("core") else []


def found(check, name, *more):
    done = check(RACES / f"{name}.mlir", *options(name), *more, "--json")
    [report] = json.loads(done.stdout)
    assert report["error"] is None, report
    return {f["code"] for f in report["findings"]} & OF_RACES, report


def test_every_kernel_here_is_judged():
    assert {p.stem for p in RACES.glob("*.mlir")} == {*CLEAN, *RACY, *POLLING}


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("name", CLEAN)
def test_a_kernel_in_order_has_no_race(check, name, seed):
    assert found(check, name, "--seed", seed)[0] == set()


@pytest.mark.parametrize("dma", ["eager", "on-wait", "random"])
@pytest.mark.parametrize("name", sorted(RACY))
def test_a_race_is_found_whenever_copies_move(check, name, dma):
    assert RACY[name] in found(check, name, "--dma", dma)[0]


@pytest.mark.parametrize("name", sorted(RACY))
def test_both_accesses_are_named_with_their_lines(check, name):
    _, report = found(check, name)
    for finding in report["findings"]:
        if finding["code"] == "SM4113" and "pipeline" not in finding["message"]:
            assert len(re.findall(r"kernels\.py:\d+", finding["have"])) == 2, finding


@pytest.mark.parametrize("name", sorted({*CLEAN, *RACY}))
def test_one_run_speaks_for_all_orders(check, name):
    codes, report = found(check, name, "--schedules", 50)
    assert report["schedules"] == 1 and report["every_schedule"]
    assert codes == set() if name in CLEAN else RACY[name] in codes
    text = check(RACES / f"{name}.mlir", *options(name), "--schedules", 50).stdout
    assert ("no schedule of these inputs races or deadlocks" in text) == (name in CLEAN)


def test_a_deadlock_is_shown_again_by_its_seed(check):
    module = RACES / "deadlock_by_arrival.mlir"
    done = check(module, "--schedules", 100)
    assert done.returncode == 3, done.stdout
    first, second = done.stdout.splitlines()[:2]
    assert re.search(r"did not finish, \d+ schedules? tried$", first)
    assert second.startswith("error[SM4103]: deadlock")
    seed = re.search(r"the schedule of --seed (\d+)", done.stdout)[1]
    again = check(module, "--seed", seed)
    assert "error[SM4103]" in again.stdout
    assert done.stdout.splitlines()[-3:] == again.stdout.splitlines()[-3:]


def test_every_count_that_a_poll_can_read_is_tried(check):
    done = check(RACES / "polls_then_waits.mlir", "--schedules", 1)
    # First poll: 0 to 3 signals; second poll: as many or more, and at least the one that was waited for.
    assert "nothing found, no schedule of these inputs races or deadlocks" in done.stdout
    [report] = json.loads(check(RACES / "polls_then_waits.mlir", "--schedules", 1, "--json").stdout)
    assert report["schedules"] == 1 + 3 + 3 + 2 + 1 and report["every_schedule"]


@pytest.mark.parametrize("name", ["deadlock_by_arrival", "deadlock_by_two_polls"])
def test_an_order_that_seeds_miss_is_found(check, name):
    seed = 1  # one that shows nothing
    done = check(RACES / f"{name}.mlir", "--schedules", 1, "--seed", seed)
    assert done.returncode == 3 and "error[SM4103]: deadlock" in done.stdout
    assert re.search(r"order \d+ of --schedules", done.stdout)
    assert done.stdout == check(RACES / f"{name}.mlir", "--schedules", 1, "--seed", seed).stdout


def test_orders_of_a_loop_that_polls_are_only_tried(check):
    done = check(RACES / "polls_until.mlir", "--schedules", 1)
    assert re.search(r"nothing found, \d+ schedules tried", done.stdout)
    assert "no schedule of these inputs" not in done.stdout


# The tests of JAX 0.10.2's interpreter, on one device and distributed, that ask for races: kernels of the same structure
# without and with a race. Its reduce-scatters are kernels of the library here (test_devices.py).
OF_JAX = {
    "test_race_detection": ("copy_waited", "copy_read_early"),
    "test_allocate_shared_buffer_in_core_map": ("core_mesh_ordered", None),
    "test_allocate_shared_buffer_in_core_map_with_race": (None, "core_mesh_unordered"),
    "test_two_cores_along_parallel_dimension_with_race": (None, "cores_share_a_block"),
    "test_two_cores_along_parallel_dimension_no_race": ("cores_have_blocks", None),
    "distributed test_race_detection": ("senders_have_receivers", "senders_share_a_receiver"),
    "distributed test_right_permute_example": ("dist_right_permute_barrier", None),
    "distributed test_all_gather_example": ("gather_ring", None),
    "distributed test_all_reduce_sum_example": ("dist_all_reduce_ring", None),
}


@pytest.mark.parametrize("name", OF_JAX)
def test_what_tests_of_jax_say_of_races(check, name):
    clean, racy = OF_JAX[name]
    if clean:
        module = RACES / f"{clean}.mlir" if clean in CLEAN else ROOT / "test/data/cases" / clean
        [report] = json.loads(check(module, *options(clean), "--schedules", 50, "--json").stdout)
        assert not {f["code"] for f in report["findings"]} & OF_RACES and report["every_schedule"]
    if racy:
        assert RACY[racy] in found(check, racy)[0]


def test_one_core_does_not_race_with_itself(check):
    done = check(RACES / "cores_share_a_block.mlir", "--cores", 1, "--schedules", 50, "--json")
    [report] = json.loads(done.stdout)
    assert not {f["code"] for f in report["findings"]} & OF_RACES


def test_recorded_kernels_have_no_races_in_any_order(check):
    done = check(ROOT / "test/data/cases", "--schedules", 3, "--json")
    reports = json.loads(done.stdout)
    assert len(reports) > 25
    for report in reports:
        assert report["error"] is None and not {f["code"] for f in report["findings"]} & OF_RACES, report
        assert report["every_schedule"], report["module"]


JAX = """
import contextlib, io, json, sys
sys.path.insert(0, {folder!r})
import kernels, jax, numpy as np
from jax.experimental.pallas import tpu as pltpu
from jax._src.pallas.mosaic.interpret import interpret_pallas_call as interpreter

for name in sys.argv[1:]:
    cores = 2 if name.startswith("cores_") else 1
    params = pltpu.InterpretParams(detect_races=True, num_cores_or_threads=cores)
    call, shapes = kernels.MAKERS[name](params)
    with contextlib.redirect_stdout(io.StringIO()):
        jax.block_until_ready(jax.jit(call)(*[np.ones(s, np.float32) for s in shapes]))
    print(json.dumps([name, bool(interpreter.races.races_found)]))
"""
# To a device that is not there yet: JAX's interpreter fails with a KeyError.
NOT_FOR_JAX = {"permute_wrong_neighbour"}


def test_what_jax_finds_is_found():
    pytest.importorskip("jax")
    names = [n for n in [*CLEAN, *RACY] if n not in NOT_FOR_JAX]
    done = subprocess.run([sys.executable, "-c", JAX.format(folder=str(RACES)), *names], capture_output=True, text=True,
                          timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    judged = dict(json.loads(line) for line in done.stdout.splitlines())
    assert judged.keys() == set(names)
    for name, races in judged.items():
        assert not races or name in RACY, name
    # It does not ask which of two copies has raised a semaphore.
    assert {n for n in names if n in RACY and not judged[n]} == {"one_semaphore_first_waited"}
