"""The chip that kernels query: the answers of pltpu.get_tpu_info() and of JAX's devices on CPUs."""

from __future__ import annotations

import importlib.abc
import importlib.util
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace
from typing import Any

import jax

from smalti.jax import _settings, _versions


def answer_queries() -> None:
    """From now on kernels that query the chip are told that of the settings. Raises UnsupportedJax before it changes anything."""
    info, abstract = _versions.tpu_info(), _versions.abstract_device()
    info.registry["cpu"] = lambda: _info(info)
    if not hasattr(jax.Device, "num_cores"):  # which kernels for several TensorCores ask for
        jax.Device.num_cores = property(lambda device: _num_cores())
    abstract.num_cores = _CoresOfAbstractDevice(vars(abstract).get("num_cores"))
    name = _versions.BLOCK_SIZES_BY_DEVICE_KIND
    if module := sys.modules.get(name):
        _tell_device_kind(module)
    else:
        sys.meta_path.insert(0, _AfterImport(name))


def _info(info: Any) -> Any:
    """The result of pltpu.get_tpu_info() on a CPU."""
    settings = _settings.current()
    if settings is None:
        raise ValueError("Unsupported TPU device kind: cpu")
    chip = _settings.CHIPS[settings.chip]
    version = info.chip_version_from_device_kind(chip.device_kind)
    joined = settings.cores() == chip.cores_per_device  # TensorCores that are one device
    return info.get_tpu_info_for_chip(version, chip.cores_per_device if joined else 1)


def _num_cores() -> int:
    """TensorCores of a device."""
    settings = _settings.current()
    if settings is None:
        raise AttributeError("devices for CPUs have no num_cores unless smalti.jax.install() has said how many")
    return settings.cores()


def _tell_device_kind(module: ModuleType) -> None:
    module.jax = _JaxOfChip()  # type: ignore[attr-defined]


class _JaxOfChip:
    """The name `jax` in a module that reads only the kind of `jax.devices()[0]`: a device of the chip that kernels query."""

    @staticmethod
    def devices() -> list[Any]:
        settings = _settings.current()
        return jax.devices() if settings is None else [SimpleNamespace(device_kind=_settings.CHIPS[settings.chip].device_kind)]

    def __getattr__(self, name: str) -> Any:
        return getattr(jax, name)


class _AfterImport(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Tells the module its device kind when the program imports it, so that programs without it do not."""

    def __init__(self, name: str):
        self._name = name

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        if fullname != self._name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is None or spec.loader is None:
            return spec
        self._loader, spec.loader = spec.loader, self
        return spec

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__.loader = module.__loader__ = self._loader  # type: ignore[union-attr]
        self._loader.exec_module(module)
        _tell_device_kind(module)


class _CoresOfAbstractDevice:
    """The attribute num_cores of the abstract device inside shard_map, which is None in JAX on CPUs."""

    def __init__(self, slot: Any):
        self._slot = slot  # None where the class has no slots

    def __get__(self, device: Any, owner: Any = None) -> int | None:
        given = self._slot.__get__(device, owner) if self._slot else vars(device)["num_cores"]
        return _num_cores() if given is None and _settings.current() else given

    def __set__(self, device: Any, cores: int | None) -> None:
        if self._slot:
            self._slot.__set__(device, cores)
        else:
            vars(device)["num_cores"] = cores
