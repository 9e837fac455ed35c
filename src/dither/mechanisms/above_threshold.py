"""AboveThreshold: one private answer to "which is the first of these counts that is small enough?".

Flow: counts asked one after another against one noisy threshold; the first that is at or below it is named, the rest
are never looked at. The whole scan costs epsilon, whatever its length.
Relies on: exact geometric noise, which lowers the threshold once and each count anew, and never raises either. The
threshold noise is not renewed, and no noisy number is ever shown: the known broken variants differ in one of these.
Noise to one side alone is enough for the proof, and has half the variance of Laplace noise of the same scale.
Source: Lyu, Su, Li 2017, Algorithm 1 (with its refinement for monotone counts), mirrored to stop below.
Proof: docs/proofs/mechanisms/above-threshold.md
"""

from __future__ import annotations

from fractions import Fraction

from dither.accounting.events import PureEvent
from dither.errors import GuaranteeError, InvalidParameter
from dither.exact import Number, positive
from dither.mechanisms.release import Values, saturate
from dither.noise import Entropy, geometric

__all__ = ["THRESHOLD_SHARE", "AboveThreshold", "first_at_or_below"]

THRESHOLD_SHARE = Fraction(2, 3)
"""Of epsilon, for the noise of the threshold; the rest is for that of the counts. A threshold that is too low lets a
scan run on for as long as counts are small, a count that is too low stops it a little early: the first is worse."""


class AboveThreshold:
    """A single use of the sparse vector technique: ask until the answer is True, then it is closed.

    sensitivity: how far one unit moves any one count.  monotone: True when adding or changing one unit moves all the
    counts in the same direction (units with more than t rows, for all t, are such); False: twice the noise on them.
    """

    def __init__(
        self,
        threshold: int,
        *,
        epsilon: Number,
        sensitivity: int = 1,
        monotone: bool = True,
        entropy: Entropy | None = None,
    ) -> None:
        if sensitivity < 1:
            raise InvalidParameter("sensitivity", expected="a whole number, at least 1", found=sensitivity)
        price = positive(epsilon, "epsilon")
        self.event = PureEvent(price)
        self._entropy = entropy
        self._scale = (1 if monotone else 2) * sensitivity / (price * (1 - THRESHOLD_SHARE))
        """Of the noise of each count."""
        noise = geometric(sensitivity / (price * THRESHOLD_SHARE), entropy=entropy)
        self._noisy_threshold = int(threshold) - noise
        self._open = True

    def at_or_below(self, count: Values) -> bool:
        """True when this count, with fresh noise, is at or below the noisy threshold; nothing may be asked after."""
        if not self._open:
            raise GuaranteeError("AboveThreshold was asked again after it had answered.")
        noisy = int(saturate(count).reshape(-1)[0]) - geometric(self._scale, entropy=self._entropy)
        found = noisy <= self._noisy_threshold
        self._open = not found
        return found


def first_at_or_below(
    counts: Values,
    threshold: int,
    *,
    epsilon: Number,
    sensitivity: int = 1,
    monotone: bool = True,
    entropy: Entropy | None = None,
) -> int | None:
    """Index of the first count that is (noisily) at or below the threshold, or None; epsilon-DP as a whole.
    counts: (n,) integers.  threshold: public.  sensitivity, monotone: as `AboveThreshold` takes them."""
    scan = AboveThreshold(threshold, epsilon=epsilon, sensitivity=sensitivity, monotone=monotone, entropy=entropy)
    return next((index for index, count in enumerate(saturate(counts)) if scan.at_or_below(int(count))), None)
