"""Compares the cases of test/ops/DeviceCases.cpp in a folder with JAX on four host devices, and prints what differs.
Run by test_device_transforms.py."""

import json
import os
import pathlib
import sys

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, PartitionSpec as P
from test_ops_oracle import difference, read

LINE = Mesh(np.array(jax.devices()), ("x",))
SQUARE = Mesh(np.array(jax.devices()).reshape(2, 2), ("x", "y"))


def on_devices(f, mesh, in_specs, out_specs):
    return jax.shard_map(f, mesh=mesh, in_specs=in_specs, out_specs=out_specs, check_vma=False)


NAMES = {"jnp": jnp, "lax": lax, "jax": jax, "P": P, "LINE": LINE, "SQUARE": SQUARE, "on_devices": on_devices}


def problem(folder, i, case):
    if "error" in case:
        return case["error"]
    inputs = [jnp.asarray(read(folder / f"{i}_in{k}.npy", t)) for k, t in enumerate(case["inputs"])]
    wanted = eval(f"lambda {', '.join('abc'[:len(inputs)])}: {case['jax']}", NAMES)
    return difference(read(folder / f"{i}_out.npy", case["out"]), jax.jit(wanted)(*inputs), case["tolerance"])


def main(folder):
    folder = pathlib.Path(folder)
    cases = json.loads((folder / "index.json").read_text())
    wrong = [(case["jax"], found) for i, case in enumerate(cases) if (found := problem(folder, i, case))]
    for jax_text, found in wrong:
        print(f"{jax_text}: {found}")
    print(f"{len(cases)} compared, {len(wrong)} differ")


if __name__ == "__main__":
    main(*sys.argv[1:])
