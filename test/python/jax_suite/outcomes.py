"""What became of JAX's tests: in one of a few groups each, with a line of explanation for what did not pass."""

from __future__ import annotations

import collections
import pathlib
import re

import numpy as np

#: The group and its title. Tests of the first two are those that simulated TensorCores can run.
GROUPS = {
    "passed": "passed", "failed": "failed", "digits": "tolerates no rounding but that of XLA's sums and functions on the same unit",
    "SparseCore": "needs a SparseCore", "device": "needs a device, or reads its compiler's output", "races": "needs JAX's race detector",
    "interpreter": "needs JAX's interpreter, or more than its lowering for TPUs takes",
    "version": "fails in JAX itself: the test is of a later commit", "skipped": "skipped by the test itself",
}
WAYS = {"interpret": "interpret=True", "params": "InterpretParams"}

#: (pattern of a test's name, group, explanation) of failures whose reason stands in the test, not in its message.
READ = [
    (r"test_interpret_remote_dma_(ppermute|asymmetrical)", "interpreter",
     "a race, as the test says: a device zeroes what its neighbour copies to; JAX's interpreter runs devices in lockstep"),
    (r"test_uninitialized_memory|test_run_scoped_with_memory_space_is_none", "interpreter",
     "expects what InterpretParams(uninitialized_memory=) chooses"),
    (r"test_out_of_bounds_(read|write)|test_masked_store_to_padded|test_smem_scratch_is_never_padded|test_core_map_exception_no_hang",
     "interpreter", "expects what InterpretParams(buffer_bounds=, out_of_bounds_reads=) chooses, or its message"),
    (r"test_randomization_of_parallel_dimensions|test_correct_number_of_stores|test_skip_floating_point_ops|"
     r"test_parallel_dimension_and_multiple_cores|test_hbm_allocation_in_run_scoped_raises", "interpreter",
     "looks into JAX's interpreter"),
    (r"OpsInterpretTest::test_masked_swap$", "interpreter",
     "JAX's lowering for TPUs ignores the mask of what a masked swap gives; the test does not run on TPUs"),
    (r"OpsInterpretTest::test_debug_print$", "interpreter", "prints a ref, which JAX's lowering for TPUs refuses"),
    (r"PallasLoweringDeterminismTest|PallasTPUCollectiveIdTest", "device", "looks for the TPU's custom call in the lowered program"),
    (r"PinnedBufferTest::test_basic", "device", "pinned buffers, which XLA has for TPUs only"),
    (r"test_kernel_with_output_memory_space_SEMAPHORE", "device",
     "reads what the TPU's custom call says; the array of integers in semaphore memory never runs"),
    (r"test_vmem_oom_error_message", "device", "reads the TPU compiler's list of what takes VMEM; that the kernel is refused is as it should"),
    (r"test_set_internal_scratch_size", "device", "reads what the TPU's compiler says of its own scratch"),
    (r"PagedAttentionKernelTest::test_paged_attention\d*$", "failed",
     "other values, those of interpret=True: the kernel rounds keys to bf16, the expected product does so on a TPU only"),
    (r"test_empty_core_map_raises_error|test_disable_bounds_check|OpsTest::test_bitcast_vmap|test_bool_dma_not_implemented|"
     r"test_call_hi_primitive", "version", "JAX 0.12 raises before it lowers a kernel, or has not what the test names"),
]

#: (outcome of pytest, pattern of its reason, group, explanation), the first that fits.
RULES = [
    ("skipped", r"[Ss]parse ?[Cc]ore|\bTEC\b|\bSC\b", "SparseCore", "a kernel for SparseCores"),
    ("skipped", r"devices|Requires (at least )?\d+|TPU ?v?[4-9]|TPUs? v|newer TPU|generation|only supported on TPU v", "device",
     "asks for another TPU, or for more devices"),
    ("skipped", r"", "skipped", "the test says so"),
    ("failed", r"races_found|detect_races", "races", "reads what JAX's race detector found"),
    ("failed", r"SparseCore|Sparsecore|sparse_core|kernel type|subcore_id|ScalarSubcore|VectorSubcore", "SparseCore",
     "a kernel for SparseCores"),
    ("failed", r"memory_space_colors|custom-call|custom_call|kCustom|HloModule|-1\.0 != \d+|has no attribute 'group'|"
               r"0 not greater than or equal to 2|exported for platforms", "device",
     "reads what the TPU's compiler or its devices say"),
    ("failed", r"ValueError: Out of bound slice", "version", "JAX 0.12 refuses a slice that the test takes, before any lowering"),
    ("failed", r"got an unexpected keyword argument|AttributeError: module 'jax", "version", "JAX 0.12 has not what the test names"),
    ("failed", r"Unsupported element type for DotThunk", "device", "XLA has no such product on CPUs, for the expected values"),
    ("failed", r"Pallas TPU lowering (for tc: |currently )|Unimplemented primitive in Pallas TPU lowering|NotImplementedError|"
               r"Cannot do int indexing on TPU|Triton-specific|Can only load scalars from SMEM|Cannot store scalars to VMEM|"
               r"Loads are only allowed|internal verification error", "interpreter", "JAX's lowering for TPUs refuses the kernel"),
    ("failed", r"GridPoint|\"Out-of-bounds|\"Revisited|num_stores|\"Cannot allocate HBM|ValueError not raised", "interpreter",
     "looks into JAX's interpreter"),
    ("failed", r"hangs|ends the process", "failed", "does not end"),
    ("failed", r"Arrays are not equal|Not equal to tolerance|Mismatched elements", "failed", "other values"),
    ("failed", r"(MosaicError|JaxRuntimeError|XlaRuntimeError|Exception) not raised", "failed",
     "the TPU's compiler refuses this kernel, our rules do not"),
    ("failed", r"SM6619", "version", "JAX 0.12 converts the indices of a gather to i32, which the TPU's compiler refuses, too"),
    ("failed", r"SM66\d\d", "failed", "our rules refuse what the TPU's compiler takes"),
    ("failed", r"SM\d{4}", "failed", "refused here"),
    ("failed", r"", "failed", "see the log"),
]


