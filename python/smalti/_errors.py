"""Errors in Python: `Diagnostic`, `Finding`, and the exceptions `Error` and `CheckError`."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Diagnostic:
    """One refusal or finding. `code` is stable; `smalti explain CODE` and docs/errors have a page for each."""

    code: str
    message: str
    file: str = ""  #: the user's source if it is known, else the module's; "": unknown
    line: int = 0  #: from 1; 0: unknown
    column: int = 0
    where: tuple[str, ...] = ()  #: context, outermost first: "kernel 'add'", "grid step (3, 0)"
    need: str = ""
    have: str = ""
    help: str = ""
    related: tuple[Diagnostic, ...] = ()
    text: str = ""  #: the whole message as a person reads it

    def __str__(self) -> str:
        return self.text.rstrip() or f"{self.code}: {self.message}"


@dataclasses.dataclass(frozen=True)
class Finding:
    """A mistake that fails silently on a TPU, and how often it occurred."""

    diagnostic: Diagnostic
    count: int = 1
    #: or "warning": undefined elements were read, outside of a ref or an array, after which a run without checks goes on, as
    #: on a TPU; or "note": no mistake as far as the module says
    severity: str = "finding"

    @property
    def is_mistake(self) -> bool:
        """Whether a check fails for it."""
        return self.severity == "finding"

    def __str__(self) -> str:
        return str(self.diagnostic)


class Error(Exception):
    """An error in a file, an array, an option or a kernel; details are in `diagnostic`, and `code` is stable."""

    def __init__(self, diagnostic: Diagnostic):
        super().__init__(diagnostic)
        self.diagnostic = diagnostic

    @property
    def code(self) -> str:
        return self.diagnostic.code

    def __str__(self) -> str:
        return str(self.diagnostic)


class CheckError(Error):
    """A check found mistakes in a kernel; `findings` are all of them, `diagnostic` is the first."""

    def __init__(self, findings: tuple[Finding, ...]):
        super().__init__(findings[0].diagnostic)
        self.args = (findings,)
        self.findings = findings

    def __str__(self) -> str:
        return "\n".join(str(f) for f in self.findings)
