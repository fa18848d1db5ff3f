"""`--trace`: a timeline as trace events. Perfetto's trace_processor loads it where it is installed (its PyPI package brings
no program, it downloads one); a strict reading of the format, as Perfetto's importer has it, is made everywhere."""

import collections
import json
import math
import os
import shutil
import subprocess

import pytest

from conftest import ROOT

CASES = ROOT / "test/data/cases"
GRID = CASES / "matmul_bf16_gelu"
BY_HAND = CASES / "emit_pipeline_nondivisible"


def traced(smalti, tmp_path, *words, verb="time", code=0):
    path = tmp_path / "trace.json"
    done = subprocess.run([smalti, verb, *map(str, words), "--trace", path, "-o", tmp_path / "out"], capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    return path


class Track:
    def __init__(self):
        self.name, self.slices = None, []


def read(path):
    """{process: ({track: [(from, to, name, args)]}, {counter: [(at, value)]})}, times in ns. Fails on whatever an importer of
    trace events drops or guesses."""
    document = json.loads(path.read_text())
    assert list(document) == ["traceEvents"]  # displayTimeUnit: some versions take it for the unit of ts
    names, tracks, counters, threads = {}, collections.defaultdict(Track), collections.defaultdict(list), {}

    def whole(us):
        assert isinstance(us, (int, float)) and us >= 0 and math.isfinite(us)
        assert int(us * 1000) == round(us * 1000)  # cut and rounded alike
        return round(us * 1000)

    for e in document["traceEvents"]:
        assert isinstance(e["pid"], int) and isinstance(e["name"], str) and e["name"]
        assert not any(ord(c) < 32 for c in e["name"])
        if e["ph"] == "M":
            assert set(e) == {"ph", "pid", "tid", "name", "args"}
            if e["name"] == "process_name":
                assert e["pid"] not in names
                names[e["pid"]] = e["args"]["name"]
            elif e["name"] == "thread_name":
                assert threads.setdefault(e["tid"], e["pid"]) == e["pid"]  # a thread is of one process
                assert tracks[e["pid"], e["tid"]].name is None
                tracks[e["pid"], e["tid"]].name = e["args"]["name"]
            else:
                assert e["name"] in ("process_sort_index", "thread_sort_index") and isinstance(e["args"]["sort_index"], int)
        elif e["ph"] == "X":
            assert set(e) == {"ph", "pid", "tid", "cat", "name", "ts", "dur", "args"}
            begin = whole(e["ts"])
            tracks[e["pid"], e["tid"]].slices.append((begin, begin + whole(e["dur"]), e["name"], e["args"]))
        else:
            assert e["ph"] == "C" and set(e) == {"ph", "pid", "name", "ts", "args"} and list(e["args"]) == ["value"]
            counters[e["pid"], e["name"]].append((whole(e["ts"]), e["args"]["value"]))
    out = {name: ({}, {}) for name in names.values()}
    assert len(out) == len(names)
    for (pid, _), track in tracks.items():
        assert track.name and track.name not in out[names[pid]][0]
        for a, b in zip(track.slices, track.slices[1:]):
            assert a[1] <= b[0], (track.name, a, b)  # Perfetto drops what overlaps without lying inside
        out[names[pid]][0][track.name] = track.slices
    for (pid, name), values in counters.items():
        assert values == sorted(values, key=lambda v: v[0])
        out[names[pid]][1][name] = values
    return out


def test_a_grid_is_steps_with_copies_waits_and_what_is_computed(smalti, tmp_path):
    ((name, (tracks, counters)),) = read(traced(smalti, tmp_path, GRID, "--chip", "v5e")).items()
    assert name == "mm_k on v5e"
    assert list(tracks)[:4] == ["grid steps", "compute", "waits", "HBM"]
    assert [s[2] for s in tracks["grid steps"]] == ["step 0 (0, 0, 0)", "step 1 (0, 0, 1)", "step 2 (1, 0, 0)", "step 3 (1, 0, 1)"]
    # The second track is of fetches that begin before the block before has been waited for.
    assert [s[2] for s in sorted(tracks["input 0"] + tracks["input 0 (2)"])] == [
        "input 0 (0, 0)", "input 0 (0, 1)", "input 0 (1, 0)", "input 0 (1, 1)"]
    assert [s[2] for s in tracks["output 0"]] == ["output 0 (0, 0)", "output 0 (1, 0)"]
    assert {s[3]["bytes"] for s in tracks["input 0"]} == {64 * 128 * 2}
    assert "matrix unit" in {s[2] for s in tracks["compute"]}
    assert {s[2] for s in tracks["waits"]} >= {"for input 0 (0, 0)", "for output 0 (1, 0)"}
    assert {"HBM GB/s", "waiting %", "matrix unit %"} <= set(counters)
    # Who waits for a copy waits until it has ended.
    ends = {(s[2], s[1]) for t in tracks if t.startswith(("input", "output")) for s in tracks[t]}
    assert {(what.removeprefix("for "), end) for _, end, what, _ in tracks["waits"]} <= ends
    # The bytes of the counter are those of the copies.
    moved = sum(s[3]["bytes"] for s in tracks["HBM"])
    values = counters["HBM GB/s"]
    assert sum(v * (b[0] - a[0]) for (a, b) in zip(values, values[1:]) for v in [a[1]]) == pytest.approx(moved, rel=0.02)


def test_the_trace_ends_when_the_kernel_does(smalti, tmp_path):
    path = traced(smalti, tmp_path, GRID, "--chip", "v5e,v6e", "--json")
    timed = json.loads((tmp_path / "out").read_text())["modules"][0]["chips"]
    processes = read(path)
    assert list(processes) == ["mm_k on v5e", "mm_k on v6e"]
    for chip in ("v5e", "v6e"):
        tracks, counters = processes[f"mm_k on {chip}"]
        end = max(s[1] for slices in tracks.values() for s in slices)
        assert end == pytest.approx(timed[chip]["kernels"][0]["us"] * 1e3, abs=2)
        assert {round(v[-1][0]) for v in counters.values()} == {end}


def test_copies_by_hand_have_tracks_of_their_own(smalti, tmp_path):
    ((_, (tracks, _)),) = read(traced(smalti, tmp_path, BY_HAND, "--chip", "v5e")).items()
    assert [s[2] for s in tracks["grid steps"]] == ["the kernel"]
    assert any(t.startswith("input 0 to scratch") for t in tracks) and any(" to output 0" in t for t in tracks), list(tracks)


MANY = """module {
  func.func @k(%i: i32, %x: memref<8x128xf32, #tpu.memory_space<vmem>>, %o: memref<8x128xf32, #tpu.memory_space<vmem>>)
      attributes {dimension_semantics = [#tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: 1000000>,
                  scalar_prefetch = 0 : i64, scratch_operands = 0 : i64, tpu.core_type = #tpu.core_type<tc>,
                  window_params = [{transform_indices = @block, window_bounds = array<i64: 8, 128>},
                                   {transform_indices = @block, window_bounds = array<i64: 8, 128>}]} {
    %zero = arith.constant 0 : index
    %v = vector.load %x[%zero, %zero] : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>
    %s = arith.addf %v, %v : vector<8x128xf32>
    tpu.vector_store %o[%zero, %zero], %s {strides = array<i32>} : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>,
    return
  }
  func.func @block(%i: i32) -> (i32, i32) {
    %zero = arith.constant 0 : i32
    return %i, %zero : i32, i32
  }
}
"""


def test_many_steps_are_a_small_file_that_says_what_it_leaves_out(smalti, tmp_path):
    many = tmp_path / "many.mlir"
    many.write_text(MANY)
    path = traced(smalti, tmp_path, many, "--chip", "v5e", verb="report")
    assert path.stat().st_size < 4_000_000
    ((_, (tracks, counters)),) = read(path).items()
    last = tracks["grid steps"][-1]
    assert last[2].startswith("steps ") and last[2].endswith(" to 999,999, aggregated")
    told = len(tracks["grid steps"]) - 1
    assert last[2].split()[1] == f"{told:,}" and told > 1000
    assert all(len(v) <= 1026 for v in counters.values())
    assert max(v[-1][0] for v in counters.values()) == last[1]


def test_it_is_of_one_module(smalti, tmp_path):
    done = subprocess.run([smalti, "time", GRID, BY_HAND, "--chip", "v5e", "--trace", tmp_path / "t"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (2, "error[SM1000]: --trace writes the timeline of one module\n"
                                                 "  need: 1 module\n  have: 2 modules\n")
    done = subprocess.run([smalti, "time", GRID, "--chip", "v5e", "--against", "v6e", "--trace", tmp_path / "t"],
                          capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (2, "error[SM1000]: --trace and --against cannot be combined\n"
                                                 "  help: write a trace of each, or name both chips: --chip v5e,v6e --trace FILE\n")
    done = subprocess.run([smalti, "time", GRID, "--chip", "v5e", "--trace", tmp_path / "none/t"], capture_output=True, text=True)
    assert done.returncode == 2 and "SM1006" in done.stderr
    assert not (tmp_path / "t").exists()


def trace_processor():
    return os.environ.get("TRACE_PROCESSOR") or shutil.which("trace_processor_shell") or shutil.which("trace_processor")


@pytest.mark.skipif(not trace_processor(), reason="needs Perfetto's trace_processor: in PATH, or named by TRACE_PROCESSOR")
@pytest.mark.parametrize("case", [GRID, BY_HAND])
def test_trace_processor_loads_it(smalti, tmp_path, case):
    path = traced(smalti, tmp_path, case, "--chip", "v5e")

    def ask(query):
        done = subprocess.run([trace_processor(), "-Q", query, path], capture_output=True, text=True, check=True)
        return [line.strip('"') for line in done.stdout.split()[1:]]

    wanted = sum(len(slices) for tracks, _ in read(path).values() for slices in tracks.values())
    assert ask("select count(*) from slice") == [str(wanted)]
    assert ask("select count(*) from stats where severity in ('error', 'data_loss') and value > 0") == ["0"]
