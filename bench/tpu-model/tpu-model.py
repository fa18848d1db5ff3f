#!/usr/bin/env python3
"""How well `smalti time` predicts measured times of kernels on TPUs: exports each row's kernel from JAX and tokamax.

    ./do bench tpu-model [--rows FILE.csv] [--json OUT] [--chip NAME|FILE.toml]… [--family NAME] [--worst N]
    ./do bench tpu-model --fit | --ranges [--write]
    ./do bench tpu-model --tuned [FILE.csv] [--json OUT] [--chip FILE.toml]… [--family NAME]

FILE has the columns id, generation, kernel, shapes, dtype, block_sizes, buffering, metric, value, unit, timing_method,
tier. Judged are rows of tier A, metric `time`, with block sizes, of kernels named pallas or splash. OUT gets
[{"id", "predicted_us", "low_us", "high_us"}] for every row that can be built. Modules are kept in build/tpu-model.
"""

import argparse
import collections
import csv
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys

from families import family_of

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HERE = pathlib.Path(__file__).resolve().parent
CACHE = ROOT / "build/tpu-model"
DATA = ROOT.parent / "shared/data"
SMALTI = pathlib.Path(os.environ.get("SMALTI_BIN_DIR", ROOT / "build/release/bin")) / "smalti"
# What a call from Python takes on the host, in rows whose time is that of the caller's clock (wall-clock rows).
DISPATCH_US = 108


def base_python():
  """A Python 3.12: named, on the path, this one, or where pyenv and uv keep theirs."""
  home = pathlib.Path.home()
  pyenv = pathlib.Path(os.environ.get("PYENV_ROOT", home / ".pyenv"))
  uv = pathlib.Path(os.environ.get("UV_PYTHON_INSTALL_DIR", home / ".local/share/uv/python"))
  named = os.environ.get("SMALTI_PYTHON312")
  found = [named] if named else [shutil.which("python3.12"), sys.executable, *sorted(pyenv.glob("versions/3.12*/bin/python3.12")),
                                 *sorted(uv.glob("cpython-3.12*/bin/python3.12"))]
  for candidate in filter(None, found):
    try:
      if not subprocess.run([candidate, "-c", "import sys; sys.exit(sys.version_info[:2] != (3, 12))"],
                            stderr=subprocess.DEVNULL).returncode:
        return candidate
    except OSError:
      pass
  sys.exit(f"{named} is no Python 3.12, which JAX and tokamax need" if named else
           "JAX and tokamax need Python 3.12, and none is on the path, of pyenv or of uv: install one (pyenv install 3.12), "
           "or name it with SMALTI_PYTHON312")


def python():
  """The Python that exports, in an environment of its own; ends with a sentence where it cannot be had."""
  interpreter = CACHE / "venv/bin/python"
  wanted = (HERE / "requirements.txt").read_text()
  stamp = CACHE / "venv/requirements.txt"
  if stamp.exists() and stamp.read_text() == wanted:
    return interpreter
  base = base_python()
  shutil.rmtree(CACHE / "venv", ignore_errors=True)
  if subprocess.run([base, "-m", "venv", CACHE / "venv"]).returncode:
    sys.exit(f"{base} cannot make a virtual environment: its modules venv and ensurepip are needed (Debian: python3.12-venv)")
  pip = [interpreter, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--retries", "5", "--timeout", "60",
         "--no-deps", "-r", HERE / "requirements.txt"]
  # What one attempt has fetched, the next one finds.
  if all(subprocess.run(pip).returncode for _ in range(2)):
    sys.exit("pip could not install bench/tpu-model/requirements.txt (JAX and tokamax), which the export of kernels needs")
  stamp.write_text(wanted)
  return interpreter


def judged(row):
  return (row["tier"] == "A" and row["metric"] == "time" and row["block_sizes"].strip()
          and re.search("pallas|splash", row["kernel"], re.I))


def microseconds(row):
  return float(row["value"]) * {"us": 1, "ms": 1e3, "s": 1e6}[row["unit"]]


def is_wall_clock(row):
  return "timeit" in row["timing_method"]


def modules(rows, beside):
  """By id: {"module": file} or {"lacks": sentence}. `beside`: the file of rows, whose folder may have group sizes."""
  sizes = pathlib.Path(beside).parent / "tpu_group_sizes.json"
  if not sizes.exists():
    sizes = DATA / "tpu_group_sizes.json"
  CACHE.mkdir(parents=True, exist_ok=True)
  interpreter = python()
  runs = []
  for part in range(min(os.cpu_count() or 1, len(rows))):
    listed = CACHE / f"rows-{os.getpid()}-{part}.csv"
    with open(listed, "w") as f:
      writer = csv.DictWriter(f, rows[0].keys())
      writer.writeheader()
      writer.writerows(rows[part::min(os.cpu_count() or 1, len(rows))])
    command = [interpreter, HERE / "export.py", listed, CACHE / "modules", sizes]
    runs.append((listed, subprocess.Popen(command, stdout=subprocess.PIPE, text=True)))
  built = {}
  for listed, run in runs:
    built |= {m["id"]: m for m in map(json.loads, run.communicate()[0].splitlines())}
    listed.unlink()
    if run.returncode:
      sys.exit("the export of kernels from JAX ended early: see above")
  return built


