"""What became of JAX's tests: in one of a few groups each, with a line of explanation for what did not pass."""

from __future__ import annotations

import collections
import pathlib
import re

#: The group and its title. Tests of the first two are those that simulated TensorCores can run.
GROUPS = {
    "passed": "passed", "failed": "failed", "SparseCore": "needs a SparseCore", "device": "needs a device or its compiler",
    "races": "needs JAX's race detector", "interpreter": "needs JAX's interpreter, or more than its lowering for TPUs takes",
    "alike": "fails in JAX's own interpreters in the same way", "skipped": "skipped by the test itself",
}
WAYS = {"interpret": "interpret=True", "params": "InterpretParams"}

#: (pattern of a test's name, group, explanation) of failures whose reason stands in the test, not in its message.
READ = [
    (r"test_interpret_remote_dma_(ppermute|asymmetrical)", "interpreter",
     "a race, as the test says: a device zeroes what its neighbour copies to; JAX's interpreter runs devices in lockstep"),
    (r"test_uninitialized_memory|test_run_scoped_with_memory_space_is_none", "interpreter",
     "expects what InterpretParams(uninitialized_memory=) chooses"),
    (r"test_out_of_bounds_(read|write)|test_masked_store_to_padded|test_smem_scratch_is_never_padded", "interpreter",
     "expects what InterpretParams(buffer_bounds=, out_of_bounds_reads=) chooses, or its message"),
    (r"test_randomization_of_parallel_dimensions|test_correct_number_of_stores|test_skip_floating_point_ops", "interpreter",
     "looks into JAX's interpreter"),
    (r"PallasLoweringDeterminismTest", "device", "looks for the TPU's custom call in the lowered program"),
    (r"PinnedBufferTest::test_basic", "device", "pinned buffers, which XLA has for TPUs only"),
    (r"test_kernel_with_output_memory_space_SEMAPHORE", "device",
     "reads what the TPU's custom call says; the array of integers in semaphore memory never runs"),
]

#: (outcome of pytest, pattern of its reason, group, explanation), the first that fits.
RULES = [
    ("skipped", r"[Ss]parse ?[Cc]ore|\bTEC\b|\bSC\b", "SparseCore", "a kernel for SparseCores"),
    ("skipped", r"devices|Requires (at least )?\d+|TPU ?v?[4-9]|TPUs? v|newer TPU|generation|only supported on TPU v", "device",
     "asks for another TPU, or for more devices"),
    ("skipped", r"", "skipped", "the test says so"),
    ("failed", r"races_found|detect_races", "races", "reads what JAX's race detector found"),
    ("failed", r"SparseCore|Sparsecore|sparse_core|kernel type|ScalarSubcore|VectorSubcore", "SparseCore",
     "a kernel for SparseCores"),
    ("failed", r"(MosaicError|JaxRuntimeError|XlaRuntimeError|Exception) not raised|input window allocation|"
               r"FIFO is empty\" does not match", "device", "expects the TPU's compiler to refuse the kernel"),
    ("failed", r"memory_space_colors|custom-call|custom_call|kCustom|HloModule|-1\.0 != \d+|has no attribute 'group'|"
               r"0 not greater than or equal to 2|exported for platforms", "device",
     "reads what the TPU's compiler or its devices say"),
    ("failed", r"Pallas TPU lowering (for tc: |currently )|Unimplemented primitive in Pallas TPU lowering|NotImplementedError|"
               r"Cannot do int indexing on TPU|Triton-specific|Can only load scalars from SMEM|Cannot store scalars to VMEM|"
               r"Loads are only allowed", "interpreter", "JAX's lowering for TPUs refuses the kernel"),
    ("failed", r"GridPoint|\"Out-of-bounds|\"Revisited|num_stores|\"Cannot allocate HBM|ValueError not raised", "interpreter",
     "looks into JAX's interpreter"),
    ("failed", r"hangs|ends the process", "failed", "does not end"),
    ("failed", r"Arrays are not equal|Not equal to tolerance|Mismatched elements", "failed",
     "other digits than XLA's: sums in another order, functions that round differently, subnormals"),
    ("failed", r"SM\d{4}", "failed", "refused here"),
    ("failed", r"", "failed", "see the log"),
]


