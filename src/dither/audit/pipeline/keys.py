"""Private groups: a group of one unit alone must appear with at most the delta that was charged.

Flow: thousands of units, each alone in groups of its own, one question per shape; the share of units with any group in
the answer is bounded from below (Clopper-Pearson) and compared with the delta the ledger holds for that question.
Proof of the claim: docs/proofs/mechanisms/key-thresholds.md; of the line: docs/proofs/audit/pipeline.md
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction

from dither.audit.bounds import probability_below
from dither.audit.pipeline.questions import Offer
from dither.audit.pipeline.result import Line
from dither.audit.pipeline.world import World
from dither.catalog.load import loads
from dither.noise import Entropy

__all__ = ["keys"]

KEYS = "keys"
TAU = 2
# At these the failure mass actually used is 0.98 of delta for the worst split, and 1.6 of it one below the threshold.
_CATALOG = """
[dataset]
name = "audit of keys"
{terms}
[source]
url = "invented.duckdb"
[unit]
name = "person"
[budget]
epsilon = 1e9
delta = 0.9
delta_per_question = 0.0085
[tables.p]
privacy_unit = "uid"
max_rows_per_unit = {tau}
columns = {{ note = {{ type = "text" }} }}
"""


@dataclass(frozen=True)
class _Shape:
    name: str
    rows: str
    """SELECT of (uid, note) for {units} units; a unit's number is the note's part before the dot."""
    offer: Offer = field(default_factory=lambda: Offer(epsilon=Fraction(1), rho=None))
    least_units: int = 1


_EACH_KEPT = f"range({{units}}) AS a(u), range({TAU}) AS b(i)"
_SHAPES = (
    _Shape("one group with all rows kept", f"SELECT u, u || '.0' FROM {_EACH_KEPT}"),
    _Shape("as many groups as rows kept", f"SELECT u, u || '.' || i FROM {_EACH_KEPT}"),
    _Shape(
        "many groups, most of them cut",
        "SELECT u, u || '.' || i FROM range({units} // 8) AS a(u), range(16) AS b(i)",
    ),
    _Shape(
        "groups by Gaussian noise",
        f"SELECT u, u || '.' || i FROM {_EACH_KEPT}",
        offer=Offer(epsilon=None, rho=Fraction(1, 2)),
    ),
    _Shape(
        "at least eight units a group",
        # With min_units_per_key = 8, a group of eight units counts as little as one of a single unit did.
        f"SELECT u, (u // 8) || '.0' FROM {_EACH_KEPT}",
        least_units=8,
    ),
)


def keys(
    *, units: int, rounds: int, error: float, entropy: Entropy | None, say: Callable[[str], None]
) -> Iterator[Line]:
    """A line per shape. units: per question.  rounds: questions.  error: of each line."""
    for shape in _SHAPES:
        say(f"{KEYS}: {shape.name}")
        terms = f"min_units_per_key = {shape.least_units}" if shape.least_units > 1 else ""
        catalog = loads(_CATALOG.format(terms=terms, tau=TAU))
        hits = trials = 0
        delta = Fraction(0)
        for _ in range(rounds):
            # A ledger for each question: no budget has the delta for many of them.
            with World(catalog, entropy=entropy) as world:
                world.fill("p", shape.rows.format(units=units))
                answer = world.session.ask("SELECT note, COUNT(*) FROM p GROUP BY note", **shape.offer)
                delta = max(delta, world.ledger.spent().delta)
                hits += len({str(row[0]).partition(".")[0] for row in answer.rows()})
                trials += units // 8 if "cut" in shape.name else -(-units // 8) if shape.least_units > 1 else units
        low = float(probability_below(hits, trials, error))
        yield Line.judged(
            KEYS,
            shape.name,
            right=low <= delta,
            claimed=f"at most {float(delta):.4g}",
            found=f"at least {low:.4g}",
            detail=f"{hits:,} of {trials:,} appeared",
            error=error,
        )
