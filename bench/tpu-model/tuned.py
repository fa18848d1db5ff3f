"""How often the model agrees with published block sizes: `./do bench tpu-model --tuned`.

A row of tpu_tuned_blocks.csv gives the fastest measured blocks of a kernel. Its candidates are
these blocks with one of their sizes halved, quartered, doubled or quadrupled, and with one doubled and another one
halved, as far as JAX exports them and the chip's compiler takes them. Where it takes the published blocks only with a
higher limit of VMEM than its usual one, they were measured with one, and candidates may have all of it. The model agrees where it gives the published
blocks at most 1.05 of the time of the best candidate. Rows count whose chip is named and whose kernel the export can
build: the others do not print the sizes that a kernel of theirs needs, or belong to libraries without a wheel.
"""

import csv
import itertools
import pathlib
import re
import subprocess
import sys

AGREES = 1.05
FACTORS = (0.5, 2, 0.25, 4)
LEAST = 128  # elements of a block: the lanes of a TPU


def row_of(row):
  """A row of published blocks in the columns of measured ones; None: it is of no kernel that prints its arrays."""
  kernel, bar, shapes = row["kernel_problem"].partition(" | ")
  blocks, semicolon, buffering = row["best_blocks"].partition(" ; ")
  if not bar or not semicolon or not re.fullmatch(r"v\d\w*", row["generation"]):
    return None
  return dict(id=row["id"], generation=row["generation"], kernel=kernel, shapes=shapes, dtype="bf16",
              block_sizes=blocks, buffering=buffering)


def with_sizes(row, sizes, tag):
  blocks = row["block_sizes"]
  for name, size in sizes.items():
    blocks = re.sub(rf"\b{name}=\d+", f"{name}={size}", blocks)
  return dict(row, id=f"{row['id']}/{tag}", block_sizes=blocks)


def candidates(row):
  """The row itself first."""
  sizes = {n: int(s) for n, s in re.findall(r"\b(\w+)=(\d+)", row["block_sizes"])}
  changes = [{n: f} for f in FACTORS for n in sizes]
  changes += [{a: 2, b: 0.5} for a, b in itertools.permutations(sizes, 2)]
  out, seen = [with_sizes(row, {}, 0)], {row["block_sizes"]}
  for change in changes:
    changed = {n: int(sizes[n] * f) for n, f in change.items()}
    candidate = with_sizes(row, changed, len(out))
    if min(changed.values()) >= LEAST and candidate["block_sizes"] not in seen:
      seen.add(candidate["block_sizes"])
      out.append(candidate)
  return out


def all_vmem(bench, chip):
  """A file of the chip whose compiler gives kernels all of VMEM."""
  text = subprocess.run([bench.SMALTI, "chips", chip, "--toml"], stdout=subprocess.PIPE, text=True, check=True).stdout
  usable = re.search(r"^vmem_usable_bytes = (?:\{ value = )?([\d_]+)", text, re.M)[1]
  path = bench.CACHE / f"{pathlib.Path(chip).stem}-all-vmem.toml"
  path.write_text(re.sub(r"^(vmem_default_limit_bytes = (?:\{ value = )?)[\d_]+", rf"\g<1>{usable}", text, flags=re.M))
  return path


def judge(bench, path, family, family_of, chips):
  rows = [r for r in map(row_of, csv.DictReader(open(path))) if r and (not family or family_of(r) == family)]
  if not rows:
    sys.exit("none of the rows names a chip and prints the arrays of its kernel")
  by_row = {r["id"]: candidates(r) for r in rows}
  flat = [c for cs in by_row.values() for c in cs]
  built = bench.modules(flat, path)
  can = [c for c in flat if "module" in built[c["id"]]]
  said = bench.times(can, built, chips, anyway=False)
  refused = {r for r, cs in by_row.items() if str(said.get(cs[0]["id"])).startswith("SM6904")}
  more = [c for c in can if c["id"].split("/")[0] in refused]
  said |= bench.times(more, built, {g: all_vmem(bench, chips.get(g, g)) for g in {c["generation"] for c in more}},
                      anyway=False)
  results, lacking = [], []
  for row in rows:
    timed = [(said[c["id"]]["us"], c["block_sizes"]) for c in by_row[row["id"]] if isinstance(said.get(c["id"]), dict)]
    first = by_row[row["id"]][0]["id"]
    if not isinstance(said.get(first), dict):
      lacking.append(f"{row['id']}: {said.get(first) or built[first]['lacks']}")
      continue
    best, blocks = min(timed)
    share = said[first]["us"] / best
    results.append(dict(id=row["id"], group=f"{row['generation']} {family_of(row)}", chip=row["generation"], share=share,
                        published=row["block_sizes"], best=blocks, candidates=len(timed)))
  return results, lacking


def report(results, lacking):
  groups = sorted({r["group"] for r in results})
  print(f"{'chip and family':<34}{'rows':>5}{'agrees':>8}{'candidates':>12}{'published/best, worst':>23}")
  for name, members in [*((g, [r for r in results if r["group"] == g]) for g in groups), ("all", results)]:
    good = sum(r["share"] <= AGREES for r in members)
    print(f"{name:<34}{len(members):>5}{good:>8}{sum(r['candidates'] for r in members):>12}"
          f"{max(r['share'] for r in members):>23.2f}")
  for r in sorted(results, key=lambda r: -r["share"]):
    if r["share"] > AGREES:
      print(f"{r['id']} {r['group']}: published {r['published']} takes {r['share']:.2f} of {r['best']}")
  for sentence in lacking:
    print(f"cannot be judged: {sentence}")
  good = sum(r["share"] <= AGREES for r in results)
  print(f"the published blocks take at most {AGREES} of the best candidate's time in {good} of {len(results)} rows "
        f"({100 * good / max(len(results), 1):.0f} %)")
