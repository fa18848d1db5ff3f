"""Actors: processes that hold one piece of work and time it on request (actor/Actor.h defines the protocol)."""

import glob
import os
import pathlib
import select
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent


def cpus_for(threads):
    """The CPUs of actors with this number of threads: the last ones, since the first one serves interrupts."""
    return sorted(os.sched_getaffinity(0))[-threads:]


class Lost(Exception):
    """The actor crashed or did not answer in time."""


def settle(cpus, realtime):
    """Sets the CPUs of a new process; with `realtime`, it runs before all others, round robin among its own threads."""
    os.sched_setaffinity(0, cpus)
    if realtime:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(10))


class Actor:
    def __init__(self, name, command, environment, threads, realtime):
        self.name = name
        cpus = cpus_for(threads)
        self.errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen([str(c) for c in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=self.errors, env={**os.environ, **environment},
                                        preexec_fn=lambda: settle(cpus, realtime))
        self.pending = b""

    def ask(self, line, timeout):
        try:
            self.process.stdin.write(line.encode() + b"\n")
            self.process.stdin.flush()
        except OSError:
            raise Lost(self.last_words()) from None
        end = time.monotonic() + timeout
        while b"\n" not in self.pending:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                self.close()
                raise Lost(f"no answer in {timeout:.0f} s")
            part = os.read(self.process.stdout.fileno(), 65536)
            if not part:
                raise Lost(self.last_words())
            self.pending += part
        answer, self.pending = self.pending.split(b"\n", 1)
        return answer.decode()

    def prepare(self, spec, timeout=60):
        """None, or the reason why this actor does not support it."""
        answer = self.ask(f"prepare {spec}", timeout)
        return None if answer.startswith("ok") else answer.removeprefix("no ")

    def run(self, timeout=60):
        """Seconds per call, and the amount of work per call if the actor knows it."""
        answer = self.ask("run", timeout)
        if answer.startswith("no "):
            raise Lost(answer.removeprefix("no "))
        seconds, amount = answer.split()
        return float(seconds), float(amount)

    def probe(self):
        answer = self.ask("probe", 60)
        return [] if answer.startswith("no ") else [float(v) for v in answer.split()]

    def last_words(self):
        code = self.process.wait()
        self.errors.seek(0)
        lines = self.errors.read().decode(errors="replace").strip().splitlines()
        return f"it ended with {code}" + (f": {lines[-1][:200]}" if lines else "")

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


def environment(threads):
    """Threads of every library; and runtimes whose idle threads do not burn the core that is measured next."""
    return {"OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": str(threads),
            "EIGEN_NUM_THREADS": str(threads), "OMP_DYNAMIC": "false", "MKL_DYNAMIC": "false", "KMP_BLOCKTIME": "1",
            "OPENBLAS_THREAD_TIMEOUT": "20",
            "JAX_PLATFORMS": "cpu", "CUDA_VISIBLE_DEVICES": "", "SMALTI_THREADS": str(threads),
            "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=" + ("true" if threads > 1 else "false")}


def first(*patterns):
    for pattern in patterns:
        for path in sorted(glob.glob(str(pattern))):
            return path
    return None


def own_commands(build, target):
    """Our actors as the build folder `build` has them."""
    programs = build / "bin"
    modules = {"SMALTI_TARGET": target, "SMALTI_BENCH_MODULES": str(HERE / "module/recorded")}
    return {"ours": ([programs / "bench_cpu_ours"], {"SMALTI_TARGET": target}),
            "--check": ([programs / "bench_cpu_ours"], {"SMALTI_TARGET": target, "SMALTI_CHECK": "true"}),
            "module": ([programs / "bench_cpu_module"], modules),
            "uncounted": ([programs / "bench_cpu_module"], {**modules, "SMALTI_BENCH_UNCOUNTED": "1"})}


def baseline_commands(build, target):
    """Those of another version. A copied build folder finds its own libraries, not those of the folder it came from."""
    return {f"baseline {name}": (command, {**more, "LD_LIBRARY_PATH": str(build / "lib")})
            for name, (command, more) in own_commands(build, target).items()}


def commands(peers, threads, target, baseline=None):
    """name: (command, more environment), of every actor that is there, and the names of those that are not."""
    programs = ROOT / "build/release/bin"
    python = peers / "venv/bin/python"
    mkl = first(peers / "venv/lib/libmkl_rt.so*")
    openblas = first("/usr/lib/*/libopenblas.so.0", "/usr/lib/*/openblas-pthread/libopenblas.so.0")
    found = {"limits": ([programs / "bench_cpu_limits", threads], {}),
             "threads": ([programs / "bench_cpu_limits", threads], {}),
             **own_commands(ROOT / "build/release", target),
             **(baseline_commands(baseline, target) if baseline else {})}
    wanted = {"MKL": ([peers / "peers/peer_blas", mkl], {"LD_LIBRARY_PATH": str(peers / "venv/lib")}, mkl),
              "OpenBLAS": ([peers / "peers/peer_blas", openblas], openblas_core(), openblas),
              "oneDNN": ([peers / "peers/peer_onednn"], {}, (peers / "peers/peer_onednn").exists()),
              "Eigen": ([peers / "peers/peer_eigen"], {}, (peers / "peers/peer_eigen").exists()),
              "libxsmm": ([peers / "peers/peer_libxsmm"], {}, (peers / "peers/peer_libxsmm").exists()),
              "ggml": ([peers / "peers/peer_ggml"], {}, (peers / "peers/peer_ggml").exists()),
              "XLA": ([python, HERE / "peers/peer_jax.py", threads], {}, has(python, "jax")),
              "PyTorch": ([python, HERE / "peers/peer_torch.py", threads], {}, has(python, "torch"))}
    missing = []
    for name, (command, more, there) in wanted.items():
        if there:
            found[name] = (command, more)
        else:
            missing.append(name)
    return found, missing


def has(python, module):
    return bool(first(python.parent.parent / "lib/python*/site-packages" / module))


def openblas_core():
    """Releases older than the processor fall back to kernels of 2004: name the newest that it can run."""
    flags = pathlib.Path("/proc/cpuinfo").read_text().split("flags", 1)[-1].split("\n", 1)[0].split()
    core = "Cooperlake" if "avx512_bf16" in flags else "SkylakeX" if "avx512f" in flags else "Haswell" if "avx2" in flags else ""
    return {"OPENBLAS_CORETYPE": core} if core else {}
