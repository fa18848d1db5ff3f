"""Asks Google's TPU compiler (libtpu) whether it takes StableHLO modules, without a TPU.

tpu_compiler.py CHIP FILE…  prints one line of JSON per file: {"file", "status": "accepted" or "refused", "text"}.
libtpu may kill the process on a module it does not like, so callers run this as a child: `accept` does, and goes on
after the file that was fatal ("crashed")."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "tools"))

from chips import TOPOLOGIES, TOPOLOGY_OPTIONS

ENVIRONMENT = {
    "TPU_SKIP_MDS_QUERY": "1",
    "JAX_PLATFORMS": "cpu",
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
    "TPU_ACCELERATOR_TYPE": "v5litepod-4",
    "TPU_WORKER_HOSTNAMES": "localhost",
    "TPU_STDERR_LOG_LEVEL": "3",
    "TF_CPP_MIN_LOG_LEVEL": "3",
}


def main(chip, files):
    import numpy as np
    from jax.experimental import topologies
    from jax._src import compiler
    from jax._src.interpreters import mlir
    from jax._src.lib import xla_client
    from jax._src.lib.mlir import ir

    topology = topologies.get_topology_desc(TOPOLOGIES[chip], platform="tpu", **TOPOLOGY_OPTIONS.get(chip, {}))
    device = topology.devices[0]
    for file in files:
        print(json.dumps({"file": file, "status": "started"}), flush=True)
        status, text = "accepted", ""
        with mlir.make_ir_context() as context:
            context.allow_unregistered_dialects = False
            try:
                module = ir.Module.parse(pathlib.Path(file).read_text())
                options = compiler.get_compile_options(
                    num_replicas=1, num_partitions=1, device_assignment=np.array([[device.id]]), backend=device.client)
                device.client.compile(module, executable_devices=xla_client.DeviceList((device,)),
                                      compile_options=options)
            except Exception as error:  # the compiler's own words are what the caller wants
                status, text = "refused", f"{type(error).__name__}: {error}"
        print(json.dumps({"file": file, "status": status, "text": text}), flush=True)


def accept(chip, files, timeout_s=600):
    """{file: (status, text)} with status "accepted", "refused" or "crashed"."""
    environment = {**ENVIRONMENT, "TPU_LOG_DIR": os.path.join(tempfile.gettempdir(), "tpu_compiler_logs"), **os.environ}
    environment["JAX_PLATFORMS"] = "cpu"
    left, outcome = [str(f) for f in files], {}
    while left:
        done = subprocess.run([sys.executable, __file__, chip, *left], env=environment, capture_output=True, text=True,
                              errors="replace", timeout=timeout_s)
        started = None
        for line in done.stdout.splitlines():
            if not line.startswith("{"):
                continue
            entry = json.loads(line)
            if entry["status"] == "started":
                started = entry["file"]
            else:
                outcome[entry["file"]] = (entry["status"], entry["text"])
        if started is None:
            raise RuntimeError(f"the TPU compiler did not start: {done.stderr[-2000:]}")
        outcome.setdefault(started, ("crashed", done.stderr[-2000:]))
        left = [f for f in left if f not in outcome]
    return outcome


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
