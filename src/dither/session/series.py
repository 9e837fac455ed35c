"""A question whose total is released every day: paid for once for all its days, kept in the ledger, restartable.

Flow: `Session.series` opens one, or finds it again under its name; `advance` measures the days that are over and not
yet released, has the ledger keep them with the new state, and only then shows them.

    open ──▶ charge and state durable ──▶ advance: check, read, noise, keep ──▶ show
                                             └── the next day, or after any crash: from the kept state

Relies on: the catalog's table being added to only. A row that comes late, for a day released already, is not counted
and still uses its unit's limit up; a row that is deleted or moved to another day gives its unit's limit back, so that
the unit may count for more than was paid for.  Proof: docs/proofs/plan/series.md
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dither.accounting import Price, price
from dither.answer.complete import complete as over_all_days
from dither.errors import InvalidParameter, LedgerConflict, LedgerCorrupt
from dither.exact import Number, exact
from dither.ledger.chain import Json
from dither.ledger.series import EpochRequest, SeriesBook, StoredSeries
from dither.mechanisms.running import RunningStream
from dither.plan.choices import Choices
from dither.plan.explain import describe_expression
from dither.plan.lower import Lowering
from dither.plan.offer import Offer
from dither.plan.series import SeriesDays, SeriesQuestion, causal, check_text, outside_bounds, series_question
from dither.secret import open_secret
from dither.session.offers import offered
from dither.session.refusals import noted
from dither.session.series_explain import SeriesExplanation, explained
from dither.session.series_rows import SeriesDay, SeriesRange

if TYPE_CHECKING:
    from dither.session.session import Session

__all__ = ["Series", "foresee_series", "open_series"]

_LONGEST_NAME = 100
_LATER = dt.timedelta(days=1000, hours=5, minutes=7, seconds=11)
"""A question that means the same after this long does not ask what time it is."""
_LONGEST_EPOCH = 36_525
"""Days that are paid for at once: a hundred years."""
_ONE_DAY = dt.timedelta(days=1)


def open_series(
    session: Session,
    question: str | None,
    *,
    name: str,
    first: dt.date | str | None,
    days: int | None,
    epsilon: Number | None,
    rho: Number | None,
) -> Series:
    """The series of this name: opened and charged now, or found again for nothing.
    question, first, days and the offer may be left out for one that is there; given, they must be what it was opened
    with. Raises QueryRefused, InvalidParameter, BudgetExceeded, LedgerConflict; a refusal costs nothing."""
    if not (isinstance(name, str) and 0 < len(name) <= _LONGEST_NAME and name.isprintable()):
        raise InvalidParameter("name", expected=f"1 to {_LONGEST_NAME} printable characters", found=name)
    book = SeriesBook(session.ledger)
    stored = book.find(session.analyst, name)
    begin = None if first is None else _date(first, "first")
    if stored is None:
        with noted(session, question):
            stored = _begin(session, book, question, name=name, first=begin, days=days, epsilon=epsilon, rho=rho)
    if question is not None:
        _check_meaning(stored, _lowered(session, question))
    _check_terms(stored, begin, days, epsilon, rho)
    return Series(session, _lowered(session, stored.text), stored)


def foresee_series(
    session: Session,
    question: str,
    *,
    name: str,
    first: dt.date | str,
    days: int,
    epsilon: Number | None = None,
    rho: Number | None = None,
) -> SeriesExplanation:
    """What a series would count, cost, and how sure its totals would be. Free; opens nothing."""
    begin = _date(first, "first")
    asked, stream, _ = _drafted(session, question, begin, days, epsilon, rho)
    return explained(
        session.catalog, session.ledger.budget, asked, stream, name=name, text=question, first=begin, opened=False
    )


def _begin(
    session: Session,
    book: SeriesBook,
    question: str | None,
    *,
    name: str,
    first: dt.date | None,
    days: int | None,
    epsilon: Number | None,
    rho: Number | None,
) -> StoredSeries:
    """Charge the first epoch; nothing was read."""
    for argument, given in (("question", question), ("first", first), ("days", days)):
        if given is None:
            raise InvalidParameter(
                argument,
                expected=f"given, for there is no series {name!r} yet",
                found="nothing",
                hint="Say what to count, from which day on, for how many days, and at what price.",
            )
    assert question is not None and first is not None and days is not None
    asked, stream, offer = _drafted(session, question, first, days, epsilon, rho)
    terms: dict[str, Json] = {
        "first": first.isoformat(),
        "days": days,
        "epsilon": None if offer.epsilon is None else str(offer.epsilon),
        "rho": None if offer.rho is None else str(offer.rho),
        "step": str(asked.vector.step),
    }
    paid = stream.price()
    request = EpochRequest(question, asked.fingerprint, price(paid), paid.events, terms, _packed(stream))
    return book.open(session.analyst, name, request)


def _drafted(
    session: Session, question: str, first: dt.date, days: int, epsilon: Number | None, rho: Number | None
) -> tuple[SeriesQuestion, RunningStream, Offer]:
    """What would be measured, and the stream as it would begin. Nothing is charged or kept."""
    stated = offered(question, epsilon=epsilon, rho=rho)
    if stated.wish is not None:
        raise InvalidParameter("offer", expected="epsilon or rho for a series", found="a wished accuracy")
    offer = session.offer_of(stated)
    asked = _lowered(session, question)
    _check_days(asked, first, days)
    session.engine.prepare([causal(asked, since=first, due=first, through=first)])
    stream = RunningStream.open(
        days,
        epsilon=offer.epsilon,
        rho=offer.rho,
        neighbours=session.catalog.neighbours,
        max_rows_per_unit=asked.measure.tau,
        largest_step=max(1, asked.vector.largest),
        signed=asked.vector.lo < 0,
        entropy=session.fresh_entropy(),
    )
    return asked, stream, offer


class Series:
    """A series of released totals. Made by `Session.series`; each call looks at what the ledger holds then."""

    def __init__(self, session: Session, question: SeriesQuestion, stored: StoredSeries) -> None:
        self.name = stored.name
        self.text = stored.text
        self.first = dt.date.fromisoformat(str(stored.terms["first"]))
        self._session = session
        self._book = SeriesBook(session.ledger)
        self._question = question
        self._opened = stored
        self._step = Fraction(str(stored.terms["step"]))
        """Of its totals: as it was opened, whatever the catalog says by now."""

    @property
    def number_name(self) -> str:
        """What the question calls its number."""
        return self._question.column

    @property
    def day_name(self) -> str:
        return describe_expression(self._question.day)

    def advance(self, through: dt.date | str | None = None, *, complete: bool = False) -> tuple[SeriesDay, ...]:
        """Release every day up to `through` that is not yet released; costs nothing, for the epoch is paid for.
        through: by default yesterday (UTC), at most the last day paid for.  complete: the caller's word that all rows
        of `through` have come, although the clock does not say so.
        Raises InvalidParameter for a day that is not over or not paid for, EngineError, LedgerConflict."""
        _check_meaning(self._opened, self._question)
        stored, stream = self._current()
        last = self._day(sum(stream.epoch_days) - 1)
        end = self._end(through, complete, last)
        due = self._day(stream.day)
        if end < due:
            return ()
        begun = sum(stream.epoch_days[:-1])
        measure = causal(self._question, since=self._day(begun), due=due, through=end)
        self._session.engine.prepare([measure])
        self._book.begin_reading(stored)
        try:
            measured = self._session.engine.measure([measure])
        except BaseException:
            self._book.stalled(stored)
            raise
        (counts,) = over_all_days(open_secret(measured)[0], measure.domain)
        totals = [stream.append(int(count)).total for count in counts]
        payload = json.dumps({"from": stream.day - len(totals), "totals": totals}).encode()
        self._book.advance(stored, totals=payload, state=_packed(stream))
        # From here on they are released, and only now are they shown.
        return self._rows(stream, [*self._released(stored), *totals])[-len(totals) :]

    def totals(self) -> tuple[SeriesDay, ...]:
        """Every released day, oldest first. Free."""
        stored, stream = self._current()
        return self._rows(stream, self._released(stored))

    def between(self, first: dt.date | str, last: dt.date | str) -> SeriesRange:
        """The sum over any released days, with its own error: less than that of two unrelated totals. Free."""
        stored, stream = self._current()
        totals = self._released(stored)
        a, b = _date(first, "first"), _date(last, "last")
        begin, end = (a - self.first).days, (b - self.first).days
        if not 0 <= begin <= end < len(totals):
            released = f"from {self.first} to {self._day(len(totals) - 1)}" if totals else "none yet"
            raise InvalidParameter("days", expected=f"released days, {released}", found=f"{a} to {b}")
        value = totals[end] - (totals[begin - 1] if begin else 0)
        return SeriesRange(a, b, self._scaled(value), self._width(stream.half_width_between(begin, end)))

    def extend(self, days: int | None = None) -> Price:
        """Pay for further days (default: twice the last epoch's), once all days paid for are released. Returns the
        price charged. In the new epoch each unit's limit begins anew, which is why the price is due again."""
        _check_meaning(self._opened, self._question)
        stored, stream = self._current()
        if stream.days_left:
            raise InvalidParameter(
                "days",
                expected="an extension after the last day paid for is released",
                found=f"{stream.days_left} days not yet released",
                hint="Days paid for would be lost.",
            )
        more = 2 * stream.epoch_days[-1] if days is None else days
        _check_days(self._question, self._day(sum(stream.epoch_days)), more)
        event = stream.extend(more)
        cost = price(event)
        request = EpochRequest(
            self.text, stored.fingerprint, cost, event.events, {**stored.terms, "days": more}, _packed(stream)
        )
        self._book.extend(stored, request)
        return cost

    def explain(self) -> SeriesExplanation:
        """What it counts, what was paid, how sure totals are, and the price of going on. Free."""
        _check_meaning(self._opened, self._question)
        _, stream = self._current()
        return explained(
            self._session.catalog,
            self._session.ledger.budget,
            self._question,
            stream,
            name=self.name,
            text=self.text,
            first=self.first,
            opened=True,
        )

    def _current(self) -> tuple[StoredSeries, RunningStream]:
        """What the ledger holds now, and the stream it goes on with."""
        stored = self._book.find(self._opened.analyst, self.name)
        if stored is None or stored.entry != self._opened.entry:
            raise LedgerCorrupt("A series that was open is no longer in the ledger.", hint="Open the ledger again.")
        try:
            stream = RunningStream.from_state(json.loads(stored.state), entropy=self._session.fresh_entropy())
        except (InvalidParameter, ValueError):
            raise LedgerCorrupt(
                "The state of a series cannot be read.", hint="Is it of a newer Dither? Else: `dither budget verify`."
            ) from None
        if len(self._released(stored)) != stream.day or len(stream.epoch_days) != stored.epochs:
            raise LedgerCorrupt("A series' state and its totals disagree.", hint="Run `dither budget verify`.")
        return stored, stream

    def _released(self, stored: StoredSeries) -> list[float]:
        """Every released total in steps, oldest first."""
        parts: list[Mapping[str, Any]] = sorted((json.loads(p) for p in stored.totals), key=lambda part: part["from"])
        totals: list[float] = []
        for part in parts:
            if part["from"] != len(totals):
                raise LedgerCorrupt("Released days of a series are missing.", hint="Run `dither budget verify`.")
            totals += part["totals"]
        return totals

    def _rows(self, stream: RunningStream, totals: list[float]) -> tuple[SeriesDay, ...]:
        known = [stream.released(day, total) for day, total in enumerate(totals)]
        return tuple(SeriesDay(self._day(d.day), self._scaled(d.total), self._width(d.half_width())) for d in known)

    def _end(self, through: dt.date | str | None, complete: bool, last: dt.date) -> dt.date:
        """The last day to release now."""
        yesterday = self._session._clock().astimezone(dt.UTC).date() - _ONE_DAY
        if through is None and complete:
            raise InvalidParameter("through", expected="the day that is complete", found="none")
        if through is None:
            return min(last, yesterday)
        end = _date(through, "through")
        if end > last:
            raise InvalidParameter(
                "through",
                expected=f"at most {last}, the last day paid for",
                found=str(end),
                hint="Extending the series pays for more.",
            )
        if end > yesterday and not complete:
            raise InvalidParameter(
                "through",
                expected=f"a day that is over: at most {yesterday} (UTC)",
                found=str(end),
                hint="Say that it is complete when all rows of that day have come.",
            )
        return end

    def _day(self, number: int) -> dt.date:
        return self.first + dt.timedelta(days=number)

    def _scaled(self, steps: float) -> float:
        """From steps to the unit of the data: exactly, or, of a decimal's last digits, the double nearest to it."""
        return steps if self._step == 1 else float(Fraction(steps) * self._step)

    def _width(self, steps: float) -> float:
        return steps * float(self._step)


def _lowered(session: Session, text: str) -> SeriesQuestion:
    """What a question measures as a series. Reads the catalog only."""
    check_text(text)
    session.facts.refresh()
    now = session._clock().astimezone(dt.UTC).replace(tzinfo=None, microsecond=0)
    lists = session.facts.key_lists()
    days = SeriesDays(session.catalog, lists.public, lists.has_delta)
    choices = Choices(session.taus, bounds=session.bounds)
    known = (session.catalog, session.facts.schemas, session.facts.for_lowering(), days, choices)
    plans = [Lowering(*known, at).question(text) for at in (now, now + _LATER)]
    return series_question(plans[0], plans[1], session.catalog)


def _check_terms(
    stored: StoredSeries, first: dt.date | None, days: int | None, epsilon: Number | None, rho: Number | None
) -> None:
    """Whether what was given is what a series found again was opened with."""
    offers = {"epsilon": epsilon, "rho": rho}
    given = {
        "first": None if first is None else first.isoformat(),
        "days": days,
        **{name: None if value is None else str(exact(value, name)) for name, value in offers.items()},
    }
    for argument, now in given.items():
        then = stored.terms[argument]
        if now is not None and now != then:
            raise LedgerConflict(
                f"The series {stored.name!r} was opened with another `{argument}`: {then or 'none'}.",
                code="L-400",
                hint="Leave it out to go on with the series, or open another one under another name.",
            )


def _check_meaning(stored: StoredSeries, question: SeriesQuestion) -> None:
    """Whether a question, under the catalog of now, measures what the series was opened for."""
    if stored.fingerprint != question.fingerprint:
        raise LedgerConflict(
            f"The series {stored.name!r} asks something else: its question, the catalog's bounds, or the rows kept "
            "per unit differ from those it was opened with.",
            code="L-400",
            hint="A series asks the same every day. Open another one under another name.",
        )


def _check_days(question: SeriesQuestion, first: dt.date, days: object) -> None:
    if isinstance(days, bool) or not isinstance(days, int) or days < 1:
        raise InvalidParameter("days", expected="a whole number, at least 1", found=days)
    if days > min(_LONGEST_EPOCH, (dt.date.max - first).days + 1):
        raise InvalidParameter("days", expected=f"at most {_LONGEST_EPOCH:,}, none after {dt.date.max}", found=days)
    last = first + dt.timedelta(days=days - 1)
    if outside_bounds(question, first, last):
        raise InvalidParameter(
            "days",
            expected="days within the bounds that the catalog declares for them",
            found=f"{first} to {last}",
            hint="Rows of other days count at the ends of the bounds. Widen the bounds, or leave them out: a series "
            "needs none for its day.",
        )


def _packed(stream: RunningStream) -> bytes:
    return json.dumps(stream.to_state()).encode()


def _date(value: object, name: str) -> dt.date:
    if isinstance(value, str):
        try:
            return dt.date.fromisoformat(value)
        except ValueError:
            raise InvalidParameter(name, expected="a date, such as 2026-01-31", found=value) from None
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        return value
    raise InvalidParameter(name, expected="a date, such as 2026-01-31", found=value)
