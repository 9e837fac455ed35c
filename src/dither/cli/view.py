"""How `dither ask` shows an answer: the options of presentation, checked before anything is charged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dither.answer.answer import Answer

__all__ = ["View"]


@dataclass(frozen=True)
class View:
    round_to: str | None
    suppress_below: str | None
    nonnegative: bool
    reliability: bool
    other: str | None
    simultaneous: bool

    def check(self) -> None:
        """Raises InvalidParameter for options that no answer could be shown with."""
        from dither.answer.present import shown_step
        from dither.errors import InvalidParameter

        for name, value in (("--round-to", self.round_to), ("--suppress-below", self.suppress_below)):
            if value is not None:
                shown_step(value, name)
        if self.other is not None and self.suppress_below is None:
            raise InvalidParameter("--other", expected="beside --suppress-below", found="no --suppress-below")

    def of(self, answer: Answer) -> Answer:
        """Raises InvalidParameter where an option has nothing to work on in this answer."""
        shown: Answer = answer.simultaneous() if self.simultaneous else answer
        options = (self.round_to, self.suppress_below, self.nonnegative, self.reliability)
        if not any(option not in (None, False) for option in options):
            return shown
        return shown.present(
            round_to=self.round_to,
            suppress_below=self.suppress_below,
            nonnegative=self.nonnegative,
            reliability=self.reliability,
            other=self.other,
        )
