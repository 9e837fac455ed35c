"""Views of an answer: they hold what they promise, and show nothing that they hide.

Flow: answers over a thousand public groups whose truth is known, each asked anew; the intervals that are said to hold
together are compared with the truth, and everything a view with suppressed numbers shows is searched for them.
Proof of the intervals: docs/proofs/answer/intervals.md
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction

from dither.audit.bounds import binomial_tail
from dither.audit.pipeline.noise import CATALOG, CROWD
from dither.audit.pipeline.result import Line
from dither.audit.pipeline.world import World
from dither.catalog.load import loads
from dither.noise import Entropy

__all__ = ["views"]

VIEWS = "views"
_LEVEL = Fraction(19, 20)
_TRUTH = 3
"""Units in every group."""


def views(*, answers: int, error: float, entropy: Entropy | None, say: Callable[[str], None]) -> Iterator[Line]:
    """answers: asked for the intervals.  error: of their line."""
    with World(loads(CATALOG), entropy=entropy) as world:
        world.fill("n", CROWD)
        say(f"{VIEWS}: intervals that hold together")
        yield _together(world, answers, error)
        say(f"{VIEWS}: suppressed numbers")
        yield _suppressed(world)


def _together(world: World, answers: int, error: float) -> Line:
    """Answers in which any of the thousand intervals misses: at most one in twenty, in the long run."""
    missed = 0
    for number in range(answers):
        answer = world.session.ask(f"SELECT k, COUNT(*) AS n FROM n WHERE v >= {-number - 1} GROUP BY k", epsilon=1)
        view = answer.simultaneous(_LEVEL)
        low, high = view.intervals[1]
        truth = [0 if row[0] is None else _TRUTH for row in view.rows()]
        missed += any(not a <= t <= b for a, t, b in zip(low, truth, high, strict=True))
    chance = binomial_tail(missed, answers, float(1 - _LEVEL))
    return Line.judged(
        VIEWS,
        "a thousand intervals that hold together in 95 % of answers",
        right=chance > error,
        claimed="at most 5 % of answers miss",
        found=f"{missed} of {answers} missed",
        error=error,
    )


def _suppressed(world: World) -> Line:
    """No number below the mark, nor an interval around it, in rows or frames; what is printed there is the mark."""
    below = 5
    answer = world.session.ask("SELECT k, COUNT(*) AS n FROM n GROUP BY k", epsilon=1)
    small = [place for place, row in enumerate(answer.rows()) if row[1] < below]
    view = answer.present(suppress_below=below)
    shown = {name: column for name, column in view.columns_with_intervals() if name != "k"}
    wrong = sum(column[place] is not None for column in shown.values() for place in small)
    wrong += sum(view.rows()[place][1] is not None for place in small)
    hidden = {str(answer.rows()[place][0]) for place in small}
    # The printed table leaves out its middle.
    printed = [line.split() for line in str(view).splitlines()]
    wrong += sum(len(words) > 1 and words[0] in hidden and words[1].lstrip("-").isdigit() for words in printed)
    return Line.judged(
        VIEWS,
        "numbers below the mark are nowhere",
        right=not wrong and bool(small),
        claimed="none shown",
        found=f"{wrong} shown",
        detail=f"{len(small)} of {len(answer)} are below {below}",
    )
