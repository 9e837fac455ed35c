"""Audit the whole way from SQL to answer: `run()` puts `Session.ask` itself to the test on invented neighbours.

from dither.audit import pipeline
found = pipeline.run(effort="quick", seed=1)
found.verdict, found.violated     # "not_refuted", ()

    sensitivity   what is measured moves by no more than was paid for, on neighbours made to strain it
    refusals      what mixes people is refused, and costs nothing
    truncation    which rows are kept does not follow their values
    noise         the released law, against the price charged
    keys          private groups of one unit appear with at most the delta charged
    channels      errors, prices, explanations and groups are the same on neighbours
    reuse         asked again, the same numbers for nothing; in a new release, not
    ledger        charged before read, and never given back
    choices       what nobody declared is chosen privately, and paid for
    series        a total by day: charged once, and one unit counts no more than was paid for
    views         intervals that hold together do; what is suppressed is not shown
    fork          two processes draw different noise

Flow: `run` calls the checks, each of which yields Lines; `result` shows them. Reads no data of anybody's: with a
catalog of one's own, its tables are filled with invented rows.
What a line proves: docs/proofs/audit/pipeline.md
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from dither.audit.pipeline.books import ledger, reuse
from dither.audit.pipeline.channels import channels
from dither.audit.pipeline.choices import choices
from dither.audit.pipeline.forked import forked
from dither.audit.pipeline.keys import keys
from dither.audit.pipeline.noise import LAWS, noise
from dither.audit.pipeline.questions import DDL, NASTY, QUESTIONS, Question, own_catalog
from dither.audit.pipeline.result import Line, PipelineAudit
from dither.audit.pipeline.sensitivity import refusals, sensitivity, truncation
from dither.audit.pipeline.series import series
from dither.audit.pipeline.views import views
from dither.catalog.model import Catalog
from dither.errors import GuaranteeError, InvalidParameter
from dither.noise import Entropy, insecure_seeded

__all__ = ["CHECKS", "EFFORTS", "Effort", "Line", "PipelineAudit", "Question", "run"]

CHECKS = {
    "sensitivity": "does one unit move what is measured by more than was paid for?",
    "refusals": "is a question accepted that mixes people?",
    "truncation": "do the rows that are kept follow their values?",
    "noise": "does the released law lose more than the price charged?",
    "keys": "do groups of one unit appear more often than the delta charged?",
    "channels": "do errors, prices, explanations or groups tell of a unit?",
    "reuse": "is a released number drawn or charged again, or kept too long?",
    "ledger": "is anything read before it is charged, or given back?",
    "choices": "is anything chosen inside a question and not paid for?",
    "series": "does a unit count for more over the days than was paid for?",
    "views": "do intervals miss oftener than said, or suppressed numbers show?",
    "fork": "do two processes draw the same noise?",
}
"""What each check asks."""

_PLENTY = Fraction(10**9)
OWN_CATALOG = ("sensitivity", "refusals", "channels")
"""Checks that a catalog of somebody's own can be put to; the others need rows made for them."""


@dataclass(frozen=True)
class Effort:
    rounds: int
    """Random databases for the search; the straining ones always run."""
    stored_rounds: int
    """The same with the rows of heavy units stored."""
    channel_rounds: int
    draws: int
    """Outcomes per law, over both databases."""
    units: int
    """Units alone in their groups, per question."""
    key_rounds: int
    answers: int
    """For intervals that hold together."""


EFFORTS = {
    "quick": Effort(rounds=4, stored_rounds=0, channel_rounds=1, draws=30_000, units=20_000, key_rounds=2, answers=40),
    "full": Effort(
        rounds=100, stored_rounds=20, channel_rounds=8, draws=500_000, units=50_000, key_rounds=20, answers=400
    ),
}


