#!/usr/bin/env python3
"""Fits the constants of section [time] of a chip's file to measured times, and says how they do on rows left out.

    ./do bench tpu-model --fit [--chip v6e]… [--rows FILE.csv] [--rounds N] [--write]

The logarithms of the constants are moved by Gauss and Newton against the logarithms of measured times, robustly (the
absolute error counts), with a prior that keeps a constant near where it stands when rows say little about it. One call of
`smalti time` gives the derivatives for all rows. Held-out errors use the fitted model's derivatives: for each fifth of
the shapes, for each family, and for halves drawn by chance, constants are fitted to the other rows.
"""

import collections
import csv
import dataclasses
import hashlib
import json
import math
import os
import pathlib
import re
import subprocess
import tempfile

import numpy as np

from families import family_of

# Constant: least, most, how far from where it stands it may be expected to be (a factor).
CONSTANTS = {
    "clock_ghz": (1.8, 2.2, 1.05), "latch_cycles_per_vreg": (2, 4, 1.3),
    "step_cycles": (50, 2000, 2), "scalar_cycles": (0.05, 4, 2), "copy_cycles": (1, 300, 2),
    "copy_latency_us": (0.05, 2, 1.6), "hbm_efficiency": (0.6, 1, 1.1), "sole_core_hbm_share": (0.45, 1, 1.3),
    "matrix_efficiency": (0.8, 1, 1.05), "unoverlapped": (0.005, 1, 2), "op_us": (0.2, 4, 2),
    "op_efficiency": (0.5, 1, 1.15),
}
OF_CHIP = {"clock_ghz": ["v7x"], "latch_cycles_per_vreg": ["v6e", "v7x"], "sole_core_hbm_share": ["v4", "v5p"]}
NOISE = 0.03         # what the model is not expected to reach: the width of the middle of the loss
FOLDS = 5
HALVES = 10


def read(text, key):
  return float(re.search(rf"^{key} = (?:\{{ value = )?([\d.]+)", text, re.M).group(1))


def changed(text, values):
  for key, value in values.items():
    text = re.sub(rf"^({key} = (?:\{{ value = )?)[\d.]+", lambda m: m.group(1) + f"{value:.4g}", text, flags=re.M)
  return text


@dataclasses.dataclass
class Row:
  id: str
  family: str
  shape: str
  file: str
  us: float
  offset: float  # of the caller's clock


