"""The cpu benchmark's arithmetic, without running any of it."""

import dataclasses
import json
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench/cpu"))

import actors
import cpu
import report
from rows import ROWS, Row

KEYS = ["workload", "threads", "ours", "unit", "limit", "fraction", "peer", "peer_rate", "ratio", "valid_rounds"]
ROW = Row("matmul", "matmul n=100", 2e6, "GFLOP/s", "fma", ("A", "B"))
TIME = Row("call", "empty", 1, "ms", "fma", ("A",), latency=True, flops=5e8)


class Stage(cpu.Stage):
    """Actors with given speeds between limits that are given round by round."""

    def __init__(self, limits, seconds):
        self.threads, self.commands, self.module = 1, {**dict.fromkeys(seconds), "limits": None}, "module.mlir"
        self.limits, self.seconds, self.limit, self.best = list(limits), seconds, "fma", {}

    def prepare_limit(self, specs):
        return specs != "no such loop"

    def actor(self, name):
        stage = self

        class Actor:
            def prepare(self, spec):
                return "has no such thing" if stage.seconds[name] is None else None

            def run(self):
                if name == "limits":
                    return 1, stage.limits.pop(0) if stage.limits else 100e9
                return stage.seconds[name], 0

            def probe(self):
                return [1.0]

        return Actor()


def measured(stage, row):
    notes = []
    return cpu.measure(stage, row, 0, notes.append), notes


def test_rows_have_exactly_the_keys_that_readers_know():
    rows, _ = measured(Stage([], {"ours": 1e-4, "A": 2e-4, "B": 4e-4}), ROW)
    assert [list(r) for r in rows] == [KEYS, KEYS]
    json.dumps(rows)


def test_rates_fractions_and_ratios():
    rows, notes = measured(Stage([], {"ours": 4e-5, "A": 5e-5}), ROW)
    assert rows[0]["ours"] == pytest.approx(50)  # 2e6 flops in 40 µs
    assert rows[0]["limit"] == pytest.approx(100)
    assert rows[0]["fraction"] == pytest.approx(.5)
    assert rows[0]["peer_rate"] == pytest.approx(40)
    assert rows[0]["ratio"] == pytest.approx(1.25)
    assert not notes


FIRST = [100e9] * cpu.FIRST_LIMITS


def test_a_step_next_to_a_slow_limit_is_repeated():
    # Three rounds of {ours, limit, A, limit}; during the second step another process took half of the machine.
    stage = Stage(FIRST + [100e9] * 2 + [50e9, 99e9, 99e9] + [100e9] * 3, {"ours": 1e-4, "A": 1e-4})
    rows, _ = measured(stage, ROW)
    assert rows[0]["valid_rounds"] == 3


def test_a_row_that_takes_too_long_has_one_round_without_repeated_steps(monkeypatch):
    monkeypatch.setattr(cpu, "GRACE_SECONDS", 0)
    stage = Stage(FIRST + [50e9] * 2, {"ours": 1e-4, "A": 1e-4})
    rows, _ = measured(stage, ROW)
    assert not stage.limits and rows[0]["valid_rounds"] == 0


def test_a_round_next_to_a_slow_limit_is_not_valid():
    stage = Stage(FIRST + [100e9] * 2 + [50e9] * 2 * cpu.TRIES + [99e9] * 3, {"ours": 1e-4, "A": 1e-4})
    rows, _ = measured(stage, ROW)
    assert rows[0]["valid_rounds"] == 2


def test_a_long_step_is_taken_once():
    stage = Stage(FIRST + [100e9] * 2 + [50e9] * 2 + [100e9] * 2, {"ours": 2 * cpu.LONG_SECONDS, "A": 2 * cpu.LONG_SECONDS})
    rows, _ = measured(stage, TIME)
    assert not stage.limits and rows[0]["valid_rounds"] == 1


