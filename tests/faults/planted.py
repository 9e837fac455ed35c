"""All faults, by the check that sees them, and the table of them in docs/explanation/verification.md."""

from __future__ import annotations

from dither.audit.pipeline import CHECKS
from faults import of_books, of_channels, of_noise, of_terms, of_units  # noqa: F401  (importing lists them)
from faults.planting import LISTED, Fault

__all__ = ["FAULTS", "Fault", "table"]

FAULTS = sorted(LISTED, key=lambda fault: (list(CHECKS).index(fault.check), LISTED.index(fault)))


def table() -> str:
    """The faults as Markdown."""
    lines = ["| fault | planted in | seen by |", "|---|---|---|"]
    for fault in FAULTS:
        places = ", ".join(f"`{name.removeprefix('dither.')}`" for name in fault.at)
        lines.append(f"| {fault.words} | {places} | {fault.check} |")
    return "\n".join(lines)
