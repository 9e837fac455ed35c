"""The plan of a question: rows below, measured vectors in the middle, the finish above. Immutable nodes.

Flow: `lower` builds these, `truncate`, `keys`, `price` and `fingerprint` read them, `engines.emit` prints the rows and
the measures, `answer.finish` runs the finish.

Every column a node gives out has an id that is unique in the plan (`s0_3`, `p4`), so joins need no renaming.
Every protected node gives out its unit under the id `unit`, which is never NULL.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

from dither.plan.row_keys import Keyed
from dither.sql.expressions import Expr, Payload
from dither.sql.types import Type

__all__ = [
    "AggregateCall",
    "Cube",
    "Distinct",
    "Filter",
    "Given",
    "Grouping",
    "Join",
    "Key",
    "Measure",
    "Output",
    "Phase",
    "Plan",
    "Project",
    "PublicScan",
    "Rows",
    "Scan",
    "ScanColumn",
    "SemiJoin",
    "SetOperation",
    "UnionAll",
    "UnitAggregate",
    "UnitWindow",
    "Vector",
    "WindowCall",
    "inputs_of",
    "scans_of",
    "walk_rows",
]


@dataclass(frozen=True)
class ScanColumn:
    id: str
    name: str
    """As the source spells it."""


@dataclass(frozen=True)
class Scan:
    """The rows of one protected table whose unit resolves, cut to `tau` per unit; columns are raw, not yet enforced."""

    table: str
    """Folded catalog name."""
    columns: tuple[ScanColumn, ...]
    unit: str
    tau: int
    truncated: bool
    """False where at most tau rows per unit is enforced by the engine, or the row is the unit."""


@dataclass(frozen=True)
class PublicScan:
    table: str
    columns: tuple[ScanColumn, ...]


@dataclass(frozen=True)
class Given:
    """A released result of an earlier phase, as a public table. `rows` is None until that phase has run."""

    phase: str
    columns: tuple[ScanColumn, ...]
    types: tuple[Type, ...]
    rows: tuple[tuple[Payload, ...], ...] | None = None


@dataclass(frozen=True)
class Filter:
    input: Rows
    condition: Expr


@dataclass(frozen=True)
class Output:
    id: str
    expr: Expr


@dataclass(frozen=True)
class Project:
    input: Rows
    outputs: tuple[Output, ...]


JoinKind = Literal["inner", "left", "right", "full", "cross"]


@dataclass(frozen=True)
class Join:
    left: Rows
    right: Rows
    kind: JoinKind
    condition: Expr | None
    unit: Output | None = None
    """A full join of two protected sides gives a new unit: COALESCE of both."""


@dataclass(frozen=True)
class SemiJoin:
    """Rows of `left` for which some row of `right` meets the condition (or, `anti`, none does)."""

    left: Rows
    right: Rows
    anti: bool
    condition: Expr


@dataclass(frozen=True)
class AggregateCall:
    """An aggregate within one unit. SUM and AVG of doubles run on an integer grid of `step`."""

    function: str
    arg: Expr | None
    filter: Expr | None = None
    distinct: bool = False
    second: Expr | None = None
    step: Fraction | None = None
    result: Expr | None = None
    """The column it becomes: the range it is kept within."""


@dataclass(frozen=True)
class UnitAggregate:
    """GROUP BY keys that hold the unit."""

    input: Rows
    keys: tuple[Output, ...]
    aggregates: tuple[tuple[str, AggregateCall], ...]
    having: Expr | None = None


@dataclass(frozen=True)
class WindowCall:
    function: str
    args: tuple[Expr, ...]
    partition: tuple[Expr, ...]
    order: tuple[tuple[Expr, str, str], ...]
    """(expression, ASC | DESC, NULLS FIRST | NULLS LAST)"""
    frame: str
    """SQL text of the frame, made of constants; '' where none."""
    filter: Expr | None = None
    result: Expr | None = None
    """The column it becomes: the range it is kept within."""
    total_order: bool = True
    """True: order is completed by all columns of the input, so that ties cannot fall by storage order."""


@dataclass(frozen=True)
class UnitWindow:
    """Window functions whose partitions hold the unit: adds columns, keeps rows."""

    input: Rows
    windows: tuple[tuple[str, WindowCall], ...]
    tie_break: tuple[str, ...]
    """Ids of the input's columns, in order."""


@dataclass(frozen=True)
class Distinct:
    """Each different row once, the unit being one of its columns."""

    input: Rows
    outputs: tuple[str, ...]


@dataclass(frozen=True)
class UnionAll:
    inputs: tuple[Rows, ...]
    branches: tuple[tuple[Expr, ...], ...]
    """Per input: the expressions that feed `outputs`, in order."""
    outputs: tuple[str, ...]


@dataclass(frozen=True)
class SetOperation:
    """EXCEPT or INTERSECT (of distinct rows), the unit being one of the columns."""

    kind: Literal["except", "intersect"]
    inputs: tuple[Rows, Rows]
    branches: tuple[tuple[Expr, ...], tuple[Expr, ...]]
    outputs: tuple[str, ...]


Rows = (
    Scan
    | PublicScan
    | Given
    | Filter
    | Project
    | Join
    | SemiJoin
    | UnitAggregate
    | UnitWindow
    | Distinct
    | UnionAll
    | SetOperation
)


VectorKind = Literal["rows", "units", "sum", "distinct", "histogram"]


@dataclass(frozen=True)
class Running:
    """Totals along one key of a measure, within each combination of its other keys."""

    key: str
    descending: bool = False
    nulls_first: bool = False