def test_what_the_limit_once_reached_counts_in_later_rows():
    stage = Stage([], {"ours": 1e-4, "A": 1e-4})
    assert measured(stage, ROW)[0][0]["valid_rounds"] > 0
    stage.limits = [60e9] * 100  # another process runs from now on
    assert measured(stage, ROW)[0][0]["valid_rounds"] == 0


def test_without_a_valid_round_the_least_disturbed_count():
    busy = [60e9] * 2 * cpu.TRIES + [50e9] * 2 * cpu.TRIES + [55e9] * 2 * cpu.TRIES
    rows, _ = measured(Stage(FIRST + busy, {"ours": 1e-4, "A": 1e-4}), ROW)
    assert rows[0]["valid_rounds"] == 0
    assert rows[0]["fraction"] == pytest.approx(2e6 / 1e-4 / 60e9, rel=.3)


def test_times_are_better_when_shorter_and_flops_give_them_a_limit():
    rows, _ = measured(Stage([], {"ours": 1e-2, "A": 3e-2}), TIME)
    assert rows[0]["ours"] == pytest.approx(10)
    assert rows[0]["ratio"] == pytest.approx(3)
    assert rows[0]["limit"] == pytest.approx(5)  # 5e8 flops at 100e9
    assert rows[0]["fraction"] == pytest.approx(.5)


def test_the_limit_of_a_row_of_two_resources_is_the_lesser():
    row = dataclasses.replace(ROW, unit="GB/s", limit="read", flops=8e6, flop_limit="fma")
    rows, _ = measured(Stage([], {"ours": 1e-4, "A": 2e-4, "B": 4e-4}), row)  # 2e6 bytes and 8e6 flops at 100e9
    assert rows[0]["limit"] == pytest.approx(25)
    assert rows[0]["fraction"] == pytest.approx(20 / 25)
    assert (rows[0]["loop_limit"], rows[0]["flop_limit"]) == (pytest.approx(100), pytest.approx(25))
    few = measured(Stage([], {"ours": 1e-4, "A": 2e-4, "B": 4e-4}), dataclasses.replace(row, flops=1e6))[0][0]
    assert few["limit"] == pytest.approx(100) and few["flop_limit"] == pytest.approx(200)


def test_peers_that_cannot_are_left_out_and_we_are_shown_alone():
    rows, _ = measured(Stage([], {"ours": 1e-4, "A": None, "B": None}), ROW)
    assert len(rows) == 1 and rows[0]["peer"] is None and rows[0]["ratio"] is None


def test_a_row_whose_limit_the_processor_lacks_is_left_out_with_a_note():
    stage = Stage([], {"ours": 1e-4, "A": 2e-4})
    rows, notes = measured(stage, dataclasses.replace(ROW, limit="no such loop"))
    assert rows == [] and notes == ["matmul: no loop for its limit (no such loop) on this processor"]


def test_the_table_names_the_best_peer_first_and_the_page_holds_every_row():
    rows, _ = measured(Stage([], {"ours": 1e-4, "A": 2e-4, "B": 5e-5}), ROW)
    assert report.line(rows).endswith("B 0.50×, A 2.00×")
    page = report.page(rows, "./do bench cpu")
    assert "| matmul | 1 | 20.0 | GFLOP/s | 100 | 0.200 | B 0.50, A 2.00 |" in page


def test_the_baseline_has_the_same_actors_with_the_libraries_of_its_own_build(tmp_path):
    found, _ = actors.commands(tmp_path, 1, "cpu", baseline=tmp_path)
    for name in ("ours", "--check", "module"):
        (command, more), (other, others) = found[name], found[f"baseline {name}"]
        assert command[0] == actors.ROOT / "build/release/bin" / command[0].name
        assert other == [tmp_path / "bin" / command[0].name, *command[1:]]
        assert others == {**more, "LD_LIBRARY_PATH": str(tmp_path / "lib")}


