#!/usr/bin/env python3
"""Writes modules of fresh kernels, from which no rule was derived, for comparison with a TPU compiler.

    python bench/tpu-legality/fresh/write.py FOLDER [--seed N] [--share X] [--only FAMILY]…
    smalti check FOLDER --chip all --against libtpu

FOLDER gets FAMILY-NNN.mlir, and index.csv with what each one is. Kernels that Pallas itself refuses are left out. Needs JAX.
"""

import argparse
import csv
import pathlib
import random
import warnings

import jax
import jax.export

import forms
import kernels
import refs
import values


def for_a_tpu():
  """JAX asks which chip it lowers for where types of 4 bits are; without a TPU a mesh of such devices answers."""
  device = jax.sharding.AbstractDevice(device_kind="TPU v5 lite", num_cores=1, platform="tpu")
  return jax.sharding.use_abstract_mesh(jax.sharding.AbstractMesh((), (), abstract_device=device))


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("folder", type=pathlib.Path)
  parser.add_argument("--seed", type=int, default=1)
  parser.add_argument("--share", type=float, default=1, help="of the usual number of each family")
  parser.add_argument("--only", action="append", default=[], help="a family")
  args = parser.parse_args()
  args.folder.mkdir(parents=True, exist_ok=True)
  warnings.simplefilter("ignore")
  jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")
  families = values.FAMILIES | refs.FAMILIES | kernels.FAMILIES | forms.FAMILIES
  written, refused = [], 0
  for family, (make, count) in families.items():
    if args.only and family not in args.only:
      continue
    rng, seen = random.Random(f"{args.seed} {family}"), set()
    for number in range(max(1, round(count * args.share))):
      try:
        what, (function, arguments) = make(rng)
        if what in seen:
          continue
        seen.add(what)
        with for_a_tpu():
          text = jax.export.export(jax.jit(function), platforms=["tpu"])(*arguments).mlir_module()
      except Exception as refusal:  # of Pallas or JAX, of whatever kind: it is no kernel then
        refused += 1
        continue
      name = f"{family}-{number:03d}"
      (args.folder / f"{name}.mlir").write_text(text)
      written.append((name, what))
  with open(args.folder / "index.csv", "w") as f:
    csv.writer(f).writerows([("id", "what"), *written])
  print(f"{len(written)} modules in {args.folder}; JAX refused {refused} others")


if __name__ == "__main__":
  main()
