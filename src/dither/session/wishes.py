"""What each question of a workload is wanted for: a ± to keep within, or a weight.

Flow: the planner reads questions here, then splits a budget over them. A wish is a comment before its question,
`-- within 50`, `/* within n=50, total=2000; weight=2 */`, or a line `2: within 50` of a file of its own.
In doubt a comment is refused: a wish that is silently not read would be a plan for something else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from dither.catalog.model import fold
from dither.errors import InvalidParameter
from dither.exact import Number, positive
from dither.sql.split import Comment, split

__all__ = ["Wanted", "Wish", "read_questions", "read_wishes", "wish_of"]

_WIDEST = Fraction(10**300)

_BEGINS = re.compile(r"(within|weight)\b", re.IGNORECASE)
_PRICES = re.compile(r"(epsilon|rho|at_most|delta)\s*[=:]", re.IGNORECASE)
_ITEM = re.compile(
    r"\s*(?P<key>within|weight)\b\s*(?P<rest>.*?)\s*(?=;|,?\s*\b(?:within|weight)\b|$)[;,]?",
    re.IGNORECASE | re.DOTALL | re.ASCII,
)
_COLUMN = re.compile(r"(?P<name>\"(?:\"\"|[^\"])+\"|[^\W\d]\w*)\s*=\s*(?P<number>[^,\s]+)\s*(?:,|$)\s*")
_HINT = (
    "Write -- within 50, -- within n=50, total=2000 or -- weight=2 on a line of its own above the question; begin "
    "other comments with another word."
)


@dataclass(frozen=True)
class Wish:
    """`within`: the 95 % half-width of every column whose ± is known beforehand. `columns`: of single columns, by
    folded name. `weight`: the part of what is left beside the wishes."""

    within: Fraction | None = None
    columns: Mapping[str, Fraction] = field(default_factory=dict)
    weight: Fraction | None = None

    @property
    def states_accuracy(self) -> bool:
        return self.within is not None or bool(self.columns)


@dataclass(frozen=True)
class Wanted:
    """A question with its wish. `number`: its place in the workload, from 1."""

    number: int
    text: str
    wish: Wish


def read_questions(questions: str | Sequence[str], wishes: Mapping[int, str] | None = None) -> list[Wanted]:
    """The workload in order. questions: one text with `;` between questions, or a list of questions.
    wishes: by number from 1; a question may not have one both here and in its comments.
    Raises InvalidParameter, QueryRefused."""
    texts = [questions] if isinstance(questions, str) else list(questions)
    found: list[Wanted] = []
    for text in texts:
        if not isinstance(text, str):
            raise InvalidParameter("questions", expected="texts of SQL", found=text)
        pieces, behind = split(text)
        _refuse_stray(behind)
        _refuse_prices(behind)
        for piece in pieces:
            wish = _wish_of(piece.comments)
            found.append(Wanted(len(found) + 1, piece.text, wish))
    if not found:
        raise InvalidParameter("questions", expected="at least one question", found="none")
    return [_with_given(each, wishes or {}, len(found)) for each in found] if wishes else found


def read_wishes(text: str) -> dict[int, str]:
    """The wishes of a file: a line `NUMBER: within 50` for each question that has one; # begins a comment."""
    wishes: dict[int, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        bare = line.partition("#")[0].strip()
        if not bare:
            continue
        place, colon, wish = bare.partition(":")
        known = re.fullmatch(r"[0-9]{1,9}", place.strip()) is not None
        if not colon or not known or not wish.strip() or int(place) in wishes:
            raise InvalidParameter(
                f"line {number} of the wishes",
                expected="NUMBER: within 50, with each number once",
                found=line.strip(),
                hint="NUMBER is the question's place in the file of questions, from 1.",
            )
        wishes[int(place)] = wish.strip()
    return wishes


def wish_of(within: Number | Mapping[str, Number], name: str = "within") -> Wish:
    """The wish of one question: a ± for all of its columns, or by column; as text also `n=50, total=2000`.
    Raises InvalidParameter."""
    if isinstance(within, str):
        return _parse(f"within {within}", name)
    if isinstance(within, Mapping):
        if not within:
            raise InvalidParameter(name, expected="a ± for one column or more", found=within)
        columns = {fold(str(column)): _width(wanted, f"{name} of {column}") for column, wanted in within.items()}
        if len(columns) < len(within):
            raise InvalidParameter(name, expected="each column once", found=", ".join(map(str, within)))
        return Wish(columns=columns)
    return Wish(_width(within, name))


def _with_given(wanted: Wanted, wishes: Mapping[int, str], count: int) -> Wanted:
    unknown = [number for number in wishes if not 1 <= number <= count]
    if unknown:
        raise InvalidParameter("wishes", expected=f"for questions 1 to {count}", found=unknown[0])
    given = wishes.get(wanted.number)
    if given is None:
        return wanted
    if wanted.wish != Wish():
        raise InvalidParameter(
            "wishes", expected=f"one wish for question {wanted.number}", found="one in its comments and one beside them"
        )
    return Wanted(wanted.number, wanted.text, _parse(given, f"the wish of question {wanted.number}"))


def _wish_of(comments: Sequence[Comment]) -> Wish:
    """The wish that stands in the comments before a question."""
    _refuse_prices(comments)
    stated = [comment for comment in comments if _BEGINS.match(comment.text)]
    for comment in stated:
        if comment.place != "before":
            _refuse_stray([comment])
    if not stated:
        return Wish()
    joined = "; ".join(comment.text for comment in stated)
    return _parse(joined, f"the wish in line {stated[0].line}")


def _refuse_prices(comments: Sequence[Comment]) -> None:
    """In a plan, the plan says what each question may cost. (Those inside a question are refused with their place.)"""
    for comment in comments:
        if comment.place != "inside" and _PRICES.match(comment.text):
            raise InvalidParameter(
                f"the comment in line {comment.line}",
                expected="a wish, or no offer: the plan says what each question may cost",
                found=comment.text,
                hint=_HINT,
            )


def _refuse_stray(comments: Sequence[Comment]) -> None:
    """A wish that could belong to either of two questions, or to none."""
    for comment in comments:
        if _BEGINS.match(comment.text):
            raise InvalidParameter(
                f"the wish in line {comment.line}",
                expected="above its question, on a line of its own",
                found=comment.text,
                hint=_HINT,
            )


def _parse(text: str, name: str) -> Wish:
    within: Fraction | None = None
    columns: dict[str, Fraction] = {}
    weight: Fraction | None = None
    at = 0
    while at < len(text.rstrip()):
        item = _ITEM.match(text, at)
        if item is None:
            raise _unread(name, text)
        rest = item["rest"].removeprefix("=").strip().rstrip(",").strip()
        if item["key"].lower() == "weight":
            if weight is not None:
                raise _unread(name, text)
            weight = _number(rest, name, text)
        elif "=" in rest:
            for column, number in _columns(rest, name, text):
                if column in columns:
                    raise _unread(name, text)
                columns[column] = number
        else:
            if within is not None:
                raise _unread(name, text)
            within = _number(rest, name, text)
        at = item.end()
    wish = Wish(within, columns, weight)
    if wish.states_accuracy and weight is not None:
        hint = "A stated accuracy is met first; a weight shares what is left among questions that state none."
        raise InvalidParameter(name, expected="within or weight, not both", found=text, hint=hint)
    return wish


def _columns(rest: str, name: str, text: str) -> list[tuple[str, Fraction]]:
    found, at = [], 0
    while at < len(rest):
        part = _COLUMN.match(rest, at)
        if part is None:
            raise _unread(name, text)
        column = part["name"]
        plain = column[1:-1].replace('""', '"') if column.startswith('"') else column
        found.append((fold(plain), _number(part["number"], name, text)))
        at = part.end()
    return found


def _width(wanted: Number, name: str) -> Fraction:
    """A ±, or a weight: above 0, and within what a float holds, for it is shown and searched for as one."""
    found = positive(wanted, name)
    if not 1 / _WIDEST < found < _WIDEST:
        raise InvalidParameter(name, expected="between 1e-300 and 1e300", found=wanted)
    return found


def _number(written: str, name: str, text: str) -> Fraction:
    try:
        return _width(written.replace("_", ""), name)
    except InvalidParameter:
        raise _unread(name, text) from None


def _unread(name: str, text: str) -> InvalidParameter:
    return InvalidParameter(
        name, expected="within NUMBER, within COLUMN=NUMBER or weight=NUMBER", found=text, hint=_HINT
    )
