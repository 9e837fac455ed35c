"""What one level stands at: its limits, what was charged, how many failures. Pure; no database.

Flow: every row of the log carries the standings it leaves behind; the next question reads the latest one per level.
A level is the data set, one analyst, or one analyst's UTC day. Relies on `accounting` for the meters.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from dither.accounting.admission import Spent
from dither.accounting.price import Price
from dither.errors import LedgerCorrupt
from dither.ledger.amounts import DELTA_QUANTUM, amount, amount_text, charge_up
from dither.ledger.chain import Json

__all__ = ["DATASET", "Standing", "Terms", "analyst_level", "day_level", "refusals_level"]

DATASET = "dataset"


def analyst_level(analyst: str) -> str:
    return f"analyst:{analyst}"


def day_level(analyst: str, day: str) -> str:
    return f"day:{day}:{analyst}"


def refusals_level(analyst: str, day: str) -> str:
    return f"refusals:{day}:{analyst}"


@dataclass(frozen=True)
class Terms:
    """A limit, or a step by which an owner raised one. None: not limited by this meter."""

    epsilon: Fraction | None = None
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None

    def raised(self, step: Terms) -> Terms:
        """These terms with a granted step added; a meter without a limit stays without one."""
        epsilon = None if self.epsilon is None else self.epsilon + (step.epsilon or 0)
        rho = None if self.rho is None else self.rho + (step.rho or 0)
        return Terms(epsilon, self.delta + step.delta, rho)

    def to_json(self) -> list[Json]:
        return [_optional(self.epsilon), amount_text(self.delta), _optional(self.rho)]

    @classmethod
    def from_json(cls, stored: object) -> Terms:
        if not isinstance(stored, list) or len(stored) != 3:
            raise LedgerCorrupt("The ledger holds a limit that cannot be read.", hint="Run `dither budget verify`.")
        epsilon, delta, rho = stored
        return cls(_optional_amount(epsilon), amount(delta), _optional_amount(rho))


@dataclass(frozen=True)
class Standing:
    """Immutable; every method returns the standing that follows."""

    recorded: Terms = Terms()
    """The limit as first seen, so that editing the catalog cannot enlarge it."""
    grants: tuple[Terms, ...] = ()
    epsilon: Fraction = Fraction(0)
    rho: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    gaussians: int = 0
    """Charges with Gaussian noise: one is enough to close the epsilon meter, none left (after a void) reopens it."""
    failures: int = 0
    """Engine failures and lost answers since the owner last looked."""
    refusals: int = 0
    """Records of one analyst's refusals on one day: a level of its own, which charges never touch."""
    promise: str = ""
    """Data set only: digest of the promise in force."""
    release: str = ""
    """Data set only: the current release."""
    closed: str = ""
    """Data set only: the name of the data set whose ledger took over this one's spend; nothing is charged any more."""

    @property
    def spent(self) -> Spent:
        return Spent(self.epsilon, self.rho, self.delta, self.gaussians > 0)

    @property
    def levels(self) -> tuple[Terms, ...]:
        """The limit as recorded, then after each grant."""
        steps = [self.recorded]
        for step in self.grants:
            steps.append(steps[-1].raised(step))
        return tuple(steps)

    def charge(self, price: Price) -> Standing:
        return replace(
            self,
            epsilon=charge_up(self.epsilon + (price.epsilon or 0)),
            rho=charge_up(self.rho + price.rho),
            delta=charge_up(self.delta + price.delta, DELTA_QUANTUM),
            gaussians=self.gaussians + price.gaussian,
        )

    def refund(self, price: Price) -> Standing:
        """Undo one charge: for a void, before anything was read. Rounds up like the charge, so never below it."""
        return replace(
            self,
            epsilon=charge_up(max(self.epsilon - (price.epsilon or 0), Fraction(0))),
            rho=charge_up(max(self.rho - price.rho, Fraction(0))),
            delta=charge_up(max(self.delta - price.delta, Fraction(0)), DELTA_QUANTUM),
            gaussians=self.gaussians - price.gaussian,
        )

    def failed(self) -> Standing:
        return replace(self, failures=self.failures + 1)

    def to_json(self) -> dict[str, Json]:
        """Fields that hold their default are left out; `from_json` puts them back."""
        stored: dict[str, Json] = {}
        if self.recorded != Terms():
            stored["recorded"] = self.recorded.to_json()
        if self.grants:
            stored["grants"] = [step.to_json() for step in self.grants]
        stored |= {name: amount_text(value) for name in _METERS if (value := getattr(self, name))}
        stored |= {name: value for name in _COUNTS + _NAMES if (value := getattr(self, name))}
        return stored

    @classmethod
    def from_json(cls, stored: object) -> Standing:
        if not isinstance(stored, Mapping):
            raise LedgerCorrupt("The ledger holds a standing that cannot be read.", hint="Run `dither budget verify`.")
        return cls(
            recorded=Terms.from_json(stored["recorded"]) if "recorded" in stored else Terms(),
            grants=tuple(Terms.from_json(step) for step in stored.get("grants", ())),
            epsilon=amount(stored.get("epsilon", "0")),
            rho=amount(stored.get("rho", "0")),
            delta=amount(stored.get("delta", "0")),
            gaussians=int(stored.get("gaussians", 0)),
            failures=int(stored.get("failures", 0)),
            refusals=int(stored.get("refusals", 0)),
            promise=str(stored.get("promise", "")),
            release=str(stored.get("release", "")),
            closed=str(stored.get("closed", "")),
        )


_METERS = ("epsilon", "rho", "delta")
_COUNTS = ("gaussians", "failures", "refusals")
_NAMES = ("promise", "release", "closed")


def _optional(value: Fraction | None) -> str | None:
    return None if value is None else amount_text(value)


def _optional_amount(stored: object) -> Fraction | None:
    return None if stored is None else amount(stored)
