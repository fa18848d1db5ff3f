"""python/smalti_record.py where JAX is not installed."""

import subprocess
import sys

from console_examples import ROOT

SCRIPT = ROOT / "python/smalti_record.py"
WITHOUT_JAX = f"import runpy, sys; sys.modules['jax'] = None; sys.path.insert(0, '{SCRIPT.parent}'); "


def python(program):
    return subprocess.run([sys.executable, "-c", WITHOUT_JAX + program], capture_output=True, text=True, timeout=120)


def test_its_help_needs_no_jax():
    done = python(f"sys.argv = ['smalti_record.py', '--help']; runpy.run_path('{SCRIPT}', run_name='__main__')")
    assert done.returncode == 0 and "from smalti_record import record" in done.stdout, done.stderr


def test_recording_says_what_to_install(tmp_path):
    done = python(f"import smalti_record; smalti_record.record('{tmp_path}/case', lambda x: x, 1.0)")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == \
        "ModuleNotFoundError: smalti_record needs JAX to export kernels: pip install jax"
