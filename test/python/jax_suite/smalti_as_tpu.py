"""A pytest plugin: JAX's own tests of Pallas see a TPU, whose kernels run on this engine. Used by run.py, which names
the files; `--chip` is the TPU, `--devices` how many there are, `--way` who runs kernels, `--names` a file with the tests to
run, one a line, `--done` one with those that ran, `--most` how many of a method's variations and of hypothesis' examples (0: all),
`--library` a package other than JAX, with tests of its own: it is told that the platform is a TPU,
`--any-chip`: what the chip's compiler refuses runs, `--outcomes` a file with a line of JSON for each test."""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import json
import os
import pathlib
import sys
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[3] / "tools"))

import exact_products
import pytest
from chips import CHIPS, CORES_PER_DEVICE, DEVICE_KINDS
from pallas_clock import Clock, forget
from pallas_clock import install as install_clock

WAYS = ("here", "interpret", "params")  #: this engine, interpret=True, InterpretParams

_interpreted = False  # the test in hand is one that JAX runs on CPUs, with interpret=True
_clock = Clock()
_forced = contextlib.ExitStack()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--chip", default="v5e", choices=CHIPS)
    parser.addoption("--devices", default=1, type=int)
    parser.addoption("--way", default="here", choices=WAYS)
    parser.addoption("--names", type=pathlib.Path)
    parser.addoption("--done", type=pathlib.Path)
    parser.addoption("--most", default=0, type=int)
    parser.addoption("--library", default="")
    parser.addoption("--any-chip", action="store_true")
    parser.addoption("--outcomes")


def pytest_configure(config: pytest.Config) -> None:
    os.environ["JAX_PLATFORMS"] = "cpu"
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_allow_excess_precision=false"  # expected values as written
    os.environ["JAX_NUM_CPU_DEVICES"] = str(config.getoption("devices"))
    import jax
    from jax._src import test_util as jtu
    from jax.experimental.pallas import tpu as pltpu

    import stand_ins
    stand_ins.install(config.getoption("most"))
    import smalti.jax
    from smalti.jax import _settings

    chip, way = config.getoption("chip"), config.getoption("way")
    smalti.jax.install(chip=chip, override_interpret=way != "params", cores=CORES_PER_DEVICE[chip])
    if way == "here":
        exact_products.install()
    elif way == "interpret":
        _settings.set_global(dataclasses.replace(_settings.current(), reference=True))
    elif way == "params":
        _forced.enter_context(pltpu.force_tpu_interpret_mode(pltpu.InterpretParams()))
    real = jax.Device.device_kind
    jax.Device.device_kind = property(lambda device: real.__get__(device) if _interpreted else DEVICE_KINDS[chip])
    jtu.device_under_test = lambda: "cpu" if _interpreted else "tpu"
    if library := config.getoption("library"):
        _tell_library(library)
    install_clock(_clock)


def _tell_library(package: str) -> None:
    """Functions in files of `package` see a TPU where they ask for the platform; JAX sees the CPU."""
    import jax

    def asked_there() -> bool:
        return f"/{package}/" in sys._getframe(2).f_code.co_filename

    backend, platform = jax.default_backend, jax.Device.platform
    jax.default_backend = lambda: "tpu" if asked_there() else backend()
    jax.Device.platform = property(lambda device: "tpu" if asked_there() else platform.__get__(device))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if path := config.getoption("names"):
        names = set(path.read_text().splitlines())
        items[:] = [item for item in items if item.nodeid in names]
    if most := config.getoption("most"):
        variations: dict[str, list[pytest.Item]] = {}
        for item in items:
            variations.setdefault(_method(item), []).append(item)
        chosen = {id(all[i * len(all) // min(most, len(all))]) for all in variations.values() for i in range(min(most, len(all)))}
        items[:] = [item for item in items if id(item) in chosen]
    if path := config.getoption("done"):
        done = set(path.read_text().splitlines())
        items[:] = [item for item in items if item.nodeid not in done]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item):
    global _interpreted
    _interpreted = getattr(item.cls, "INTERPRET", False) or "interpret" in item.module.__name__
    _judge_for_chip(item.config.getoption("way") == "here" and not _interpreted and not item.config.getoption("any_chip"))
    _write(item.config, {"started": item.nodeid, "method": _method(item), "interpreted": _interpreted})
    item.started = time.monotonic()
    forget()
    _clock.seconds = 0.0
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo):
    report = yield
    if report.when == "call" or report.outcome != "passed":
        line = {"test": item.nodeid, "method": _method(item), "interpreted": _interpreted, "outcome": report.outcome, "seconds": round(time.monotonic() - item.started, 3),
                "pallas": round(_clock.seconds, 4)}
        if call.excinfo is not None:
            line["why"] = _one_line(call.excinfo.value)
        _write(item.config, line)
    return report


def _method(item: pytest.Item) -> str:
    """Class and method of a test, without what absl appends for parameters."""
    return f"{item.cls.__name__}::{inspect.unwrap(item.obj).__name__}" if item.cls else item.name


def _judge_for_chip(legality: bool) -> None:
    """Tests of TPUs expect the refusals of a TPU's compiler; those for interpret=True do not."""
    from smalti.jax import _settings

    _settings.set_global(dataclasses.replace(_settings.current(), legality=legality))


def _one_line(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return text[:400] if isinstance(error, pytest.skip.Exception) else f"{type(error).__name__}: {text[:1000]}"


def _write(config: pytest.Config, line: dict) -> None:
    if path := config.getoption("outcomes"):
        with open(path, "a") as file:
            file.write(json.dumps(line) + "\n")
