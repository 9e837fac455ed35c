"""Statistics that are programs: what the owner calls on a session for them, under random DP.

Flow: `Session` is this too; `session.sampled` does the work. It is loaded on first use.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, cast

from dither.exact import Number

if TYPE_CHECKING:
    from dither.accounting import RandomLoss
    from dither.answer.sampled import SampledAnswer
    from dither.mechanisms import Population
    from dither.session.session import Session

__all__ = ["OpaqueStatistics"]


class OpaqueStatistics:
    """The part of a session that runs opaque statistics."""

    def sampled_statistic(
        self,
        f: Callable[[Mapping[str, Any]], Any],
        *,
        population: Population | str,
        bounds: tuple[Number, Number] | Sequence[tuple[Number, Number]],
        gamma: Number,
        epsilon: Number,
        table: str | None = None,
        rows: int | None = None,
        samples: int | None = None,
        norm: Literal[1, 2] = 1,
        delta: Number = 0,
        otherwise: Number | Sequence[Number] | None = None,
        name: str | None = None,
        allowance: RandomLoss | None = None,
        request: str | None = None,
    ) -> SampledAnswer:
        """Run a program of the owner's on one row of each unit, and release its answer under random DP: private for
        rows like those of the population, and NOT differentially private. It is charged on a ledger of its own.

        f: columns by name, each a NumPy array with one entry a row (numbers float64 with NaN for NULL, times
        datetime64, texts str or None), sorted by contents -> a number, or an array of numbers of fixed length.
        population: the name of a public table, or a `dither.mechanisms.Population`. Never the protected table.
        bounds: (low, high), or a list of pairs for a vector; answers are moved into them.
        gamma: in (0, 1), the chance that typical people are not protected.  epsilon: nats, > 0.
        rows: how many rows f is given, a public number; the catalog's `rows` of the table unless given.
        samples: pairs of data sets to measure on, the fewest for gamma unless given; more make the noise steadier.
        norm: 1, or 2 with a delta.  otherwise: what an error, NaN or odd shape counts as; the middle unless given.
        allowance: what all releases over this population may cost, recorded with the first.
        request: a key of the caller's choosing; the same one again shows the same answer for nothing.
        Raises PolicyRefused [R-100] for an analyst, InvalidParameter, BudgetExceeded; these cost nothing."""
        from dither.session.sampled import SampledQuestion, ask_sampled

        question = SampledQuestion(
            f, population, bounds, gamma, epsilon, table, rows, samples, norm, delta, otherwise, name
        )
        return ask_sampled(cast("Session", self), question, allowance=allowance, request=request)

    def explain_sampled_statistic(
        self,
        f: Callable[[Mapping[str, Any]], Any],
        *,
        population: Population | str,
        bounds: tuple[Number, Number] | Sequence[tuple[Number, Number]],
        gamma: Number,
        epsilon: Number,
        table: str | None = None,
        rows: int | None = None,
        samples: int | None = None,
        norm: Literal[1, 2] = 1,
        delta: Number = 0,
        otherwise: Number | Sequence[Number] | None = None,
        name: str | None = None,
    ) -> SampledAnswer:
        """What `sampled_statistic` would cost, and its ±. Free; reads no protected row. The pairs are drawn anew when
        it is asked, so that the ± may differ a little."""
        from dither.session.sampled import SampledQuestion, explain_sampled

        question = SampledQuestion(
            f, population, bounds, gamma, epsilon, table, rows, samples, norm, delta, otherwise, name
        )
        return explain_sampled(cast("Session", self), question)
