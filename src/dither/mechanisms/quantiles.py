"""Several quantiles of one histogram at once: the middle one first, then those on either side of it, each among its
own rows. A row is looked at once for each level of that tree, not once for each quantile.

Flow: occupied cells and counts of every group in, one value per group and quantile out; all groups go down the tree
together. Relies on: `noise.categorical_exp_by_group` for exact choices.
A row fills its cell evenly: PARTS candidates lie in a cell, and each holds 1/PARTS of the rows there. So a cell with
very many equal rows can be cut in two anywhere, and a row that is cut counts on each side with its share alone.
Source: Kaplan, Schnapp, Stemmer 2022 (ApproximateQuantiles).  Proof: docs/proofs/mechanisms/quantiles.md
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from dither.errors import InvalidParameter
from dither.mechanisms.histograms import Histograms
from dither.mechanisms.quantile import check_digits, inside_extreme, rank_sensitivity
from dither.mechanisms.release import Neighbours
from dither.noise import (
    Entropy,
    bernoulli_exp_each,
    categorical_exp_by_group,
    system_entropy,
    uniform_below,
    uniform_below_each,
)

__all__ = ["PARTS", "choose_quantiles", "levels_of"]

Ints = npt.NDArray[np.int64]
_Parts = npt.NDArray[Any]
"""Integers: int64, or Python's own where 64 bits might not do."""

PARTS = 2**16
"""Candidates in one cell."""
_NEAR = 40
"""Where the weight has fallen by e^-40, candidates are no longer told apart before one is drawn."""
_AROUND = np.concatenate([sign * 2 ** np.arange(17, dtype=np.int64) for sign in (-1, 1)])
_CAP = 2**62


def levels_of(quantiles: int) -> int:
    """How many choices one row takes part in when so many quantiles are chosen together: floor(log2 m) + 1."""
    return quantiles.bit_length()


def choose_quantiles(
    rows: Histograms,
    quantiles: Sequence[Fraction],
    *,
    epsilon: Fraction,
    max_rows: int,
    neighbours: Neighbours = "add_remove",
    entropy: Entropy | None = None,
) -> Ints:
    """(quantiles, groups) int64: a place for each, never falling from one quantile to the next. Place p lies in cell
    lo + p // PARTS, p % PARTS parts from its lower edge.
    quantiles: ascending, different, in [0, 1].  epsilon: of one choice; the whole is levels_of(len(quantiles)) of
    them, each epsilon-bounded-range, for units of at most `max_rows` rows in all groups together.
    Raises InvalidParameter for bounds, epsilon, max_rows or quantiles out of range."""
    order = [Fraction(q) for q in quantiles]
    if rows.hi < rows.lo or max_rows < 1 or epsilon <= 0:
        raise InvalidParameter(
            "bounds", expected="lo <= hi, max_rows >= 1, epsilon > 0", found=(rows.lo, rows.hi, max_rows, epsilon)
        )
    if not order or order != sorted(set(order)) or order[0] < 0 or order[-1] > 1:
        raise InvalidParameter("quantiles", expected="ascending, different, in [0, 1]", found=[str(q) for q in order])
    check_digits(order)
    source = entropy or system_entropy()
    axis = _Axis(rows)
    result = np.empty((len(order), rows.groups), dtype=np.int64)
    whole = _Node(0, len(order), Fraction(0), Fraction(1))
    waiting = [(whole, np.zeros(rows.groups, dtype=np.int64), np.full(rows.groups, axis.width, dtype=np.int64))]
    while waiting:
        node, begins, ends = waiting.pop()
        middle = node.middle(order)
        share = (order[middle] - node.above) / (node.below - node.above)
        rank_unit = epsilon / (2 * rank_sensitivity(share, neighbours) * max_rows)
        # Nothing is left of an interval behind its last place: the value found there serves for all that follow.
        found = ends - 1
        open_ = np.flatnonzero(begins < ends)
        # Where nothing is cut, a cell with many rows need not be told apart in parts: its weight stays whole.
        choose = _choose_cell if node.last - node.first == 1 else _choose_part
        if len(open_):
            found[open_] = choose(_Aim(axis, open_, begins[open_], ends[open_], share, rank_unit), source)
        result[middle] = found
        if middle > node.first:
            waiting.append((_Node(node.first, middle, node.above, order[middle]), begins, np.minimum(found + 1, ends)))
        if middle + 1 < node.last:
            waiting.append((_Node(middle + 1, node.last, order[middle], node.below), found + 1, ends))
    return result


