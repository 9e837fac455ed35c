"""Write down that a question was refused: who, when, what was asked, which code. It charges nothing.

Flow: `session.refusals` calls `record_refusal` once the refusal is certain. Relies on `journal`.
A record holds nothing that the asker did not bring or was not told: their text and the refusal's code. So that nobody
fills a disk or holds up the writers' line by being refused, an analyst's records of one day are counted by a level of
their own, and beyond the bound nothing is written, nor is the line joined.
Statement: docs/proofs/ledger/refusals.md
"""

from __future__ import annotations

from typing import ClassVar

from dither.errors import PolicyRefused
from dither.ledger.base import LedgerBase
from dither.ledger.chain import Json, digest
from dither.ledger.effects import levels_of
from dither.ledger.journal import latest_standings
from dither.ledger.standing import Standing

__all__ = ["Refusals"]


class Refusals(LedgerBase):
    REFUSALS_A_DAY: ClassVar[int] = 100
    """Records of one analyst and UTC day; the last of them says that it is the last."""
    REFUSAL_CHARACTERS: ClassVar[int] = 500
    """Of the question, from its beginning; a digest of the whole goes with them."""

    def record_refusal(self, analyst: str, text: str, code: str) -> bool:
        """Append a refusal to the log; False when this analyst's records of the day are full, or the name is none of
        the catalog's.  text: the question as asked.  code: of the refusal's error."""
        try:
            who = self._analyst(analyst).name
        except PolicyRefused:
            return False
        with self._journal.reading() as connection:
            levels = levels_of("refused", {}, analyst=who, day=self._journal.today(connection))
            if _count(latest_standings(connection, *levels)) >= self.REFUSALS_A_DAY:
                return False
        with self._journal.writing() as page:
            before = page.standings(*levels_of("refused", {}, analyst=who, day=page.day))
            if (recorded := _count(before)) >= self.REFUSALS_A_DAY:
                return False
            facts: dict[str, Json] = {
                "code": code,
                "text": text[: self.REFUSAL_CHARACTERS],
                "digest": digest(text.encode("utf-8", "surrogatepass")),
                "last": recorded + 1 == self.REFUSALS_A_DAY,
            }
            page.append("refused", facts=facts, analyst=who, before=before)
        return True


def _count(standings: dict[str, Standing]) -> int:
    return sum(standing.refusals for standing in standings.values())