@dataclass(frozen=True)
class Vector:
    """One integer per key: what is counted or summed, and how far one unit can move it.

    rows       how many rows pass `filter` (and, with `expr`, have it not NULL)
    units      how many units have a row that passes `filter`
    distinct   how many different values of expr there are
    sum        of clamp(expr, lo, hi) rounded to the grid of `step`, minus `center` where expr is not NULL
    histogram  how many rows fall into each grid cell of expr; never released: a quantile is chosen over it
    """

    kind: VectorKind
    expr: Expr | None = None
    filter: Expr | None = None
    lo: int = 0
    hi: int = 1
    """Ends of one row's contribution, in steps, after centring."""
    step: Fraction = Fraction(1)
    center: int = 0
    """In steps; subtracted from each contribution."""
    distinct: bool = False
    """Equal values of one group count once, whoever has them."""
    quantiles: tuple[Fraction, ...] = ()
    """Of a histogram: which quantiles are chosen over it, ascending; 0 and 1 stand a few ranks inside the extremes."""
    end: Literal[-1, 0, 1] = 0
    """Of a histogram: -1 and 1 are not the quantiles but the lower and upper ends of their intervals."""
    running: Running | None = None
    """How the question sums it up: its noise is then placed so that those totals stay accurate."""

    @property
    def largest(self) -> int:
        """The most one row moves the vector when it comes or goes."""
        return max(abs(self.lo), abs(self.hi))

    @property
    def spread(self) -> int:
        """The most one row moves it when its values are replaced or it comes or goes."""
        return max(0, self.hi) - min(0, self.lo)


@dataclass(frozen=True)
class Key:
    """A group expression. `values` (public): the key's part of the list of all groups is known without the data."""

    id: str
    expr: Expr
    name: str


@dataclass(frozen=True)
class Measure:
    """The seam: what is taken from private rows. One grouping, its key columns, and the vectors over them."""

    name: str
    input: Rows
    unit: str
    """Id of the input's unit column."""
    tau: int
    keys: tuple[Key, ...]
    domain: Any
    """`keys.Domain` of all public groups, or None where the groups themselves are private."""
    vectors: tuple[Vector, ...]
    min_units_per_key: int = 1
    row_unit: bool = False
    """Is every row its own unit?"""

    @property
    def has_private_keys(self) -> bool:
        return bool(self.keys) and self.domain is None


@dataclass(frozen=True)
class Grouping:
    """One vector as a marginal of a cube's table."""

    place: tuple[int, int]
    """(measure, vector) in the plan."""
    axes: tuple[int, ...]
    """Of the cube, in ascending order."""
    keys: tuple[tuple[int, ...], ...]
    """For each axis the positions of its keys in the measure."""


@dataclass(frozen=True)
class Cube:
    """One aggregate over several groupings of the same rows: marginals of one table, which has `sizes` values on its
    axes and lists all combinations. Under zCDP they are measured together."""

    sizes: tuple[int, ...]
    groupings: tuple[Grouping, ...]


@dataclass(frozen=True, eq=False)
class Plan:
    """A whole question. `columns` names the answer; `finish` is the checked tree over noisy tables."""

    text: str
    measures: tuple[Measure, ...]
    finish_sql: str
    interval_tree: Mapping[str, Any] | None
    """The finish with the interval ends of direct aggregates beside it; None where rows could not be matched. Printed
    only when somebody looks at the intervals."""
    roles: tuple[str, ...]
    """Per answer column: `key`, `aggregate`, or `derived`."""
    columns: tuple[str, ...]
    aggregates: tuple[Any, ...]
    """(measure name, its recipes)"""
    tables: tuple[str, ...]
    notes: tuple[str, ...] = field(default=())
    aliases: tuple[tuple[str, str], ...] = ()
    """(name, name of the measure that is the same): measured once, read under both names."""
    phases: tuple[Phase, ...] = ()
    """Questions inside this one, answered before it, in order."""
    plain: bool = False
    """The finish only picks and orders columns: it cannot fail, so it need not be rehearsed."""
    picked: tuple[str, ...] | None = None
    """The columns of its one noisy table, where the finish shows those and does nothing else."""
    cubes: tuple[Cube, ...] = ()
    """Vectors that can be measured together."""
    apart: tuple[str, ...] = ()
    """Why groupings of the same rows cannot, in words."""
    weights: tuple[tuple[Fraction, ...], ...] = ()
    """For each measure how many times the usual share of an offer each of its vectors gets, and last, one more that may
    be needed to select its groups; () where all get one."""
    keyed: Keyed | None = None
    """The finish with columns that tell its rows apart, to match replicates by; None where nothing does."""


@dataclass(frozen=True)
class Phase:
    """A noisy result that a later measure needs: one value (`q0`), or a table (`given0`)."""

    name: str
    plan: Plan
    types: tuple[Type, ...]


def inputs_of(node: Rows) -> tuple[Rows, ...]:
    match node:
        case Scan() | PublicScan() | Given():
            return ()
        case Filter() | Project() | UnitAggregate() | UnitWindow() | Distinct():
            return (node.input,)
        case Join() | SemiJoin():
            return (node.left, node.right)
        case UnionAll() | SetOperation():
            return tuple(node.inputs)


def walk_rows(node: Rows) -> list[Rows]:
    """The node and all below it, parents first."""
    return [node, *(below for child in inputs_of(node) for below in walk_rows(child))]


def scans_of(node: Rows) -> list[Scan]:
    return [below for below in walk_rows(node) if isinstance(below, Scan)]