class Fit:
  """Of one chip."""

  def __init__(self, bench, chip, rows, built, most_steps):
    self.bench, self.chip = bench, chip
    self.path = bench.ROOT / f"chips/{chip}.toml"
    self.text = self.path.read_text()
    self.keys = [k for k in CONSTANTS if chip in OF_CHIP.get(k, [chip])]
    self.start = np.log([read(self.text, k) for k in self.keys])
    self.prior = np.log([CONSTANTS[k][2] for k in self.keys])
    self.least = np.log([CONSTANTS[k][0] for k in self.keys])
    self.most = np.log([CONSTANTS[k][1] for k in self.keys])
    self.rows = [Row(r["id"], family_of(r), r["shapes"], built[r["id"]]["module"], bench.microseconds(r),
                     bench.DISPATCH_US if bench.is_wall_clock(r) else 0)
                 for r in rows if r["generation"] == chip and "module" in built[r["id"]]]
    steps = self.run([self.start], sorted({r.file for r in self.rows}), steps=True)
    self.rows = [r for r in self.rows if steps.get(r.file, most_steps) < most_steps]

  def run(self, points, files, steps=False):
    """By file: the time for each point; or its number of steps."""
    with tempfile.TemporaryDirectory() as folder:
      names = []
      for i, point in enumerate(points):
        path = pathlib.Path(folder) / f"c{i}.toml"
        text = changed(self.text, dict(zip(self.keys, np.exp(point))))
        path.write_text(re.sub(r"^name = .*", f'name = "c{i}"', text, flags=re.M))
        names.append(str(path))
      out = subprocess.run([self.bench.SMALTI, "time", *files, "--chip", ",".join(names), "--anyway", "--json"],
                           stdout=subprocess.PIPE, text=True).stdout
    result = {}
    for file, module in zip(files, json.loads(out)["modules"]):
      on = list(module["chips"].values())
      if any(c["error"] for c in on) or not on:
        continue
      result[file] = sum(k["steps"] for k in on[0]["kernels"]) if steps else [c["us"] for c in on]
    return result

  def residuals(self, points):
    """Logarithms of predicted over measured, [rows, points]."""
    times = self.run(points, sorted({r.file for r in self.rows}))
    return np.array([[math.log((t + r.offset) / r.us) for t in times[r.file]] for r in self.rows])

  def linear(self, at):
    step = 0.02
    points = [at] + [at + step * e for e in np.eye(len(at))]
    # A constant at its end is moved inwards.
    points = [np.where(p > self.most, 2 * at - p, p) for p in points]
    r = self.residuals(points)
    moved = np.array([points[i + 1][i] - at[i] for i in range(len(at))])
    return r[:, 0], (r[:, 1:] - r[:, :1]) / moved

  def weights(self):
    """Families count alike, half and half with rows."""
    count = collections.Counter(r.family for r in self.rows)
    return np.array([0.5 + 0.5 * len(self.rows) / len(count) / count[r.family] for r in self.rows])

  def solve(self, at, r, j, chosen, reach=None):
    """The best point of the linearised model on the chosen rows."""
    w = self.weights()[chosen]
    point = at.copy()
    for _ in range(60):
      now = r[chosen] + j[chosen] @ (point - at)
      robust = w / np.maximum(np.abs(now), NOISE) / NOISE
      normal = (j[chosen].T * robust) @ j[chosen] + np.diag(1 / self.prior**2)
      gradient = (j[chosen].T * robust) @ now + (point - self.start) / self.prior**2
      free = ~(((point <= self.least) & (gradient > 0)) | ((point >= self.most) & (gradient < 0)))
      step = np.zeros_like(point)
      step[free] = -np.linalg.solve(normal[np.ix_(free, free)], gradient[free])
      point = np.clip(point + 0.5 * step, self.least, self.most)
      if reach:
        point = np.clip(point, at - reach, at + reach)
    return point

  def objective(self, r, at):
    return np.average(np.abs(r), weights=self.weights())

  def fit(self, rounds):
    everything = np.ones(len(self.rows), bool)
    at, reach = self.start, 0.4
    r, j = self.linear(at)
    best = self.objective(r, at)
    print(f"{self.chip}: {len(self.rows)} rows, {100 * best:.2f} %", flush=True)
    for _ in range(rounds):
      to = self.solve(at, r, j, everything, reach)
      r2, j2 = self.linear(to)
      error = self.objective(r2, to)
      if error < best - 1e-5:
        at, r, j, best = to, r2, j2, error
        print(f"  {100 * best:.2f} %", {k: f"{v:.4g}" for k, v in zip(self.keys, np.exp(at))}, flush=True)
      else:
        reach /= 3
        if reach < 0.02:
          break
    return at, r, j

  def held_out(self, at, r, j, group):
    """Residuals of rows whose group was left out of the fit."""
    groups = np.array([group(row) for row in self.rows])
    out = np.zeros(len(self.rows))
    for g in set(groups):
      if (groups != g).sum() < 4:
        out[groups == g] = np.nan
        continue
      point = self.solve(at, r, j, groups != g)
      out[groups == g] = r[groups == g] + j[groups == g] @ (point - at)
    return out

  def random_halves(self, at, r, j):
    """Residuals [HALVES, rows] of the rows of one half, drawn by chance, where the other one was fitted to; NaN for the others."""
    rng, out = np.random.default_rng(0), np.full((HALVES, len(self.rows)), np.nan)
    for half in out:
      chosen = np.zeros(len(self.rows), bool)
      chosen[rng.permutation(len(self.rows))[:len(self.rows) // 2]] = True
      half[~chosen] = r[~chosen] + j[~chosen] @ (self.solve(at, r, j, chosen) - at)
    return out


def fold(row):
  """Rows of a shape stay together."""
  return int(hashlib.md5(row.shape.encode()).hexdigest(), 16) % FOLDS


def percent(errors):
  good = errors[~np.isnan(errors)]
  return f"{100 * np.mean(np.abs(np.exp(good) - 1)):.1f}" if len(good) else "–"


def fit(bench, rows, built, chips, rounds, write, most_steps):
  for chip in chips:
    f = Fit(bench, chip, rows, built, most_steps)
    if not f.rows:
      continue
    at, r, j = f.fit(rounds)
    shapes, families = f.held_out(at, r, j, fold), f.held_out(at, r, j, lambda row: row.family)
    halves = f.random_halves(at, r, j)
    print(f"| {chip} | family | rows | fitted | held out by shape | by family | random halves |")
    for family in [*sorted({row.family for row in f.rows}), "all"]:
      of = np.array([family in (row.family, "all") for row in f.rows])
      print(f"| {chip} | {family} | {of.sum()} | " + " | ".join(percent(e[..., of]) for e in (r, shapes, families, halves)) + " |",
            flush=True)
    target = f.path if write else bench.CACHE / f"{f.chip}.toml"
    target.write_text(changed(f.text, dict(zip(f.keys, np.exp(at)))))
    print(f"written to {target}")
