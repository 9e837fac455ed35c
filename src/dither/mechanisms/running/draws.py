"""Noise for pending totals: draws of the stated law without the samplers' end at +-2^62.

Flow: `pending_tree` and `pending_roots` draw here. A whole-table release saturates afterwards, and so hides that end;
a pending total has its noise first and its counts later, without limit, so its noise must have none either.
Relies on: a sampler that reports every draw beyond +-2^62 as +-2^62. There a geometric law goes on as it began; a
Gaussian one goes on as a geometric one, thinned.  Proof: docs/proofs/mechanisms/running-stream.md, part 5
"""

from __future__ import annotations

from fractions import Fraction

from dither.noise import DiscreteGaussian, DiscreteLaplace, Entropy, bernoulli_exp, geometric

__all__ = ["unbounded_draw", "unbounded_draws"]

_END = 2**62
"""Where the samplers cut off."""


def unbounded_draw(law: DiscreteLaplace | DiscreteGaussian, entropy: Entropy | None) -> int:
    """One draw of the law, however large."""
    return _beyond(law.sample(entropy=entropy), law, entropy)


def unbounded_draws(law: DiscreteGaussian, count: int, entropy: Entropy | None) -> list[int]:
    """`count` draws of the law, however large."""
    return [_beyond(drawn, law, entropy) for drawn in law.sample(count, entropy=entropy).tolist()]


def _beyond(drawn: int, law: DiscreteLaplace | DiscreteGaussian, entropy: Entropy | None) -> int:
    """The draw itself, or where it stands for all beyond the end: one of those."""
    if abs(drawn) < _END:
        return drawn
    further = _laplace_excess(law.scale, entropy) if isinstance(law, DiscreteLaplace) else _excess(law.sigma2, entropy)
    return (_END + further) * (1 if drawn > 0 else -1)


def _laplace_excess(scale: Fraction, entropy: Entropy | None) -> int:
    """How far beyond the end, by the lack of memory of P(k) = (1-p) p^k: as far as a fresh draw, which may end too."""
    total = further = geometric(scale, entropy=entropy)
    while further == _END:
        further = geometric(scale, entropy=entropy)
        total += further
    return total


def _excess(sigma2: Fraction, entropy: Entropy | None) -> int:
    """exp(-(end + k)^2 / (2 sigma2)) is exp(-k end / sigma2), geometric, times exp(-k^2 / (2 sigma2)), a coin."""
    while True:
        k = _laplace_excess(sigma2 / _END, entropy)
        if bernoulli_exp(k * k / (2 * sigma2), entropy=entropy):
            return k