def times(rows, built, chips, anyway=True):
  """By id: what smalti says, or a sentence. `anyway`: also of what the chip's compiler refuses."""
  said = {r["id"]: built[r["id"]]["lacks"] for r in rows if "lacks" in built[r["id"]]}
  for generation in sorted({r["generation"] for r in rows}):
    ids = [r["id"] for r in rows if r["generation"] == generation and "module" in built[r["id"]]]
    if not ids:
      continue
    chip = chips.get(generation, generation)
    files = [built[i]["module"] for i in ids]
    words = [SMALTI, "time", *files, "--chip", chip, "--json", *(["--anyway"] if anyway else [])]
    run = subprocess.run(words, stdout=subprocess.PIPE, text=True)
    for i, m in zip(ids, json.loads(run.stdout)["modules"]):
      on = next(iter(m["chips"].values()), None)
      error = m["error"] or on["error"]
      said[i] = f"{error['code']}: {error['message']}" if error else on
  return said


def table(title, groups):
  print(f"\n{title:<34}{'rows':>5}{'built':>7}{'error %':>9}{'bias %':>8}{'in range %':>12}{'width %':>9}")
  for name, members in groups:
    done = [m for m in members if m["us"]]
    line = f"{name:<34}{len(members):>5}{len(done):>7}"
    if done:
      errors = [m["us"] / m["measured"] - 1 for m in done]
      held = sum(m["low"] <= m["measured"] <= m["high"] for m in done)
      width = statistics.median((m["high"] - m["low"]) / m["us"] for m in done)
      line += f"{100 * statistics.mean(map(abs, errors)):>9.1f}{100 * statistics.mean(errors):>8.1f}"
      line += f"{100 * held / len(done):>12.0f}{100 * width:>9.1f}"
    print(line)


def by(results, key):
  groups = collections.defaultdict(list)
  for r in results:
    groups[key(r)].append(r)
  return sorted(groups.items())


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("--rows", default=DATA / "tpu_measurements.csv")
  parser.add_argument("--json")
  parser.add_argument("--chip", action="append", default=[], help="a chip's file, instead of the one of its name")
  parser.add_argument("--family", help="only rows of this family")
  parser.add_argument("--worst", type=int, default=0)
  parser.add_argument("--tuned", nargs="?", const=DATA / "tpu_tuned_blocks.csv", metavar="FILE.csv",
                      help="how often the model's best blocks are the published ones instead; see tuned.py")
  parser.add_argument("--fit", action="store_true", help="fit section [time] of chips' files instead; see fit.py")
  parser.add_argument("--ranges", action="store_true", help="fit section [uncertainty] of chips' files instead; see ranges.py")
  parser.add_argument("--rounds", type=int, default=8, help="of the fit")
  parser.add_argument("--most-steps", type=int, default=20_000, help="kernels of fewer steps are fitted to: it is quicker")
  parser.add_argument("--write", action="store_true", help="the fitted constants into chips/, not build/tpu-model")
  arguments = parser.parse_args()
  chips = {}
  for file in () if arguments.fit else arguments.chip:
    chips[re.search(r'^name = "(\w+)"', pathlib.Path(file).read_text(), re.M).group(1)] = file
  if arguments.tuned:
    import tuned
    if not pathlib.Path(arguments.tuned).exists():
      sys.exit(f"there is no {arguments.tuned}: name the published blocks after --tuned")
    results, lacking = tuned.judge(sys.modules[__name__], arguments.tuned, arguments.family, family_of, chips)
    tuned.report(results, lacking)
    if arguments.json:
      pathlib.Path(arguments.json).write_text(json.dumps(results, indent=1))
    return None
  if not pathlib.Path(arguments.rows).exists():
    sys.exit(f"there is no {arguments.rows}: name the measured rows with --rows")
  rows = [r for r in csv.DictReader(open(arguments.rows)) if judged(r)]
  if arguments.family:
    rows = [r for r in rows if family_of(r) == arguments.family]
  if not rows:
    sys.exit("none of the rows is one of tier A, metric time, with block sizes, of a kernel named pallas or splash")
  built = modules(rows, arguments.rows)
  if arguments.fit:
    import fit
    names = arguments.chip or sorted({r["generation"] for r in rows})
    return fit.fit(sys.modules[__name__], rows, built, names, arguments.rounds, arguments.write,
                   arguments.most_steps)
  said = times(rows, built, chips)
  results, lacking = [], collections.Counter()
  for row in rows:
    s = said[row["id"]]
    r = dict(id=row["id"], family=family_of(row), chip=row["generation"], measured=microseconds(row), us=None,
             wall=is_wall_clock(row))
    if isinstance(s, str):
      lacking[s] += 1
    else:
      dispatch = DISPATCH_US if r["wall"] else 0
      r.update(us=s["us"] + dispatch, low=s["low_us"] + dispatch, high=s["high_us"] + dispatch, said=s)
    results.append(r)
  if arguments.ranges:
    import ranges
    return ranges.fit(sys.modules[__name__], results, arguments.write)
  device = [r for r in results if not r["wall"]]
  table("chip and family", by(device, lambda r: f"{r['chip']} {r['family']}"))
  table("chip", by(device, lambda r: r["chip"]))
  table("all", [("device times", device), ("wall-clock times", [r for r in results if r["wall"]])])
  for why, count in lacking.most_common():
    print(f"{count} rows cannot be built: {why}")
  worst = sorted((r for r in results if r["us"]), key=lambda r: -abs(r["us"] / r["measured"] - 1))[:arguments.worst]
  for r in worst:
    print(f"{r['id']} {r['chip']} {r['family']}: {r['us']:.0f} µs, measured {r['measured']:.0f}, {r['said']['parts_us']}")
  if arguments.json:
    out = [dict(id=r["id"], predicted_us=r["us"], low_us=r["low"], high_us=r["high"]) for r in results if r["us"]]
    pathlib.Path(arguments.json).write_text(json.dumps(out, indent=1))


if __name__ == "__main__":
  main()
