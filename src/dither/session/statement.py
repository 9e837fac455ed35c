"""The privacy statement of a data set, for whoever answers for it: what is promised, to whom, on which conditions.

Flow: `dither statement`. Facts of catalog and ledger become sections of sentences and tables, in the order of NIST
SP 800-226; `statement_show` writes them as Markdown, HTML or JSON. Every figure is rounded so that it stays true.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dither.accounting import epsilon_of
from dither.accounting.odds import guess_after, percent_text
from dither.answer.apart_words import in_language
from dither.catalog.model import Column, ColumnUnit, ReferenceUnit, RowUnit, Table
from dither.exact import decimal_text, round_up
from dither.noise.bounds import exp_bounds
from dither.session.statement_facts import Command, Facts
from dither.session.statement_texts import TEXTS, say

__all__ = ["Block", "Rows", "Section", "Statement", "make_statement"]

PRIOR = Fraction(1, 100)
SMALL_CHANCE = Fraction(1, 10**6)


@dataclass(frozen=True)
class Rows:
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Block:
    """A paragraph, perhaps with points under it; or a table."""

    text: str = ""
    points: tuple[str, ...] = ()
    table: Rows | None = None


@dataclass(frozen=True)
class Section:
    key: str
    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Statement:
    title: str
    language: str
    date: str
    opening: tuple[str, ...]
    sections: tuple[Section, ...]
    facts: Facts


def make_statement(facts: Facts, *, today: dt.date, version: str, language: str = "en") -> Statement:
    """Raises InvalidParameter for a language other than en and zh."""
    return _Writer(facts, language).statement(today, version)


class _Writer:
    def __init__(self, facts: Facts, language: str) -> None:
        self.facts = facts
        self.catalog = facts.catalog
        self.language = language
        self.replace = facts.catalog.neighbours == "replace"

    def statement(self, today: dt.date, version: str) -> Statement:
        opening = [self.say("made", date=today.isoformat(), version=version)]
        if not self.facts.agrees:
            opening.append(self.say("differs"))
        sections = [
            self.section("parameters", self.parameters()),
            self.section("unit", self.unit()),
            self.section("holds", self.holds()),
            self.section("public", self.public()),
            self.section("algorithms", self.algorithms()),
            self.section("utility", [Block(self.say("utility"))]),
            self.section("bias", [Block(self.say(key)) for key in ("bias_small", "bias_clamp", "bias_picks")]),
            self.section("access", self.access()),
            self.section("trust", [Block(self.say("trust"))]),
            self.section("side", [Block(self.say(key)) for key in ("side_time", "side_failure", "side_float")]),
            self.section("exposure", self.exposure()),
            self.section("check", [Block(self.check())]),
        ]
        title = self.say("title", name=self.catalog.name)
        return Statement(title, self.language, today.isoformat(), tuple(opening), tuple(sections), self.facts)

    def say(self, key: str, **more: object) -> str:
        return say(key, self.language, **{"unit": self.catalog.unit_name, **more})

    def section(self, key: str, blocks: Sequence[Block]) -> Section:
        return Section(key, self.say(f"h_{key}"), tuple(blocks))

    def table(self, key: str, rows: Sequence[tuple[str, ...]], **more: object) -> Block:
        return Block(table=Rows(tuple(self.say(key, **more).split("|")), tuple(rows)))

    # 1 to 4: the guarantee ------------------------------------------------------------------------------------------

    def parameters(self) -> list[Block]:
        promised, spent = self.facts.promised, self.facts.spent
        figures = {"delta": _small(promised.delta)}
        if promised.epsilon is not None:
            epsilon = promised.epsilon
            text = self.say("approximate" if promised.delta else "pure", epsilon=_amount(epsilon), **figures)
        else:
            assert promised.rho is not None
            epsilon = round_up(epsilon_of(promised.rho, SMALL_CHANCE), Fraction(1, 1000))
            text = self.say("zcdp", rho=_amount(promised.rho), converted=_amount(epsilon), **figures)
        blocks = [Block(text), Block(self.odds(epsilon))]
        if self.facts.apart:
            blocks.append(Block(self.say("apart_note", count=len(self.facts.apart))))
        rows: list[tuple[str, ...]] = []
        if promised.epsilon is not None:
            rows.append(("epsilon", _amount(promised.epsilon), _amount(spent.epsilon)))
        if promised.notion != "pure":
            meter = "rho" if promised.epsilon is None else self.say("rho_meter")
            rows.append((meter, _amount(promised.rho_limit), _amount(spent.rho)))
        if promised.delta:
            rows.append((self.say("delta_groups"), _small(promised.delta_selection), _small(spent.delta)))
        blocks.append(self.table("t_budget", rows))
        if promised.notion == "approximate":
            blocks.append(Block(self.say("two_meters")))
        if not self.facts.has_ledger:
            return [*blocks, Block(self.say("no_ledger"))]
        blocks.append(Block(self.say("asked", questions=f"{self.facts.questions:,}", reuses=f"{self.facts.reuses:,}")))
        if self.facts.grants:
            blocks.append(Block(self.say("granted", count=len(self.facts.grants))))
        return blocks

    def odds(self, epsilon: Fraction) -> str:
        """About being in the data, and about what rows say: under `replace` there is only the second, in one step."""
        told = percent_text(guess_after(PRIOR, epsilon if self.replace else 2 * epsilon)[1], 2)
        present = percent_text(guess_after(PRIOR, epsilon)[1], 2)
        sentences = [] if self.replace else [self.say("odds_presence", after=present)]
        sentences.append(self.say("odds_rows", after=told))
        failure = self.facts.promised.delta
        if self.facts.promised.epsilon is None:
            failure += SMALL_CHANCE
        if failure:
            # Two steps fail with delta, and with e^epsilon delta (group privacy).
            failure *= 1 if self.replace else 1 + exp_bounds(epsilon, 64)[1]
            sentences.append(self.say("odds_except", failure=_small(min(failure, Fraction(1)))))
        return " ".join(sentences)

    def unit(self) -> list[Block]:
        rows = [(table.name, self.rule(table), self.kept(key, table)) for key, table in self.protected()]
        return [
            Block(self.say("unit")),
            Block(self.say(self.catalog.neighbours)),
            self.table("t_unit", rows),
        ]

    def rule(self, table: Table) -> str:
        match table.unit:
            case ColumnUnit(column):
                return self.say("rule_column", column=column)
            case ReferenceUnit(column, other, key, _):
                return self.say("rule_reference", column=column, table=other, target=key)
            case _:
                return self.say("rule_row")

    def kept(self, key: str, table: Table) -> str:
        if isinstance(table.unit, RowUnit):
            return self.say("one_row")
        tau = self.facts.taus.get(key)
        return self.say("chosen") if tau is None else self.say("at_most", tau=f"{tau:,}")

    def holds(self) -> list[Block]:
        always = ("always_adaptive", "always_knowledge", "always_outputs")
        conditions = [self.say("if_unit"), self.say("if_history")]
        for _, table in self.protected():
            if isinstance(table.unit, ReferenceUnit) and table.unit.asserted:
                conditions.append(self.say("if_asserted", target=table.unit.key, table=table.unit.table))
        if self.facts.series:
            conditions.append(self.say("if_series"))
        conditions += [self.say("if_public"), self.say("if_release")]
        conditions.append(self.say("if_grant" if self.facts.grants else "if_grant_future"))
        conditions += [self.say("if_ledger"), self.say("if_random")]
        return [
            Block(self.say("always"), tuple(self.say(key) for key in always)),
            Block(self.say("conditions"), tuple(conditions)),
        ]

    def public(self) -> list[Block]:
        public = [table.name for table in self.catalog.tables.values() if table.is_public]
        counted = [f"{t.name} {t.rows:,}" for t in self.catalog.tables.values() if t.rows is not None]
        for table in self.catalog.tables.values():
            for key, rows in table.rows_per_value.items():
                column = table.columns[key]
                pairs = list(zip(column.values or (), rows, strict=True))[:20]
                each = ", ".join(f"{_bound(value)} {count:,}" for value, count in pairs)
                counted.append(f"{table.name}.{column.name} ({each}{', ...' if len(rows) > 20 else ''})")
        blocks = [Block(self.say("public"))]
        named = self.say("public_tables", tables=", ".join(public)) if public else self.say("no_public_tables")
        blocks.append(Block(named))
        if counted:
            blocks.append(Block(self.say("row_counts", rows=", ".join(counted))))
        return [*blocks, Block(self.say("invisible"))]

    # 5: algorithms --------------------------------------------------------------------------------------------------

    def algorithms(self) -> list[Block]:
        rows = [
            (table.name, column.name, column.type, self.enforced(column))
            for _, table in self.protected()
            for column in table.columns.values()
        ]
        blocks = [Block(self.say("central")), self.table("t_columns", rows)]
        used = self.facts.mechanisms
        if used:
            points = tuple(
                self.say("times", what=self.say(f"m_{name}"), count=f"{count:,}")
                for name, count in sorted(used.items())
            )
            blocks.append(Block(self.say("mechanisms"), points))
        else:
            names = ["LaplaceEvent", "ExponentialEvent", "PureEvent"]
            names += ["GaussianEvent"] if self.facts.promised.notion != "pure" else []
            names += ["SelectionEvent"] if self.facts.promised.delta else []
            blocks.append(Block(self.say("may_use"), tuple(self.say(f"m_{name}") for name in names)))
        if not self.facts.promised.delta:
            blocks.append(Block(self.say("no_groups")))
        return [*blocks, Block(self.say("exact"))]

    def enforced(self, column: Column) -> str:
        if column.bounds is not None:
            low, high = (_bound(end) for end in column.bounds)
            return self.say("clamped", low=low, high=high)
        if column.values is not None:
            return self.say("listed", count=len(column.values))
        if column.type == "boolean":
            return self.say("boolean")
        if column.type == "text":
            return self.say("unlisted" if self.facts.promised.delta else "never")
        return self.say("unbounded")

    # 8 to 12: around it ---------------------------------------------------------------------------------------------

    def access(self) -> list[Block]:
        meter = "epsilon" if self.facts.budget.epsilon is not None else "rho"
        blocks = [] if self.catalog.analysts else [Block(self.say("nobody"))]
        if self.facts.askers:
            rows = [
                (each.name, _amount(each.allowance), _amount(each.daily_epsilon), _amount(each.spent))
                for each in self.facts.askers
            ]
            blocks.append(self.table("t_askers", rows, meter=meter))
        if self.catalog.analysts:
            blocks.append(Block(self.say("allowances")))
        return [*blocks, Block(self.say("access"))]

    def exposure(self) -> list[Block]:
        blocks = [Block(self.say("exposure")), Block(self.say("others")), *self.apart()]
        if self.facts.release is not None:
            blocks.append(Block(self.say("releases", release=self.facts.release, count=self.facts.releases)))
        if self.facts.commands:
            rows = [(each.at, self.did(each), each.amount, each.reason) for each in self.facts.commands]
            blocks.append(self.table("t_commands", rows))
        return blocks

    def apart(self) -> list[Block]:
        """What was released under notions that are not differential privacy, and what that means."""
        blocks = []
        for each in self.facts.apart:
            notion = in_language(each.notion, self.language)
            blocks.append(Block(self.say("apart", notion=notion, count=len(each.released), total=each.total)))
            blocks.append(Block(self.say("apart_random" if each.kind == "random" else "apart_metric")))
            if each.released:
                released = [(day, in_language(what, self.language), loss) for day, what, loss in each.released]
                blocks.append(self.table("t_apart", released))
        return blocks

    def did(self, command: Command) -> str:
        known = f"k_{command.kind}"
        what = self.say(known) if known in TEXTS else command.kind
        return what if command.analyst is None else f"{what} ({command.analyst})"

    def check(self) -> str:
        head = "–" if self.facts.head is None else self.facts.head[:16]
        return self.say("check", head=head, digest=self.catalog.promise_digest()[:16])

    def protected(self) -> list[tuple[str, Table]]:
        return [(key, table) for key, table in self.catalog.tables.items() if not table.is_public]


def _amount(value: Fraction | None) -> str:
    """Exact up to 9 places, rounded up: what is promised or spent is never shown as less."""
    return "–" if value is None else decimal_text(round_up(value, Fraction(1, 10**9)), 9)


def _small(value: Fraction) -> str:
    """A failure mass, rounded up to three digits."""
    if value == 0:
        return "0"
    digits = len(str(value.denominator)) - len(str(value.numerator)) + 3
    return f"{float(round_up(value, Fraction(1, 10**digits))):.4g}"


def _bound(value: object) -> str:
    if isinstance(value, Fraction):
        return decimal_text(value, 12)
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
