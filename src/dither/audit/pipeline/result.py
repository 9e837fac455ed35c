"""What a pipeline audit says: one line per question put to a check, and the whole of them.

Flow: each check yields Lines; `run` gathers them into a PipelineAudit, which terminals and the audit's page show.
`not_refuted` is said when nothing was found; it never means private.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from dither.audit.verdicts import Verdict

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["Line", "PipelineAudit"]


@dataclass(frozen=True)
class Line:
    """One thing that was looked at."""

    check: str
    subject: str
    """A question, or what was tried, in words."""
    verdict: Verdict
    claimed: str = ""
    found: str = ""
    detail: str = ""
    """Of a violation: the pair of databases, the vector, the event that shows it."""
    error: float = 0.0
    """Most probability with which a right pipeline is called violated here; 0 where nothing is left to chance."""

    @classmethod
    def judged(
        cls,
        check: str,
        subject: str,
        *,
        right: bool,
        claimed: str = "",
        found: str = "",
        detail: str = "",
        error: float = 0.0,
    ) -> Line:
        """A line that says `violated` unless what was found is right."""
        return cls(check, subject, "not_refuted" if right else "violated", claimed, found, detail, error)

    @property
    def untried(self) -> bool:
        """A question that is refused, where an answer was wanted: nothing was tried on it."""
        return self.found == "refused" and not self.claimed

    @property
    def violated(self) -> bool:
        return self.verdict == "violated"


@dataclass(frozen=True)
class PipelineAudit:
    """All lines of one audit, in the order they were tried."""

    lines: tuple[Line, ...]
    about: Sequence[tuple[str, str]]
    """(check, what it asks), of the checks that ran."""
    seconds: float

    @property
    def verdict(self) -> Verdict:
        return "violated" if any(line.violated for line in self.lines) else "not_refuted"

    @property
    def violated(self) -> tuple[str, ...]:
        """The checks that found something, in order."""
        return tuple(dict.fromkeys(line.check for line in self.lines if line.violated))

    @property
    def error(self) -> float:
        """Most probability that a right pipeline is called violated: the lines' own, added up."""
        return sum(line.error for line in self.lines)

    def of(self, check: str) -> tuple[Line, ...]:
        return tuple(line for line in self.lines if line.check == check)

    def table(self) -> Table:
        """For a terminal: a line per check, and below it whatever it found."""
        from rich.table import Table
        from rich.text import Text

        shown = Table(title="Audit of the pipeline", caption=self.summary(), expand=False)
        for heading, justify in (("check", "left"), ("asks", "left"), ("tried", "right"), ("verdict", "left")):
            shown.add_column(heading, justify=justify)  # type: ignore[arg-type]
        for check, asks in self.about:
            lines = self.of(check)
            bad = [line for line in lines if line.violated]
            verdict = Text("violated", style="bold red") if bad else Text("not refuted")
            untried = sum(line.untried for line in lines)
            tried = f"{len(lines) - untried}" + (f", {untried} refused" if untried else "")
            shown.add_row(check, asks, tried, verdict)
            for line in bad[:5]:
                shown.add_row("", Text(_said(line), style="red"), "", "")
            if len(bad) > 5:
                shown.add_row("", Text(f"and {len(bad) - 5} more", style="red"), "", "")
        return shown

    def summary(self) -> str:
        found = ", ".join(self.violated) or "nothing"
        chance = (
            f"A right pipeline is called violated with probability below {self.error:.1g}."
            if self.error
            else "Nothing in it was left to chance."
        )
        return (
            f"{len(self.lines)} lines in {self.seconds:.0f} s; violated: {found}. {chance} "
            '"Not refuted" never means private.'
        )

    def section(self) -> str:
        """The same as a part of the audit's HTML page, with every line."""
        rows = []
        for check, asks in self.about:
            lines = self.of(check)
            rows.append(f'<tr><th colspan="5" class="check">{escape(check)}: {escape(asks)}</th></tr>')
            for line in lines:
                mark = ' class="violated"' if line.violated else ""
                cells = "".join(f"<td>{escape(text)}</td>" for text in (line.claimed, line.found, line.detail))
                word = line.verdict.replace("_", " ")
                rows.append(f"<tr><td><code>{escape(line.subject)}</code></td>{cells}<td{mark}>{word}</td></tr>")
        heads = "".join(f"<th>{each}</th>" for each in ("question", "claimed", "found", "where", "verdict"))
        return (
            f'<h1>Pipeline</h1>\n<p>{escape(self.summary())}</p>\n<table class="pipeline"><thead><tr>{heads}</tr>'
            f"</thead><tbody>\n{chr(10).join(rows)}\n</tbody></table>"
        )

    def __str__(self) -> str:
        bad = [f"  {line.check}: {_said(line)}" for line in self.lines if line.violated]
        return "\n".join([self.summary(), *bad])


def _said(line: Line) -> str:
    compared = f": {line.found}, claimed {line.claimed}" if line.claimed else f": {line.found}" if line.found else ""
    return f"{line.subject}{compared}{f' ({line.detail})' if line.detail else ''}"