def run(
    *,
    effort: Literal["quick", "full"] = "quick",
    seed: int | None = None,
    checks: Sequence[str] = tuple(CHECKS),
    catalog: Catalog | None = None,
    questions: Sequence[Question] | None = None,
    error: float = 1e-6,
    progress: Callable[[str], None] | None = None,
) -> PipelineAudit:
    """Audit the pipeline.
    seed: of databases and of all noise; None takes noise from the system's generator.  checks: names out of CHECKS.
    catalog: somebody's own; then `questions` are too, by default those it wants answered, and the checks are those of
    OWN_CATALOG.  questions: in place of QUESTIONS.
    error: of each statistical line; `PipelineAudit.error` adds them up.  progress: called with what is tried now.
    Raises InvalidParameter for an unknown check or effort, CatalogError for a catalog that cannot be asked."""
    if effort not in EFFORTS:
        raise InvalidParameter("effort", expected=f"one of {', '.join(EFFORTS)}", found=effort)
    unknown = [check for check in checks if check not in CHECKS]
    if unknown:
        raise InvalidParameter("checks", expected=f"names out of {', '.join(CHECKS)}", found=unknown[0])
    if catalog is not None and not questions:
        questions = [Question(text) for text in catalog.fixtures.answered]
        if not questions:
            hint = 'Write them under [checks] in the catalog: answered = ["SELECT ..."].'
            raise InvalidParameter(
                "questions", expected="at least one question of the catalog", found="none", hint=hint
            )
    started = time.monotonic()
    chosen = [check for check in CHECKS if check in checks and (catalog is None or check in OWN_CATALOG)]
    own = None if catalog is None else _roomy(catalog)
    audit = _Audit(EFFORTS[effort], seed, error, progress or (lambda doing: None), own, questions)
    lines = [line for check in chosen for line in audit.lines(check)]
    return PipelineAudit(tuple(lines), [(check, CHECKS[check]) for check in chosen], time.monotonic() - started)


def _roomy(catalog: Catalog) -> Catalog:
    """The catalog with a budget that no audit exhausts, and nobody else to share it; the promise is the same."""
    budget = catalog.budget
    roomy = replace(budget, rho=_PLENTY) if budget.rho is not None else replace(budget, epsilon=_PLENTY)
    return replace(catalog, budget=roomy, analysts={}, ledger="")


@dataclass(frozen=True)
class _Audit:
    effort: Effort
    seed: int | None
    error: float
    say: Callable[[str], None]
    catalog: Catalog | None
    questions: Sequence[Question] | None

    def lines(self, check: str) -> Iterator[Line]:
        """Of one check. A question that the product's own invariants stop is a fault found, and ends the check."""
        try:
            yield from self.of(check)
        except GuaranteeError as error:
            yield Line.judged(check, "the product's own invariants", right=False, found=error.message)

    def of(self, check: str) -> Iterator[Line]:
        self.say(check)
        ddl = DDL if self.catalog is None else {}
        match check:
            case "sensitivity":
                for catalog in [own_catalog(), own_catalog(replace=True)] if self.catalog is None else [self.catalog]:
                    yield from sensitivity(
                        catalog, self._asked(), ddl=ddl, seed=self._number, rounds=self.effort.rounds,
                        entropy=self._entropy(), say=self.say,
                    )  # fmt: skip
                if self.catalog is None:
                    yield from sensitivity(
                        own_catalog(), self._asked(), ddl=ddl, seed=self._number, rounds=self.effort.stored_rounds,
                        entropy=self._entropy(), say=self.say, stored=True,
                    )  # fmt: skip
            case "refusals":
                if self.catalog is None:
                    yield from refusals(own_catalog(), ddl=ddl)
                else:
                    yield from refusals(self.catalog, ddl=ddl, texts=self.catalog.fixtures.refused)
            case "truncation":
                yield from truncation(own_catalog(), ddl=ddl)
            case "noise":
                yield from noise(
                    draws=self.effort.draws, error=self.error, seed=self._number, entropy=self._entropy(), say=self.say,
                    laws=LAWS,
                )  # fmt: skip
            case "keys":
                yield from keys(
                    units=self.effort.units, rounds=self.effort.key_rounds, error=self.error, entropy=self._entropy(),
                    say=self.say,
                )  # fmt: skip
            case "channels":
                yield from channels(
                    self.catalog or own_catalog(), self._asked() if self.questions else [*QUESTIONS, *NASTY], ddl=ddl,
                    seed=self._number, rounds=self.effort.channel_rounds, entropy=self._entropy, say=self.say,
                )  # fmt: skip
            case "reuse":
                yield from reuse(entropy=self._entropy())
            case "ledger":
                yield from ledger(QUESTIONS if self.catalog else self._asked(), entropy=self._entropy(), say=self.say)
            case "choices":
                yield from choices(entropy=self._entropy())
            case "series":
                yield from series(entropy=self._entropy())
            case "views":
                yield from views(
                    answers=self.effort.answers, error=self.error, entropy=self._entropy(), say=self.say
                )  # fmt: skip
            case _:
                yield from forked()

    @property
    def _number(self) -> int:
        return 0 if self.seed is None else self.seed

    def _asked(self) -> Sequence[Question]:
        return QUESTIONS if self.questions is None else self.questions

    def _entropy(self) -> Entropy | None:
        return None if self.seed is None else insecure_seeded(self.seed)
