"""How sure the model is of a time: fits section [uncertainty] of the chips' files to the errors of measured rows.

    ./do bench tpu-model --ranges [--write]

An error is taken for one of a distribution with heavy tails, whose width follows from the parts of the time (src/driver/time/
TimeParts.h): a part is wrong by a share of its own, the same on all chips, and all of a time by one of its chip. The range is then
the narrowest that holds HOLDS of the rows. What is printed of other rows comes of HALVES random halves: fitted to one, judged on
the other. Rows of the caller's clock do not count.
"""

import collections
import re

import numpy as np

PARTS = ["issue_slots", "transcendental", "vmem", "hbm", "copy_latency", "step_overhead", "ops"]
HOLDS = 0.935
HALVES = 30
LEAST = 0.015        # no chip's times are better known, however few its rows are
OF_ALL = (0.025, 0.5)  # what is expected of a chip: its relative error, and how far it may be from that (of its logarithm)
OF_PART = (0.13, 1.0)


def shares(said):
  """Of the time, by PARTS."""
  transcendental = 0
  for k in said["kernels"]:
    cycles = sum(k["work_cycles"].values())
    transcendental += k["us"] * k["work_cycles"]["transcendental unit"] / cycles if cycles else 0
  return [(transcendental if p == "transcendental" else said["parts_us"][p]) / said["us"] for p in PARTS]


class Errors:
  """Logarithms of measured over predicted times, with what they may follow from."""

  def __init__(self, results):
    self.chips = sorted({r["chip"] for r in results})
    self.errors = np.array([np.log(r["measured"] / r["us"]) for r in results])
    self.chip = np.array([self.chips.index(r["chip"]) for r in results])
    self.shares = np.array([shares(r["said"]) for r in results])
    self.names = [f"{r['chip']} {r['family']}" for r in results]

  def widths(self, point, rows):
    of_chip, of_part = np.maximum(np.exp(point[:len(self.chips)]), LEAST), np.exp(point[len(self.chips):])
    return np.sqrt(of_chip[self.chip[rows]]**2 + ((self.shares[rows] * of_part)**2).sum(1))

  def unlikely(self, point, rows):
    """The negative logarithm of how likely the errors are (Student's distribution, three degrees of freedom)."""
    width = self.widths(point, rows)
    of_chip, of_part = point[:len(self.chips)], point[len(self.chips):]
    prior = (((of_chip - np.log(OF_ALL[0])) / OF_ALL[1])**2).sum() / 2 + (((of_part - np.log(OF_PART[0])) / OF_PART[1])**2).sum() / 2
    return (np.log(width) + 2 * np.log1p((self.errors[rows] / width)**2 / 3)).sum() + prior

  def fit(self, rows):
    """The constants, and how many widths the range is below and above."""
    point = np.log(np.array([OF_ALL[0]] * len(self.chips) + [OF_PART[0]] * len(PARTS)))
    best, step = self.unlikely(point, rows), 0.4
    while step > 0.02:
      better = False
      for i in range(len(point)):
        for way in (step, -step):
          to = point.copy()
          to[i] += way
          value = self.unlikely(to, rows)
          if value < best - 1e-6:
            point, best, better = to, value, True
      if not better:
        step /= 2
    z = np.sort(self.errors[rows] / self.widths(point, rows))
    count = int(np.ceil(HOLDS * len(z)))
    first = int(np.argmin(z[count - 1:] - z[:len(z) - count + 1]))
    return point, max(0, -z[first]), max(0, z[first + count - 1])

  def judged(self, fitted, rows):
    """Of each row: whether the range holds it, and how wide it is."""
    point, below, above = fitted
    width = self.widths(point, rows)
    low, high = np.exp(-below * width), np.exp(above * width)
    measured = np.exp(self.errors[rows])
    return (measured >= low) & (measured <= high), high - low


def fit(bench, results, write):
  errors = Errors([r for r in results if r["us"] and not r["wall"]])
  everything = np.arange(len(errors.errors))
  fitted = errors.fit(everything)
  held, width = errors.judged(fitted, everything)
  print(f"fitted to all {len(everything)} rows: {100 * held.mean():.0f} % in the range, median width {100 * np.median(width):.1f} %")
  rng, halves, by_name = np.random.default_rng(0), [], collections.defaultdict(list)
  for _ in range(HALVES):
    order = rng.permutation(everything)
    left, right = order[:len(order) // 2], order[len(order) // 2:]
    held, width = errors.judged(errors.fit(left), right)
    halves.append((held.mean(), np.median(width)))
    for row, h, w in zip(right, held, width):
      for name in (errors.names[row], errors.names[row].split()[0]):
        by_name[name].append((h, w))
  held, width = np.array(halves).T
  print(f"rows left out, {HALVES} halves: {100 * held.mean():.0f} % in the range ({100 * held.min():.0f} to {100 * held.max():.0f}), "
        f"median width {100 * width.mean():.1f} % ({100 * width.min():.1f} to {100 * width.max():.1f})")
  for name, judged in sorted(by_name.items()):
    print(f"  {name:<24}{100 * np.mean([h for h, _ in judged]):>5.0f} %, width {100 * np.median([w for _, w in judged]):.1f} %")
  point, below, above = fitted
  of_parts = dict(zip(PARTS, np.exp(point[len(errors.chips):])), below=below, above=above)
  for chip in sorted({*errors.chips, "v4"}):
    values = dict(of_parts)
    if chip in errors.chips:
      values["everything"] = max(LEAST, np.exp(point[errors.chips.index(chip)]))
    path = bench.ROOT / f"chips/{chip}.toml"
    text = path.read_text()
    start = text.index("[uncertainty]")
    for key, value in values.items():
      section, found = re.subn(rf"^{key} = [\d.e-]+$", f"{key} = {value:.3g}", text[start:], count=1, flags=re.M)
      if found != 1:
        raise SystemExit(f"{path} has no number {key} in [uncertainty]")
      text = text[:start] + section
    target = path if write else bench.CACHE / path.name
    target.write_text(text)
  print(f"written to {target.parent}")
