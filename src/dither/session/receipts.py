"""Receipts of answers, in words an auditor can read.

Flow: `Session.ask` calls `make` last.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from dither import __version__
from dither.accounting import Price
from dither.answer.receipt import Receipt, VectorLine
from dither.exact import decimal_text, exact
from dither.noise import DiscreteGaussian, DiscreteLaplace
from dither.plan import nodes
from dither.plan.explain import describe_vector
from dither.plan.laws import ChoiceLaw, MarginalLaw, RunningLaw
from dither.session.needs import Need
from dither.session.stages import Stage
from dither.session.vectors import law_from_facts

if TYPE_CHECKING:
    from dither.ledger.model import Receipt as Signed
    from dither.session.session import Session

__all__ = ["make"]


def make(
    session: Session,
    plan: nodes.Plan,
    fingerprint: str,
    epoch: str,
    stages: Sequence[Stage],
    cost: Price,
    signed: Signed | None,
) -> Receipt:
    return Receipt(
        question=plan.text,
        fingerprint=fingerprint,
        dataset=session.catalog.name,
        analyst=session.analyst,
        release=epoch,
        vectors=tuple(_line(need, s.priced.measures[need.measure].measure) for s in stages for need in s.needs),
        epsilon=None if cost.epsilon is None else decimal_text(cost.epsilon),
        rho=decimal_text(cost.rho),
        delta=decimal_text(cost.delta, 36),
        entry=None if signed is None else signed.entry_id,
        hash=None if signed is None else signed.hash,
        digest=None if signed is None else signed.digest,
        ledger="kept" if session.ledger_location else "in memory only",
        versions=(("dither", __version__), ("duckdb", _duckdb_version())),
        assertions=plan.notes,
    )


def _line(need: Need, measure: nodes.Measure | None) -> VectorLine:
    vector = need.priced.vector
    law = need.priced.law if need.known is None else law_from_facts(need.known.law)
    step = vector.step
    if isinstance(law, ChoiceLaw):
        mechanism, scale = "exponential mechanism, epsilon", law.epsilon
    elif isinstance(law, RunningLaw):
        noise = law.plan.law
        if isinstance(noise, DiscreteGaussian):
            # In the design's own integer steps, which are finer than those of the vector.
            mechanism, scale = f"{law.plan.design.name}, discrete Gaussian, variance of its steps", noise.sigma2
        else:
            mechanism, scale = f"{law.plan.design.name}, discrete Laplace, scale b", noise.scale * step
    elif isinstance(law, MarginalLaw):
        mechanism = "residuals of groupings measured together, discrete Gaussian, variance of a group"
        scale = exact(law.variance()) * step * step
    elif isinstance(law, DiscreteLaplace):
        mechanism, scale = "discrete Laplace, scale b", law.scale * step
    else:
        mechanism, scale = "discrete Gaussian, variance", law.sigma2 * step * step
    return VectorLine(
        what=describe_vector(vector, measure),
        mechanism=mechanism,
        scale=_text(scale),
        distance=_text(need.priced.distance * (Fraction(1) if isinstance(law, ChoiceLaw) else step)),
        reused=need.known is not None,
        measured_by=None if need.known is None else need.known.entry_id,
    )


def _text(value: Fraction) -> str:
    return str(value)


def _duckdb_version() -> str:
    import duckdb

    return str(duckdb.__version__)
