"""The chips that Smalti describes, for tests and benchmarks: the files of chips/, oldest first."""

import pathlib
import tomllib

FILES = {path.stem: tomllib.loads(path.read_text())
         for path in sorted((pathlib.Path(__file__).resolve().parents[1] / "chips").glob("*.toml"))}
CHIPS = list(FILES)


def fact(chip, section, key):
    """The value of a key of a chip's file."""
    entry = FILES[chip][section][key]
    return entry["value"] if isinstance(entry, dict) else entry


#: what JAX calls the kind of such a device
DEVICE_KINDS = {chip: fact(chip, "names", "device_kind") for chip in CHIPS}
#: TensorCores that are one device of JAX
CORES_PER_DEVICE = {chip: fact(chip, "device", "cores_per_device") for chip in CHIPS}
#: the smallest topology in which the TPU compiler describes such devices, and its options
TOPOLOGIES = {chip: f"{fact(chip, 'names', 'topology')}:{'2x2' if fact(chip, 'ici', 'torus_dimensions') == 2 else '2x2x1'}"
              for chip in CHIPS}
TOPOLOGY_OPTIONS = {chip: {"chip_config_name": config} for chip in CHIPS if (config := fact(chip, "names", "topology_config"))}
