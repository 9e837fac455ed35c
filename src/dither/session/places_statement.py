"""What was released about a file's places under metric privacy, for whoever answers for it.

Flow: `dither perturb --statement`. Reads the ledger alone. Written by `statement_show`, as a data set's statement is.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from dither.accounting.metric import MetricLoss
from dither.answer.apart_words import in_language
from dither.errors import LedgerConflict
from dither.exact import decimal_text, round_up
from dither.ledger.apart import ApartLedger
from dither.session.places import person_column
from dither.session.places_words import epsilon_text, factor_text, length_text, say
from dither.session.statement import Block, Rows, Section

__all__ = ["PlacesStatement", "state_places"]

_NEAR, _FAR = 100, 1000


@dataclass(frozen=True)
class PlacesStatement:
    title: str
    language: str
    opening: tuple[str, ...]
    sections: tuple[Section, ...]


def state_places(ledger: Path, *, today: dt.date, version: str, language: str = "en") -> PlacesStatement:
    """Raises LedgerError where there is no ledger, LedgerConflict where it is of another notion, InvalidParameter for
    a language other than en and zh."""
    opened = ApartLedger.look(str(ledger))
    try:
        total = opened.total()
        if not isinstance(total, MetricLoss):
            raise LedgerConflict(
                f"The ledger is of {opened.notion}, not of metric privacy.", code="L-500",
                hint="Name the ledger of the places with --ledger.",
            )  # fmt: skip
        limit, entries, name = opened.allowance(), opened.log(), opened.dataset or ledger.name
    finally:
        opened.close()
    rows = tuple(
        (each.at[:19].replace("T", " "), in_language(each.what, language),
         decimal_text(round_up(each.loss.epsilon, Fraction(1, 10**9)), 9), say(each.state, language))
        for each in entries
    )  # fmt: skip
    spent = [Block(table=Rows(tuple(say("t_spent", language).split("|")), rows))] if rows else []
    spent.append(Block(_total(total, language) if rows else say("nothing", language)))
    if isinstance(limit, MetricLoss):
        spent.append(Block(say("limit", language, epsilon=epsilon_text(limit))))
    else:
        spent.append(Block(say("no_limit", language)))
    missing = ("not_presence", "not_dp", "not_columns", "not_trail", "not_ledger")
    notion = (
        Block(say("notion", language, metric=in_language(total.metric, language))),
        Block(say("rounding", language)),
    )
    head = entries[-1].hash[:16] if entries else "–"
    return PlacesStatement(
        say("title", language, name=name),
        language,
        (say("made", language, date=today.isoformat(), version=version),),
        (
            Section("notion", say("h_notion", language), notion),
            Section("spent", say("h_spent", language), tuple(spent)),
            Section("not", say("h_not", language), tuple(Block(say(key, language)) for key in missing)),
            Section("check", say("h_check", language), (Block(say("check", language, head=head)),)),
        ),
    )


def _total(total: MetricLoss, language: str) -> str:
    near, far = (factor_text(total, metres) for metres in (_NEAR, _FAR))
    column = person_column(total.metric)
    who = say("each_row", language) if column is None else say("each_person", language, column=column)
    return say(
        "total", language, who=who, epsilon=epsilon_text(total), near=length_text(_NEAR), near_factor=near,
        far=length_text(_FAR), far_factor=far,
    )  # fmt: skip
