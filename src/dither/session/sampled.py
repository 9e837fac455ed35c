"""An opaque statistic of one table under random DP: for the owner, on the ledger of that notion.

Flow: `Session.sampled_statistic`. Noise is settled on the population alone, then charged, then one row of each unit is
read, then the statistic runs and gets its noise, then the ledger keeps the answer, then it is shown.
`explain_sampled` is the same walk stopped before the charge.

It is for the owner alone: the statistic is a program that runs where the data is, and random DP promises nothing
against somebody who chooses statistics to look for one person.
Relies on: `mechanisms.sampled`; `ledger.apart`, which no charge of differential privacy can enter.
Statement: docs/proofs/mechanisms/sampled-statistic.md
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from dither.accounting import RandomLoss
from dither.answer.sampled import SampledAnswer, SampledFacts
from dither.catalog.model import Table, fold
from dither.errors import InvalidParameter, LedgerConflict, PolicyRefused
from dither.exact import Number
from dither.ledger.apart import ApartLedger
from dither.ledger.apart_places import beside
from dither.mechanisms.sampled import Kind, Population, SampledNoise, Statistic, sampled_noise, table_of
from dither.secret import Secret, open_secret

if TYPE_CHECKING:
    from dither.session.session import Session

__all__ = ["SampledQuestion", "ask_sampled", "explain_sampled"]

_KINDS: dict[str, Kind] = {
    "integer": "number", "double": "number", "decimal": "number", "boolean": "number", "date": "time",
    "timestamp": "time", "text": "text",
}  # fmt: skip


@dataclass(frozen=True)
class SampledQuestion:
    """What is asked: the arguments of `Session.sampled_statistic`."""

    f: Callable[[Any], Any]
    population: Population | str
    bounds: tuple[Number, Number] | Sequence[tuple[Number, Number]]
    gamma: Number
    epsilon: Number
    table: str | None = None
    rows: int | None = None
    samples: int | None = None
    norm: Literal[1, 2] = 1
    delta: Number = 0
    otherwise: Number | Sequence[Number] | None = None
    name: str | None = None


@dataclass(frozen=True)
class _Settled:
    """The question with everything public about it known."""

    table: Table
    columns: tuple[str, ...]
    """Folded names of the columns that the population has, in the catalog's order."""
    noise: SampledNoise
    facts: SampledFacts


def explain_sampled(session: Session, question: SampledQuestion) -> SampledAnswer:
    """What asking would cost and how large its noise would be: an answer without numbers. Charges nothing, reads no
    protected row. The pairs are drawn anew when it is asked, so that the noise may differ a little."""
    return SampledAnswer(_settled(session, question).facts)


def ask_sampled(
    session: Session, question: SampledQuestion, *, allowance: RandomLoss | None, request: str | None
) -> SampledAnswer:
    """Answer it. From the reservation on the charge stands, whatever fails."""
    settled = _settled(session, question)
    if session.ledger.closed_into is not None:
        raise LedgerConflict(
            "The owner closed this ledger: another one took over what it had spent.",
            code="L-260",
            hint="Ask under the catalog of the other ledger.",
        )
    ledger = _ledger(session, settled.noise.loss, allowance)
    try:
        entry = ledger.reserve(settled.noise.loss, what=settled.facts.what, key=request)
        if entry.repeated:
            if entry.released is None:
                raise LedgerConflict(
                    f"A release with this request key was charged before; its entry {entry.id} is {entry.state}.",
                    code="L-200",
                    hint="Its process is at it, or died. To measure anew, use another key, which is charged again.",
                )
            return SampledAnswer.from_text(entry.released, entry.hash)
        read = session.engine.one_row_each(fold(settled.table.name), settled.columns)
        private = Secret(table_of(open_secret(read)))
        released = settled.noise.release(private, entropy=session.fresh_entropy())
        answer = SampledAnswer(settled.facts, released.values, entry.hash)
        text = answer.to_text()
        ledger.answered(entry, hashlib.sha256(text.encode()).hexdigest(), released=text)
        return answer
    finally:
        if session.ledger_location:
            ledger.close()