@dataclass(frozen=True)
class _Node:
    """Quantiles first .. last - 1 of the list, and the chosen ones around them (0 and 1 where there are none)."""

    first: int
    last: int
    above: Fraction
    below: Fraction

    def middle(self, order: Sequence[Fraction]) -> int:
        """The one to choose next: that in the middle. An extreme goes last, since it stands some ranks inside, and what
        were chosen on its inner side would be off by as many."""
        half = (self.first + self.last) // 2
        return half - 1 if self.last - self.first == 2 and order[half] == 1 else half


class _Axis:
    """The places of all groups in one row of integers, and how many rows (in parts) lie below each."""

    def __init__(self, rows: Histograms) -> None:
        self.width = (rows.hi - rows.lo + 1) * PARTS
        # Two places of room, so that a group's end is not the next one's beginning.
        self.stride = self.width + 2
        if self.width > 2**53 or rows.groups * self.stride >= _CAP:
            raise InvalidParameter("cells", expected="fewer groups or cells", found=(rows.groups, self.width))
        group = np.repeat(np.arange(rows.groups, dtype=np.int64), np.diff(rows.starts))
        self.begins = group * self.stride + (rows.cells - rows.lo) * PARTS
        self.counts = rows.counts
        above = np.cumsum(rows.counts)
        self.below = above - rows.counts
        self.offset = np.concatenate([[0], above])[rows.starts[:-1]]
        """Rows in the groups before."""

    def mass(self, group: Ints, place: Ints) -> Ints:
        """Rows of the group below each place, in parts of a row: whole rows times PARTS."""
        at = group * self.stride + place
        i = np.searchsorted(self.begins, at, side="right") - 1
        if not len(self.begins):
            return np.zeros(len(at), dtype=np.int64)
        safe = np.maximum(i, 0)
        into = np.minimum(at - self.begins[safe], PARTS)
        parts = self.below[safe] * PARTS + self.counts[safe] * into
        return np.asarray(np.where(i >= 0, parts, 0) - self.offset[group] * PARTS)

    def edges(self, group: Ints, begins: Ints, ends: Ints) -> tuple[Ints, Ints]:
        """(group index, place): where occupied cells begin and end inside each group's interval. Keys ascend."""
        first = np.searchsorted(self.begins + PARTS, group * self.stride + begins, side="right")
        last = np.searchsorted(self.begins, group * self.stride + ends, side="left")
        sizes = np.maximum(last - first, 0)
        owner = np.repeat(np.arange(len(group), dtype=np.int64), sizes)
        index = np.arange(sizes.sum(), dtype=np.int64) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        start = self.begins[np.repeat(first, sizes) + index] - group[owner] * self.stride
        return np.concatenate([owner, owner]), np.concatenate([start, start + PARTS])

    def place_of(self, group: Ints, rank: npt.NDArray[np.float64]) -> Ints:
        """About where so many rows of the group lie below: only for cutting candidates into pieces."""
        if not len(self.begins):
            return np.zeros(len(group), dtype=np.int64)
        total = rank + self.offset[group]
        i = np.clip(np.searchsorted(self.below, total, side="right") - 1, 0, len(self.below) - 1)
        into = np.clip((total - self.below[i]) / self.counts[i], 0, 1)
        return np.asarray(self.begins[i] - group * self.stride + (into * PARTS).astype(np.int64))