def test_rows_compared_with_the_baseline_end_in_a_geometric_mean_and_the_slower_ones():
    row = dataclasses.replace(ROW, peers=("baseline ours",))
    rows, _ = measured(Stage([], {"ours": 1e-4, "baseline ours": 8e-5}), row)
    assert rows[0]["peer"] == "baseline"
    rows = [{**rows[0], "ratio": ratio, "valid_rounds": valid} for ratio, valid in ((.8, 5), (1.25, 9), (.5, 4))]
    assert report.against_baseline(rows) == (
        "baseline: 1.000 times its speed in the geometric mean of 2 rows with 5 valid rounds; 1 of them below 0.98\n"
        "  matmul, threads 1: 0.800")
    assert report.against_baseline(rows[2:]) == "baseline: no row has 5 valid rounds"


def test_the_page_gives_the_bound_from_wake_up_latency():
    row = {"peer": None, "peer_rate": None, "ratio": None, "valid_rounds": 3}
    rows = [{**row, "workload": "matmul f32 512", "threads": 2, "ours": 300, "unit": "GFLOP/s", "limit": 400, "fraction": .75},
            {**row, "workload": "thread-pool wake-up latency after a pause", "threads": 2, "ours": 67, "unit": "µs", "limit": None,
             "fraction": None}]
    assert report.bounds(rows) == [
        "matmul f32 512 on 2 threads: after a pause the threads take 67.0 µs to start on average, the multiply-adds "
        "671 µs: a fraction of 0.91 at most, not counting cold caches."]


def test_the_page_says_what_reading_pages_and_computing_leave():
    row = {"threads": 1, "peer": None, "peer_rate": None, "ratio": None, "valid_rounds": 3, "fraction": .5}
    rows = [{**row, "workload": "decode bf16, 16384 keys", "ours": 27, "unit": "GB/s", "limit": 30},
            {**row, "workload": "decode bf16, pages of 16", "ours": 20, "unit": "GB/s", "limit": 24},
            {**row, "workload": "softmax 64x1024, in cache", "ours": 4, "unit": "Gelem/s", "limit": 13},
            {**row, "workload": "softmax 16384x1024, DRAM", "ours": 3.5, "unit": "Gelem/s", "limit": 5},
            {**row, "workload": "tanh 64x1024, in cache", "ours": 5, "unit": "Gelem/s", "limit": 13},
            {**row, "workload": "matmul f32 1024", "ours": 110, "unit": "GFLOP/s", "limit": 120}]
    assert report.bounds(rows) == [
        "decode bf16, pages of 16, 1 thread: memory delivers 24.0 GB/s page by page in table order, 30.0 GB/s of "
        "consecutive keys: a ratio of 0.80.",
        "softmax from DRAM: on one core, computing takes 1.25 times as long as copying: a fraction of 0.80 at most.",
        "gelu: tanh takes 0.200 ns per element (measured), the six multiplications around it 0.100 ns on the same ports: "
        "3.33 Gelem/s for both in sequence."]


def test_the_page_says_what_multiplying_what_is_read_leaves():
    row = {"threads": 1, "unit": "GB/s", "peer": None, "peer_rate": None, "ratio": None, "valid_rounds": 3, "fraction": .9}
    limits = {"ours": 11, "limit": 12, "loop_limit": 30, "flop_limit": 12}
    said, = report.bounds([{**row, **limits, "workload": "decode bf16, 8 queries per key"}])
    assert said.startswith(
        "decode bf16, 8 queries per key, 1 thread: memory delivers 30.0 GB/s of keys and values, and the multiply-adds "
        "alone can use 12.0 GB/s: the lower rate is the limit.\n"
        "  (A key and its value have 256 elements; their two products with 8 queries take 4,096 flops: 4 per byte of f32, 8 of bf16. ")
    assert report.bounds([{**row, **limits, "workload": "matmul f32, 8 x 4096 x 4096"}]) == [
        "matmul f32, 8 x 4096 x 4096, 1 thread: memory delivers 30.0 GB/s of weights, and the multiply-adds alone can use "
        "12.0 GB/s: the lower rate is the limit."]


def test_workloads_have_names_of_their_own():
    names = [r.workload for r in ROWS]
    assert len(set(names)) == len(names)