def only_digits(why: str) -> str:
    """How far values are apart where it is no more than sums in another order, or another polynomial, give: 2^-17 of the largest
    value shown, or where the expected ones are bf16 a unit in their last place; else nothing."""
    far = re.search(r"Max absolute difference among violations: (\S+)", why)
    pairs = [(float(a), float(b)) for a, b in re.findall(r"\]: (-?[\d.e+-]+) \(ACTUAL\), (-?[\d.e+-]+) \(DESIRED\)", why)]
    if not far or not pairs or not any("." in text for text in re.findall(r"\]: (\S+) \(ACTUAL\)", why)):
        return ""
    shown = re.findall(r"-?\d+\.?\d*(?:e[+-]\d+)?", why.partition(" ACTUAL: ")[2])  # the corners of both arrays
    largest = max(abs(value) for value in [*map(float, shown), *(value for pair in pairs for value in pair)])
    of_bf16 = all(_is_bf16(b) for _, b in pairs)
    most = max(float(far[1]), *(abs(a - b) for a, b in pairs))
    limit = largest * (2.0**-7 if of_bf16 else 2.0**-17)
    return f"{most:.1e} apart, of values to {largest:.1e}" if most <= limit else ""


def _is_bf16(value: float) -> bool:
    return (int(np.float32(value).view(np.uint32)) & 0xFFFF) == 0


def grouped(line: dict) -> tuple[str, str]:
    """The group and the explanation of a test's line."""
    if line["outcome"] == "passed":
        return "passed", ""
    why = line.get("why", "")
    if line["outcome"] == "failed":
        if ours := re.search(r"hangs|ends the process|SM90\d\d\b|_rule\(\)|cannot be imported", f"{why} {line['method']}"):
            return "failed", f"no test expects this: {ours[0]}"
        for pattern, group, explanation in READ:
            if re.search(pattern, line["test"]):
                return group, explanation
        if apart := only_digits(why):
            return "digits", f"{apart}: exact products differ from f32 sums by more than the test tolerates, or XLA has other polynomials"
    if line["outcome"] == "skipped" and line["interpreted"]:
        return "skipped", "the test says so"
    for outcome, pattern, group, explanation in RULES:
        if outcome == line["outcome"] and re.search(pattern, why):
            code = re.search(r"SM\d{4}", why)
            return group, f"{explanation}: {code[0]}" if code and group == "failed" else explanation
    raise ValueError(line["outcome"])


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
            self.methods.setdefault((file, line["method"]), collections.Counter())[group, explanation] += 1

    def text(self) -> str:
        total: collections.Counter[str] = sum(self.files.values(), collections.Counter())
        rows = [(file, counts) for file, counts in sorted(self.files.items())] + [("all", total)]
        width = max(len(file) for file, _ in rows)
        lines = [" ".join([f"{'':{width}}", *(f"{g:>11}" for g in GROUPS)])]
        lines += [" ".join([f"{file:{width}}", *(f"{counts[g]:11}" for g in GROUPS)]) for file, counts in rows]
        ran = total["passed"] + total["failed"]
        lines.append("\n" + "\n".join(f"{group:11} {title}" for group, title in GROUPS.items()))
        lines.append(f"{total['passed']} of {ran} tests that simulated TensorCores can run pass: {total['passed'] / max(ran, 1):.1%}")
        for groups, title in ((("failed",), "methods"), (("failed", "digits"), "methods, with those that ask for digits")):
            able = [m for m in self.methods.values() if any(g in ("passed", *groups) for g, _ in m)]
            good = [m for m in able if not any(g in groups for g, _ in m)]
            lines.append(f"{len(good)} of {len(able)} {title}, of {len(self.methods)}: {len(good) / max(len(able), 1):.1%}")
        for way, pairs in self.seconds.items():
            if pairs:
                here, there = (sum(column) for column in zip(*pairs))
                lines.append(f"inside Pallas calls (trace, lower, compile, run), {len(pairs)} tests that pass with {WAYS[way]}, too: "
                             f"{here:.1f} s here, {there:.1f} s there, {here / there:.2f} of it")
        return "\n".join(lines)

    def failed_unlike(self, known: pathlib.Path) -> list[str]:
        """Methods with a failed test, but for those that have one in a list that `write` wrote."""
        rows = [line.split(": ", 1) for line in known.read_text().splitlines() if not line.startswith("#") and ": " in line]
        expected = {name for name, what in rows if re.search(r"(^|; )\d+ failed", what)}
        return sorted(f"{file} {name}" for (file, name), counts in self.methods.items()
                      if any(group == "failed" for group, _ in counts) and f"{file} {name}" not in expected)

    def write(self, path: pathlib.Path, how: str) -> None:
        """`how` it was run, the table, and a line for each method: how many of its tests are in which group, and why."""
        lines = [f"# {line}".rstrip() + "\n" for line in [how, "", *self.text().splitlines(), ""]]
        for (file, name), counts in sorted(self.methods.items()):
            what = "; ".join(f"{n} {group}" + (f" ({why})" if why else "") for (group, why), n in sorted(counts.items()))
            lines.append(f"{file} {name}: {what}\n")
        path.write_text("".join(lines))