class _Aim:
    """One node of the tree in every group that still has room: intervals begins .. ends - 1, and the rank aimed at."""

    def __init__(
        self, axis: _Axis, group: Ints, begins: Ints, ends: Ints, share: Fraction, rank_unit: Fraction
    ) -> None:
        self.axis, self.group, self.begins, self.ends = axis, group, begins, ends
        self.share, self.rank_unit = share, rank_unit
        self.den = 2 if share in (0, 1) else share.denominator
        self.here = np.arange(len(group), dtype=np.int64)
        low, high = axis.mass(group, begins), axis.mass(group, ends)
        # Products that could leave 64 bits are made of Python's integers; a distance is then cut at 2^62, which moves
        # nothing further than before.
        wide = (int(high.max(initial=0)) + PARTS) * self.den * 2 >= _CAP
        exact: Any = object if wide else np.int64
        self.rank: _Parts = low.astype(exact) * self.den + self._inside((high - low).astype(exact))
        """From the group's first row, in parts of a row over `den`."""

    @property
    def unit(self) -> Fraction:
        """The exponent of one step of a distance."""
        return self.rank_unit / (PARTS * self.den)

    def distance(self, owner: Ints, start: Ints, end: Ints) -> Ints:
        """From the aim to the nearest rank that the places start .. end - 1 cover, in parts of a row over `den`."""
        aim = self.rank[owner]
        low, high = (self.axis.mass(self.group[owner], at).astype(aim.dtype) * self.den for at in (start, end))
        outside: _Parts = np.maximum(np.maximum(low - aim, aim - high), 0)
        return np.asarray(np.minimum(outside, _CAP).astype(np.int64))

    def pieces(self, *, near: bool) -> tuple[Ints, Ints, Ints]:
        """Pieces of the intervals, in order: (owner, start, end). Inside a piece the rows are evenly spread. near: and
        close to the aim it spans so few of them that no place of it is much less likely than another."""
        owner, place = self.axis.edges(self.group, self.begins, self.ends)
        owners, places = [owner, self.here, self.here], [place, self.begins, self.ends]
        if near:
            steps = np.arange(-_NEAR, _NEAR + 1) / float(self.rank_unit)
            ranks = (self.rank.astype(np.float64) / (self.den * PARTS))[:, None] + steps
            owners.append(np.repeat(self.here, len(steps)))
            places.append(self.axis.place_of(self.group[owners[-1]], ranks.reshape(-1)))
            # Where one place holds more rows than that, its neighbours at once, and then ever longer pieces.
            owners.append(np.repeat(self.here, len(_AROUND)))
            places.append((places[-1].reshape(ranks.shape)[:, _NEAR, None] + _AROUND).reshape(-1))
        owner, place = np.concatenate(owners), np.concatenate(places)
        keys = np.sort(owner * self.axis.stride + np.clip(place, self.begins[owner], self.ends[owner]))
        keys = keys[np.concatenate([[True], keys[1:] != keys[:-1]])]
        owner, place = keys // self.axis.stride, keys % self.axis.stride
        same = owner[1:] == owner[:-1]
        return owner[:-1][same], place[:-1][same], place[1:][same]

    def _inside(self, total: _Parts) -> _Parts:
        """The aim from the interval's beginning."""
        if self.share not in (0, 1):
            return np.asarray(total * self.share.numerator)
        inside = [inside_extreme(-(-w // PARTS), 2 * self.rank_unit) for w in (self.ends - self.begins).tolist()]
        # A tiny epsilon aims further inside than there could be rows.
        halves = np.array([min(int(2 * ranks), _CAP // PARTS) for ranks in inside], dtype=total.dtype) * PARTS
        at = np.minimum(halves, np.maximum(2 * total - PARTS, PARTS))
        return np.asarray(at if self.share == 0 else 2 * total - at)


def _choose_cell(aim: _Aim, source: Entropy) -> Ints:
    """A place in each interval; its cell is chosen with probability proportional to exp(-rank_unit distance), of the
    aim to the ranks that the cell covers inside the interval."""
    owner, start, end = aim.pieces(near=False)
    cells = -(-end // PARTS) - start // PARTS
    starts = np.searchsorted(owner, np.arange(len(aim.group) + 1)).astype(np.int64)
    drawn = categorical_exp_by_group(aim.distance(owner, start, end), aim.unit, cells, starts, entropy=source)
    cell = start[drawn] // PARTS + uniform_below_each(cells[drawn], entropy=source)
    place = cell * PARTS + uniform_below(PARTS, len(cell), entropy=source)
    return np.asarray(np.clip(place, aim.begins, aim.ends - 1))


def _choose_part(aim: _Aim, source: Entropy) -> Ints:
    """A place in each interval, with probability proportional to exp(-rank_unit distance), of the aim to the ranks that
    the place covers."""
    owner, start, end = aim.pieces(near=True)
    least = aim.distance(owner, start, end)
    starts = np.searchsorted(owner, np.arange(len(aim.group) + 1)).astype(np.int64)
    found = np.empty(len(aim.group), dtype=np.int64)
    waiting = aim.here
    while len(waiting):
        rows = _ranges(starts, waiting)
        own = np.concatenate([[0], np.cumsum(starts[waiting + 1] - starts[waiting])])
        drawn = rows[categorical_exp_by_group(least[rows], aim.unit, (end - start)[rows], own, entropy=source)]
        place = start[drawn] + uniform_below_each((end - start)[drawn], entropy=source)
        # Inside a piece the distance grows: a place keeps what its own weight is of the piece's largest.
        further = aim.distance(waiting, place, place + 1) - least[drawn]
        kept = bernoulli_exp_each(further, aim.unit, entropy=source)
        found[waiting[kept]] = place[kept]
        waiting = waiting[~kept]
    return found


def _ranges(starts: Ints, chosen: Ints) -> Ints:
    """The positions starts[g] .. starts[g + 1] - 1 of every chosen g, one after the other."""
    sizes = starts[chosen + 1] - starts[chosen]
    before = np.cumsum(sizes) - sizes
    return np.asarray(np.arange(sizes.sum(), dtype=np.int64) + np.repeat(starts[chosen] - before, sizes))
