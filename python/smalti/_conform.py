"""Runs recorded cases below folders and compares their results with the expected ones."""

from __future__ import annotations

import dataclasses
import os

from smalti import _smalti
from smalti._errors import Diagnostic
from smalti._module import Option, option_list


@dataclasses.dataclass(frozen=True)
class CaseOutcome:
    """The outcome of one recorded case."""

    name: str  #: its folder, relative to the one given
    status: str  #: "pass"; "fail": a wrong result, a fault on a GPU, or a finding of a check; "refused"; "ran": nothing is expected
    max_error: float | None = None  #: the largest, over all results
    max_error_at: str = ""  #: "result 0 (3, 5)"
    wrong: str = ""  #: what is wrong with the results; empty when nothing is
    diagnostic: Diagnostic | None = None  #: why it was refused, or the first finding
    seconds: float = 0.0

    @property
    def is_good(self) -> bool:
        return self.status in ("pass", "ran")

    def __str__(self) -> str:
        why = self.wrong or (f"{self.diagnostic.code} {self.diagnostic.message}" if self.diagnostic else "")
        return f"{self.name}: {self.status}" + (f" ({why})" if why else "")


@dataclasses.dataclass(frozen=True)
class Conformance:
    """The outcomes of all cases, in the order of their names."""

    cases: tuple[CaseOutcome, ...]

    @property
    def is_good(self) -> bool:
        """Whether every case gave the expected results, or finished if none are expected."""
        return all(case.is_good for case in self.cases)

    @property
    def failures(self) -> tuple[CaseOutcome, ...]:
        return tuple(case for case in self.cases if not case.is_good)

    def __str__(self) -> str:
        good = len(self.cases) - len(self.failures)
        return "\n".join([*map(str, self.failures), f"{good} of {len(self.cases)} cases as expected"])


def conform(*folders: str | os.PathLike[str], filter: str = "", **options: Option) -> Conformance:
    """Runs every recorded case in or below `folders` whose name holds `filter`, and compares its results with the expected
    ones: element by element, within the tolerance that the case gives for each result. Options are those of `compile`.

    One case after another, in this process; a kernel that crashes it ends Python (`smalti conform`, the command, gives each
    case a process of its own). Ctrl-C ends it. Raises Error: SM1001 for a folder that cannot be read, SM1011 for what is no
    option; ValueError where there is no such case.
    """
    chosen = option_list(options)
    _smalti.check_options(chosen)
    found = [(_name_of(case, os.fspath(folder)), case) for folder in folders for case in _smalti.find_cases(os.fspath(folder))]
    cases = [(name, case) for name, case in found if filter in name]
    if not cases:
        what = f"recorded case whose name holds {filter!r}" if filter else "recorded case"
        raise ValueError(f"there is no {what} in {', '.join(map(os.fspath, folders)) or 'no folder'}")
    return Conformance(tuple(CaseOutcome(name, *_smalti.run_case(case, chosen)) for name, case in cases))


def _name_of(case: str, folder: str) -> str:
    relative = os.path.relpath(case, folder)
    return os.path.basename(os.path.abspath(case)) if relative == "." else relative