def grouped(line: dict) -> tuple[str, str]:
    """The group and the explanation of a test's line."""
    if line["outcome"] == "passed":
        return "passed", ""
    why = line.get("why", "")
    if line["outcome"] == "failed":
        for pattern, group, explanation in READ:
            if re.search(pattern, line["test"]):
                return group, explanation
        for way, title in WAYS.items():
            other = (line.get(way) or {}).get("why", "")
            if other and _kind(other) == _kind(why):
                return "alike", f"{title} fails, too: {_kind(why)[:100]}"
    for outcome, pattern, group, explanation in RULES:
        if outcome == line["outcome"] and re.search(pattern, why):
            code = re.search(r"SM\d{4}", why)
            return group, f"{explanation}: {code[0]}" if code and group == "failed" else explanation
    raise ValueError(line["outcome"])


def _kind(why: str) -> str:
    """What went wrong, without the numbers of this run."""
    return re.sub(r"Mismatched elements.*|0x[0-9a-f]+", "", why)[:120].strip()


def method(name: str) -> str:
    """A test's method, without what absl appends for its parameters."""
    head = name.split("::", 1)[1]
    return re.sub(r"(\d+|_(named|dtype|shape|block_shape|size|m|n|k)_.*)$", "", head)


class Table:
    """Tests by file and group, and by method."""

    def __init__(self) -> None:
        self.files: dict[str, collections.Counter[str]] = {}
        self.methods: dict[tuple[str, str], collections.Counter[tuple[str, str]]] = {}
        self.seconds: dict[str, list[tuple[float, float]]] = {way: [] for way in WAYS}  # here, and that way

    def add(self, file: str, lines: list[dict]) -> None:
        counts = self.files.setdefault(file, collections.Counter())
        for line in lines:
            group, explanation = grouped(line)
            counts[group] += 1
            for way in WAYS:
                if group == "passed" and (line.get(way) or {}).get("outcome") == "passed":
                    self.seconds[way].append((line["pallas"], line[way]["pallas"]))
            self.methods.setdefault((file, method(line["test"])), collections.Counter())[group, explanation] += 1

    def text(self) -> str:
        total: collections.Counter[str] = sum(self.files.values(), collections.Counter())
        rows = [(file, counts) for file, counts in sorted(self.files.items())] + [("all", total)]
        width = max(len(file) for file, _ in rows)
        lines = [" ".join([f"{'':{width}}", *(f"{g:>11}" for g in GROUPS)])]
        lines += [" ".join([f"{file:{width}}", *(f"{counts[g]:11}" for g in GROUPS)]) for file, counts in rows]
        ran = total["passed"] + total["failed"]
        lines.append("\n" + "\n".join(f"{group:11} {title}" for group, title in GROUPS.items()))
        lines.append(f"{total['passed']} of {ran} tests that simulated TensorCores can run pass: {total['passed'] / max(ran, 1):.1%}")
        able = [m for m in self.methods.values() if any(g in ("passed", "failed") for g, _ in m)]
        good = [m for m in able if not any(g == "failed" for g, _ in m)]
        lines.append(f"{len(good)} of {len(able)} methods, of {len(self.methods)}: {len(good) / max(len(able), 1):.1%}")
        for way, pairs in self.seconds.items():
            if pairs:
                here, there = (sum(column) for column in zip(*pairs))
                lines.append(f"inside Pallas calls (trace, lower, compile, run), {len(pairs)} tests that pass with {WAYS[way]}, too: "
                             f"{here:.1f} s here, {there:.1f} s there, {here / there:.2f} of it")
        return "\n".join(lines)

    def write(self, path: pathlib.Path) -> None:
        """A line for each method: how many of its tests are in which group, and why."""
        lines = []
        for (file, name), counts in sorted(self.methods.items()):
            what = "; ".join(f"{n} {group}" + (f" ({why})" if why else "") for (group, why), n in sorted(counts.items()))
            lines.append(f"{file} {name}: {what}\n")
        path.write_text("".join(lines))