def _settled(session: Session, question: SampledQuestion) -> _Settled:
    if session.own_level is not None:
        raise PolicyRefused(
            "Opaque statistics are for the owner alone: they run as programs beside the data, and random DP does not "
            "protect against an analyst who chooses them.",
            code="R-100",
            hint="Ask in SQL; or, as the owner, open the data set by a catalog that declares no analysts.",
        )
    table = _table(session, question.table)
    population, columns = _population(session, table, question.population)
    size = question.rows if question.rows is not None else table.rows
    if size is None:
        raise InvalidParameter(
            "rows",
            expected="the number of rows the statistic is given, which is public",
            found=None,
            hint="Neighbours have equally many rows, so how many there are is not protected: say a number that may be "
            f"known, at most that of the people in {table.name}; or declare `rows` of the table in the catalog.",
        )
    statistic = Statistic.of(question.f, bounds=question.bounds, otherwise=question.otherwise)
    noise = sampled_noise(
        statistic,
        population,
        rows=size,
        gamma=question.gamma,
        epsilon=question.epsilon,
        samples=question.samples,
        norm=question.norm,
        delta=question.delta,
    )
    names = [table.columns[name].name for name in columns]
    wanted = {table.columns[name].name: _KINDS[table.columns[name].type] for name in columns}
    if dict(noise.shape) != wanted:
        raise InvalidParameter("population", expected=f"columns {wanted}, as {table.name} has them", found=noise.shape)
    name = question.name or str(getattr(question.f, "__name__", "statistic"))
    facts = SampledFacts.of(
        noise,
        name=_shown(name),
        table=table.name,
        columns=names,
        unit=session.catalog.unit_name,
        invented=session.invented,
    )
    return _Settled(table, columns, noise, facts)


def _table(session: Session, name: str | None) -> Table:
    protected = session.catalog.protected
    if name is None:
        if len(protected) != 1:
            raise InvalidParameter("table", expected=f"one of {', '.join(t.name for t in protected)}", found=None)
        return protected[0]
    found = session.catalog.table(name)
    if found is None or found.is_public:
        raise InvalidParameter("table", expected="a protected table", found=name)
    return found


def _population(session: Session, table: Table, population: Population | str) -> tuple[Population, tuple[str, ...]]:
    """The population with columns named as the catalog names the table's, and those columns."""
    if isinstance(population, str):
        return _public_table(session, table, population)
    if not isinstance(population, Population):
        raise InvalidParameter(
            "population",
            expected="a Population, or the name of a public table",
            found=type(population).__name__,
            hint="Give it the name its releases are booked under: dither.mechanisms.Population(name, draw).",
        )
    first = population.rows(1)
    columns = tuple(name for name in table.columns if name in {fold(column) for column in first})
    unknown = sorted(set(first) - {table.columns[name].name for name in columns})
    if unknown or not columns:
        expected = f"columns of {table.name}, spelled as in the catalog"
        raise InvalidParameter("population", expected=expected, found=unknown or "none")

    def draw(count: int) -> Any:
        rows = population.rows(count)
        return {table.columns[name].name: rows[table.columns[name].name] for name in columns}

    return Population(population.name, draw), columns


def _public_table(session: Session, table: Table, name: str) -> tuple[Population, tuple[str, ...]]:
    found = session.catalog.table(name)
    if found is None:
        raise InvalidParameter("population", expected="a public table of the catalog", found=name)
    if not found.is_public:
        raise InvalidParameter(
            "population",
            expected="a public table or a synthetic source",
            found=f"the protected table {found.name}",
            hint="Neighbours drawn from protected rows would say what those rows are like, and void the promise.",
        )
    session.facts.refresh()
    there = session.facts.public_columns(fold(found.name))
    columns = tuple(column for column in table.columns if column in there)
    if not columns:
        raise InvalidParameter("population", expected=f"a table with columns of {table.name}", found=found.name)
    read = session.facts.public_rows(fold(found.name), columns)
    rows = {table.columns[column].name: read[column] for column in columns}
    label = f"the rows of the public table {found.name}"
    return Population.of_table(label, rows), columns


def _ledger(session: Session, loss: RandomLoss, allowance: RandomLoss | None) -> ApartLedger[RandomLoss]:
    zero = RandomLoss.of(population=loss.population)
    place = beside(session.ledger_location, zero)
    if not place:
        # In memory: it lives as long as the session, as its other ledger does.
        kept = session.apart_ledgers.get(loss.population)
        if kept is None:
            kept = ApartLedger.open("", zero, allowance=allowance, dataset=session.catalog.name)
            session.apart_ledgers[loss.population] = kept
        if allowance is not None:
            kept.restrict(allowance)
        return kept
    return ApartLedger.open(place, zero, allowance=allowance, dataset=session.catalog.name)


def _shown(name: str) -> str:
    """A name for the log, whatever the function is called."""
    text = "".join(character for character in str(name) if character.isprintable())[:100]
    return text or "statistic"
