"""The actor's side of the protocol (actor/Actor.h) for libraries that are called from Python."""

import sys
import time

import numpy as np

PROBES = 61


class Unable(Exception):
    """This actor cannot do that work."""


def element(shape, seed):
    """Operand number `seed`: the same numbers in every actor, in [-.5, .5)."""
    i = np.arange(np.prod(shape), dtype=np.uint32)
    hashed = (i * np.uint32(2654435761) + np.uint32(seed * 40503)) ^ (i >> np.uint32(7))
    return ((hashed >> np.uint32(8)).astype(np.float32) / np.float32(1 << 24) - np.float32(.5)).reshape(shape)


def element_i8(shape, seed):
    return (element(shape, seed) * np.float32(200)).astype(np.int8)


class Spec(dict):
    def int(self, key, otherwise=0):
        return int(self.get(key, otherwise))


def serve(makers):
    """makers: name → function of a Spec that gives (run, result): run() does one call and waits for it; result() is a
    numpy array, or None."""
    run, result, calls = None, None, 1

    def step(n):
        start = time.perf_counter()
        for _ in range(n):
            run()
        return (time.perf_counter() - start) / n

    for line in sys.stdin:
        verb, *words = line.split()
        try:
            if verb == "prepare":
                run = result = None
                spec = Spec(w.split("=", 1) for w in words[1:])
                if words[0] not in makers:
                    raise Unable(f"has no {words[0]}")
                run, result = makers[words[0]](spec)
                run()
                calls, wanted = spec.int("calls"), spec.int("us", 2000) * 1e-6
                if not calls:
                    calls = 1
                    while (took := step(calls) * calls) < wanted and calls < 1 << 24:
                        calls = calls * 8 if took < wanted / 16 else int(calls * wanted / took) + 1
                answer = f"ok {calls}"
            elif verb == "run":
                answer = f"{step(calls):.9g} 0"
            else:
                values = result() if result else None
                flat = np.ravel(values) if values is not None else []
                answer = " ".join(f"{float(flat[j * 1000003 % len(flat)]):.9g}" for j in range(PROBES)) if len(flat) else ""
        except Exception as e:  # whatever a library throws is a reason, not the end
            answer = "no " + f"{e or type(e).__name__}".replace("\n", " ")[:300]
        print(answer, flush=True)
