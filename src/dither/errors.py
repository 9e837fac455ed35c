"""Every error Dither raises on purpose, in one tree, each with a stable code.

    DitherError
      InvalidParameter (ValueError)   a wrong argument: name, expected, found             I-...
      QueryRefused                    the question cannot be answered: code, span, hint   P N S F B K A
      PolicyRefused                   the question is fine, this asker may not ask it     C R
      CatalogError                    the owner's file is wrong: file, line, key          C-...
      BudgetError
        BudgetExceeded                requested and remaining, of the caller's own level  M-...
      LedgerError                     the ledger cannot be used                           L-...
        LedgerConflict, LedgerCorrupt
      EngineError                     the database cannot be used (fixed texts)           E-...
        EngineUnavailable, EngineMismatch
      GuaranteeError                  our own invariant broke: nothing is released        G-...

A message says what was refused, what was expected, what was found; the hint says the way forward. No message holds
anything computed from private rows: no value, no row count, no text of a database error.
"""

from __future__ import annotations

from typing import ClassVar

__all__ = [
    "BudgetError",
    "BudgetExceeded",
    "CatalogError",
    "DitherError",
    "EngineError",
    "EngineMismatch",
    "EngineUnavailable",
    "GuaranteeError",
    "InvalidParameter",
    "LedgerConflict",
    "LedgerCorrupt",
    "LedgerError",
    "PolicyRefused",
    "QueryRefused",
    "Span",
]

Span = tuple[int, int]
"""(offset, length) in characters of the question's text."""


class DitherError(Exception):
    """The root. `code` is stable; `exit_status` is what the command line returns."""

    default_code: ClassVar[str] = "G-000"
    exit_status: ClassVar[int] = 2

    def __init__(self, message: str, *, code: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or self.default_code
        self.hint = hint

    def headline(self) -> str:
        """`Kind [code]: message`, one line, without the hint."""
        return f"{type(self).__name__} [{self.code}]: {self.message}"

    def __str__(self) -> str:
        return self.headline() if self.hint is None else f"{self.headline()}\n  {self.hint}"


class InvalidParameter(DitherError, ValueError):
    """An argument is out of range or of the wrong kind."""

    default_code = "I-100"

    def __init__(
        self, name: str, *, expected: str, found: object, code: str | None = None, hint: str | None = None
    ) -> None:
        super().__init__(f"{name} must be {expected}; found {_brief(found)}.", code=code, hint=hint)
        self.name = name
        self.expected = expected
        self.found = found


class QueryRefused(DitherError):
    """A question Dither will not answer; it read nothing and charged nothing.

    `span` points into `text`; `position` is (line, column), both from 1.
    """

    default_code = "S-000"

    def __init__(
        self,
        message: str,
        *,
        code: str,
        span: Span | None = None,
        hint: str | None = None,
        owner_hint: str | None = None,
    ) -> None:
        super().__init__(message, code=code, hint=hint)
        self.span = span
        self.owner_hint = owner_hint
        self.text: str | None = None

    def located(self, text: str) -> QueryRefused:
        """Attach the question's text, so that the message can show line, column and a caret."""
        self.text = text
        return self

    @property
    def position(self) -> tuple[int, int] | None:
        if self.span is None or self.text is None:
            return None
        before = self.text[: self.span[0]]
        return before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1

    def headline(self) -> str:
        place = f" at {self.position[0]}:{self.position[1]}" if self.position else ""
        return f"Refused [{self.code}]{place}: {self.message}"

    def caret(self) -> str:
        """The line of the question with `^^^` under the refused part; empty when there is no position."""
        if self.span is None or self.text is None:
            return ""
        start, length = self.span
        line_start = self.text.rfind("\n", 0, start) + 1
        line_end = self.text.find("\n", start)
        line = self.text[line_start : len(self.text) if line_end < 0 else line_end]
        column = start - line_start
        # A window of the line, so that a 64 KiB question in one line still shows its refused part.
        window_start = max(0, column - 60)
        shown = line[window_start : window_start + 120]
        width = max(1, min(length, len(shown) - (column - window_start)))
        return f"  {shown}\n  {' ' * (column - window_start)}{'^' * width}"

    def __str__(self) -> str:
        parts = [self.headline(), self.caret(), f"  {self.hint}" if self.hint else ""]
        return "\n".join(part for part in parts if part)


class PolicyRefused(DitherError):
    """The question is answerable, but not by this asker or not now: unknown analyst, frozen, no offer."""

    default_code = "C-300"


class CatalogError(DitherError):
    """The catalog is wrong: `file`, `line`, `key`, what was expected, what was found."""

    default_code = "C-100"

    def __init__(
        self,
        message: str,
        *,
        file: str | None = None,
        line: int | None = None,
        key: str | None = None,
        code: str | None = None,
        hint: str | None = None,
    ) -> None:
        place = ":".join(str(part) for part in (file, line) if part is not None)
        named = f"`{key}`: " if key else ""
        super().__init__(f"{place + ': ' if place else ''}{named}{message}", code=code, hint=hint)
        self.file = file
        self.line = line
        self.key = key


class BudgetError(DitherError):
    default_code = "M-000"
    exit_status = 3


class BudgetExceeded(BudgetError):
    """The price does not fit. `remaining` is of the caller's own level only; never another analyst's."""

    default_code = "M-100"

    def __init__(self, message: str, *, level: str, requested: str, remaining: str, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.level = level
        self.requested = requested
        self.remaining = remaining


class LedgerError(DitherError):
    default_code = "L-100"
    exit_status = 4


class LedgerConflict(LedgerError):
    """The ledger belongs to another promise (units, neighbours, source) or another writer holds it."""

    default_code = "L-200"


class LedgerCorrupt(LedgerError):
    """The ledger's chain is broken, or it is older than a receipt says."""

    default_code = "L-300"


class EngineError(DitherError):
    """The database failed. The text is fixed: it never carries what the database said."""

    default_code = "E-100"
    exit_status = 4


class EngineUnavailable(EngineError):
    default_code = "E-200"


class EngineMismatch(EngineError):
    """The database does not look as the catalog says: a column missing, a type changed."""

    default_code = "E-300"


class GuaranteeError(DitherError):
    """An invariant of ours broke. Nothing is released; please report it."""

    default_code = "G-100"
    exit_status = 70


def _brief(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 80 else shown[:77] + "..."
